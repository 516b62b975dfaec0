//! Tensors of parts of vectors, and vectors of tensors, without a copy.

use super::{Parts, TakeError, Tensor, Uninit};
use crate::device::Device;
use crate::dtype::{DType, Element};
use crate::error::{Error, Incompatibility, IncompatibilityKind, LayoutError};
use crate::layout::{Layout, LayoutRef};
use crate::storage::{Access, Owner, Stays, Storage};

/// A vector that was a tensor's memory.
pub(crate) struct TakenVec<T> {
    pub(crate) vec: Vec<T>,
    /// The place of the element of index 0.
    pub(crate) offset: usize,
    pub(crate) layout: Layout,
}

impl<T: Element> TakenVec<T> {
    /// Returns the tensor again.
    pub(crate) fn into_tensor(self) -> Tensor {
        let (storage, offset) = (Storage::from_vec(self.vec), self.offset * size_of::<T>());
        Tensor::from_storage_at(storage, offset, self.layout, T::DTYPE)
            .expect("the layout that it had")
    }

    /// Returns the vector without the elements before the one of index 0 and behind the last one,
    /// if there are none before it, and the elements lie one after another in this order.
    pub(crate) fn into_whole(mut self) -> Result<(Vec<T>, Layout), (Tensor, Error)> {
        let layout = self.layout.as_ref();
        if layout.is_empty() {
            self.vec.clear();
            return Ok((self.vec, self.layout));
        }
        if layout.is_contiguous() && self.offset == 0 {
            self.vec.truncate(layout.len());
            return Ok((self.vec, self.layout));
        }
        let error = match layout.is_contiguous() {
            true => Incompatibility::new(
                IncompatibilityKind::Layout,
                format!(
                    "{} elements of the vector before the first one",
                    self.offset
                ),
                "all of a vector",
            )
            .with_remedy(COPY)
            .into(),
            false => not_contiguous(layout),
        };
        Err((self.into_tensor(), error))
    }
}

#[cold]
fn not_contiguous(layout: LayoutRef<'_>) -> Error {
    Error::NotContiguous {
        shape: layout.shape().to_vec(),
        strides: layout.strides().to_vec(),
    }
}

impl Tensor {
    /// Returns elements of a storage with these strides, counted in elements: the memory begins
    /// where the elements do. With a negative stride, that isn't the element of index 0.
    ///
    /// Several elements may be in one place; such a tensor can be read, and is copied before it is
    /// written.
    ///
    /// ```
    /// use dlbridge::{DType, Storage, Tensor};
    ///
    /// let storage = Storage::from_vec(vec![1.0_f32, 2.0, 3.0, 4.0]);
    /// let windows = Tensor::strided(storage.clone(), &[3, 2], &[1, 1], DType::F32)?;
    /// assert_eq!(windows.to_vec::<f32>()?, [1.0, 2.0, 2.0, 3.0, 3.0, 4.0]);
    /// let backwards = Tensor::strided(storage, &[4], &[-1], DType::F32)?;
    /// assert_eq!(backwards.to_vec::<f32>()?, [4.0, 3.0, 2.0, 1.0]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the elements lead out of the storage, or the shape or the strides can't be a tensor's;
    /// and when the storage [has gaps](Storage::has_gaps).
    pub fn strided(
        storage: Storage,
        shape: &[usize],
        strides: &[isize],
        dtype: DType,
    ) -> Result<Self, Error> {
        let layout = Layout::strided(shape, strides)?;
        // Where the element of index 0 will be isn't known yet: its address is checked below.
        let begin = storage.data_ptr().addr();
        let span = layout
            .as_ref()
            .check_memory(dtype, false, begin, 0, false)?;
        let offset = span.start.unsigned_abs();
        Self::from_storage_at(storage, offset, layout, dtype)
    }

    /// Returns the vector that the elements are in, without a copy.
    ///
    /// The memory has to be a vector's, this the only handle to it, and the elements lie one after
    /// another from the vector's first one on. What is behind the last one is dropped.
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// let tensor = Tensor::from_vec(vec![1_u8, 2, 3, 4], &[2, 2])?;
    /// let address = tensor.data_ptr();
    /// let vec = tensor.try_into_vec::<u8>()?;
    /// assert_eq!((vec.as_ptr(), &vec[..]), (address, &[1, 2, 3, 4][..]));
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When it can't be done: why, and the tensor as it was. [`to_vec`](Self::to_vec) copies.
    pub fn try_into_vec<T: Element>(self) -> Result<Vec<T>, TakeError> {
        Ok(self.take_vec::<T>()?.into_whole()?.0)
    }
}

#[allow(dead_code, reason = "each crate uses some of these")]
impl Tensor {
    /// Returns the elements, of memory that only the CPU uses and that lie one after another.
    ///
    /// # Errors
    ///
    /// The same as for [`view`](Self::view); and when there are gaps, or devices use the memory.
    pub(crate) fn host_slice<T: Element>(&self) -> Result<&[T], Error> {
        if self.device() != Device::CPU {
            let device = self.device();
            return Err(Error::NotOnHost { device });
        }
        let view = self.view::<T>()?;
        view.as_slice().ok_or_else(|| not_contiguous(self.layout()))
    }

