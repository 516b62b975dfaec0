//! The order in which rows that a list of indices names are visited.

use crate::compute::address::Address;
use crate::compute::plan::{Dim, Operand, merge};

/// A type of indices.
pub(crate) trait Index: Copy + Sync {
    /// Returns the number.
    fn number(self) -> i64;

    /// Returns the position along an axis of this size, which the index is within. Negative ones
    /// count from the end.
    #[inline(always)]
    fn position(self, size: usize) -> usize {
        let number = self.number();
        let from_end = if number < 0 { size as i64 } else { 0 };
        number.wrapping_add(from_end) as usize
    }
}

impl Index for i32 {
    #[inline(always)]
    fn number(self) -> i64 {
        self.into()
    }
}

impl Index for i64 {
    #[inline(always)]
    fn number(self) -> i64 {
        self
    }
}

/// A tensor whose rows along an axis have indices, and one that has a row for each index of a
/// list, in place of that axis.
#[derive(Debug)]
pub(crate) struct Rows<'a, I> {
    pub(crate) indexed: Operand<'a>,
    pub(crate) axis: usize,
    pub(crate) listed: Operand<'a>,
    /// The list, each of which is within the axis.
    pub(crate) indices: &'a [I],
    /// How many dimensions the list has.
    pub(crate) rank: usize,
}

/// The order of a visit: outer dimensions, the list, and elements of a row. Strides are those of
/// the tensor with the list and of that with indices, in bytes.
#[derive(Debug)]
pub(super) struct Plan<'a, I> {
    first: [Address; 2],
    pub(super) item: usize,
    outer: Vec<Dim<2>>,
    pub(super) row: Dim<2>,
    /// The dimensions of the list.
    list: Vec<Dim<1>>,
    pub(super) indices: &'a [I],
    /// Size and stride of the axis.
    axis: (usize, isize),
}

/// The tensor with the list, and the one with indices.
pub(super) const LISTED: usize = 0;
pub(super) const INDEXED: usize = 1;

impl<'a, I: Index> Plan<'a, I> {
    /// Plans a visit that writes one of the two tensors.
    pub(super) fn new(rows: &Rows<'a, I>, written: usize) -> Self {
        let (listed, indexed) = (rows.listed, rows.indexed);
        let mut first = [listed.first, indexed.first];
        let stride = |of: Operand<'_>, at: usize| of.stride(at);
        let sizes = listed.layout.shape();
        let list = rows.axis..rows.axis + rows.rank;
        let mut outer = Vec::with_capacity(sizes.len() + 1);
        for (at, &size) in indexed.layout.shape().iter().enumerate() {
            if at == rows.axis || size == 1 {
                continue;
            }
            let beside = if at < rows.axis {
                at
            } else {
                at + rows.rank - 1
            };
            let mut strides = [stride(listed, beside), stride(indexed, at)];
            if strides[written] < 0 {
                for (first, stride) in first.iter_mut().zip(&mut strides) {
                    *first = first.wrapping_offset(*stride * (size as isize - 1));
                    *stride = -*stride;
                }
            }
            outer.push(Dim { size, strides });
        }
        let mut list: Vec<Dim<1>> = list
            .filter(|at| sizes[*at] != 1)
            .map(|at| Dim {
                size: sizes[at],
                strides: [stride(listed, at)],
            })
            .collect();
        merge(&mut list);
        outer.sort_by_key(|dim: &Dim<2>| std::cmp::Reverse(dim.strides[written]));
        let mut item = listed.item;
        if !matches!(item, 1 | 2 | 4 | 8 | 16) {
            // Bytes are a dimension like others.
            let (size, strides) = (item, [1; 2]);
            outer.push(Dim { size, strides });
            item = 1;
        }
        merge(&mut outer);
        // Of a tensor whose last dimension is the axis, rows are single elements.
        let axis = (
            indexed.layout.shape()[rows.axis],
            stride(indexed, rows.axis),
        );
        let across = match written {
            INDEXED => axis.1,
            _ => list.last().map_or(isize::MAX, |dim| dim.strides[0]),
        };
        let is_row =
            |dim: &mut Dim<2>| dim.strides[written].unsigned_abs() <= across.unsigned_abs();
        let row = outer.pop_if(is_row).unwrap_or(Dim::NONE);
        Self {
            first: first.map(Address),
            item,
            outer,
            row,
            list,
            indices: rows.indices,
            axis,
        }
    }

    pub(super) fn outer_len(&self) -> usize {
        self.outer.iter().map(|dim| dim.size).product()
    }

    /// Returns where the rows of an outer index begin.
    pub(super) fn begin(&self, mut index: usize) -> [*mut u8; 2] {
        let mut first = self.first.map(|address| address.0);
        for dim in self.outer.iter().rev() {
            let steps = index % dim.size;
            index /= dim.size;
            for (first, stride) in first.iter_mut().zip(dim.strides) {
                *first = first.wrapping_offset(stride * steps as isize);
            }
        }
        first
    }

    /// Returns where a row of the list is, in bytes from where the list begins.
    #[inline(always)]
    pub(super) fn listed(&self, mut at: usize) -> isize {
        match &self.list[..] {
            [] => 0,
            [dim] => at as isize * dim.strides[0],
            dims => {
                let mut offset = 0;
                for dim in dims.iter().rev() {
                    offset += dim.strides[0] * (at % dim.size) as isize;
                    at /= dim.size;
                }
                offset
            }
        }
    }

    /// Returns where a row is that has an index, in bytes from where the axis begins.
    #[inline(always)]
    pub(super) fn indexed(&self, at: usize) -> isize {
        let (size, stride) = self.axis;
        // SAFETY: all callers visit places of the list.
        let index = unsafe { self.indices.get_unchecked(at) };
        index.position(size) as isize * stride
    }
}
