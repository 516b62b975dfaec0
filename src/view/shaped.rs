//! Shapes of views, for [`Sizes`](crate::layout::Sizes).

use super::{View, ViewMut};
use crate::dtype::Element;
use crate::layout::Shaped;

impl<T: Element> Shaped for View<'_, T> {
    fn sizes_of_dimensions(&self) -> &[usize] {
        self.shape()
    }
}

impl<T: Element> Shaped for ViewMut<'_, T> {
    fn sizes_of_dimensions(&self) -> &[usize] {
        self.shape()
    }
}
