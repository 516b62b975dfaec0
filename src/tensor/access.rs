//! Typed access to a tensor's elements.

use super::Tensor;
use crate::dtype::Element;
use crate::error::{Error, SharedWith};
use crate::view::{View, ViewMut};
use std::ptr::NonNull;

impl Tensor {
    /// Borrows the elements as `T`s.
    ///
    /// Of `bool` elements each byte is checked, since one that is neither 0 nor 1 isn't a `bool`
    /// in Rust; to save that, [cast](Self::bit_cast) them to `u8`.
    ///
    /// # Errors
    ///
    /// When the elements aren't `T`s, can't be reached from the host, or aren't aligned.
    ///
    /// What the CPU and GPUs use is waited for: it is an error, too, when work on them failed.
    pub fn view<T: Element>(&self) -> Result<View<'_, T>, Error> {
        let first = self.first::<T>()?;
        // SAFETY: the elements are `T`s, aligned, on the host, and kept alive by the storage that
        // is borrowed. No code writes them: a view to write through needs the only handle, and
        // foreign writers are excluded by the promise that the memory came with.
        Ok(unsafe { View::from_raw(first, self.layout()) })
    }

    /// Borrows the elements mutably as `T`s.
    ///
    /// # Errors
    ///
    /// The same as for [`view`](Self::view); and when the memory is read-only, or other code may be
    /// using it (another handle, the library that it came from), or elements overlap each other.
    pub fn view_mut<T: Element>(&mut self) -> Result<ViewMut<'_, T>, Error> {
        self.check_exclusive()?;
        // SAFETY: this is the only handle, it is borrowed, and no other code uses the memory.
        unsafe { self.view_mut_unchecked() }
    }

    /// Borrows the elements mutably as `T`s, of a copy if the tensor can't be written: copy on
    /// write, as with [`Arc::make_mut`](std::sync::Arc::make_mut).
    ///
    /// The elements are copied if another handle or an export to another library lives, if the
    /// memory is another library's or read-only, or if elements overlap. Other users of the memory
    /// find it unchanged; this handle is then the only one to the copy.
    ///
    /// # Errors
    ///
    /// The same as for [`view`](Self::view); and when there is not enough memory.
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// let mut counts = Tensor::from([1, 2, 3]);
    /// counts.make_mut::<i32>()?[[0]] = 5; // in place
    /// let lent = counts.clone();
    /// counts.make_mut::<i32>()?[[0]] = 7; // in a copy, as it is lent
    /// assert_eq!(lent.to_vec::<i32>()?, [5, 2, 3]);
    /// assert_eq!(counts.to_vec::<i32>()?, [7, 2, 3]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn make_mut<T: Element>(&mut self) -> Result<ViewMut<'_, T>, Error> {
        if self.dtype() == T::DTYPE
            && (self.is_read_only()
                || !self.is_exclusive()
                || !self.layout().overlaps_itself().is_excluded())
        {
            // It is this handle's own from now on, and no copy for an importer.
            // SAFETY: the storage, element type, offset and padding stay.
            *self = unsafe { self.copy()?.with_parts(|parts| parts.copied = false) };
        }
        self.view_mut()
    }

    /// Borrows the elements mutably as `T`s, even if other code could use them.
    ///
    /// # Safety
    ///
    /// While the view lasts, no other code reads or writes its elements.
    ///
    /// # Errors
    ///
    /// The same as for [`view`](Self::view); and when the memory is read-only, or elements overlap
    /// each other.
    pub unsafe fn view_mut_unchecked<T: Element>(&self) -> Result<ViewMut<'_, T>, Error> {
        if self.is_read_only() {
            return Err(Error::ReadOnly);
        }
        if !self.layout().overlaps_itself().is_excluded() {
            return Err(Error::SelfOverlap {
                shape: self.shape().to_vec(),
                strides: self.strides().to_vec(),
            });
        }
        let first = self.first::<T>()?;
        // SAFETY: the elements are `T`s, aligned, on the host, and kept alive by the storage that
        // is borrowed; no two are at one place; no other code uses them, by this function's
        // contract.
        Ok(unsafe { ViewMut::from_raw(first, self.layout()) })
    }

    /// Returns the address of the element of index 0, if all elements can be used as `T`s.
    fn first<T: Element>(&self) -> Result<NonNull<T>, Error> {
        if self.0.parts.dtype != T::DTYPE {
            return Err(Error::DTypeMismatch {
                found: self.0.parts.dtype,
                wanted: T::DTYPE,
            });
        }
        self.storage().settle()?;
        if self.is_empty() {
            return Ok(NonNull::dangling());
        }
        let data = self.data_mut();
        if !data.addr().is_multiple_of(align_of::<T>()) {
            return Err(Error::Misaligned {
                address: data.addr(),
                alignment: align_of::<T>(),
            });
        }
        let first = NonNull::new(data.cast::<T>()).expect("invariant 8: elements have memory");
        if !T::ANY_BITS {
            // SAFETY: one byte an element, on the host, of which every pattern is a `u8`.
            let bytes = unsafe { View::<u8>::from_raw(first.cast(), self.layout()) };
            if let Some(value) = bytes.find_invalid_bool() {
                return Err(Error::InvalidValue {
                    value,
                    dtype: self.0.parts.dtype,
                });
            }
        }
        Ok(first)
    }

    /// Returns the address of the element of index 0, to be written.
    pub(crate) fn data_mut(&self) -> *mut u8 {
        self.0
            .parts
            .storage
            .data_mut()
            .wrapping_add(self.0.parts.offset)
    }

    /// Copies the elements to a `Vec`, the last index changing fastest.
    ///
    /// # Errors
    ///
    /// The same as for [`view`](Self::view); and when there isn't enough memory: a tensor that was
    /// broadcast may need much more of it than it has.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        let view = self.view::<T>()?;
        let (mut vec, bytes) = (Vec::new(), self.len().saturating_mul(size_of::<T>()));
        let reserved = vec.try_reserve_exact(self.len());
        reserved.map_err(|_| Error::OutOfMemory { bytes })?;
        view.append_to(&mut vec);
        Ok(vec)
    }

    /// Returns the only element.
    ///
    /// # Errors
    ///
    /// The same as for [`view`](Self::view); and when there are more elements, or none.
    pub fn item<T: Element>(&self) -> Result<T, Error> {
        if self.len() != 1 {
            let elements = self.len();
            return Err(Error::NotScalar { elements });
        }
        let view = self.view::<T>()?;
        Ok(*view.iter().next().expect("there is one element"))
    }

    /// Returns the same tensor as read-only, for this handle and those made from it.
    #[must_use]
    pub fn into_read_only(self) -> Self {
        // SAFETY: the storage stays, and so do element type, offset and padding.
        unsafe { self.with_parts(|parts| parts.storage.forbid_writing()) }
    }

    /// Returns whether this is the only handle to memory that no other code uses.
    #[inline]
    pub(crate) fn is_exclusive(&mut self) -> bool {
        self.0
            .get_mut()
            .is_some_and(|inner| inner.parts.storage.is_exclusive())
    }

    /// Checks that no other code uses the memory, and the owner lets it be written.
    #[inline]
    pub(crate) fn check_exclusive(&mut self) -> Result<(), Error> {
        if self.is_exclusive() {
            return Ok(());
        }
        // What the storage says of itself comes first: dropping handles doesn't mend it.
        Err(self
            .0
            .parts
            .storage
            .never_exclusive()
            .unwrap_or(Error::Shared {
                with: SharedWith::Handles,
            }))
    }
}
