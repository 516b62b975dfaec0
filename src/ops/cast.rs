//! `cast`: conversion of elements to another dtype.

use crate::compute::{self, Converter, Settings, for_each_tile, pack, threads, unpack};
use crate::dtype::{DType, TypeCode};
use crate::kernel::ArgumentError;
use crate::kernel::Attribute;
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::ElementType;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::kernel::Op;
use crate::kernel::Operand;
use crate::kernel::Untyped;
use crate::kernel::UntypedMut;
use crate::layout::{Run, in_step};
use crate::tensor::Tensor;
use crate::view::View;
use std::mem::MaybeUninit;

register_op!(
    Op::new("cast")
        .doc(
            "The numbers as elements of another type. Floats are rounded once, to the nearest number, of two to the \
             even one. Floats become integers towards zero, of which the least and the largest stand for those \
             beyond; NaN becomes 0. Integers wrap around. What isn't 0 is true. What is too large for a float of 8 \
             bits becomes infinity, or NaN if there is none, and with saturate the largest number; for a float of \
             fewer bits always that. Complex numbers become complex or bool."
        )
        .input("x", "S")
        .output("out", ElementType::Attribute("dtype".into()))
        .attribute("dtype", AttributeKind::DType, None)
        .attribute("saturate", AttributeKind::Bool, Some(Attribute::Bool(false)))
        .keeps_shape(|question| {
            let (from, to) = (question.dtype("x"), question.attribute::<DType>("dtype")?);
            let is_complex = |dtype: DType| dtype.code() == TypeCode::Complex;
            if is_complex(from) && !is_complex(to) && to != DType::BOOL {
                let error = ArgumentError::dtype("x", from, "real numbers");
                let reason = format!("can't cast {from} to {to}, as the imaginary part would be lost");
                return Err(error.with_reason(reason).with_remedy("cast the real part").into());
            }
            Ok(())
        })
        .elementwise()
        .gradient("x", "cast(dout, dtype=dtype(x))")
);

// The frame checks the bytes of this one.
register_kernel!(
    kernel_from(&[DType::BOOL]).factory(|context: &KernelContext<'_>| {
        let converters = Converters::new(context, vec![DType::BOOL])?;
        Ok(move |x: View<'_, bool>, out: UntypedMut<'_>| {
            converters.convert(&x.into_operand(), &out)
        })
    })
);
register_kernel!(
    kernel_from(&numbers(|code| code != TypeCode::Bool)).factory(|context: &KernelContext<'_>| {
        let from = numbers(|code| code != TypeCode::Bool);
        let converters = Converters::new(context, from)?;
        Ok(move |x: Untyped<'_>, out: UntypedMut<'_>| converters.convert(&x, &out))
    })
);

fn kernel_from(types: &[DType]) -> Kernel {
    Kernel::new("cast")
        .fills_results()
        .types("S", types)
        .attribute("dtype", numbers(|_| true))
        .releases_gil_from(1 << 16)
}

/// Returns the dtypes of numbers with such a code.
fn numbers(is_among: impl Fn(TypeCode) -> bool) -> Vec<DType> {
    let is_number = |dtype: &DType| dtype.code() != TypeCode::Handle && is_among(dtype.code());
    DType::ALL.iter().copied().filter(is_number).collect()
}

/// Conversions to one dtype, by the codes of the dtypes that they convert from. They are made
/// beforehand, as making one takes as long as converting hundreds of elements.
struct Converters([Vec<(DType, Converter)>; TypeCode::ALL.len()]);

impl Converters {
    fn new(context: &KernelContext<'_>, from: Vec<DType>) -> Result<Self, Failure> {
        let (to, saturates) = (context.attribute("dtype")?, context.attribute("saturate")?);
        let mut by_code = [const { Vec::new() }; TypeCode::ALL.len()];
        for from in from {
            if let Some(converter) = Converter::new(from, to, saturates) {
                by_code[from.code() as usize].push((from, converter));
            }
        }
        Ok(Self(by_code))
    }

    /// Writes the elements of `x` to those of `out`, as [`convert_elements`].
    fn convert(&self, x: &Operand<'_>, out: &Operand<'_>) -> Result<(), Failure> {
        let from = x.dtype();
        let mut of_code = self.0[from.code() as usize].iter();
        let known = of_code.find(|(dtype, _)| dtype.number() == from.number());
        convert_elements(x, out, known.map(|(_, converter)| converter))
    }
}

