//! Buffers of a call, as operands.

use super::abi::{self, BUFFER, Buffer, Buffers};
use crate::hosts::operands::{Described, describe_in_place};
use crate::hosts::repeats::{Description, numbers};
use smallvec::SmallVec;
use std::ptr;

/// The arguments of a call, or its results.
pub(super) type Tensors = SmallVec<[Described; 4]>;

/// Appends what all arguments are, or all results.
///
/// # Safety
///
/// The buffers are XLA's, of a call that lasts.
#[inline]
pub(super) unsafe fn describe(list: &Buffers, all: &mut Tensors) -> Result<(), String> {
    if list.struct_size < size_of::<Buffers>() {
        return Err("XLA's lists of buffers have too few fields".to_owned());
    }
    for at in 0..list.count as usize {
        // SAFETY: there are as many kinds and buffers, which are XLA's.
        let described = unsafe {
            match *list.kinds.add(at) {
                BUFFER => push(&**list.buffers.add(at), all),
                kind => Err(format!("expected a buffer, got XLA's {kind}")),
            }
        };
        described.map_err(|problem| format!("tensor {at}: {problem}"))?;
    }
    Ok(())
}

/// Appends what tells all arguments, or all results, apart from others. Returns whether they are as
/// they should be; [`describe`] says what is wrong.
///
/// # Safety
///
/// The buffers are XLA's, of a call that lasts.
#[inline]
pub(super) unsafe fn tell_apart(list: &Buffers, call: &mut Description) -> bool {
    if list.struct_size < size_of::<Buffers>() {
        return false;
    }
    for at in 0..list.count as usize {
        // SAFETY: there are as many kinds.
        if unsafe { *list.kinds.add(at) } != BUFFER {
            return false;
        }
        // SAFETY: there are as many buffers, of which this is one by its kind.
        let buffer = unsafe { &**list.buffers.add(at) };
        if buffer.struct_size < size_of::<Buffer>() {
            return false;
        }
        // SAFETY: a buffer has as many sizes as its rank says, or NULL.
        let Some(sizes) = (unsafe { numbers(buffer.sizes, buffer.rank) }) else {
            return false;
        };
        call.add_tensor(buffer.data, buffer.dtype as u32, sizes, None);
    }
    true
}

/// Appends memory, layout and dtype of a buffer.
#[inline]
fn push(buffer: &Buffer, all: &mut Tensors) -> Result<(), String> {
    if buffer.struct_size < size_of::<Buffer>() {
        return Err("XLA's buffers have too few fields".to_owned());
    }
    let rank = i32::try_from(buffer.rank).map_err(|error| error.to_string())?;
    let dims = (rank, buffer.sizes, ptr::null());
    // SAFETY: a buffer has as many sizes as dimensions; without strides it is row-major.
    let valid = unsafe { describe_in_place(all, buffer.data, abi::dtype(buffer.dtype)?, dims) };
    valid.map_err(|error| error.to_string())
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
