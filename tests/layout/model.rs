//! A naive model of layouts: no limits, `i128` throughout.
//!
//! The fuzz targets share this file.

use dlbridge::DType;
use dlbridge::layout::{Layout, LayoutRef, MAX_RANK};
use std::collections::BTreeSet;
use std::ops::Range;

const LIMIT: i128 = isize::MAX as i128;

/// All indices of a shape, in row-major order.
pub(crate) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    if shape.contains(&0) {
        return vec![]; // There may be many beside it.
    }
    let mut all = vec![vec![]];
    for &size in shape {
        let longer = |index: &Vec<usize>| {
            let index = index.clone();
            (0..size).map(move |last| [&index[..], &[last]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Where each element is, counted in elements from the one of index 0, in row-major order.
pub(crate) fn offsets(layout: LayoutRef<'_>) -> Vec<i128> {
    if layout.is_empty() {
        return vec![];
    }
    let mut all = vec![0];
    for (&size, &stride) in layout.shape().iter().zip(layout.strides()) {
        let longer = |offset: i128| (0..size as i128).map(move |i| offset + i * stride as i128);
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// How far apart elements are, in bits.
pub(crate) fn step_bits(dtype: DType, padded: bool) -> i128 {
    let bits = i128::from(dtype.bits()) * i128::from(dtype.lanes());
    if padded { (bits + 7) / 8 * 8 } else { bits }
}

/// Every byte that an element lies in, wholly or partly.
pub(crate) fn bytes(
    address: usize,
    layout: LayoutRef<'_>,
    dtype: DType,
    padded: bool,
) -> BTreeSet<i128> {
    let step = step_bits(dtype, padded);
    let bytes_of = |offset: i128| {
        let (first, last) = (offset * step, (offset + 1) * step - 1);
        first.div_euclid(8)..=last.div_euclid(8)
    };
    let bytes = offsets(layout).into_iter().flat_map(bytes_of);
    bytes.map(|byte| address as i128 + byte).collect()
}

/// The numbers of the invariants 1 to 6 that the fields of a C descriptor don't satisfy.
///
/// Where there is a shape, it has `ndim` sizes, and so have the strides.
pub(crate) fn violations(
    ndim: i32,
    shape: Option<&[i64]>,
    strides: Option<&[i64]>,
) -> BTreeSet<u8> {
    let mut violated = BTreeSet::new();
    if ndim < 0 || ndim > MAX_RANK as i32 {
        violated.insert(1);
    }
    if ndim > 0 && shape.is_none() {
        violated.insert(2);
    }
    let sizes: Vec<i128> = match shape {
        Some(shape) => shape.iter().map(|size| i128::from(*size)).collect(),
        None => vec![],
    };
    if sizes.iter().any(|size| *size < 0) {
        violated.insert(3);
    }
    let mut product = 1;
    for size in sizes.iter().filter(|size| **size > 0) {
        product *= size;
        if product > LIMIT {
            violated.insert(5);
            break;
        }
    }
    if violated.is_empty() && !sizes.contains(&0) {
        let mut reach = 0; // of the last element in memory from the first one
        for (size, stride) in sizes.iter().zip(strides.unwrap_or_default()) {
            reach += (size - 1) * i128::from(*stride).abs();
        }
        if reach > LIMIT {
            violated.insert(6);
        }
    }
    violated
}

/// Of a layout that is not empty, the bits between which its elements lie, counted from the
/// element of index 0.
pub(crate) fn bit_range(layout: LayoutRef<'_>, dtype: DType, padded: bool) -> Range<i128> {
    let step = step_bits(dtype, padded);
    let reach = |(size, stride): (&usize, &isize)| (*size as i128 - 1) * *stride as i128;
    let reaches = || layout.shape().iter().zip(layout.strides()).map(reach);
    let first: i128 = reaches().filter(|reach| *reach < 0).sum();
    let last: i128 = reaches().filter(|reach| *reach > 0).sum();
    first * step..(last + 1) * step
}

/// Where a tensor claims its memory to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) data: usize,
    pub(crate) byte_offset: u64,
    pub(crate) has_addresses: bool,
}

/// The numbers of the invariants 7 to 9 that a layout's memory doesn't satisfy.
pub(crate) fn memory_violations(
    layout: LayoutRef<'_>,
    dtype: DType,
    padded: bool,
    place: Place,
) -> BTreeSet<u8> {
    let mut violated = BTreeSet::new();
    if layout.is_empty() {
        return violated;
    }
    let bits = bit_range(layout, dtype, padded);
    if bits.end - bits.start > LIMIT {
        violated.insert(7);
    }
    if place.data == 0 {
        violated.insert(8);
    }
    let first = place.data as i128 + i128::from(place.byte_offset);
    let lowest = first + bits.start.div_euclid(8);
    let behind = first + (bits.end + 7).div_euclid(8);
    // Nothing is at NULL.
    let is_outside = |address: i128| address <= 0 || address > usize::MAX as i128;
    if place.has_addresses && [first, lowest, behind].into_iter().any(is_outside) {
        violated.insert(9);
    }
    violated
}

/// The elements of an array, each by its place, in row-major order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) places: Vec<i128>,
}

impl Array {
    /// What a layout shows when its element of index 0 is at `start`.
    pub(crate) fn shown(layout: &Layout, start: isize) -> Self {
        let offsets = offsets(layout.as_ref()).into_iter();
        Self {
            shape: layout.shape().to_vec(),
            places: offsets.map(|offset| start as i128 + offset).collect(),
        }
    }

    /// The element of that index, found by its position among all.
    fn at(&self, index: &[usize]) -> i128 {
        let mut position = 0;
        for (&size, &i) in self.shape.iter().zip(index) {
            assert!(
                i < size,
                "index {index:?} leaves the shape {:?}",
                self.shape
            );
            position = position * size + i;
        }
        self.places[position]
    }

    /// A new array, whose element of each index is the old one of the index that `source` gives.
    pub(crate) fn rearranged(
        &self,
        shape: Vec<usize>,
        source: impl Fn(&[usize]) -> Vec<usize>,
    ) -> Self {
        let all = indices(&shape);
        let places = all.iter().map(|index| self.at(&source(index))).collect();
        Self { shape, places }
    }
}

/// The strides with which elements at these places, in row-major order, have this shape; `None`
/// where there are none. Dimensions of fewer than 2 elements get stride 0.
pub(crate) fn strides_of(shape: &[usize], places: &[i128]) -> Option<Vec<i128>> {
    if places.is_empty() {
        return Some(vec![0; shape.len()]);
    }
    // One step along a dimension passes over all elements of those behind it.
    let stride = |axis: usize| match shape[axis] {
        1 => 0,
        _ => places[shape[axis + 1..].iter().product::<usize>()] - places[0],
    };
    let strides: Vec<i128> = (0..shape.len()).map(stride).collect();
    let expected = indices(shape).into_iter().map(|index| {
        let terms = index.iter().zip(&strides);
        places[0] + terms.map(|(&i, stride)| i as i128 * stride).sum::<i128>()
    });
    expected.eq(places.iter().copied()).then_some(strides)
}
