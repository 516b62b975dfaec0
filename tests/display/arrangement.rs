//! Brackets, line breaks, omitted elements, and the text behind the elements.

use crate::{check, packed};
use dlbridge::dlpack::{Description, Flags, Versioned, export};
use dlbridge::{DType, Device, DeviceKind, Tensor};

#[test]
fn brackets_are_nested_and_lines_broken() {
    check(
        &Tensor::from([[[0_u8, 1], [2, 3]], [[4, 5], [6, 7]]]),
        "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]",
        "[[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]], dtype=uint8",
    );
    let eighths: Tensor = (0..20).map(|i| i as f32 / 8.0).collect();
    check(
        &eighths,
        "[0.000 0.125 0.250 0.375 0.500 0.625 0.750 0.875 1.000 1.125 1.250 1.375\n \
          1.500 1.625 1.750 1.875 2.000 2.125 2.250 2.375]",
        "[0.000, 0.125, 0.250, 0.375, 0.500, 0.625, 0.750, 0.875, 1.000,\n        \
          1.125, 1.250, 1.375, 1.500, 1.625, 1.750, 1.875, 2.000, 2.125,\n        \
          2.250, 2.375], dtype=float32",
    );
    let transposed = Tensor::from([[1, 20], [3, 4]]).transpose();
    let backwards = transposed.step_by(0, -1).unwrap();
    assert_eq!(backwards.to_string(), "[[20  4]\n [ 1  3]]");
}

#[test]
fn lanes_print_as_a_dimension() {
    let pairs = DType::U8.with_lanes(2).unwrap();
    check(
        &packed([1, 2, 3, 40], &[2], pairs),
        "[[ 1  2]\n [ 3 40]]",
        "[[ 1,  2],\n        [ 3, 40]], dtype=uint8x2",
    );
    let single = packed([1, 0], &[], DType::BOOL.with_lanes(2).unwrap());
    assert_eq!(single.to_string(), "[ True False]");
}

#[test]
fn empty_tensors() {
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32).unwrap();
    check(&zeros(&[0]), "[]", "[], dtype=float32");
    check(&zeros(&[0, 3]), "[]", "[], shape=[0, 3], dtype=float32");
}

#[test]
fn more_than_1000_elements_are_summarised() {
    let row = |stop: i32| Tensor::arange(0, stop, 1).unwrap();
    assert!(!row(1000).to_string().contains("..."));
    check(
        &row(1001),
        "[   0    1    2 ...  998  999 1000]",
        "[   0,    1,    2, ...,  998,  999, 1000],\n       shape=[1001], dtype=int32",
    );
    // All of these would take too much memory and time.
    let column = row(1000).reshape(&[1000, 1]).unwrap();
    let huge = column.broadcast_to(&[2, 1000, 1_000_000]).unwrap();
    let block = "[[  0   0   0 ...   0   0   0]\n  [  1   1   1 ...   1   1   1]\n  \
                  [  2   2   2 ...   2   2   2]\n  ...\n  [997 997 997 ... 997 997 997]\n  \
                  [998 998 998 ... 998 998 998]\n  [999 999 999 ... 999 999 999]]";
    assert_eq!(huge.to_string(), format!("[{block}\n\n {block}]"));
}

#[test]
#[cfg_attr(miri, ignore = "Miri takes long to print 8192 numbers")]
fn many_dimensions_are_cut_at_their_first_element() {
    let deep = Tensor::from([[7_u8, 8]]).broadcast_to(&[2; 60]).unwrap();
    let text = deep.to_string();
    assert_eq!(text.matches(['7', '8']).count(), 8192); // 2 to the power of 13
    assert_eq!(text.matches("...").count(), 60 - 13);
}

/// A tensor without memory.
fn elsewhere(kind: DeviceKind, shape: &[usize], strides: &[isize], flags: Flags) -> Tensor {
    let description = Description {
        data: std::ptr::without_provenance_mut(4096),
        device: Device::new(kind, 1).into(),
        dtype: DType::F32.into(),
        shape,
        strides,
        byte_offset: 0,
        flags,
    };
    // SAFETY: what has no elements needs no memory, and other memory is never reached.
    Tensor::from_dlpack(unsafe { export::<Versioned, _>(&description, ()) }).unwrap()
}

#[test]
fn device_and_access_are_named() {
    let mine = Tensor::from([1_u8]).into_read_only();
    check(&mine, "[1]", "[1], dtype=uint8, read-only");

    let cuda = elsewhere(DeviceKind::Cuda, &[2, 3], &[3, 1], Flags::READ_ONLY);
    let text = "shape=[2, 3], dtype=float32, device=cuda:1, read-only";
    check(&cuda, &format!("Tensor({text})"), text);

    let pinned = elsewhere(DeviceKind::CudaHost, &[0], &[1], Flags::empty());
    check(&pinned, "[]", "[], dtype=float32, device=cuda_host:1");
}
