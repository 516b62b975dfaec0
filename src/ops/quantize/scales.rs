//! Scales and zero points: their shapes, and which of them an element has.

use crate::compute::quantize::Ends;
use crate::dtype::{DType, TypeCode};
use crate::kernel::ArgumentError;
use crate::kernel::{Failure, ShapeContext};
use crate::layout::{Layout, LayoutError, LayoutRef};
use crate::ops::axis::dimension;
use crate::view::View;

/// Where scales are: the attributes of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Along {
    pub(super) axis: i64,
    /// How many elements along the axis share a scale; 0 for a scale of each index of the axis.
    pub(super) group: usize,
}

/// A tensor's elements by their scales: `[outer, blocks, group, inner]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    /// One scale for all.
    Tensor,
    /// A scale for each index of an axis, along which there are `blocks`.
    Channels {
        axis: usize,
        blocks: usize,
        inner: usize,
    },
    /// A scale for `group` elements along an axis.
    Groups {
        axis: usize,
        blocks: usize,
        group: usize,
        inner: usize,
    },
}

impl Along {
    /// Checks the shapes of the scales and of the zero points of `x`, which has the name `name`.
    pub(super) fn check(&self, question: &ShapeContext<'_>, name: &str) -> Result<(), Failure> {
        let (shape, scale) = (question.shape(name), question.shape("scale"));
        self.split(name, shape, scale)?;
        if !question.is_given("zero_point") {
            return Ok(());
        }
        let zero_point = question.shape("zero_point");
        if !zero_point.is_empty() && zero_point != scale {
            let or = if scale.is_empty() { "" } else { " or []" };
            let reason = format!(
                "expected zero_point of shape {scale:?}{or}, as scale has, got {zero_point:?}"
            );
            let error = ArgumentError::shape("zero_point", zero_point, &format!("{scale:?}{or}"));
            return Err(error.with_reason(reason).into());
        }
        Ok(())
    }

    /// Returns how elements have scales of a shape.
    pub(super) fn split(
        &self,
        name: &str,
        shape: &[usize],
        scale: &[usize],
    ) -> Result<Split, Failure> {
        if self.group == 0 && scale.is_empty() {
            return Ok(Split::Tensor);
        }
        let axis = dimension(shape.len(), self.axis)?;
        let (size, inner) = (shape[axis], shape[axis + 1..].iter().product());
        if self.group == 0 {
            if scale != [size] {
                let reason = format!(
                    "expected scale of shape [{size}], one for each index of axis {axis} of {name}, or [], one for \
                     all elements, got {scale:?}"
                );
                let error = ArgumentError::shape("scale", scale, &format!("[{size}] or []"));
                return Err(error.with_reason(reason).into());
            }
            let blocks = size;
            return Ok(Split::Channels {
                axis,
                blocks,
                inner,
            });
        }
        let group = self.group;
        if size % group != 0 {
            let reason = format!(
                "axis {axis} of {name} has size {size}, which isn't a multiple of group={group}"
            );
            let wanted = format!("a multiple of {group} along axis {axis}");
            let error = ArgumentError::shape(name, shape, &wanted);
            let error = error.with_reason(reason).with_remedy(format!("pad {name}"));
            return Err(error.into());
        }
        let blocks = size / group;
        let needed = [&shape[..axis], &[blocks], &shape[axis + 1..]].concat();
        if scale != needed {
            let reason = format!(
                "expected scale of shape {needed:?}, one for each {group} elements along axis {axis} of {name}, got \
                 {scale:?}"
            );
            let error = ArgumentError::shape("scale", scale, &format!("{needed:?}"));
            return Err(error.with_reason(reason).into());
        }
        Ok(Split::Groups {
            axis,
            blocks,
            group,
            inner,
        })
    }
}

