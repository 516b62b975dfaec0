//! [`In`] and [`Out`]: tensors that are borrowed for a call.

mod arg_spec;
mod borrowed_arg;
mod collections;
pub(super) mod dispatch;
mod number;
mod owned;
mod results;
mod sizes;

#[cfg(feature = "kernels")]
pub(super) use borrowed_arg::BorrowedArg;
pub use collections::{Dict, List};
pub use dispatch::{Dispatch, Dispatching, Dtypes};
pub use number::OrNumber;
#[cfg(feature = "kernels")]
pub(super) use number::bytes_of as number_bytes;
pub(super) use owned::keep;
pub use owned::{Owned, from_object};

use super::argument_markers::{ANY_RANK, Any, Arrangement, Host, Kind, Place, RowMajor, Strided};
use super::error::Refused;
use crate::device::Device;
use crate::dtype::{DType, Element};
use crate::layout::{LayoutRef, slice_eq};
use crate::python::export::Like;
use crate::tensor::Tensor;
use crate::view::{Lines, Rank, View, ViewMut};
use arg_spec::{Found, other_shape};
#[cfg(not(feature = "kernels"))]
use borrowed_arg::BorrowedArg;

use pyo3::Borrowed;
use pyo3::prelude::*;
use std::fmt;
use std::marker::PhantomData;

macro_rules! common {
    ($Name:ident, $($more:tt)*) => {
        impl<'py, T: Kind, const RANK: usize, L: Arrangement, D: Place> $Name<'py, T, RANK, L, D> {
            /// Returns the shape.
            #[inline]
            pub fn shape(&self) -> &[usize] {
                self.layout().shape()
            }

            /// Returns the strides, counted in elements.
            #[inline]
            pub fn strides(&self) -> &[isize] {
                self.layout().strides()
            }

            /// Returns shape and strides.
            #[inline]
            pub fn layout(&self) -> LayoutRef<'_> {
                self.0.get().layout()
            }

            /// Returns the number of dimensions.
            #[inline]
            pub fn rank(&self) -> usize {
                self.layout().rank()
            }

            /// Returns the number of elements.
            #[inline]
            pub fn len(&self) -> usize {
                self.layout().len()
            }

            /// Returns whether there are no elements.
            #[inline]
            pub fn is_empty(&self) -> bool {
                self.layout().is_empty()
            }

            /// Returns the dtype.
            pub fn dtype(&self) -> DType {
                self.0.get().dtype
            }

            /// Returns the device.
            pub fn device(&self) -> Device {
                self.0.get().device
            }

            /// Returns whether sub-byte elements are each padded to whole bytes.
            pub fn is_padded(&self) -> bool {
                self.0.get().padded
            }

            /// Returns whether the memory is read-only.
            pub fn is_read_only(&self) -> bool {
                self.0.get().read_only
            }

            /// Returns the address of the element of index 0; on devices without addresses, the
            /// handle.
            #[inline]
            pub fn data_ptr(&self) -> *const u8 {
                self.0.get().first
            }

            /// Returns the object that was passed; `None` for a number.
            pub fn object(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
                // SAFETY: the entry has a reference to its object.
                unsafe { Bound::from_borrowed_ptr_or_opt(py, self.0.get().object) }
            }

            /// Checks that the tensor has this shape.
            ///
            /// # Errors
            ///
            /// A `ValueError` with both shapes.
            #[inline]
            pub fn check_shape(&self, shape: &[usize]) -> PyResult<()> {
                if slice_eq(self.shape(), shape) {
                    return Ok(());
                }
                Err(other_shape(self.0.get(), shape))
            }

            /// Returns a tensor as a result that becomes an object of this argument's framework.
            pub fn like(&self, tensor: Tensor) -> Like<'py> {
                // SAFETY: an argument is only there while its thread is attached.
                let py = unsafe { Python::assume_attached() };
                Like::new(self.object(py), tensor)
            }

            /// Creates a tensor of zeros by the allocator of this argument's framework, or by ours
            /// if it has none, to be returned with [`like`](Self::like).
            ///
            /// # Errors
            ///
            /// When the shape is invalid, or there is not enough memory.
            pub fn zeros_like<U: Element>(&self, shape: &[usize]) -> PyResult<Tensor> {
                // SAFETY: an argument is only there while its thread is attached.
                let py = unsafe { Python::assume_attached() };
                Tensor::check_zeros(shape, U::DTYPE)?;
                crate::python::export::zeroed(self.object(py).as_ref(), shape, U::DTYPE)
            }

            /// Returns whether this argument's framework has tensors of an element type: JAX, for
            /// example, has `i64` only where its wide types are enabled. Of a framework that isn't
            /// known the answer is yes.
            ///
            /// To be asked before work whose result would be refused.
            ///
            /// # Errors
            ///
            /// What the framework raises.
            pub fn supports<U: Element>(&self) -> PyResult<bool> {
                // SAFETY: an argument is only there while its thread is attached.
                let py = unsafe { Python::assume_attached() };
                crate::python::export::supports(self.object(py).as_ref(), U::DTYPE)
            }

            pub(super) fn own(&self) -> PyResult<()> {
                // SAFETY: an argument is only there while its thread is attached.
                let py = unsafe { Python::assume_attached() };
                Ok(self.0.own(py)?)
            }
        }

        impl<T: Kind, const RANK: usize, L: Arrangement, D: Place> fmt::Debug
            for $Name<'_, T, RANK, L, D>
        {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($Name), "({})"), Found(self.0.get()))
            }
        }

        impl<'py, T: Kind, const RANK: usize, L: Arrangement, D: Place> FromPyObject<'_, 'py>
            for $Name<'py, T, RANK, L, D>
        {
            type Error = Refused;

            #[cfg(feature = "experimental-inspect")]
            const INPUT_TYPE: pyo3::inspect::PyStaticExpr = crate::python::hints::TENSOR_LIKE;

            #[inline]
            fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self, Refused> {
                BorrowedArg::new::<T, RANK, L, D>(object, $($more)*)
                    .map(|entered| Self(entered, PhantomData))
            }
        }
    };
}

