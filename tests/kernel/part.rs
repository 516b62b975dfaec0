//! Views of one buffer, and where their elements are: listed one by one.

use dlbridge::kernel::Operand;
use dlbridge::layout::Layout;
use dlbridge::{DType, Device};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;

/// The buffer that all views are of, in bytes; they begin near its middle.
const BUFFER: usize = 2048;
const MIDDLE: isize = 1024;

/// A view of the buffer.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
    /// Where the element of index 0 begins, in elements; in whole bytes where these are smaller.
    pub(crate) start: isize,
    pub(crate) dtype: DType,
    pub(crate) writable: bool,
}

impl Part {
    pub(crate) fn bits(&self) -> isize {
        isize::from(self.dtype.bits())
    }

    /// Where each element begins, in bits from the buffer's beginning, in row-major order.
    pub(crate) fn places(&self) -> Vec<isize> {
        let first = 8 * MIDDLE + self.start * self.bits().max(8);
        let mut all = vec![first];
        for (size, stride) in self.shape.iter().zip(&self.strides) {
            let longer = |place: isize| {
                (0..*size as isize).map(move |index| place + index * stride * self.bits())
            };
            all = all.into_iter().flat_map(longer).collect();
        }
        all
    }

    /// All bytes that elements lie in.
    pub(crate) fn bytes(&self) -> BTreeSet<isize> {
        let bytes = |place: &isize| place / 8..=(place + self.bits() - 1) / 8;
        self.places().iter().flat_map(bytes).collect()
    }

    pub(crate) fn overlaps_itself(&self) -> bool {
        let places = self.places();
        places.iter().collect::<BTreeSet<_>>().len() < places.len()
    }

    pub(crate) fn shares_memory_with(&self, other: &Self) -> bool {
        !self.bytes().is_disjoint(&other.bytes())
    }

    /// Whether elements of the same index are at the same place.
    pub(crate) fn is_exactly(&self, other: &Self) -> bool {
        let as_one = |part: &Self| (part.dtype, part.shape.clone(), part.places());
        as_one(self) == as_one(other)
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout::strided(&self.shape, &self.strides).unwrap()
    }

    pub(crate) fn operand<'a>(&self, buffer: *mut u8, layout: &'a Layout) -> Operand<'a> {
        let first = buffer.wrapping_offset(MIDDLE + self.start * self.bits().max(8) / 8);
        // SAFETY: views reach less far than the buffer does, and all that is in it are numbers.
        unsafe {
            let (layout, dtype) = (layout.as_ref(), self.dtype);
            Operand::from_raw(first, layout, dtype, Device::CPU, false, self.writable)
        }
    }
}

/// Strides of any kind, and such as views of dense memory have.
fn strides(shape: Vec<usize>) -> impl Strategy<Value = (Vec<usize>, Vec<isize>)> {
    let rank = shape.len();
    let scattered = prop::collection::vec(-7..=7_isize, rank);
    let dense = (
        Just(shape.clone()),
        prop::collection::vec(any::<bool>(), rank),
    )
        .prop_map(|(shape, backwards)| {
            let mut step = 1;
            let mut strides = vec![0; shape.len()];
            for at in (0..shape.len()).rev() {
                strides[at] = if backwards[at] { -step } else { step };
                step *= shape[at].max(1) as isize;
            }
            strides
        });
    (Just(shape), prop_oneof![scattered, dense])
}

pub(crate) fn shape() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![1 => Just(0), 9 => 1..=4_usize], 0..=3)
}

pub(crate) fn part_of(shape: Vec<usize>, dtype: DType) -> impl Strategy<Value = Part> {
    (strides(shape), -12..=12_isize, prop::bool::weighted(0.97)).prop_map(
        move |((shape, strides), start, writable)| Part {
            shape,
            strides,
            start,
            dtype,
            writable,
        },
    )
}

pub(crate) fn part() -> impl Strategy<Value = Part> {
    let dtype = select(vec![
        DType::U8,
        DType::I16,
        DType::F32,
        DType::I4,
        DType::U1,
    ]);
    (shape(), dtype).prop_flat_map(|(shape, dtype)| part_of(shape, dtype))
}

/// A buffer of numbers, aligned for all types.
pub(crate) fn buffer() -> Vec<u64> {
    (0..BUFFER as u64 / 8)
        .map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect()
}
