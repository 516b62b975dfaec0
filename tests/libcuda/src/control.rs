//! Functions of the double for tests, besides the driver's own. All may be called at any time.

use crate::abi::{Host, Stream, Text};
use crate::access::Rows;
use crate::allocation::Kind;
use crate::codes::Code;
use crate::driver::Locked;
use crate::kernels::{Callback, CudaDoubleKernel, Registered, parse_signature};
use crate::work::{Action, Operation};
use std::ffi::{CString, c_char, c_int, c_void};

/// Forgets everything: the driver is as before `cuInit`. Addresses that were given out stay taken,
/// and closed.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDoubleReset() {
    Locked::take().reset();
}

/// The journal: a line for each call and for each operation that ran. To be given to
/// [`cudaDoubleFreeText`].
#[unsafe(no_mangle)]
pub extern "C" fn cudaDoubleJournal() -> *mut c_char {
    text(Locked::take().record.journal())
}

/// The mistakes that were found, one a line. To be given to [`cudaDoubleFreeText`].
#[unsafe(no_mangle)]
pub extern "C" fn cudaDoubleMistakes() -> *mut c_char {
    text(Locked::take().record.mistakes())
}

/// The live allocations, one a line. To be given to [`cudaDoubleFreeText`].
#[unsafe(no_mangle)]
pub extern "C" fn cudaDoubleAllocations() -> *mut c_char {
    let driver = Locked::take();
    let line = |found: &crate::allocation::Allocation| {
        let (words, kind) = (driver.memory.words(found.start), found.kind.word());
        format!(
            "{words}: {} bytes of {kind} on device {} at {:#x}",
            found.size, found.device, found.start
        )
    };
    text(
        driver
            .memory
            .live()
            .map(line)
            .collect::<Vec<_>>()
            .join("\n"),
    )
}

/// Frees a text that the double returned.
///
/// # Safety
///
/// The text must come from the double, and must not be used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDoubleFreeText(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: `text` came from the double's `CString::into_raw` and is not used again, by this
        // function's contract.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// Forgets the journal.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDoubleForgetJournal() {
    Locked::take().record.forget_journal();
}

/// Forgets the mistakes, which a test does that made them on purpose.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDoubleForgetMistakes() {
    Locked::take().record.forget_mistakes();
}

/// How many there are of `memory` (of all kinds), `device memory`, `pinned memory`, `managed
/// memory`, `bytes` (of all memory), `contexts` (that are retained or were made), `streams` (that
/// were made), `events`, `modules`, `pools` (besides the devices' own), `graphs`, `executable
/// graphs`, and operations that are `pending`, or `pending on host`, of which the host's pageable
/// memory must wait for the end. -1 for other names.
///
/// # Safety
///
/// The name must be a string of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDoubleLive(what: *const c_char) -> i64 {
    let driver = Locked::take();
    let memory = |kinds: &[Kind]| {
        driver
            .memory
            .live()
            .filter(|found| kinds.contains(&found.kind))
            .count()
    };
    let count = match Text(what).read().unwrap_or_default().as_str() {
        "memory" => driver.memory.live().count(),
        "device memory" => memory(&[Kind::Device, Kind::StreamOrdered, Kind::OfGraph]),
        "pinned memory" => memory(&[Kind::Pinned, Kind::Registered]),
        "managed memory" => memory(&[Kind::Managed]),
        "bytes" => driver.memory.live().map(|found| found.size as usize).sum(),
        "contexts" => driver
            .contexts
            .live
            .values()
            .filter(|context| context.holds > 0)
            .count(),
        "streams" => driver
            .streams
            .live
            .values()
            .filter(|stream| stream.was_made())
            .count(),
        "events" => driver.events.live.len(),
        "modules" => driver.modules.live.len(),
        "pools" => driver.pools.live.len() - driver.devices.len(),
        "graphs" => driver.graphs.live.len(),
        "executable graphs" => driver.executables.live.len(),
        "pending" => driver.work.pending.len(),
        "pending on host" => {
            let of_host = |rows: &Rows| driver.memory.find(rows.start).is_none();
            let uses_host = |operation: &&Operation| match &operation.action {
                Action::Copy { from, to, staged } => {
                    of_host(to) || (staged.is_none() && of_host(from))
                }
                _ => false,
            };
            driver.work.pending.values().filter(uses_host).count()
        }
        _ => return -1,
    };
    count as i64
}

/// How often a function was called; any function, if the name is null or empty.
///
/// # Safety
///
/// The name must be null or a string of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDoubleCalls(function: *const c_char) -> u64 {
    Locked::take()
        .record
        .calls(&Text(function).read().unwrap_or_default())
}

