//! Copies: the same elements, in memory of their own, bit by bit.

use crate::model::{Model, Step, apply, cases, shapes, steps, viewed};
use dlbridge::dtype::Scalar;
use dlbridge::error::{Error, LayoutError};
use dlbridge::{DType, Storage, Tensor};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Every element type: single numbers mostly, and vectors of up to 9 of them.
fn dtypes() -> impl Strategy<Value = DType> {
    let lanes = prop_oneof![2 => Just(1), 1 => 2..10_u16];
    (select(DType::ALL), lanes).prop_map(|(dtype, lanes)| dtype.with_lanes(lanes).unwrap())
}

/// The bits of one element, picked one at a time.
fn bits_at(bytes: &[u8], bits: usize, element: usize) -> Vec<bool> {
    (element * bits..(element + 1) * bits)
        .map(|at| bytes[at / 8] >> (at % 8) & 1 == 1)
        .collect()
}

/// A tensor of these bytes after the operations that its elements allow, and what it should be.
fn view_of_bytes(bytes: &[u8], dtype: DType, shape: &[usize], steps: &[Step]) -> (Tensor, Model) {
    let storage = Storage::from_vec(bytes.to_vec());
    let mut tensor = Tensor::from_storage(storage, shape, dtype).unwrap();
    let mut model = Model::new(shape);
    let address = tensor.data_ptr().addr();
    for &step in steps {
        let Some((next, expected)) = apply(step, &tensor, &model) else {
            continue;
        };
        let first = expected.ids.first().map_or(0, |id| id * dtype.item_bits());
        if first % 8 != 0 {
            let inside = LayoutError::InsideByte {
                dtype,
                bits: first % 8,
            };
            assert_eq!(next.unwrap_err(), Error::from(inside));
            continue;
        }
        (tensor, model) = (next.unwrap(), expected);
        if !model.ids.is_empty() {
            assert_eq!(tensor.data_ptr().addr(), address + first / 8);
        }
    }
    (tensor, model)
}

/// Like `==`, and NaNs count as equal to each other.
fn same(left: &Scalar, right: &Scalar) -> bool {
    let same_float = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    match (left, right) {
        (Scalar::Float(a), Scalar::Float(b)) => same_float(*a, *b),
        (Scalar::Complex(a, b), Scalar::Complex(c, d)) => same_float(*a, *c) && same_float(*b, *d),
        _ => left == right,
    }
}

fn is_nan(scalar: &Scalar) -> bool {
    matches!(scalar, Scalar::Float(x) if x.is_nan())
        || matches!(scalar, Scalar::Complex(re, im) if re.is_nan() || im.is_nan())
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn a_copy_has_the_same_bits_in_row_major_order(
        dtype in dtypes(), shape in shapes(), steps in steps(), seed in vec(any::<u8>(), 64),
    ) {
        let size = dtype.packed_bytes(shape.iter().product()).unwrap();
        // The seed's length and this factor have nothing in common with any element's width.
        let bytes: Vec<u8> = (0..size).map(|i| seed[i % 64].wrapping_add((i / 64 * 37) as u8)).collect();
        let (tensor, model) = view_of_bytes(&bytes, dtype, &shape, &steps);
        let copy = tensor.copy().unwrap();

        prop_assert_eq!(copy.shape(), &model.shape[..]);
        prop_assert_eq!(copy.dtype(), dtype);
        prop_assert!(copy.layout().is_contiguous() && copy.is_copied() && !copy.is_read_only());
        prop_assert_eq!(copy.byte_offset(), 0);
        prop_assert!(copy.overlaps(&tensor).is_excluded());

        let copied = copy.as_bytes().unwrap().to_vec::<u8>().unwrap();
        let bits = dtype.item_bits();
        prop_assert_eq!(copied.len(), (model.len() * bits).div_ceil(8));
        for (place, id) in model.ids.iter().enumerate() {
            prop_assert_eq!(bits_at(&copied, bits, place), bits_at(&bytes, bits, *id));
        }

        let ours: Vec<Scalar> = tensor.scalars().unwrap().collect();
        let theirs: Vec<Scalar> = copy.scalars().unwrap().collect();
        prop_assert_eq!(ours.len(), model.len() * usize::from(dtype.lanes()));
        prop_assert_eq!(ours.len(), theirs.len());
        prop_assert!(ours.iter().zip(&theirs).all(|(a, b)| same(a, b)));
        prop_assert_eq!(copy.equals(&tensor).unwrap(), !ours.iter().any(is_nan));
    }

    #[test]
    fn to_contiguous_copies_only_strided_tensors(shape in shapes(), steps in steps()) {
        let (tensor, model) = viewed(&shape, &steps);
        let contiguous = tensor.contiguous().unwrap();
        prop_assert!(contiguous.layout().is_contiguous());
        prop_assert!(contiguous.equals(&tensor).unwrap());
        prop_assert_eq!(contiguous.len(), model.len());
        prop_assert_eq!(contiguous.is_copied(), !tensor.layout().is_contiguous());
        if tensor.layout().is_contiguous() {
            prop_assert_eq!(contiguous.data_ptr(), tensor.data_ptr());
        }
    }
}