/// Writes the elements of `x` to those of `out`, as [`convert_elements`].
pub(super) fn cast_elements(x: &Operand<'_>, out: &Operand<'_>) -> Result<(), Failure> {
    let converter = Converter::new(x.dtype(), out.dtype(), false);
    convert_elements(x, out, converter.as_ref())
}

/// Writes the elements of `x` to those of `out`, which the frame gave to this kernel alone to
/// write, and which has the same shape, by the conversion from the one's dtype to the other's.
fn convert_elements(
    x: &Operand<'_>,
    out: &Operand<'_>,
    converter: Option<&Converter>,
) -> Result<(), Failure> {
    let Some(converter) = converter else {
        let (from, to) = (x.dtype(), out.dtype());
        return Err(format!("the kernel doesn't convert {from} to {to}").into());
    };
    let (ours, theirs) = (x.layout(), out.layout());
    if ours.is_empty() {
        return Ok(());
    }
    let sides = Sides {
        from: Side::new(x),
        to: Side::new(out),
        converter,
    };
    let are_in_order = ours.is_contiguous() && theirs.is_contiguous();
    // What is in order and one thread's needs no tiles.
    let is_plain = are_in_order && ours.len() < LEAST_PER_THREAD;
    if !is_plain && let (Some(from), Some(to)) = (x.dtype().item_bytes(), out.dtype().item_bytes())
    {
        fn side<'a>(operand: &Operand<'a>, item: usize) -> compute::Operand<'a> {
            compute::Operand {
                first: operand.data_ptr().cast_mut(),
                layout: operand.layout(),
                item,
            }
        }
        let settings = Settings {
            grain: LEAST_PER_THREAD,
            only_writes: true,
            takes_over_second: false,
            selects: false,
        };
        // SAFETY: the operands have the same shape, and the frame checked that `out` may be written
        // and doesn't overlap `x`; a tile has as many elements of both.
        unsafe {
            for_each_tile(
                &[side(out, to), side(x, from)],
                settings,
                &|[to, from], len| {
                    converter.run(from, to, len);
                },
            );
        }
    } else if are_in_order {
        threads::for_each_range(ours.len(), LEAST_PER_THREAD, |range| {
            let run = Run {
                offset: range.start as isize,
                len: range.len(),
                step: 1,
            };
            // SAFETY: elements of both operands, which no other thread has: ranges begin at
            // multiples of eight elements, which are whole bytes.
            unsafe { sides.convert(run, run) };
        });
    } else {
        // SAFETY: the layouts lead to the elements of both operands.
        in_step(ours, theirs, |read, write| unsafe {
            sides.convert(read, write);
        });
    }
    Ok(())
}

/// How many elements are worth another thread. A multiple of eight.
const LEAST_PER_THREAD: usize = 1 << 15;

/// How many elements are gathered at once.
const BLOCK: usize = 512;

/// Elements in memory.
#[derive(Clone, Copy)]
struct Side {
    /// Address of the element of index 0.
    first: *mut u8,
    /// How many bits an element takes.
    bits: usize,
}

impl Side {
    fn new(operand: &Operand<'_>) -> Self {
        Self {
            first: operand.data_ptr().cast_mut(),
            bits: operand.dtype().step_bits(operand.is_padded()),
        }
    }

    /// Returns the address of a run's elements if they follow each other, each in bytes of its own.
    fn contiguous(self, run: Run) -> Option<*mut u8> {
        let is_contiguous = (run.step == 1 || run.len == 1) && self.bits.is_multiple_of(8);
        is_contiguous.then(|| {
            self.first
                .wrapping_offset(run.offset * (self.bits / 8) as isize)
        })
    }

    /// Copies a run's elements to where they follow each other.
    ///
    /// # Safety
    ///
    /// The run's elements can be read, and `to` is valid for writes of as many, each in bytes of
    /// its own.
    unsafe fn gather(self, run: Run, to: *mut u8) {
        // SAFETY: the elements of the run, and memory for as many, as the caller promises.
        unsafe {
            match self.bits {
                8 => gather::<1>(self.first, run, to),
                16 => gather::<2>(self.first, run, to),
                32 => gather::<4>(self.first, run, to),
                64 => gather::<8>(self.first, run, to),
                128 => gather::<16>(self.first, run, to),
                bits if run.step == 1 => {
                    unpack(bits, self.first, run.offset * bits as isize, to, run.len);
                }
                bits => {
                    for at in 0..run.len {
                        let bit = (run.offset + run.step * at as isize) * bits as isize;
                        unpack(bits, self.first, bit, to.add(at), 1);
                    }
                }
            }
        }
    }