/// A tensor that is read during the call, of any framework, without a copy.
///
/// Its parameters declare the requirements: the element type (or [`Any`]), the rank, how the
/// elements lie in memory, and on which device. Unless they say otherwise, typed elements are in
/// memory that the CPU reaches.
///
/// ```no_run
/// use dlbridge::python::{In, RowMajor};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn trace(matrix: In<'_, f64, 2>) -> f64 {
///     let matrix = matrix.view();
///     (0..matrix.shape()[0].min(matrix.shape()[1])).map(|i| matrix[[i, i]]).sum()
/// }
///
/// #[pyfunction]
/// fn largest(numbers: In<'_, i32, 1, RowMajor>) -> Option<i32> {
///     numbers.as_slice().iter().copied().max()
/// }
/// ```
///
/// A tensor of PyTorch that requires grad is taken while grad mode is off (`torch.no_grad()`,
/// `torch.inference_mode()`), as PyTorch's own functions take it then, and refused while it is on.
/// The same holds for [`Out`]. An [`Owned`] takes none, as it may be used when the mode is on
/// again.
///
/// The memory may be read until the argument is dropped. That no other thread of the program
/// writes it meanwhile, or takes it away, is up to the caller: DLPack has no locks.
pub struct In<
    'py,
    T: Kind = Any,
    const RANK: usize = ANY_RANK,
    L: Arrangement = Strided,
    D: Place = <T as Kind>::Home,
