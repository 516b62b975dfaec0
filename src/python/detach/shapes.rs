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

impl<T: Element, const RANK: usize, L: Arrangement> Detachable for In<'_, T, RANK, L, Host> {
    type Views<'a>
        = View<'a, T>
    where
        Self: 'a;

    fn own(&self) -> PyResult<()> {
        In::own(self)
    }

    fn views(&mut self) -> View<'_, T> {
        self.view()
    }
}

impl<T: Element, const RANK: usize, L: Arrangement> Detachable for Out<'_, T, RANK, L, Host> {
    type Views<'a>
        = ViewMut<'a, T>
    where
        Self: 'a;

    fn own(&self) -> PyResult<()> {
        Out::own(self)
    }

    fn views(&mut self) -> ViewMut<'_, T> {
        self.view_mut()
    }
}

impl<T: ElementList, const RANK: usize, L: Arrangement> Detachable
    for In<'_, OneOf<T>, RANK, L, Host>
{
    type Views<'a>
        = OneOfView<'a, T>
    where
        Self: 'a;

    fn own(&self) -> PyResult<()> {
        In::own(self)
    }

    fn views(&mut self) -> OneOfView<'_, T> {
        OneOfView::new(self)
    }
}

impl<T: ElementList, const RANK: usize, L: Arrangement> Detachable
    for Out<'_, OneOf<T>, RANK, L, Host>
{
    type Views<'a>
        = OneOfViewMut<'a, T>
    where
        Self: 'a;

    fn own(&self) -> PyResult<()> {
        Out::own(self)
    }

    fn views(&mut self) -> OneOfViewMut<'_, T> {
        OneOfViewMut::new(self)
    }
}

impl<T: Element> Detachable for OrNumber<'_, T> {
    type Views<'a>
        = View<'a, T>
    where
        Self: 'a;

    fn own(&self) -> PyResult<()> {
        In::own(self)
    }

    fn views(&mut self) -> View<'_, T> {
        self.view()
    }
}

impl<A: Detachable> Detachable for Option<A> {
    type Views<'a>
        = Option<A::Views<'a>>
    where
        Self: 'a;

    fn own(&self) -> PyResult<()> {
        self.iter().try_for_each(A::own)
    }

    fn views(&mut self) -> Self::Views<'_> {
        self.as_mut().map(A::views)
    }
}

impl<A: Detachable> Detachable for Vec<A> {
    type Views<'a>
        = Vec<A::Views<'a>>
    where
        Self: 'a;

    fn own(&self) -> PyResult<()> {
        self.iter().try_for_each(A::own)
    }

    fn views(&mut self) -> Self::Views<'_> {
        self.iter_mut().map(A::views).collect()
    }
}

impl<A: Detachable, const N: usize> Detachable for [A; N] {
    type Views<'a>
        = [A::Views<'a>; N]
    where
        Self: 'a;

    fn own(&self) -> PyResult<()> {
        self.iter().try_for_each(A::own)
    }

    fn views(&mut self) -> Self::Views<'_> {
        self.each_mut().map(A::views)
    }
}

impl<K: Eq + Hash + Sync, A: Detachable, S: BuildHasher> Detachable for HashMap<K, A, S> {
    type Views<'a>
        = HashMap<&'a K, A::Views<'a>>
    where
        Self: 'a;

    fn own(&self) -> PyResult<()> {
        self.values().try_for_each(A::own)
    }

    fn views(&mut self) -> Self::Views<'_> {
        let views = self.iter_mut().map(|(key, item)| (key, item.views()));
        views.collect()
    }
}

impl<A: Detachable> Detachable for List<A> {
    type Views<'a>
        = Vec<A::Views<'a>>
    where
        Self: 'a;

    fn own(&self) -> PyResult<()> {
        self.iter().try_for_each(A::own)
    }

    fn views(&mut self) -> Self::Views<'_> {
        self.iter_mut().map(A::views).collect()
    }
}

impl<A: Detachable> Detachable for Dict<A> {
    type Views<'a>
        = HashMap<&'a str, A::Views<'a>>
    where
        Self: 'a;

    fn own(&self) -> PyResult<()> {
        self.values().try_for_each(A::own)
    }

    fn views(&mut self) -> Self::Views<'_> {
        let views = self
            .iter_mut()
            .map(|(key, item)| (key.as_str(), item.views()));
        views.collect()
    }
}