    /// Copies elements that follow each other to those of a run.
    ///
    /// # Safety
    ///
    /// The run's elements can be written, and the bytes that they are in be read, and `from` is
    /// valid for reads of as many, each in bytes of its own.
    unsafe fn scatter(self, run: Run, from: *const u8) {
        // SAFETY: the elements of the run, and memory for as many, as the caller promises.
        unsafe {
            match self.bits {
                8 => scatter::<1>(self.first, run, from),
                16 => scatter::<2>(self.first, run, from),
                32 => scatter::<4>(self.first, run, from),
                64 => scatter::<8>(self.first, run, from),
                128 => scatter::<16>(self.first, run, from),
                bits if run.step == 1 => {
                    pack(bits, from, self.first, run.offset * bits as isize, run.len);
                }
                bits => {
                    for at in 0..run.len {
                        let bit = (run.offset + run.step * at as isize) * bits as isize;
                        pack(bits, from.add(at), self.first, bit, 1);
                    }
                }
            }
        }
    }
}

/// # Safety
///
/// The same as for [`Side::gather`], with elements of `N` bytes.
unsafe fn gather<const N: usize>(first: *const u8, run: Run, to: *mut u8) {
    let (first, to) = (first.cast::<[u8; N]>(), to.cast::<[u8; N]>());
    for at in 0..run.len {
        // SAFETY: an element of the run, and its place in the target.
        unsafe {
            let from = first.offset(run.offset + run.step * at as isize);
            to.add(at).write(from.read());
        }
    }
}

/// # Safety
///
/// The same as for [`Side::scatter`], with elements of `N` bytes.
unsafe fn scatter<const N: usize>(first: *mut u8, run: Run, from: *const u8) {
    let (first, from) = (first.cast::<[u8; N]>(), from.cast::<[u8; N]>());
    for at in 0..run.len {
        // SAFETY: an element of the run, and its place in the source.
        unsafe {
            let to = first.offset(run.offset + run.step * at as isize);
            to.write(from.add(at).read());
        }
    }
}

/// The elements that are read, and those that are written.
struct Sides<'a> {
    from: Side,
    to: Side,
    converter: &'a Converter,
}

// SAFETY: each thread uses the addresses for elements of its own, as `Sides::convert` requires.
unsafe impl Sync for Sides<'_> {}

impl Sides<'_> {
    /// Converts the elements of a run to those of another one, which has as many.
    ///
    /// # Safety
    ///
    /// The elements of `read` can be read and those of `write` written; no other thread uses the
    /// bytes that they are in to write or, for those of `write`, to read.
    unsafe fn convert(&self, read: Run, write: Run) {
        // SAFETY: the elements of both runs; the blocks have room for as many as are gathered.
        unsafe {
            if let (Some(from), Some(to)) = (self.from.contiguous(read), self.to.contiguous(write))
            {
                return self.converter.run(from, to, read.len);
            }
            let mut blocks = [[const { MaybeUninit::<u128>::uninit() }; BLOCK]; 2];
            let [gathered, converted] = blocks.each_mut().map(|block| block.as_mut_ptr().cast());
            let mut at = 0;
            while at < read.len {
                let len = BLOCK.min(read.len - at);
                let part = |run: Run| Run {
                    offset: run.offset + run.step * at as isize,
                    len,
                    step: run.step,
                };
                let (read, write) = (part(read), part(write));
                let from = self.from.contiguous(read).unwrap_or_else(|| {
                    self.from.gather(read, gathered);
                    gathered
                });
                match self.to.contiguous(write) {
                    Some(to) => self.converter.run(from, to, len),
                    None => {
                        self.converter.run(from, converted, len);
                        self.to.scatter(write, converted);
                    }
                }
                at += len;
            }
        }
    }
}

/// Returns the numbers as elements of another type: floats are rounded, integers wrap around, and
/// what isn't 0 is true.
///
/// # Errors
///
/// When the elements are complex and `dtype` is real, or either is a handle or a vector type.
pub fn cast<'a>(x: impl IntoOperand<'a>, dtype: DType) -> Result<Tensor, CallError> {
    static CAST: GlobalOp = GlobalOp::new("cast");
    let call = CAST.get()?.call().input(x);
    call.attribute("dtype", dtype).make()
}
