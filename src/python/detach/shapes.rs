//! [`Detachable`]: each shape that an argument may have, and its views.

use super::one_of::{OneOfView, OneOfViewMut};
use crate::dtype::Element;
use crate::python::argument::{Dict, In, List, OrNumber, Out};
use crate::python::argument_markers::{Arrangement, ElementList, Host, OneOf};
use crate::view::{View, ViewMut};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

/// An argument that can be used while Python runs.
pub trait Detachable {
    /// What shows its elements.
    type Views<'a>: Send
    where
        Self: 'a;

    /// Keeps the memory by something that lasts while Python runs.
    #[doc(hidden)]
    fn own(&self) -> PyResult<()>;

    #[doc(hidden)]
    fn views(&mut self) -> Self::Views<'_>;
}

macro_rules! detachable {
    ($(
        [$($generics:tt)*] $Type:ty => $a:lifetime $Views:ty, |$x:ident| $own:expr, $views:expr;
    )+) => {$(
        impl<$($generics)*> Detachable for $Type {
            type Views<$a>
                = $Views
            where
                Self: $a;

            fn own(&self) -> PyResult<()> {
                let $x = self;
                $own
            }

            fn views(&mut self) -> Self::Views<'_> {
                let $x = self;
                $views
            }
        }
    )+};
}

detachable! {
    // One tensor.
    [T: Element, const RANK: usize, L: Arrangement] In<'_, T, RANK, L, Host>
        => 'a View<'a, T>, |x| In::own(x), x.view();
    [T: Element, const RANK: usize, L: Arrangement] Out<'_, T, RANK, L, Host>
        => 'a ViewMut<'a, T>, |x| Out::own(x), x.view_mut();
    [T: ElementList, const RANK: usize, L: Arrangement] In<'_, OneOf<T>, RANK, L, Host>
        => 'a OneOfView<'a, T>, |x| In::own(x), OneOfView::new(x);
    [T: ElementList, const RANK: usize, L: Arrangement] Out<'_, OneOf<T>, RANK, L, Host>
        => 'a OneOfViewMut<'a, T>, |x| Out::own(x), OneOfViewMut::new(x);
    [T: Element] OrNumber<'_, T>
        => 'a View<'a, T>, |x| In::own(x), x.view();

    // Several.
    [A: Detachable] Option<A>
        => 'a Option<A::Views<'a>>, |x| x.iter().try_for_each(A::own), x.as_mut().map(A::views);
    [A: Detachable] Vec<A>
        => 'a Vec<A::Views<'a>>, |x| x.iter().try_for_each(A::own),
        x.iter_mut().map(A::views).collect();
    [A: Detachable, const N: usize] [A; N]
        => 'a [A::Views<'a>; N], |x| x.iter().try_for_each(A::own), x.each_mut().map(A::views);
    [A: Detachable] List<A>
        => 'a Vec<A::Views<'a>>, |x| x.iter().try_for_each(A::own),
        x.iter_mut().map(A::views).collect();
    [K: Eq + Hash + Sync, A: Detachable, S: BuildHasher] HashMap<K, A, S>
        => 'a HashMap<&'a K, A::Views<'a>>, |x| x.values().try_for_each(A::own),
        x.iter_mut().map(|(key, item)| (key, item.views())).collect();
    [A: Detachable] Dict<A>
        => 'a HashMap<&'a str, A::Views<'a>>, |x| x.values().try_for_each(A::own),
        x.iter_mut().map(|(key, item)| (key.as_str(), item.views())).collect();
}
