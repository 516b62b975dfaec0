//! Buffers of a call, as operands.

use super::abi::{self, BUFFER, Buffer, Buffers};
use crate::device::Device;
use crate::dtype::DType;
use crate::kernel::Operand;
use crate::layout::Layout;
use smallvec::SmallVec;

/// What an operand is made of.
pub(super) struct Described {
    pub(super) first: *mut u8,
    pub(super) layout: Layout,
    pub(super) dtype: DType,
}

impl Described {
    /// Returns memory, layout and dtype of a buffer.
    ///
    /// # Safety
    ///
    /// The buffer is one of XLA's, of a call that lasts.
    unsafe fn new(buffer: *const Buffer) -> Result<Self, String> {
        // SAFETY: the buffer is one of XLA's, as this function requires.
        let buffer = unsafe { &*buffer };
        if buffer.struct_size < size_of::<Buffer>() {
            return Err("XLA's buffers have too few fields".to_owned());
        }
        let sizes = match buffer.rank {
            0 => &[][..],
            // SAFETY: a buffer has as many sizes as dimensions.
            rank => unsafe { std::slice::from_raw_parts(buffer.sizes, rank as usize) },
        };
        let sizes: SmallVec<[usize; 8]> = sizes.iter().map(|size| *size as usize).collect();
        Ok(Self {
            first: buffer.data,
            layout: Layout::contiguous(&sizes).map_err(|error| error.to_string())?,
            dtype: abi::dtype(buffer.dtype)?,
        })
    }

    pub(super) fn nbytes(&self) -> usize {
        self.layout.len() * self.dtype.item_bytes().unwrap_or(0)
    }

    /// Returns whether another buffer has the same shape and dtype.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.dtype == other.dtype && self.layout.shape() == other.layout.shape()
    }

    /// Returns the operand.
    ///
    /// # Safety
    ///
    /// The buffer is one of a call that lasts as long as the operand is in use; if it is to be
    /// written, it is a result's.
    pub(super) unsafe fn operand(&self, writes: bool) -> Operand<'_> {
        let (first, layout) = (self.first, self.layout.as_ref());
        // SAFETY: XLA keeps arguments and results of a call until it is over, with all elements;
        // it writes no arguments meanwhile, and uses no results.
        unsafe { Operand::from_raw(first, layout, self.dtype, Device::CPU, false, writes) }
    }
}

/// Returns what all arguments are, or all results.
///
/// # Safety
///
/// The buffers are XLA's, of a call that lasts.
pub(super) unsafe fn describe(list: &Buffers) -> Result<SmallVec<[Described; 4]>, String> {
    if list.struct_size < size_of::<Buffers>() {
        return Err("XLA's lists of buffers have too few fields".to_owned());
    }
    let mut all = SmallVec::new();
    for at in 0..list.count as usize {
        // SAFETY: there are as many kinds and buffers.
        let described = unsafe {
            match *list.kinds.add(at) {
                BUFFER => Described::new(*list.buffers.add(at)),
                kind => Err(format!("expected a buffer, got XLA's {kind}")),
            }
        };
        all.push(described.map_err(|problem| format!("tensor {at}: {problem}"))?);
    }
    Ok(all)
}

/// Which of the op's inputs the arguments of a call are.
pub(super) struct Places {
    /// By argument.
    pub(super) of: SmallVec<[usize; 4]>,
    /// Bits of the inputs that are given or left out.
    pub(super) present: u32,
}

impl Places {
    /// Returns the places of `count` arguments. `given` has a bit for each input that is given, if
    /// that isn't known by their number.
    pub(super) fn new(
        op: &crate::kernel::Op,
        count: usize,
        given: Option<u64>,
    ) -> Result<Self, String> {
        let inputs = op.given();
        let mut places = Self {
            of: SmallVec::new(),
            present: 0,
        };
        for at in 0..inputs {
            let left = count - places.of.len();
            let is_given = match given {
                Some(given) => given & (1 << at) != 0,
                None => left > 0,
            };
            if is_given && left == 0 {
                break;
            }
            let several = match op.variadic() == Some(at) {
                true => left,
                false => usize::from(is_given),
            };
            places.of.extend(std::iter::repeat_n(at, several));
            if several > 0 {
                places.present |= 1 << at;
            }
        }
        let expected = given.map_or(inputs, |given| given.count_ones() as usize);
        if places.of.len() != count
            || given.is_some() && op.variadic().is_none() && count < expected
        {
            return Err(format!("expected {expected} tensors, got {count}"));
        }
        Ok(places)
    }
}