/// Makes the n-th call from now on of a function (of any, if the name is null or empty) return a
/// code and do nothing.
///
/// # Safety
///
/// The name must be null or a string of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDoubleFail(function: *const c_char, nth: u64, code: c_int) {
    let function = Text(function).read().ok().filter(|name| !name.is_empty());
    Locked::take().record.fail(function, nth, Code(code));
}

/// Lets calls succeed again that were to fail.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDoubleForgetFailures() {
    let mut driver = Locked::take();
    driver.record.forget_failures();
    driver.work.failures.clear();
}

/// Whether streams run their work as late as they may (1, as at the start) or as soon as they may
/// (0).
#[unsafe(no_mangle)]
pub extern "C" fn cudaDoubleSetLate(late: c_int) {
    Locked::take().work.eager = late == 0;
}

/// Makes the n-th copy, fill or launch that runs from now on fail with a code, as a kernel that
/// crashes does: the context fails with it, when it is waited for.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDoubleFailWork(nth: u64, code: c_int) {
    let before = nth.max(1) - 1;
    Locked::take().work.failures.push((before, Code(code)));
}

/// Whether copies on streams are late with the host's pageable memory too (1), or done with it when
/// the call returns (0, as at the start). NVIDIA says no more than that such calls may be
/// synchronous.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDoubleSetPageableLate(late: c_int) {
    Locked::take().work.pageable_late = late != 0;
}

/// Has functions write a number where they write an enum: `cuStreamIsCapturing` its status,
/// `cuPointerGetAttributes` the kind of memory, `cuThreadExchangeStreamCaptureMode` the mode that
/// was. It is for the next call alone.
///
/// # Safety
///
/// The name must be a string of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDoubleWrite(function: *const c_char, value: c_int) {
    let function = Text(function).read().unwrap_or_default();
    Locked::take().record.written = Some((function, value));
}

/// The same for one stream, whatever holds for the others: a deliberately slow one among fast ones,
/// or the reverse. Returns 0, or the code of an error.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDoubleSetStreamLate(stream: Stream, late: c_int) -> c_int {
    let mut driver = Locked::take();
    let found = driver.stream(stream);
    match found {
        Ok(id) => {
            driver
                .streams
                .live
                .entry(id)
                .and_modify(|state| state.late = Some(late != 0));
            0
        }
        Err(code) => code.0,
    }
}

/// Registers what a kernel does, under the name of its function.
///
/// The signature has a word for each argument: `r` if the kernel reads through the pointers in it,
/// `w` if it writes, `rw`, or `v` if it is a plain value; then the argument's size in bytes, if
/// that isn't
/// 8. So `r w v4` is a kernel with an input, an output and an `int`. While the callback runs, the
///    memory that the pointers lead to is open to it.
///
/// Returns 0, or 1 if the signature isn't understood.
///
/// # Safety
///
/// The texts must be strings of C, and the callback must take the data for as long as it may be
/// called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDoubleRegisterKernel(
    name: *const c_char,
    signature: *const c_char,
    function: CudaDoubleKernel,
    data: *mut c_void,
) -> c_int {
    let signature = Text(signature)
        .read()
        .ok()
        .and_then(|text| parse_signature(&text));
    let (Ok(name), Some(arguments)) = (Text(name).read(), signature) else {
        return Code::ERROR_INVALID_VALUE.0;
    };
    let callback = Callback {
        function,
        data: data as usize,
    };
    Locked::take().kernels.insert(
        name,
        Registered {
            arguments,
            callback,
        },
    );
    0
}

/// Copies bytes out of any live memory of the driver, without running anything: what is there at
/// this moment. Returns 0, or 1 if the range isn't in one live allocation.
///
/// # Safety
///
/// `bytes` bytes must be writable at `to`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDoublePeek(to: *mut c_void, from: Host, bytes: usize) -> c_int {
    let driver = Locked::take();
    let start = from.0 as u64;
    let inside = driver
        .memory
        .find(start)
        .is_some_and(|found| start + bytes as u64 <= found.start + found.size);
    if !inside {
        return Code::ERROR_INVALID_VALUE.0;
    }
    driver.memory.open(start, false);
    // SAFETY: the range is in one allocation, which is open, and `to` has room for `bytes`, by this
    // function's contract.
    unsafe { std::ptr::copy(from.0.cast::<u8>(), to.cast::<u8>(), bytes) };
    driver.memory.close_at(start);
    0
}

fn text(text: String) -> *mut c_char {
    CString::new(text.replace('\0', "?"))
        .unwrap_or_default()
        .into_raw()
}