impl Split {
    /// Returns a layout whose axis of groups is two: of groups, and of the elements of one.
    pub(super) fn of_layout(self, layout: LayoutRef<'_>) -> Result<Layout, LayoutError> {
        let layout = layout.to_owned();
        let Self::Groups {
            axis,
            blocks,
            group,
            ..
        } = self
        else {
            return Ok(layout);
        };
        let shape = layout.shape();
        let shape = [&shape[..axis], &[blocks, group], &shape[axis + 1..]].concat();
        layout.reshape(&shape)
    }

    /// Returns the layout of the scales, side by side, that has the shape of what they scale, as
    /// [`of_layout`](Self::of_layout) gives it.
    pub(super) fn of_scales(self, shape: &[usize]) -> Result<Layout, LayoutError> {
        let mut strides = vec![0; shape.len()];
        match self {
            Self::Tensor => {}
            Self::Channels { axis, .. } => strides[axis] = 1,
            Self::Groups { axis, .. } => {
                let mut stride = 1;
                for at in (0..shape.len()).rev().filter(|at| *at != axis + 1) {
                    strides[at] = stride;
                    stride *= shape[at] as isize;
                }
            }
        }
        Layout::strided(shape, &strides)
    }

    /// Returns the lines of elements that are contiguous in row-major order, and share a scale or
    /// have one each.
    pub(super) fn lines(self, len: usize) -> Lines {
        let lines = |len, has_each, repeat, period| Lines {
            len,
            has_each,
            repeat,
            period,
        };
        match self {
            Self::Tensor => lines(len, false, 1, 1),
            Self::Channels {
                blocks, inner: 1, ..
            } => lines(blocks, true, 1, 1),
            Self::Channels { blocks, inner, .. } => lines(inner, false, 1, blocks),
            Self::Groups {
                group, inner: 1, ..
            } => lines(group, false, 1, usize::MAX),
            Self::Groups { group, inner, .. } => lines(inner, true, group, usize::MAX),
        }
    }
}

/// Lines of contiguous elements: the scales of the line of a number are those of place `line /
/// repeat % period`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) len: usize,
    /// Whether each element has its own scale: as many as a line has elements.
    pub(super) has_each: bool,
    repeat: usize,
    period: usize,
}

impl Lines {
    /// Returns where the scales of a line begin.
    pub(super) fn scales_of(&self, line: usize) -> usize {
        let place = line / self.repeat % self.period;
        if self.has_each {
            place * self.len
        } else {
            place
        }
    }
}

/// Scales, or their inverses, and zero points, side by side and as many of both.
pub(super) struct Parameters {
    pub(super) scales: Vec<f32>,
    pub(super) zero_points: Vec<i32>,
}

impl Parameters {
    /// Reads scales and zero points; without any these are 0.
    pub(super) fn new(
        scale: &View<'_, f32>,
        zero_point: Option<&View<'_, i32>>,
        quantized: DType,
    ) -> Result<Self, Failure> {
        let scales = scale.to_vec();
        let mut zero_points = zero_point.map_or_else(|| vec![0], View::to_vec);
        let ends = ends_of(quantized);
        let outside = |point: &&i32| !(ends.least..=ends.most).contains(point);
        if let Some(point) = zero_points.iter().find(outside) {
            let Ends { least, most } = ends;
            let reason = format!(
                "zero_point {point} is out of bounds for {quantized}, which has numbers from {least} to {most}"
            );
            let wanted = format!("{least} to {most}");
            let error = ArgumentError::value("zero_point", point.to_string(), &wanted);
            return Err(error.with_reason(reason).into());
        }
        if zero_points.len() != scales.len() {
            zero_points = vec![zero_points[0]; scales.len()];
        }
        Ok(Self {
            scales,
            zero_points,
        })
    }
}

/// Returns the least and the largest number of a quantised dtype.
pub(super) fn ends_of(dtype: DType) -> Ends {
    let bits = dtype.item_bits() as u32;
    match dtype.code() {
        TypeCode::Int => Ends {
            least: -(1 << (bits - 1)),
            most: (1 << (bits - 1)) - 1,
        },
        _ => Ends {
            least: 0,
            most: (1 << bits) - 1,
        },
    }
}