#[test]
fn copy_is_independent_of_the_original() {
    let tensor = Tensor::from([[1, 2], [3, 4]]).into_read_only();
    for original in [tensor.clone(), tensor.transpose()] {
        let mut copy = original.copy().unwrap();
        copy.view_mut::<i32>().unwrap().fill(0);
        assert_eq!(copy.to_vec::<i32>().unwrap(), [0; 4]);
    }
    assert_eq!(tensor.to_vec::<i32>().unwrap(), [1, 2, 3, 4]);
}

#[test]
fn views_of_a_copy_are_copied_too() {
    let copy = Tensor::from([[1, 2], [3, 4]]).copy().unwrap();
    assert!(copy.transpose().is_copied());
    assert!(copy.clone().into_read_only().is_copied());
    assert!(!Tensor::from([1]).is_copied());
}

#[test]
fn elements_of_every_width_at_the_largest_rank() {
    for dtype in [
        DType::U8,
        DType::F64,
        DType::U8.with_lanes(3).unwrap(),
        DType::U4.with_lanes(3).unwrap(),
    ] {
        let storage = Storage::from_vec((0..32_u8).collect());
        let matrix = Tensor::from_storage(storage, &[2, 2], dtype).unwrap();
        let mut shape = vec![1; 255];
        (shape[0], shape[254]) = (2, 2);
        let mut axes: Vec<usize> = (0..255).collect();
        axes.swap(0, 254);
        let tensor = matrix.reshape(&shape).unwrap().permute(&axes).unwrap();
        let copy = tensor.copy().unwrap();
        assert_eq!(copy.shape(), shape);
        assert!(
            copy.reshape(&[2, 2])
                .unwrap()
                .equals(&matrix.transpose())
                .unwrap(),
            "{dtype}"
        );
    }
}

/// Builds with debug assertions stream copies of this size already.
#[test]
fn large_permuted_copies_have_the_same_elements() {
    fn check<const N: usize>(shape: &[usize], axes: &[usize]) {
        let len: usize = shape.iter().product();
        // None of them is NaN as a float.
        let element = |at: usize| -> [u8; N] {
            std::array::from_fn(|byte| {
                (at.wrapping_mul(2_654_435_761) >> (8 * (byte % 4))) as u8 & 0x3f
            })
        };
        let bytes: Vec<u8> = (0..len).flat_map(element).collect();
        let dtype = [DType::U8, DType::U16, DType::U32, DType::U64, DType::C128]
            [N.trailing_zeros() as usize];
        let x = Tensor::from_storage(Storage::from_vec(bytes), shape, dtype).unwrap();
        let view = x.permute(axes).unwrap();
        let copy = view.copy().unwrap();
        let elements = |x: &Tensor| -> Vec<Scalar> { x.scalars().unwrap().collect() };
        assert_eq!(elements(&copy), elements(&view), "{shape:?} {axes:?} {N}");
    }
    for (shape, axes) in [
        (&[130, 70][..], &[1, 0][..]),
        (&[64, 256], &[1, 0]),
        (&[300, 17], &[1, 0]),
        (&[17, 300], &[1, 0]),
        (&[3, 70, 90], &[0, 2, 1]),
        (&[3, 40, 5, 64], &[0, 2, 1, 3]),
        (&[2, 30, 7, 150], &[2, 0, 1, 3]),
        (&[2, 90, 50, 3], &[0, 3, 1, 2]),
        (&[40, 50, 3], &[2, 1, 0]),
        (&[2, 3, 90, 50], &[0, 2, 3, 1]),
    ] {
        check::<1>(shape, axes);
        check::<2>(shape, axes);
        check::<4>(shape, axes);
        check::<8>(shape, axes);
        check::<16>(shape, axes);
    }
}
