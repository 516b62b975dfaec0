//! What the machine does at most: the bandwidth of its memory, and floating point operations.

use dlbridge::compute::threads::{for_each_part, with_num_threads};
use dlbridge::python::{ANY_RANK, In, Out, RowMajor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::hint::black_box;
use std::time::Instant;

type Bytes<'py> = In<'py, u8, ANY_RANK, RowMajor>;
type BytesOut<'py> = Out<'py, u8, ANY_RANK, RowMajor>;

/// Copies bytes with the C library's function.
#[pyfunction]
pub(crate) fn memcpy(from: Bytes<'_>, to: BytesOut<'_>, threads: usize) -> PyResult<()> {
    copy(from, to, threads, |from, to| to.copy_from_slice(from))
}

/// Copies bytes with stores that bypass the caches.
#[pyfunction]
pub(crate) fn stream(from: Bytes<'_>, to: BytesOut<'_>, threads: usize) -> PyResult<()> {
    copy(from, to, threads, stream_bytes)
}

fn copy(
    from: Bytes<'_>,
    mut to: BytesOut<'_>,
    threads: usize,
    function: fn(&[u8], &mut [u8]),
) -> PyResult<()> {
    from.check_shape(to.shape())?;
    let (from, to) = (from.as_slice(), to.as_mut_slice());
    let len = from.len().div_ceil(threads).next_multiple_of(4096).max(1);
    let parts: Vec<_> = from.chunks(len).zip(to.chunks_mut(len)).collect();
    let parts: Vec<_> = parts.into_iter().map(std::sync::Mutex::new).collect();
    with_num_threads(threads, || {
        for_each_part(parts.len(), |part| {
            let mut part = parts[part].lock().expect("no copy panics");
            let (from, to) = &mut *part;
            function(from, to);
        });
    });
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn stream_bytes(from: &[u8], to: &mut [u8]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

    let head = to.as_ptr().align_offset(64).min(to.len());
    let (first, from) = from.split_at(head);
    let (first_to, to) = to.split_at_mut(head);
    first_to.copy_from_slice(first);
    let (lines, rest) = from.as_chunks::<64>();
    let (lines_to, rest_to) = to.as_chunks_mut::<64>();
    for (line, line_to) in lines.iter().zip(lines_to) {
        let (line, line_to) = (line.as_ptr(), line_to.as_mut_ptr());
        for at in (0..64).step_by(16) {
            // SAFETY: both have 64 bytes, and the second one begins at a multiple of them, after
            // the head.
            unsafe {
                let value = _mm_loadu_si128(line.add(at).cast::<__m128i>());
                _mm_stream_si128(line_to.add(at).cast(), value);
            }
        }
    }
    rest_to.copy_from_slice(rest);
    // SAFETY: every CPU of the architecture has SSE.
    unsafe { _mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn stream_bytes(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
}

/// Which peaks this CPU has.
#[pyfunction]
pub(crate) fn peaks() -> Vec<&'static str> {
    let mut names = vec!["f32"];
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512bf16") {
        names.push("bf16");
    }
    names
}

/// Floating point operations per second, with all operands in registers.
#[pyfunction]
pub(crate) fn peak_flops(kind: &str, threads: usize) -> PyResult<f64> {
    let run = match kind {
        "f32" => multiply_add(),
        #[cfg(target_arch = "x86_64")]
        "bf16" if is_x86_feature_detected!("avx512bf16") => {
            // SAFETY: the CPU has the instructions.
            || unsafe { x86::dots() }
        }
        _ => return Err(PyValueError::new_err(format!("no peak of {kind}"))),
    };
    let begin = Instant::now();
    let operations = std::sync::atomic::AtomicU64::new(0);
    with_num_threads(threads, || {
        for_each_part(threads, |_| {
            operations.fetch_add(run(), std::sync::atomic::Ordering::Relaxed);
        });
    });
    Ok(operations.into_inner() as f64 / begin.elapsed().as_secs_f64())
}

/// Rounds of a loop with several independent chains of operations.
const ROUNDS: u64 = 4_000_000;

/// Returns a loop that multiplies and adds, and returns the number of its operations.
fn multiply_add() -> fn() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the CPU has the instructions.
            return || unsafe { x86::multiply_add_512() };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the CPU has the instructions.
            return || unsafe { x86::multiply_add_256() };
        }
    }
    baseline
}

fn baseline() -> u64 {
    let mut sums = [[0.0_f32; 4]; 8];
    let factor = black_box([0.5_f32; 4]);
    for _ in 0..ROUNDS {
        for sum in &mut sums {
            for (sum, factor) in sum.iter_mut().zip(factor) {
                *sum = if cfg!(target_arch = "aarch64") {
                    sum.mul_add(factor, factor)
                } else {
                    *sum * factor + factor
                };
            }
        }
    }
    black_box(sums);
    ROUNDS * 8 * 4 * 2
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::ROUNDS;
    use std::arch::x86_64::*;
    use std::hint::black_box;

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn multiply_add_256() -> u64 {
        let mut sums = [_mm256_setzero_ps(); 12];
        let factor = black_box(_mm256_set1_ps(0.5));
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, factor, factor);
            }
        }
        black_box(sums);
        ROUNDS * 12 * 8 * 2
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn multiply_add_512() -> u64 {
        let mut sums = [_mm512_setzero_ps(); 12];
        let factor = black_box(_mm512_set1_ps(0.5));
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, factor, factor);
            }
        }
        black_box(sums);
        ROUNDS * 12 * 16 * 2
    }

    #[target_feature(enable = "avx512f,avx512bf16")]
    pub(super) fn dots() -> u64 {
        let mut sums = [_mm512_setzero_ps(); 12];
        let factor = black_box(_mm512_cvtne2ps_pbh(
            _mm512_set1_ps(0.5),
            _mm512_set1_ps(0.5),
        ));
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm512_dpbf16_ps(*sum, factor, factor);
            }
        }
        black_box(sums);
        ROUNDS * 12 * 32 * 2
    }
}