>(BorrowedArg<'py>, PhantomData<(T, L, D)>);

/// A tensor that is written, and read, during the call, of any framework, without a copy.
///
/// The parameters are those of [`In`]. Refused are tensors that are read-only, tensors of whose
/// elements several are at one place, and tensors that share memory with another argument of the
/// same call, or of any call that is under way: a function that works in place takes its tensor
/// once, as `Out`.
pub struct Out<
    'py,
    T: Kind = Any,
    const RANK: usize = ANY_RANK,
    L: Arrangement = Strided,
    D: Place = <T as Kind>::Home,
>(BorrowedArg<'py>, PhantomData<(T, L, D)>);

common!(In, false);
common!(Out, true);

impl<T: Element, const RANK: usize, L: Arrangement> In<'_, T, RANK, L, Host> {
    /// Returns a view of the elements.
    ///
    /// The view is of memory that is **borrowed while no Python code runs**. It compiles to use it
    /// across such code, and what it shows then may be stale, or gone, as the code may have
    /// written, resized or re-pointed the object:
    ///
    /// - Take views after the last call of Python code (a callback, a method of an object, the
    ///   conversion of an argument of another type), not before it.
    /// - Don't give them to `Python::detach`: a [`View`] is `Send`, so the compiler allows it. What
    ///   the object keeps isn't kept while other threads run Python.
    ///   [`detach`](crate::python::detach) has the memory owned before, and gives its closure views
    ///   of it.
    #[inline]
    pub fn view(&self) -> View<'_, T> {
        // SAFETY: all that was checked when the argument was made; its entry keeps the memory and
        // excludes that it is written by another call. What other threads do is up to the caller
        // of the Python function: see docs/soundness.md.
        unsafe { self.0.get().view_unchecked() }
    }

    /// Returns a [`view`](Self::view) whose rank is in its type, so that it can be cut, and which
    /// has what this argument's type says of the strides. It can't be called for [`ANY_RANK`].
    ///
    /// ```no_run
    /// use dlbridge::python::{ContiguousRows, In, Out};
    /// use pyo3::prelude::*;
    ///
    /// #[pyfunction]
    /// fn add_bias(
    ///     x: In<'_, f32, 2, ContiguousRows>,
    ///     bias: In<'_, f32, 1>,
    ///     mut out: Out<'_, f32, 2, ContiguousRows>,
    /// ) -> PyResult<()> {
    ///     let [rows, columns] = x.ranked().sizes();
    ///     bias.check_shape(&[columns])?;
    ///     out.check_shape(&[rows, columns])?;
    ///     let bias = bias.view();
    ///     // Rows are slices, as the type says that they are contiguous.
    ///     for (x, out) in x.rows().zip(out.rows_mut()) {
    ///         for ((x, bias), out) in x.iter().zip(bias).zip(out) {
    ///             *out = x + bias;
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    #[inline]
    pub fn ranked(&self) -> View<'_, T, Rank<RANK, L>> {
        let view = self.view().with_rank().and_then(View::arranged);
        view.expect("rank and strides were checked when the argument was made")
    }

    /// Returns the rows, the lines along the last axis: as slices, if the argument is
    /// [`ContiguousRows`](crate::python::ContiguousRows) or [`RowMajor`].
    ///
    /// # Panics
    ///
    /// When there are no dimensions.
    #[inline]
    pub fn rows(&self) -> Lines<L::Row<'_, T>, LayoutRef<'_>> {
        self.view().rows_as::<L>()
    }
}

impl<T: Element, const RANK: usize> In<'_, T, RANK, RowMajor, Host> {
    /// Returns the elements as a slice, for as long as a [`view`](Self::view).
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: the entry keeps the memory and the arguments were checked for aliases, as in
        // `view`; the layout is contiguous.
        unsafe { std::slice::from_raw_parts(self.view().as_ptr(), self.len()) }
    }
}

impl<T: Element, const RANK: usize, L: Arrangement> Out<'_, T, RANK, L, Host> {
    /// Returns a view of the elements.
    #[inline]
    pub fn view(&self) -> View<'_, T> {
        // SAFETY: the entry keeps the memory, and no other argument aliases it, as in `view_mut`.
        unsafe { self.0.get().view_unchecked() }
    }

    /// Returns a writable view of the elements, for as long as an [`In::view`]: not across Python
    /// code, nor in `Python::detach`, but in [`detach`](crate::python::detach).
    #[inline]
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        let entry = self.0.get();
        // SAFETY: all that was checked when the argument was made, that no two elements are at
        // one place included; its entry keeps the memory and excludes that another call uses it.
        // What other threads do is up to the caller of the Python function.
        unsafe { ViewMut::from_raw(entry.first_of(), entry.layout()) }
    }

    /// Returns a [`view_mut`](Self::view_mut) that can be cut: see [`In::ranked`].
    #[inline]
    pub fn ranked_mut(&mut self) -> ViewMut<'_, T, Rank<RANK, L>> {
        let view = self.view_mut().with_rank().and_then(ViewMut::arranged);
        view.expect("rank and strides were checked when the argument was made")
    }

    /// Returns the rows, to be written: see [`In::rows`].
    ///
    /// # Panics
    ///
    /// When there are no dimensions.
    #[inline]
    pub fn rows_mut(&mut self) -> Lines<L::RowMut<'_, T>, LayoutRef<'_>> {
        self.view_mut().into_rows_as::<L>()
    }
}

impl<T: Element, const RANK: usize> Out<'_, T, RANK, RowMajor, Host> {
    /// Returns the elements as a slice, for as long as an [`In::view`].
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: the entry keeps the memory, and no other argument aliases it, as in `view_mut`;
        // the layout is contiguous.
        unsafe { std::slice::from_raw_parts(self.view().as_ptr(), self.len()) }
    }

    /// Returns the elements as a mutable slice, for as long as an [`In::view`].
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        let len = self.len();
        let first = self.view_mut().as_ptr().cast_mut();
        // SAFETY: the entry keeps the memory, and no other argument aliases it, as in `view_mut`;
        // the layout is contiguous.
        unsafe { std::slice::from_raw_parts_mut(first, len) }
    }
}
