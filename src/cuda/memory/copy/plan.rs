//! [`Plan`]: a strided copy as few rectangles of bytes.

use crate::layout::LayoutRef;

/// A copy from one layout to another one of the same shape: a rectangle, many times.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) rectangle: Rectangle,
    /// The dimensions around it, the outermost first.
    around: Vec<Dim>,
}

/// Rows of bytes without gaps, equally far apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rectangle {
    pub(super) width: usize,
    pub(super) rows: usize,
    /// How many bytes apart rows are; nothing, where there is one.
    pub(super) to_pitch: usize,
    pub(super) from_pitch: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Dim {
    count: usize,
    /// How many bytes apart, in both.
    to: isize,
    from: isize,
}

impl Plan {
    /// Returns the plan for elements of a size in bytes, of which there is at least one. It reads
    /// and writes exactly the bytes that the elements touch, and its rows are at most `most` bytes
    /// apart.
    pub(super) fn new(
        to: LayoutRef<'_>,
        from: LayoutRef<'_>,
        itemsize: usize,
        most: usize,
    ) -> Self {
        let mut dims = merged(to, from, itemsize as isize);
        let mut width = itemsize;
        let is_dense = |dim: &Dim| dim.to == dim.from && dim.to == itemsize as isize;
        if let Some(dim) = dims.pop_if(|dim| is_dense(dim)) {
            width *= dim.count;
        }
        let follows = |pitch: isize| (width as isize..=most as isize).contains(&pitch);
        // Any of the dimensions may be the rows; the longest makes for the fewest rectangles.
        let rows = (0..dims.len())
            .filter(|at| follows(dims[*at].to) && follows(dims[*at].from))
            .max_by_key(|at| dims[*at].count);
        let rows = rows.map(|at| dims.remove(at));
        Self {
            rectangle: Rectangle {
                width,
                rows: rows.map_or(1, |rows| rows.count),
                to_pitch: rows.map_or(width, |rows| rows.to as usize),
                from_pitch: rows.map_or(width, |rows| rows.from as usize),
            },
            around: dims,
        }
    }

    /// Returns how many rectangles there are.
    pub(super) fn count(&self) -> usize {
        self.around.iter().map(|dim| dim.count).product()
    }

    /// Returns where they are, in bytes from the elements of index 0.
    pub(super) fn places(&self) -> impl Iterator<Item = (isize, isize)> {
        (0..self.count()).map(|mut number| {
            let (mut to, mut from) = (0, 0);
            for dim in self.around.iter().rev() {
                let index = (number % dim.count) as isize;
                number /= dim.count;
                to += index * dim.to;
                from += index * dim.from;
            }
            (to, from)
        })
    }
}

/// Returns the dimensions, in bytes, without those of size 1; neighbours that are one in both
/// layouts are one.
fn merged(to: LayoutRef<'_>, from: LayoutRef<'_>, itemsize: isize) -> Vec<Dim> {
    let mut dims: Vec<Dim> = Vec::new();
    let strides = to.strides().iter().zip(from.strides());
    for (count, (to, from)) in to.shape().iter().zip(strides) {
        if *count == 1 {
            continue;
        }
        let next = Dim {
            count: *count,
            to: to * itemsize,
            from: from * itemsize,
        };
        let steps = next.count as isize;
        match dims.last_mut() {
            Some(last) if last.to == next.to * steps && last.from == next.from * steps => {
                *last = Dim {
                    count: last.count * next.count,
                    ..next
                };
            }
            _ => dims.push(next),
        }
    }
    dims
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use proptest::prelude::*;

    /// Returns the pairs of bytes that are copied, in any order.
    fn bytes(plan: &Plan) -> Vec<(isize, isize)> {
        let Rectangle {
            width,
            rows,
            to_pitch,
            from_pitch,
        } = plan.rectangle;
        let mut pairs = Vec::new();
        for (to, from) in plan.places() {
            for row in 0..rows {
                for byte in 0..width {
                    let to = to + (row * to_pitch + byte) as isize;
                    pairs.push((to, from + (row * from_pitch + byte) as isize));
                }
            }
        }
        pairs.sort_unstable();
        pairs
    }

    /// Small, so that many layouts have rows that are farther apart.
    const MOST: usize = 100;

    fn plan(shape: &[usize], to: &[isize], from: &[isize], itemsize: usize) -> Plan {
        let to = Layout::strided(shape, to).unwrap();
        let from = Layout::strided(shape, from).unwrap();
        Plan::new(to.as_ref(), from.as_ref(), itemsize, MOST)
    }

    #[test]
    fn plan_of_dense_tensors_is_one_row() {
        let plan = plan(&[3, 1, 4], &[4, 9, 1], &[4, 7, 1], 8);
        assert_eq!((plan.rectangle.width, plan.rectangle.rows), (96, 1));
        assert_eq!(plan.count(), 1);
    }

    #[test]
    fn plan_of_column_slice_is_one_rectangle() {
        let plan = plan(&[5, 2, 3], &[6, 3, 1], &[20, 3, 1], 4);
        let expected = Rectangle {
            width: 24,
            rows: 5,
            to_pitch: 24,
            from_pitch: 80,
        };
        assert_eq!((plan.rectangle, plan.count()), (expected, 1));
    }

    #[test]
    fn plan_of_reversed_tensor_has_rows_of_one_element() {
        let plan = plan(&[4], &[1], &[-1], 2);
        assert_eq!((plan.rectangle.width, plan.count()), (2, 4));
    }

    #[test]
    fn plan_of_distant_rows_copies_them_one_by_one() {
        let near = plan(&[3, 2], &[2, 1], &[50, 1], 2);
        assert_eq!((near.rectangle.rows, near.count()), (3, 1));
        let far = plan(&[3, 2], &[2, 1], &[51, 1], 2);
        assert_eq!((far.rectangle.rows, far.count()), (1, 3));
        // Another dimension may do instead.
        let other = plan(&[9, 3, 2], &[6, 2, 1], &[51, 10, 1], 2);
        assert_eq!((other.rectangle.rows, other.count()), (3, 9));
    }

    proptest! {
        #[test]
        fn plan_copies_every_element_once(
            dims in prop::collection::vec((1_usize..4, -5_isize..6, -5_isize..6), 0..5),
            itemsize in prop::sample::select(vec![1_usize, 2, 4, 8, 16]),
        ) {
            let shape: Vec<_> = dims.iter().map(|dim| dim.0).collect();
            let to: Vec<_> = dims.iter().map(|dim| dim.1).collect();
            let from: Vec<_> = dims.iter().map(|dim| dim.2).collect();
            let plan = plan(&shape, &to, &from, itemsize);
            let pitches = [plan.rectangle.to_pitch, plan.rectangle.from_pitch];
            prop_assert!(plan.rectangle.rows == 1 || pitches.iter().all(|pitch| *pitch <= MOST));
            let mut expected = Vec::new();
            for number in 0..shape.iter().product::<usize>() {
                let (mut left, mut offsets) = (number, (0, 0));
                for (size, (to, from)) in shape.iter().zip(to.iter().zip(&from)).rev() {
                    let index = (left % size) as isize;
                    left /= size;
                    offsets = (offsets.0 + index * to, offsets.1 + index * from);
                }
                let item = itemsize as isize;
                expected.extend((0..item).map(|byte| (offsets.0 * item + byte, offsets.1 * item + byte)));
            }
            expected.sort_unstable();
            prop_assert_eq!(bytes(&plan), expected);
        }
    }
}
