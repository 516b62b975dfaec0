//! Invariants 1 to 6: layouts that the validator accepts or refuses.

use crate::model::{bit_range, indices, offsets, violations};
use crate::strategies::{at_the_limit, cases, extreme, small};
use dlbridge::DType;
use dlbridge::error::LayoutError;
use dlbridge::layout::{Layout, MAX_RANK};
use proptest::prelude::*;
use std::ptr::null;

/// The fields of a C descriptor, whose arrays are as long as it says.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    pub(crate) ndim: i32,
    pub(crate) shape: Option<Vec<i64>>,
    pub(crate) strides: Option<Vec<i64>>,
}

impl Fields {
    pub(crate) fn read(&self) -> Result<Layout, LayoutError> {
        let pointer = |numbers: &Option<Vec<i64>>| match numbers {
            Some(numbers) => {
                assert_eq!(numbers.len(), self.ndim as usize);
                numbers.as_ptr()
            }
            None => null(),
        };
        // SAFETY: each pointer is NULL, or to as many numbers as the rank says.
        unsafe { Layout::from_c(self.ndim, pointer(&self.shape), pointer(&self.strides)) }
    }
}

pub(crate) fn read(shape: &[i64], strides: Option<&[i64]>) -> Result<Layout, LayoutError> {
    let fields = Fields {
        ndim: shape.len() as i32,
        shape: Some(shape.to_vec()),
        strides: strides.map(<[i64]>::to_vec),
    };
    fields.read()
}

/// Strides as they are kept: those that are not looked at may not fit on a 32-bit machine.
fn kept(strides: &[i64]) -> Vec<isize> {
    let kept = |stride: &i64| isize::try_from(*stride).unwrap_or(isize::MIN);
    strides.iter().map(kept).collect()
}

/// The invariants that an error can stand for.
fn told(error: &LayoutError) -> &'static [u8] {
    match error {
        LayoutError::NegativeRank { .. } | LayoutError::RankTooLarge { .. } => &[1],
        LayoutError::NullShape { .. } => &[2],
        LayoutError::NegativeSize { .. } => &[3],
        LayoutError::StrideCount { .. } => &[4],
        LayoutError::TooManyElements => &[5],
        LayoutError::TooFar => &[6],
        other => panic!("{other:?} isn't an error of the validator"),
    }
}

fn fields() -> impl Strategy<Value = Fields> {
    let rank = prop_oneof![
        12 => 0..=10_usize,
        1 => Just(64_usize),
        1 => Just(MAX_RANK),
        1 => Just(MAX_RANK + 1),
    ];
    rank.prop_flat_map(|rank| {
        // Of many dimensions most have size 1, as all products would be too large otherwise.
        let ones = if rank > 10 { 40 * rank as u32 } else { 40 };
        let size = prop_oneof![
            ones => Just(1_i64),
            100 => 2..=5_i64,
            3 => Just(0_i64),
            5 => extreme(),
            1 => -3..0_i64,
        ];
        let stride = prop_oneof![4 => -100..=100_i64, 1 => extreme()];
        let nullable = |numbers| prop::option::weighted(0.9, numbers);
        (
            nullable(prop::collection::vec(size, rank).boxed()),
            nullable(prop::collection::vec(stride, rank).boxed()),
        )
            .prop_map(move |(shape, strides)| Fields {
                ndim: rank as i32,
                shape,
                strides,
            })
    })
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn validator_accepts_layouts_that_satisfy_the_invariants(fields in fields()) {
        let violated = violations(fields.ndim, fields.shape.as_deref(), fields.strides.as_deref());
        match fields.read() {
            Ok(layout) => {
                prop_assert!(violated.is_empty(), "taken in spite of {violated:?}");
                let shape: Vec<i64> = layout.shape().iter().map(|size| *size as i64).collect();
                prop_assert_eq!(&shape, &fields.shape.unwrap_or_default());
                if let Some(strides) = fields.strides {
                    prop_assert_eq!(layout.strides(), kept(&strides));
                } else {
                    prop_assert!(layout.as_ref().is_contiguous());
                    prop_assert_eq!(&layout, &Layout::contiguous(layout.shape()).unwrap());
                }
                let len: i128 = shape.iter().map(|size| i128::from(*size)).product();
                prop_assert_eq!(layout.len() as i128, len);
                prop_assert_eq!(layout.is_empty(), len == 0);
                prop_assert_eq!(layout.rank() as i32, fields.ndim);
            }
            Err(error) => prop_assert!(
                told(&error).iter().any(|told| violated.contains(told)),
                "{error:?}, but the violated ones are {violated:?}"
            ),
        }
    }

    #[test]
    fn rust_and_c_layouts_share_one_validator(fields in fields()) {
        let Some(shape) = &fields.shape else { return Ok(()) };
        let Ok(shape) = shape.iter().map(|size| usize::try_from(*size)).collect::<Result<Vec<_>, _>>()
        else { return Ok(()) };
        let found = match &fields.strides {
            None => Layout::contiguous(&shape),
            Some(strides) => {
                Layout::strided(&shape, &kept(strides))
            }
        };
        prop_assert_eq!(found, fields.read());
    }

    #[test]
    fn the_limits_are_exact(layout in at_the_limit(1)) {
        // What is taken has an extent that is a number, and one more step is refused.
        let (first, last) = layout.as_ref().extent().unwrap();
        prop_assert!(last as i128 - first as i128 <= isize::MAX as i128);
        let mut strides = layout.strides().to_vec();
        let (size, stride) = (layout.shape()[layout.rank() - 1], strides.last_mut().unwrap());
        let left = isize::MAX as i128 - (last as i128 - first as i128);
        let more = left / (size as i128 - 1);
        let furthest = stride.unsigned_abs() as i128 + more;
        *stride = furthest as isize * stride.signum();
        prop_assert!(Layout::strided(layout.shape(), &strides).is_ok());
        let stride = strides.last_mut().unwrap();
        let further = furthest + 1;
        if further <= isize::MAX as i128 {
            *stride = further as isize * stride.signum();
            let found = Layout::strided(layout.shape(), &strides);
            prop_assert!(matches!(found, Err(LayoutError::TooFar)), "{found:?}");
        }
    }

    #[test]
    fn row_major_strides_lead_to_every_element_in_order(layout in small(5, 3)) {
        let layout = Layout::contiguous(layout.shape()).unwrap();
        let expected = 0..indices(layout.shape()).len() as i128;
        prop_assert_eq!(offsets(layout.as_ref()), expected.collect::<Vec<_>>());
    }

    #[test]
    fn extent_is_that_of_the_elements(layout in small(4, 4)) {
        let offsets = offsets(layout.as_ref());
        let ends = offsets.iter().min().zip(offsets.iter().max());
        let extent = layout.as_ref().extent();
        prop_assert_eq!(extent.map(|(first, _)| first as i128), ends.map(|(first, _)| *first));
        prop_assert_eq!(extent.map(|(_, last)| last as i128), ends.map(|(_, last)| *last));
    }

    #[test]
    fn extent_of_far_strides(layout in at_the_limit(1)) {
        let bits = bit_range(layout.as_ref(), DType::U1, false);
        let (first, last) = layout.as_ref().extent().unwrap();
        prop_assert_eq!(bits, first as i128..last as i128 + 1);
    }
}
