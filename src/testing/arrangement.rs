//! Arrangements of a tensor's elements in memory.

use crate::tensor::Tensor;
use std::fmt;

/// How a tensor's elements are arranged in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Arrangement {
    /// Row-major, from an aligned address.
    Contiguous,
    /// The first axis has the smallest stride.
    Transposed,
    /// Every second element of a longer last axis.
    Gaps,
    /// Rows, each followed by room for one more element.
    PaddedRows,
    /// All strides are negative.
    Reversed,
    /// Row-major, from one element past an aligned address.
    Offset,
    /// Stride 0 along the axes where all elements are equal. Only for tensors that aren't written.
    Repeated,
}

impl Arrangement {
    /// All arrangements.
    pub const ALL: [Self; 7] = [
        Self::Contiguous,
        Self::Transposed,
        Self::Gaps,
        Self::PaddedRows,
        Self::Reversed,
        Self::Offset,
        Self::Repeated,
    ];

    /// Returns those in which this tensor's elements lie at different places.
    pub(super) fn distinct(all: &[Self], tensor: &Tensor, is_written: bool) -> Vec<Self> {
        let mut seen: Vec<(bool, Vec<isize>)> = Vec::new();
        let mut distinct = Vec::new();
        for arrangement in all {
            if is_written && *arrangement == Self::Repeated {
                continue;
            }
            let memory = Memory::new(*arrangement, tensor);
            let dims = memory.tensor.strides().iter().zip(tensor.shape());
            let strides = dims
                .filter(|(_, size)| **size > 1)
                .map(|(stride, _)| *stride);
            let place = (*arrangement == Self::Offset, strides.collect());
            if !seen.contains(&place) {
                seen.push(place);
                distinct.push(*arrangement);
            }
        }
        distinct
    }
}

impl fmt::Display for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Contiguous => "contiguous",
            Self::Transposed => "transposed in memory",
            Self::Gaps => "every second element",
            Self::PaddedRows => "padded rows",
            Self::Reversed => "negative strides",
            Self::Offset => "one element past an aligned address",
            Self::Repeated => "stride 0 where values are equal",
        })
    }
}

/// A tensor in memory that nothing else uses, with bytes around its elements that are known.
pub(super) struct Memory {
    /// All elements, and what lies between them.
    whole: Tensor,
    pub(super) tensor: Tensor,
}

impl Memory {
    /// Returns the elements of a tensor, in this arrangement.
    pub(super) fn new(arrangement: Arrangement, elements: &Tensor) -> Self {
        let memory = Self::blank(arrangement, elements);
        memory.write(elements);
        memory
    }

    /// Returns room for a tensor like this one, with other elements.
    pub(super) fn blank(arrangement: Arrangement, like: &Tensor) -> Self {
        let (shape, item) = (like.shape(), item(like));
        let last = shape.last().copied().unwrap_or(1);
        let repeated: Vec<usize> = match arrangement {
            Arrangement::Repeated => (0..shape.len())
                .map(|axis| {
                    if is_constant(like, axis) {
                        1
                    } else {
                        shape[axis]
                    }
                })
                .collect(),
            _ => Vec::new(),
        };
        let len = match arrangement {
            Arrangement::Gaps => 2 * like.len(),
            Arrangement::PaddedRows if last > 0 => like.len() / last * (last + 1),
            Arrangement::Offset => like.len() + 1,
            Arrangement::Repeated => repeated.iter().product(),
            _ => like.len(),
        };
        let whole = Tensor::zeroed(&[len], like.dtype()).expect("there is memory for a test");
        // Any byte is good where elements are numbers.
        let pattern = if item == 1 { 0x01 } else { 0xa5 };
        // SAFETY: new memory of `len` elements, which nothing else uses. The pattern is a value of
        // every type: of `bool` it is true.
        unsafe { whole.data_mut().write_bytes(pattern, len * item) };
        let tensor = arranged(arrangement, &whole, shape, &repeated);
        let tensor = tensor.expect("the memory has room for the arrangement");
        Self { whole, tensor }
    }

    /// Writes the elements of a tensor of the same shape and dtype.
    fn write(&self, elements: &Tensor) {
        let (item, from) = (item(elements), bytes(elements));
        if self.tensor.layout().is_contiguous() {
            // SAFETY: there are as many elements, side by side, in memory that nothing else uses.
            unsafe {
                self.tensor
                    .data_mut()
                    .copy_from_nonoverlapping(from.as_ptr(), from.len())
            };
            return;
        }
        for (to, from) in offsets(&self.tensor).zip(from.chunks_exact(item)) {
            let to = self.tensor.data_mut().wrapping_offset(to * item as isize);
            // SAFETY: the layout leads to elements of memory that nothing else uses. Elements that
            // share a place are equal.
            unsafe { to.copy_from_nonoverlapping(from.as_ptr(), item) };
        }
    }

