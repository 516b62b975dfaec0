//! [`OneOfView`] and [`OneOfViewMut`]: views of arguments of several element types.

use crate::dtype::{DType, Element};
use crate::layout::LayoutRef;
use crate::python::argument::dispatch::{Dispatch, Dtypes, OneTensor};
use crate::python::argument::{In, Out};
use crate::python::argument_markers::{Arrangement, ElementList, Host, OneOf};
use crate::view::{View, ViewMut};
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::ptr::NonNull;

macro_rules! view {
    ($(#[$doc:meta])* $Name:ident, $View:ident, $From:ident, $($reference:tt)+) => {
        $(#[$doc])*
        pub struct $Name<'a, L> {
            /// The address of the element of index 0; any where there is none.
            first: *mut u8,
            layout: LayoutRef<'a>,
            dtype: DType,
            list: PhantomData<($($reference)+ u8, L)>,
        }

        // SAFETY: it is a view of elements, which are `Send` and `Sync`, and so may be sent as one
        // of a known type may.
        unsafe impl<L: ElementList> Send for $Name<'_, L> {}

        impl<'a, L: ElementList> $Name<'a, L> {
            pub(super) fn new<const RANK: usize, A: Arrangement>(
                argument: $($reference)+ $From<'_, OneOf<L>, RANK, A, Host>,
            ) -> Self {
                Self {
                    first: argument.data_ptr().cast_mut(),
                    layout: argument.layout(),
                    dtype: argument.dtype(),
                    list: PhantomData,
                }
            }

            /// Returns the shape.
            pub fn shape(&self) -> &'a [usize] {
                self.layout.shape()
            }

            /// Returns the dtype.
            pub fn dtype(&self) -> DType {
                self.dtype
            }
        }

        impl<L: ElementList> Dtypes for $Name<'_, L> {
            fn for_each_dtype(&self, see: &mut dyn FnMut(&dyn Display, DType, &dyn Display)) {
                let found = format!("a tensor of {}, shape {:?}", self.dtype, self.shape());
                see(&"", self.dtype, &found);
            }
        }

        impl<'a, L: ElementList> Dispatch for $Name<'a, L> {
            type List = L;
            type Typed<E: Element> = $View<'a, E>;

            fn typed<E: Element>(self) -> $View<'a, E> {
                assert_eq!(self.dtype, E::DTYPE);
                let first = NonNull::new(self.first.cast::<E>());
                let first = first.filter(|first| first.is_aligned());
                let first = first.unwrap_or(NonNull::dangling());
                // SAFETY: the argument was checked: its elements are of this dtype, aligned, valid
                // and on the host. It is borrowed for `'a`, and its memory kept meanwhile, without
                // other users where it is written.
                unsafe { $View::from_raw(first, self.layout) }
            }
        }

        impl<L: ElementList> OneTensor for $Name<'_, L> {}

        impl<L: ElementList> fmt::Debug for $Name<'_, L> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Name))
                    .field("dtype", &self.dtype)
                    .field("layout", &self.layout)
                    .finish_non_exhaustive()
            }
        }
    };
}

view! {
    /// The elements of an [`In`] of [`OneOf`] several types, in [`detach`](crate::python::detach):
    /// [`dispatch!`](crate::dispatch) makes a [`View`] of it.
    OneOfView, View, In, &'a
}
view! {
    /// The elements of an [`Out`] of [`OneOf`] several types, in [`detach`](crate::python::detach):
    /// [`dispatch!`](crate::dispatch) makes a [`ViewMut`] of it.
    OneOfViewMut, ViewMut, Out, &'a mut
}
