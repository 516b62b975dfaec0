//! Constructors of tensors: from Rust data, and of given values.

use super::{Parts, Tensor, Uninit};
use crate::dtype::{DType, Element, Scalar, TypeCode};
use crate::error::{Error, LayoutError};
use crate::layout::Layout;
use crate::storage::Storage;

impl Tensor {
    /// Takes over a `Vec`, without copying: row-major, of the shape given.
    ///
    /// # Errors
    ///
    /// When the shape has another number of elements.
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// let numbers = vec![1_i64, 2, 3, 4];
    /// let address = numbers.as_ptr();
    /// let tensor = Tensor::from_vec(numbers, &[2, 2])?;
    /// assert_eq!(tensor.data_ptr().cast(), address);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn from_vec<T: Element>(vec: Vec<T>, shape: &[usize]) -> Result<Self, Error> {
        Self::from_front(vec, shape, true)
    }

    /// Takes over a `Vec` whose first elements are those of the shape. There may be more only if
    /// `is_whole` is false.
    #[inline]
    pub(crate) fn from_front<T: Element>(
        vec: Vec<T>,
        shape: &[usize],
        is_whole: bool,
    ) -> Result<Self, Error> {
        let mut uninit = Uninit::new();
        uninit.layout().become_contiguous(shape)?;
        if is_whole || vec.len() < uninit.layout().len() {
            check_count(uninit.layout(), vec.len())?;
        }
        let parts = whole(Storage::from_vec(vec), T::DTYPE);
        // SAFETY: the vector holds as many elements as the layout, or more, one after another.
        Ok(unsafe { uninit.finish(parts) })
    }

    /// Takes over anything that holds elements, without copying, to be read: `Arc<[T]>`,
    /// `&'static [T]`, a file mapped into memory (see [`Storage::from_owner`]).
    ///
    /// # Errors
    ///
    /// When the shape has another number of elements.
    pub fn from_owner<T: Element>(
        owner: impl AsRef<[T]> + Send + 'static,
        shape: &[usize],
    ) -> Result<Self, Error> {
        let storage = Storage::from_owner(owner);
        Self::from_storage(storage, shape, T::DTYPE)
    }

    /// Returns the elements that a storage holds: row-major, from its beginning on. Where there are
    /// more bytes than elements, the rest is not looked at.
    ///
    /// # Errors
    ///
    /// When there are too few bytes for the shape, or it can't be a tensor's; and when the storage
    /// [has gaps](Storage::has_gaps).
    ///
    /// ```
    /// use dlbridge::{DType, Storage, Tensor};
    ///
    /// let packed = Storage::from_vec(vec![0x21_u8, 0x43]);
    /// let tensor = Tensor::from_storage(packed, &[4], DType::I4)?;
    /// assert_eq!(tensor.to_string(), "[1 2 3 4]");
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    #[inline]
    pub fn from_storage(storage: Storage, shape: &[usize], dtype: DType) -> Result<Self, Error> {
        storage.check_gapless()?;
        let mut uninit = Uninit::new();
        let layout = uninit.layout();
        layout.become_contiguous(shape)?;
        let address = storage.data_ptr().addr();
        let addresses = storage.device().has_addresses();
        layout
            .as_ref()
            .check_memory(dtype, false, address, 0, addresses)?;
        let needed = dtype.packed_bytes(layout.len());
        let needed = needed.ok_or(LayoutError::ExtentTooLarge { dtype })?;
        if needed > storage.nbytes() {
            return Err(LayoutError::TooSmall {
                dtype,
                shape: shape.to_vec(),
                needed,
                available: storage.nbytes(),
            }
            .into());
        }
        // SAFETY: there are enough bytes, and a storage's are initialised.
        Ok(unsafe { uninit.finish(whole(storage, dtype)) })
    }

    /// Copies a slice: row-major, of the shape given, in memory that every framework finds
    /// aligned.
    ///
    /// # Errors
    ///
    /// When the shape has another number of elements, or there is not enough memory.
    pub fn from_slice<T: Element>(slice: &[T], shape: &[usize]) -> Result<Self, Error> {
        let layout = Layout::contiguous(shape)?;
        check_count(&layout, slice.len())?;
        // SAFETY: every byte is written in the next statement.
        let storage = unsafe { Storage::uninit(size_of_val(slice)) }?;
        // SAFETY: new memory of the slice's size, which no other code has; it is aligned to 64.
        unsafe {
            std::ptr::copy_nonoverlapping(slice.as_ptr(), storage.data_mut().cast(), slice.len());
        }
        // SAFETY: it holds as many elements as the layout.
        Ok(unsafe { Self::from_parts(whole(storage, T::DTYPE), layout) })
    }

    /// Creates a tensor of rank 0.
    pub fn scalar<T: Element>(value: T) -> Self {
        Self::from_slice(&[value], &[]).expect("memory for one element")
    }

    /// Creates a tensor of zeros, of any dtype that has a zero.
    ///
    /// # Errors
    ///
    /// When there is not enough memory, the shape can't be a tensor's, or the element type has no
    /// zero: a scale, `float8_e8m0fnu`.
    pub fn zeros(shape: &[usize], dtype: DType) -> Result<Self, Error> {
        Self::check_zeros(shape, dtype)?;
        Self::zeroed(shape, dtype)
    }

    /// Refuses zeros of an element type that has none.
    pub(crate) fn check_zeros(shape: &[usize], dtype: DType) -> Result<(), Error> {
        if dtype.code() == TypeCode::Float8E8M0Fnu && !shape.contains(&0) {
            dtype.pattern_of(Scalar::Int(0))?;
        }
        Ok(())
    }

    /// Creates a tensor of zero bits, which are a valid value of every dtype.
    pub(crate) fn zeroed(shape: &[usize], dtype: DType) -> Result<Self, Error> {
        Self::allocate(shape, dtype, Storage::zeroed)
    }

    /// Creates a tensor whose elements have whatever bits their memory has.
    #[cfg(feature = "kernels")]
    pub(crate) fn arbitrary(shape: &[usize], dtype: DType) -> Result<Self, Error> {
        Self::allocate(shape, dtype, Storage::arbitrary)
    }

    /// Creates a tensor of uninitialised memory.
    ///
    /// # Safety
    ///
    /// No code reads an element before it is written.
    ///
    /// # Errors
    ///
    /// When there is not enough memory, or the shape can't be a tensor's.
    pub unsafe fn uninit(shape: &[usize], dtype: DType) -> Result<Self, Error> {
        // SAFETY: no code reads an element before it is written, and so no byte of the storage.
        Self::allocate(shape, dtype, |bytes| unsafe { Storage::uninit(bytes) })
    }

    fn allocate(
        shape: &[usize],
        dtype: DType,
        allocate: impl FnOnce(usize) -> Result<Storage, Error>,
    ) -> Result<Self, Error> {
        let mut uninit = Uninit::new();
        uninit.layout().become_contiguous(shape)?;
        let bytes = dtype
            .packed_bytes(uninit.layout().len())
            .filter(|bytes| *bytes <= isize::MAX as usize)
            .ok_or(LayoutError::ExtentTooLarge { dtype })?;
        let parts = whole(allocate(bytes)?, dtype);
        // SAFETY: there are as many bytes as the layout needs; zeros are values of every type, and
        // the caller of `uninit` vouches for what isn't written.
        Ok(unsafe { uninit.finish(parts) })
    }

    /// Creates a tensor filled with `value`.
    ///
    /// # Errors
    ///
    /// When there is not enough memory, or the shape can't be a tensor's.
    pub fn full<T: Element>(shape: &[usize], value: T) -> Result<Self, Error> {
        // SAFETY: every element is written in the next statement.
        let tensor = unsafe { Self::uninit(shape, T::DTYPE) }?;
        // SAFETY: new memory, aligned to 64, for as many elements as the layout has. It is written
        // as raw memory, as no reference to an unwritten element may exist.
        unsafe {
            let first = tensor.data_mut().cast::<T>();
            (0..tensor.len()).for_each(|i| first.add(i).write(value));
        }
        Ok(tensor)
    }

    /// Creates a tensor of elements that a function returns for their indices.
    ///
    /// # Errors
    ///
    /// When there is not enough memory, or the shape can't be a tensor's.
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// let table = Tensor::from_fn([2, 3], |[i, j]| (10 * i + j) as f32)?;
    /// assert_eq!(table.to_vec::<f32>()?, [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn from_fn<T: Element, const N: usize>(
        shape: [usize; N],
        mut element: impl FnMut([usize; N]) -> T,
    ) -> Result<Self, Error> {
        // SAFETY: every element is written in the next statement, and none is read before.
        let tensor = unsafe { Self::uninit(&shape, T::DTYPE) }?;
        let mut indices = Indices::new(shape);
        // SAFETY: the memory is new, no other code has it, and its elements are `T`s.
        unsafe { tensor.write_each(|| Some(element(indices.next()))) }?;
        Ok(tensor)
    }

    /// Creates a tensor of what a function returns for each element of this one: row-major, of the
    /// same shape.
    ///
    /// # Errors
    ///
    /// When the elements aren't `T`s on the host, or there is not enough memory.
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// let tensor = Tensor::from([1.5_f32, -2.0]);
    /// let signs = tensor.map(|x: f32| x < 0.0)?;
    /// assert_eq!(signs.to_vec::<bool>()?, [false, true]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn map<T: Element, U: Element>(
        &self,
        mut function: impl FnMut(T) -> U,
    ) -> Result<Self, Error> {
        let view = self.view::<T>()?;
        // SAFETY: every element is written in the next statement, and none is read before.
        let tensor = unsafe { Self::uninit(self.shape(), U::DTYPE) }?;
        let mut elements = view.iter();
        // SAFETY: the memory is new, no other code has it, and its elements are `U`s.
        unsafe { tensor.write_each(|| elements.next().map(|x| function(*x))) }?;
        Ok(tensor)
    }

    /// Writes every element of new memory, one after another.
    ///
    /// # Errors
    ///
    /// When the memory isn't aligned, or there are too few elements: then some stay unwritten.
    ///
    /// # Safety
    ///
    /// The tensor is row-major without gaps, its elements are `T`s on the host, and no other code
    /// has its memory, which may be uninitialised.
    pub(crate) unsafe fn write_each<T: Element>(
        &self,
        mut next: impl FnMut() -> Option<T>,
    ) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        let first = self.data_mut().cast::<T>();
        if !first.is_aligned() {
            return Err(Error::Misaligned {
                address: first.addr(),
                alignment: align_of::<T>(),
            });
        }
        let expected = self.len();
        for found in 0..expected {
            let Some(element) = next() else {
                let shape = self.shape().to_vec();
                return Err(LayoutError::ElementCount {
                    shape,
                    expected,
                    found,
                }
                .into());
            };
            // SAFETY: the memory has as many elements, one after another, and is aligned. It is
            // written as raw memory, as no reference to an unwritten element may exist.
            unsafe { first.add(found).write(element) };
        }
        Ok(())
    }

    /// Creates a tensor of ones, of any dtype that has a one.
    ///
    /// # Errors
    ///
    /// When there is not enough memory, the shape can't be a tensor's, or the element type has no
    /// one: a signed number of a single bit.
    pub fn ones(shape: &[usize], dtype: DType) -> Result<Self, Error> {
        Self::full_of(shape, dtype, Scalar::Int(1))
    }

    /// Creates a square matrix with ones on its diagonal.
    ///
    /// # Errors
    ///
    /// The same as for [`zeros`](Self::zeros) and [`ones`](Self::ones).
    pub fn eye(size: usize, dtype: DType) -> Result<Self, Error> {
        let lanes = usize::from(dtype.lanes());
        let tensor = Self::zeros(&[size, size], dtype)?;
        let elements = (0..size).map(|i| i * (size + 1));
        let diagonal = elements.flat_map(|i| i * lanes..(i + 1) * lanes);
        let one = dtype.pattern_of(Scalar::Int(1))?;
        diagonal.for_each(|lane| tensor.write_lane(lane, one));
        Ok(tensor)
    }
}

/// The indices of a shape, the last one changing fastest.
pub(crate) struct Indices<const N: usize> {
    shape: [usize; N],
    next: [usize; N],
}

impl<const N: usize> Indices<N> {
    pub(crate) fn new(shape: [usize; N]) -> Self {
        let next = [0; N];
        Self { shape, next }
    }

    /// Returns the next index; after the last one the first.
    #[inline]
    pub(crate) fn next(&mut self) -> [usize; N] {
        let index = self.next;
        for (next, size) in self.next.iter_mut().zip(self.shape).rev() {
            *next += 1;
            if *next < size {
                break;
            }
            *next = 0;
        }
        index
    }
}

/// Returns a whole storage, from its beginning on.
#[inline]
fn whole(storage: Storage, dtype: DType) -> Parts {
    Parts {
        storage,
        offset: 0,
        dtype,
        padded: false,
        copied: false,
    }
}

#[inline]
fn check_count(layout: &Layout, found: usize) -> Result<(), LayoutError> {
    if layout.len() == found {
        return Ok(());
    }
    Err(LayoutError::ElementCount {
        shape: layout.shape().to_vec(),
        expected: layout.len(),
        found,
    })
}
