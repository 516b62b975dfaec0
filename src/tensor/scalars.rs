//! Elements of any type, one by one.

use super::Tensor;
use crate::dtype::Scalar;
use crate::error::{AccessError, Error};
use std::slice;

impl Tensor {
    /// The numbers that the elements consist of, whatever their type, the last index changing
    /// fastest. Of elements of several lanes, one after another.
    ///
    /// This is the slow way, for tools that handle every type; [`view`](Self::view) is the fast
    /// one.
    ///
    /// # Errors
    ///
    /// When the elements can't be reached from the host.
    ///
    /// ```
    /// use dlbridge::dtype::Scalar;
    /// use dlbridge::Tensor;
    ///
    /// let tensor = Tensor::from([true, false]);
    /// let scalars: Vec<Scalar> = tensor.scalars()?.collect();
    /// assert_eq!(scalars, [Scalar::Bool(true), Scalar::Bool(false)]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn scalars(&self) -> Result<impl Iterator<Item = Scalar> + '_, Error> {
        let device = self.device();
        if !device.is_host_accessible() {
            return Err(AccessError::NotOnHost { device }.into());
        }
        let offsets = self
            .layout()
            .runs()
            .flat_map(|run| (0..run.len as isize).map(move |i| run.offset + i * run.step));
        Ok(offsets.flat_map(move |offset| {
            (0..usize::from(self.dtype().lanes())).map(move |lane| self.lane(offset, lane))
        }))
    }

    /// One lane of the element at `offset`, counted in elements from the one of index 0.
    pub(super) fn lane(&self, offset: isize, lane: usize) -> Scalar {
        let bits = usize::from(self.dtype().bits());
        let at =
            offset * self.dtype().step_bits(self.is_padded()) as isize + (lane * bits) as isize;
        let shift = at.rem_euclid(8) as usize;
        let touched = (shift + bits).div_ceil(8);
        let first = self.data_ptr().wrapping_offset(at.div_euclid(8));
        // SAFETY: the bytes that an element of the layout touches: on the host, as was checked,
        // and kept alive by the storage; nobody writes them, as in `view`.
        let bytes = unsafe { slice::from_raw_parts(first, touched) };
        Scalar::read(self.dtype(), bytes, shift)
    }
}
