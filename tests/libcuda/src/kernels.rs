//! Modules, their functions, and what a launch of one does: the callback that a test registered, or
//! nothing.

use crate::abi::Stream;
use crate::access::{How, Rows, Touch};
use crate::codes::{Code, Outcome};
use crate::driver::Driver;
use crate::ptx::Entry;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};

/// One argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) size: usize,
    pub(crate) align: usize,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

impl Argument {
    /// An argument of a kernel that is known by its PTX alone: what looks like a pointer may be
    /// read.
    pub(crate) fn unspecified(size: usize, align: usize) -> Argument {
        Argument {
            size,
            align,
            reads: size >= 8,
            writes: false,
        }
    }
}

/// A launch, as a registered kernel sees it.
#[repr(C)]
#[derive(Debug)]
pub struct CudaDoubleLaunch {
    /// The function's name.
    pub name: *const c_char,
    /// Blocks in x, y and z.
    pub grid: [c_uint; 3],
    /// Threads in x, y and z.
    pub block: [c_uint; 3],
    /// Bytes of dynamic shared memory.
    pub shared: c_uint,
    /// Pointers to the arguments' values.
    pub arguments: *const *const c_void,
    /// How many arguments there are.
    pub count: usize,
    /// The stream on which it runs.
    pub stream: Stream,
}

/// What a test registers: it returns 0, or the code with which the launch fails.
pub type CudaDoubleKernel =
    unsafe extern "C" fn(launch: *const CudaDoubleLaunch, data: *mut c_void) -> c_int;

#[derive(Clone)]
pub(crate) struct Callback {
    pub(crate) function: CudaDoubleKernel,
    pub(crate) data: usize,
}

pub(crate) struct Registered {
    pub(crate) arguments: Vec<Argument>,
    pub(crate) callback: Callback,
}

/// Reads a signature: one word for each argument, letters and a size in bytes, which is 8 if it
/// isn't said.
pub(crate) fn parse_signature(text: &str) -> Option<Vec<Argument>> {
    let parse = |word: &str| {
        let digits = word
            .find(|character: char| character.is_ascii_digit())
            .unwrap_or(word.len());
        let (letters, size) = word.split_at(digits);
        let size = if size.is_empty() {
            8
        } else {
            size.parse().ok()?
        };
        let (reads, writes) = match letters {
            "v" => (false, false),
            "r" => (true, false),
            "w" => (false, true),
            "rw" => (true, true),
            _ => return None,
        };
        Some(Argument {
            size,
            align: natural_alignment(size),
            reads,
            writes,
        })
    };
    text.split_whitespace().map(parse).collect()
}

pub(crate) fn natural_alignment(size: usize) -> usize {
    if size.is_power_of_two() {
        size.min(16)
    } else {
        8.min(1 << size.trailing_zeros())
    }
}

pub(crate) struct LoadedModule {
    pub(crate) context: u32,
    /// The kernels that the PTX defines; nothing is known of images in other forms.
    pub(crate) entries: Option<BTreeMap<String, Entry>>,
    pub(crate) functions: BTreeMap<String, u32>,
    pub(crate) globals: BTreeMap<String, u64>,
}

pub(crate) struct LoadedFunction {
    pub(crate) module: u32,
    pub(crate) context: u32,
    pub(crate) name: CString,
    pub(crate) arguments: Option<Vec<Argument>>,
    pub(crate) attributes: BTreeMap<i32, i32>,
}

/// A launch that waits in a stream, with the values that its arguments had.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) module: u32,
    pub(crate) name: String,
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared: c_uint,
    pub(crate) arguments: Vec<(Argument, Vec<u8>)>,
}

impl Launch {
    /// The addresses of the driver's memory in the arguments: of pointers, and of structures that
    /// hold pointers.
    fn pointers(&self, driver: &Driver) -> Vec<(u64, Argument)> {
        let pointing = self
            .arguments
            .iter()
            .filter(|(argument, _)| argument.reads || argument.writes);
        let words = pointing.flat_map(|(argument, value)| {
            value.chunks_exact(8).map(|word| {
                (
                    u64::from_ne_bytes(word.try_into().expect("eight bytes")),
                    *argument,
                )
            })
        });
        words
            .filter(|&(address, _)| driver.memory.find(address).is_some())
            .collect()
    }

    /// A kernel that is given a pointer may use all of the allocation.
    pub(crate) fn touches(&self, driver: &Driver) -> Vec<Touch> {
        let whole = |address| {
            driver
                .memory
                .find(address)
                .map(|found| Rows::flat(found.start, found.size))
        };
        let mut touches = Vec::new();
        for (address, argument) in self.pointers(driver) {
            let Some(rows) = whole(address) else { continue };
            touches.extend(argument.reads.then_some(Touch {
                rows,
                how: How::Reads,
            }));
            touches.extend(argument.writes.then_some(Touch {
                rows,
                how: How::Writes,
            }));
        }
        touches
    }

    /// The allocations that the kernel uses, and whether it writes each.
    pub(crate) fn allocations(&self, driver: &Driver) -> BTreeMap<u64, bool> {
        let mut allocations = BTreeMap::new();
        for (address, argument) in self.pointers(driver) {
            let start = driver
                .memory
                .find(address)
                .map_or(address, |found| found.start);
            *allocations.entry(start).or_default() |= argument.writes;
        }
        allocations
    }

    pub(crate) fn words(&self, driver: &Driver) -> String {
        let value = |(argument, bytes): &(Argument, Vec<u8>)| {
            let mut number = [0; 8];
            let length = bytes.len().min(8);
            number[..length].copy_from_slice(&bytes[..length]);
            match u64::from_ne_bytes(number) {
                _ if argument.size > 8 => format!("{} bytes", argument.size),
                address if argument.size == 8 && driver.memory.find(address).is_some() => {
                    driver.memory.words(address)
                }
                number => number.to_string(),
            }
        };
        let arguments: Vec<String> = self.arguments.iter().map(value).collect();
        format!(
            "{}<<<{:?}, {:?}, {}>>>({})",
            self.name,
            self.grid,
            self.block,
            self.shared,
            arguments.join(", ")
        )
    }
}

/// Runs a registered kernel.
pub(crate) fn call(kernel: &Callback, launch: &Launch, stream: Stream) -> Outcome {
    let name = CString::new(launch.name.as_str()).unwrap_or_default();
    let arguments: Vec<*const c_void> = launch
        .arguments
        .iter()
        .map(|(_, value)| value.as_ptr().cast())
        .collect();
    let seen = CudaDoubleLaunch {
        name: name.as_ptr(),
        grid: launch.grid,
        block: launch.block,
        shared: launch.shared,
        arguments: arguments.as_ptr(),
        count: arguments.len(),
        stream,
    };
    // SAFETY: the test registered the function with the data that it takes, and the launch lives
    // during the call.
    match unsafe { (kernel.function)(&seen, kernel.data as *mut c_void) } {
        0 => Ok(()),
        code => Err(Code(code)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Argument, parse_signature};

    #[test]
    fn signatures_say_what_is_read_and_written() {
        let [input, output, count] = parse_signature("r rw24 v4").unwrap()[..] else {
            panic!("three arguments")
        };
        assert_eq!(
            input,
            Argument {
                size: 8,
                align: 8,
                reads: true,
                writes: false
            }
        );
        assert_eq!(
            output,
            Argument {
                size: 24,
                align: 8,
                reads: true,
                writes: true
            }
        );
        assert_eq!(
            count,
            Argument {
                size: 4,
                align: 4,
                reads: false,
                writes: false
            }
        );
        assert_eq!(parse_signature("x4"), None);
    }
}
