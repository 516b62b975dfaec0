//! Copies of tensors into memory of their own.

use super::{Parts, Tensor};
use crate::compute::copy_items;
use crate::dtype::{read_small_bits, write_small_bits};
use crate::error::Error;
use crate::layout::{Layout, LayoutRef};
use crate::storage::Storage;
use std::{ptr, slice};

impl Tensor {
    /// Copies the elements to new C-contiguous host memory.
    ///
    /// The copy says so ([`is_copied`](Self::is_copied)), belongs to the caller alone and can be
    /// written.
    ///
    /// # Errors
    ///
    /// When the elements can't be reached from the host, or there is not enough memory.
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// let shared = Tensor::from([1, 2, 3]);
    /// let other = shared.clone();
    /// let mut mine = shared.copy()?;
    /// mine.view_mut::<i32>()?.fill(0);
    /// assert_eq!(other.to_vec::<i32>()?, [1, 2, 3]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn copy(&self) -> Result<Self, Error> {
        self.storage().settle()?;
        // SAFETY: every byte is written below: whole elements by their runs, and of packed ones
        // also the bits that follow the last.
        let storage = unsafe { Storage::uninit(self.nbytes()) }?;
        let layout = Layout::contiguous(self.shape())?;
        if !self.is_empty() {
            // SAFETY: the elements are on the host and kept alive by `self`; the new memory has
            // room for all of them, and no other code has it.
            unsafe { self.copy_elements(storage.data_mut(), layout.as_ref()) }
        }
        let parts = Parts {
            storage,
            offset: 0,
            dtype: self.dtype(),
            padded: self.is_padded(),
            copied: true,
        };
        // SAFETY: all elements were written.
        Ok(unsafe { Self::from_parts(parts, layout) })
    }

    /// Returns the tensor itself where its elements lie one after another in row-major order, else
    /// a copy of which that is true.
    ///
    /// # Errors
    ///
    /// The same as for [`copy`](Self::copy).
    pub fn contiguous(&self) -> Result<Self, Error> {
        if self.layout().is_contiguous() {
            Ok(self.clone())
        } else {
            self.copy()
        }
    }

    /// Writes the elements one after another, as the layout says.
    ///
    /// # Safety
    ///
    /// The elements can be read from the host, and `to` is memory for [`nbytes`](Self::nbytes)
    /// bytes that no other code has.
    unsafe fn copy_elements(&self, to: *mut u8, layout: LayoutRef<'_>) {
        let from = self.data_mut();
        if self.layout().is_contiguous() {
            // SAFETY: the elements are `nbytes` bytes without gaps that can be read, and `to` is
            // memory for as many that nothing else has.
            return unsafe { ptr::copy_nonoverlapping(from, to, self.nbytes()) };
        }
        let step_bits = self.dtype().step_bits(self.is_padded());
        // SAFETY: the elements can be read, and the layout leads to places in the memory at `to`,
        // which nothing else has.
        unsafe {
            match step_bits % 8 {
                0 => copy_items((from, self.layout()), (to, layout), step_bits / 8),
                _ => self.copy_bits(from, to, step_bits),
            }
        }
    }

    /// Writes packed elements one after another.
    ///
    /// # Safety
    ///
    /// The same as for [`copy_elements`](Self::copy_elements).
    unsafe fn copy_bits(&self, from: *const u8, to: *mut u8, bits: usize) {
        // SAFETY: `to` is memory for `nbytes` bytes that nothing else has; they are written before
        // the slice exists.
        let to = unsafe {
            ptr::write_bytes(to, 0, self.nbytes());
            slice::from_raw_parts_mut(to, self.nbytes())
        };
        let mut position = 0;
        for run in self.layout().runs() {
            for i in 0..run.len as isize {
                let start = (run.offset + i * run.step) * bits as isize;
                // A vector type may be wider than a byte, and still share one.
                for at in (0..bits).step_by(8) {
                    let (source, count) = (start + at as isize, (bits - at).min(8));
                    let shift = source.rem_euclid(8) as usize;
                    let touched = (shift + count).div_ceil(8);
                    // SAFETY: the bytes that the element touches.
                    let bytes = unsafe {
                        slice::from_raw_parts(from.offset(source.div_euclid(8)), touched)
                    };
                    let value = read_small_bits(bytes, shift, count);
                    write_small_bits(to, position, count, value);
                    position += count;
                }
            }
        }
    }
}