    /// Creates a tensor of the elements of a storage that the layout leads to, from an offset in
    /// bytes on.
    ///
    /// # Errors
    ///
    /// When the layout leads out of the storage, or the storage has gaps.
    pub(crate) fn from_storage_at(
        storage: Storage,
        offset: usize,
        layout: Layout,
        dtype: DType,
    ) -> Result<Self, Error> {
        let mut uninit = Uninit::new();
        *uninit.layout() = layout;
        Self::from_uninit(uninit, storage, offset, dtype)
    }

    /// Completes a tensor of elements in a storage, as [`from_storage_at`](Self::from_storage_at)
    /// makes one.
    pub(crate) fn from_uninit(
        mut uninit: Uninit,
        storage: Storage,
        offset: usize,
        dtype: DType,
    ) -> Result<Self, Error> {
        storage.check_gapless()?;
        let layout = uninit.layout();
        let begin = storage.data_ptr().addr();
        let at = offset as u64;
        let has_addresses = storage.device().has_addresses();
        let span = layout
            .as_ref()
            .check_memory(dtype, false, begin, at, has_addresses)?;
        let end = offset.checked_add_signed(span.end);
        let first = offset.checked_add_signed(span.start);
        if !layout.is_empty() && (first.is_none() || end.is_none_or(|end| end > storage.nbytes())) {
            return Err(LayoutError::TooSmall {
                dtype,
                shape: layout.shape().to_vec(),
                needed: end.unwrap_or(usize::MAX),
                available: storage.nbytes(),
            }
            .into());
        }
        let parts = Parts {
            storage,
            offset,
            dtype,
            padded: false,
            copied: false,
        };
        // SAFETY: every element lies in the storage, which was compared above.
        Ok(unsafe { uninit.finish(parts) })
    }

    /// Creates a tensor of elements that `owner` keeps: `first` is the element of index 0.
    ///
    /// # Safety
    ///
    /// Until `owner` is dropped, every element that the layout leads to from `first` is there,
    /// initialised, and a value of `T`, wherever `owner` is moved to. They are not written by
    /// others meanwhile, and not used by others if the access is [`Access::Exclusive`].
    pub(crate) unsafe fn from_lender<T: Element>(
        owner: impl Send + 'static,
        first: *const T,
        layout: impl Into<Uninit>,
        access: Access,
    ) -> Result<Self, Error> {
        let mut uninit = layout.into();
        let span = uninit
            .layout()
            .as_ref()
            .check_memory(T::DTYPE, false, first.addr(), 0, true)?;
        let data = first.cast::<u8>().cast_mut().wrapping_offset(span.start);
        let owner = Owner::lend(owner, |_| ()).0;
        // SAFETY: the owner keeps the elements, by this function's contract, and the storage says
        // if there is more from the first to the last one.
        let storage = unsafe { Storage::from_parts(data, span.len(), Device::CPU, access, owner) };
        let storage = storage.with_gaps(uninit.layout().as_ref().has_gaps());
        let parts = Parts {
            storage,
            offset: span.start.unsigned_abs(),
            dtype: T::DTYPE,
            padded: false,
            copied: false,
        };
        // SAFETY: the storage is the bytes that the layout leads to.
        Ok(unsafe { uninit.finish(parts) })
    }

    /// Takes the vector out that the elements lie in, if this is the only handle to it.
    ///
    /// # Errors
    ///
    /// When the elements are not `T`s, the memory isn't a vector of `T`s, or others use it: why,
    /// and the tensor as it was.
    pub(crate) fn take_vec<T: Element>(mut self) -> Result<TakenVec<T>, (Self, Error)> {
        if self.dtype() != T::DTYPE {
            let found = self.dtype();
            let wanted = T::DTYPE;
            return Err((self, Error::DTypeMismatch { found, wanted }));
        }
        if let Err(error) = self.check_exclusive() {
            return Err((self, error));
        }
        let inner = self.0.get_mut().expect("the only handle");
        let offset = inner.parts.offset;
        let taken = match offset.is_multiple_of(size_of::<T>()) {
            true => inner.parts.storage.take_vec::<T>(),
            false => Err(Stays::Part),
        };
        match taken {
            Ok((vec, before)) => {
                // The tensor goes without an element.
                let empty = Layout::contiguous(&[0]).expect("a valid shape");
                let layout = std::mem::replace(&mut inner.layout, empty);
                Ok(TakenVec {
                    vec,
                    offset: before + offset / size_of::<T>(),
                    layout,
                })
            }
            Err(Stays::Value(value)) => {
                let dtype = T::DTYPE;
                Err((self, Error::InvalidValue { value, dtype }))
            }
            Err(stays) => {
                let found = match stays {
                    Stays::Part => "memory that begins or ends within one of its elements",
                    _ => self.storage().owner_name(),
                };
                let wanted = format!("a Vec of {} as the owner of the memory", T::DTYPE);
                let error = Incompatibility::new(IncompatibilityKind::Memory, found, wanted)
                    .with_remedy(COPY);
                Err((self, error.into()))
            }
        }
    }
}

/// How any tensor becomes one whose vector can be taken.
const COPY: &str = "copy it first: Tensor::from_vec(tensor.to_vec()?, tensor.shape())";
