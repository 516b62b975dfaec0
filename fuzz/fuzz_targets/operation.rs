//! View operations with any arguments.

use crate::checks::{bit_cast, check_inside, reshape};
use dlbridge::error::LayoutError;
use dlbridge::layout::Layout;
use dlbridge_fuzz::{Number, Storage};
use libfuzzer_sys::arbitrary::{self, Arbitrary};

/// A view operation. Axes and indices are mostly brought near the allowed ones first.
#[derive(Debug, Arbitrary)]
pub(crate) enum Operation {
    Slice(Axis, At, At),
    StepBy(Axis, Number),
    Select(Axis, At),
    Split(Axis, Vec<At>),
    Permute(Vec<u8>),
    Swap(Axis, Axis),
    Reversed,
    Squeeze(Axis),
    Unsqueeze(Axis),
    BroadcastTo(Vec<Number>),
    Widen(Vec<Number>),
    Reshape(Vec<Number>),
    Regroup(Vec<u8>),
    BitCast(Storage),
}

/// A dimension: of those there are, or one more.
#[derive(Debug, Arbitrary)]
pub(crate) struct Axis(u8);

impl Axis {
    fn of(&self, layout: &Layout) -> usize {
        usize::from(self.0) % (layout.rank() + 1)
    }
}

/// An index, in range or just beyond, or anywhere.
#[derive(Debug, Arbitrary)]
pub(crate) enum At {
    Near(u16),
    Any(u64),
}

impl At {
    fn of(&self, layout: &Layout, axis: usize) -> usize {
        match (self, layout.shape().get(axis)) {
            (Self::Near(at), Some(size)) => usize::from(*at) % size.saturating_add(2),
            (Self::Near(at), None) => usize::from(*at),
            (Self::Any(at), _) => *at as usize,
        }
    }
}

fn sizes(numbers: &[Number]) -> Vec<usize> {
    numbers.iter().map(|number| number.0 as usize).collect()
}

type Moved = (Layout, isize);

impl Operation {
    /// Applies it, and checks the result. What is refused changes nothing.
    pub(crate) fn checked(&self, (layout, storage): (Layout, Storage)) -> (Layout, Storage) {
        if let Self::BitCast(to) = self {
            return bit_cast(layout, storage, *to);
        }
        let Ok(views) = self.apply(&layout) else {
            return (layout, storage);
        };
        for (view, moved) in &views {
            check_inside(&layout, view, *moved);
        }
        let last = views.into_iter().next_back();
        (last.map_or(layout, |(view, _)| view), storage)
    }

    fn apply(&self, layout: &Layout) -> Result<Vec<Moved>, LayoutError> {
        let still = |view: Layout| vec![(view, 0)];
        let one = |moved: Moved| vec![moved];
        match self {
            Self::Slice(axis, from, to) => {
                let axis = axis.of(layout);
                let (from, to) = (from.of(layout, axis), to.of(layout, axis));
                layout.slice(axis, from..to).map(one)
            }
            Self::StepBy(axis, step) => layout.step_by(axis.of(layout), step.0 as isize).map(one),
            Self::Select(axis, at) => {
                let axis = axis.of(layout);
                layout.select(axis, at.of(layout, axis)).map(one)
            }
            Self::Split(axis, parts) => {
                let axis = axis.of(layout);
                let mut parts: Vec<usize> = parts.iter().map(|at| at.of(layout, axis)).collect();
                // The rest, if that is what it is.
                let total = parts
                    .iter()
                    .try_fold(0_usize, |sum, part| sum.checked_add(*part));
                let size = layout.shape().get(axis).copied().unwrap_or_default();
                parts.extend(total.and_then(|total| size.checked_sub(total)));
                layout.split(axis, &parts)
            }
            Self::Permute(axes) => {
                let axes: Vec<usize> = axes.iter().copied().map(usize::from).collect();
                layout.permute(&axes).map(still)
            }
            Self::Swap(a, b) => {
                let mut axes: Vec<usize> = (0..layout.rank()).collect();
                let (a, b) = (a.of(layout), b.of(layout));
                if a.max(b) < axes.len() {
                    axes.swap(a, b);
                }
                Ok(still(layout.permute(&axes)?))
            }
            Self::Reversed => Ok(still(layout.reversed())),
            Self::Squeeze(axis) => layout.squeeze(axis.of(layout)).map(still),
            Self::Unsqueeze(axis) => layout.unsqueeze(axis.of(layout)).map(still),
            Self::BroadcastTo(shape) => layout.broadcast_to(&sizes(shape)).map(still),
            Self::Widen(by) => {
                let by = sizes(by);
                let new = by.len().saturating_sub(layout.rank());
                let own = layout.shape().iter().zip(by[new..].iter().chain(&[1; 255]));
                let own = own.map(|(size, by)| if *size == 1 { *by } else { *size });
                let shape: Vec<usize> = by[..new].iter().copied().chain(own).collect();
                layout.broadcast_to(&shape).map(still)
            }
            Self::Reshape(shape) => reshape(layout, &sizes(shape)).map(still),
            Self::Regroup(divisors) => {
                let (mut left, mut shape) = (layout.len(), vec![]);
                for divisor in divisors {
                    let divisor = usize::from(*divisor % 7) + 1;
                    if left.is_multiple_of(divisor) {
                        shape.push(divisor);
                        left /= divisor;
                    }
                }
                shape.push(left);
                reshape(layout, &shape).map(still)
            }
            Self::BitCast(_) => unreachable!("it changes the element type too"),
        }
    }
}