    /// Returns all bytes, also those that aren't elements.
    pub(super) fn bytes(&self) -> Vec<u8> {
        bytes(&self.whole)
    }

    /// Returns the first byte that isn't as before, of those that aren't elements if the elements
    /// were written.
    pub(super) fn changed(&self, mut before: Vec<u8>, is_written: bool) -> Option<usize> {
        let after = self.bytes();
        let item = item(&self.tensor);
        if is_written {
            let first = self.tensor.data_ptr().addr() - self.whole.data_ptr().addr();
            for (offset, len) in blocks(&self.tensor) {
                let at = first.wrapping_add_signed(offset * item as isize);
                let bytes = at..at + len * item;
                before[bytes.clone()].copy_from_slice(&after[bytes]);
            }
        }
        if before == after {
            return None;
        }
        before
            .iter()
            .zip(&after)
            .position(|(before, after)| before != after)
    }
}

/// Returns a tensor of this arrangement in memory that has room for it.
fn arranged(
    arrangement: Arrangement,
    whole: &Tensor,
    shape: &[usize],
    repeated: &[usize],
) -> Result<Tensor, crate::error::Error> {
    let mut axes = 0..shape.len();
    let longer = |last: usize| match shape {
        [outer @ .., _] => [outer, &[last]].concat(),
        [] => vec![last],
    };
    let last = shape.last().copied().unwrap_or(1);
    match arrangement {
        Arrangement::Contiguous => whole.reshape(shape),
        Arrangement::Transposed => {
            let turned: Vec<usize> = shape.iter().rev().copied().collect();
            let axes: Vec<usize> = axes.rev().collect();
            whole.reshape(&turned)?.permute(&axes)
        }
        Arrangement::Gaps => {
            let longer = whole.reshape(&longer(2 * last))?;
            longer.step_by(longer.rank() - 1, 2)?.reshape(shape)
        }
        Arrangement::PaddedRows if last == 0 => whole.reshape(shape),
        Arrangement::PaddedRows => {
            let longer = whole.reshape(&longer(last + 1))?;
            longer.slice(longer.rank() - 1, ..last)?.reshape(shape)
        }
        Arrangement::Reversed => axes.try_fold(whole.reshape(shape)?, |tensor, axis| {
            tensor.step_by(axis, -1)
        }),
        Arrangement::Offset => whole.slice(0, 1..)?.reshape(shape),
        Arrangement::Repeated => whole.reshape(repeated)?.broadcast_to(shape),
    }
}

/// Returns whether all elements are equal along an axis.
fn is_constant(tensor: &Tensor, axis: usize) -> bool {
    let Ok(first) = tensor.slice(axis, ..tensor.shape()[axis].min(1)) else {
        return false;
    };
    match first.broadcast_to(tensor.shape()) {
        Ok(repeated) => tensor.shape()[axis] > 1 && bytes(&repeated) == bytes(tensor),
        Err(_) => false,
    }
}

/// Returns the size of an element.
///
/// # Panics
///
/// When elements share bytes.
pub(super) fn item(tensor: &Tensor) -> usize {
    let bits = tensor.dtype().step_bits(tensor.is_padded());
    assert!(
        bits.is_multiple_of(8) && tensor.device().is_host_accessible(),
        "expected elements of whole bytes on the host, got {} on {}",
        tensor.dtype(),
        tensor.device()
    );
    bits / 8
}

/// Returns where the elements are, in row-major order, in elements from index 0.
fn offsets(tensor: &Tensor) -> impl Iterator<Item = isize> {
    let runs = tensor.layout().runs();
    runs.flat_map(|run| (0..run.len as isize).map(move |at| run.offset + at * run.step))
}

/// Returns offset and length of elements that lie side by side, in row-major order.
fn blocks(tensor: &Tensor) -> impl Iterator<Item = (isize, usize)> {
    tensor.layout().runs().flat_map(|run| {
        let len = if run.step == 1 { run.len.max(1) } else { 1 };
        let starts = (0..run.len).step_by(len);
        starts.map(move |at| (run.offset + at as isize * run.step, len))
    })
}

/// Returns the bytes of the elements, in row-major order.
pub(super) fn bytes(tensor: &Tensor) -> Vec<u8> {
    let item = item(tensor);
    let mut bytes = Vec::with_capacity(tensor.len() * item);
    for (offset, len) in blocks(tensor) {
        let from = tensor.data_ptr().wrapping_offset(offset * item as isize);
        // SAFETY: the layout leads to elements, of `item` bytes each, on the host, which the tensor
        // keeps; tests write no tensor while its bytes are read.
        let block = unsafe { std::slice::from_raw_parts(from, len * item) };
        bytes.extend_from_slice(block);
    }
    bytes
}
