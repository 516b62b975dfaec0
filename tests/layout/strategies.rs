//! Layouts to test with: small ones whose elements can be listed, and such as are at the limits.

use dlbridge::DType;
use dlbridge::layout::Layout;
use proptest::prelude::*;
use proptest::test_runner::Config;

/// The number of cases, and far fewer under Miri, which is slow. Failures aren't written to files:
/// what was found gets a test of its own.
pub(crate) fn cases(cases: u32) -> Config {
    Config {
        cases: if cfg!(miri) { cases.min(4) } else { cases },
        failure_persistence: None,
        ..Config::default()
    }
}

/// Element types of all widths that behave differently: parts of a byte, whole bytes, several
/// bytes and a half.
pub(crate) fn dtype() -> impl Strategy<Value = DType> {
    let lanes = |dtype: DType, lanes| dtype.with_lanes(lanes).unwrap();
    prop::sample::select(vec![
        DType::U1,
        DType::I2,
        DType::I4,
        DType::F4_E2M1FN,
        DType::F6_E2M3FN,
        DType::U8,
        DType::F16,
        DType::F32,
        DType::C128,
        lanes(DType::I4, 2),
        lanes(DType::I4, 3),
        lanes(DType::U1, 17),
        lanes(DType::F32, 3),
    ])
}

/// An element type, and whether it is padded, which only some can be.
pub(crate) fn storage() -> impl Strategy<Value = (DType, bool)> {
    (dtype(), any::<bool>()).prop_map(|(dtype, padded)| {
        let can_be_padded = dtype.is_sub_byte() && dtype.lanes() == 1;
        (dtype, padded && can_be_padded)
    })
}

/// Up to `max_rank` dimensions of up to `max_size` elements, 0 less often than others.
pub(crate) fn shape(max_rank: usize, max_size: usize) -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![1 => Just(0), 12 => 1..=max_size];
    prop::collection::vec(size, 0..=max_rank)
}

/// Any strides, small ones.
fn scattered(shape: Vec<usize>) -> impl Strategy<Value = Layout> {
    let stride = prop_oneof![3 => -3..=3_isize, 3 => -40..=40_isize];
    let strides = prop::collection::vec(stride, shape.len());
    strides.prop_map(move |strides| Layout::strided(&shape, &strides).unwrap())
}

/// Like what views of a contiguous tensor have: the dimensions in any order, some with gaps, some
/// backwards, and now and then one repeated.
fn orderly(shape: Vec<usize>) -> impl Strategy<Value = Layout> {
    let rank = shape.len();
    let order = Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
    let gap = prop_oneof![8 => Just(0_isize), 1 => 1..3_isize];
    let sign = prop_oneof![8 => Just(1_isize), 2 => Just(-1), 1 => Just(0)];
    let vecs = (
        prop::collection::vec(gap, rank),
        prop::collection::vec(sign, rank),
    );
    (order, vecs).prop_map(move |(order, (gaps, signs))| {
        let mut strides = vec![0; rank];
        let mut step = 1;
        for axis in order {
            step += gaps[axis];
            strides[axis] = step * signs[axis];
            step *= shape[axis].max(1) as isize;
        }
        Layout::strided(&shape, &strides).unwrap()
    })
}

/// Layouts of few enough elements to list them.
pub(crate) fn small(max_rank: usize, max_size: usize) -> impl Strategy<Value = Layout> {
    shape(max_rank, max_size).prop_flat_map(|shape| {
        prop_oneof![
            1 => scattered(shape.clone()).boxed(),
            2 => orderly(shape).boxed(),
        ]
    })
}

/// A number near a power of two, or anything.
pub(crate) fn extreme() -> impl Strategy<Value = i64> {
    let near = |(exponent, by): (u32, i64)| (1_i64 << exponent).wrapping_add(by);
    let power = (0..64_u32, -2..=2_i64).prop_map(near);
    prop_oneof![4 => power, 1 => any::<i64>(), 1 => Just(i64::MIN), 1 => Just(i64::MAX)]
}

/// A layout at the limit of what invariant 6 allows, for elements `unit` times as large: the last
/// dimension leads about as far as the others have left.
pub(crate) fn at_the_limit(unit: i128) -> impl Strategy<Value = Layout> {
    let dim = (1..5_usize, any::<i32>(), 0..30_u32);
    let dims = prop::collection::vec(dim, 0..4);
    let last = (2..6_usize, any::<bool>(), -4..=4_i128);
    (dims, last)
        .prop_map(move |(dims, (last_size, backwards, by))| {
            let mut shape: Vec<usize> = dims.iter().map(|dim| dim.0).collect();
            let stride = |dim: &(usize, i32, u32)| (dim.1 as isize) << (dim.2 / 2);
            let mut strides: Vec<isize> = dims.iter().map(stride).collect();
            let reach = |(size, stride): (&usize, &isize)| {
                (*size as i128 - 1) * stride.unsigned_abs() as i128
            };
            let used: i128 = shape.iter().zip(&strides).map(reach).sum();
            let left = isize::MAX as i128 / unit - used + by;
            let stride = (left / (last_size as i128 - 1)).max(1);
            let stride = isize::try_from(stride).unwrap_or(isize::MAX);
            shape.push(last_size);
            strides.push(if backwards { -stride } else { stride });
            (shape, strides)
        })
        .prop_filter_map("refused, as invariant 6 demands", |(shape, strides)| {
            Layout::strided(&shape, &strides).ok()
        })
}
