//! Untyped arguments of kernels.

use crate::devices::invented;
use crate::support::{Written, copy, op, refused};
use dlbridge::device::DeviceKind;
use dlbridge::kernel::{Kernel, KernelFunction, Op, OpHandle, Untyped, UntypedMut};
use dlbridge::layout::Layout;
use dlbridge::{DType, Device, Storage, Tensor};

fn of_function<M>(function: impl KernelFunction<M>) -> OpHandle {
    op(copy(), [Kernel::new("copy").function(function)])
}

#[test]
fn untyped_arguments_report_their_dtype_and_give_typed_views() {
    let op = of_function(|x: Untyped<'_>, mut y: UntypedMut<'_>| {
        assert_eq!(
            (x.dtype(), x.device(), x.shape()),
            (y.dtype(), Device::CPU, y.shape())
        );
        assert_eq!(
            x.nbytes(),
            x.layout().len() * x.dtype().item_bytes().unwrap()
        );
        assert!(!x.is_padded() && !x.data_ptr().is_null());
        macro_rules! copy {
            ($($ty:ty),*) => {$(
                if let (Some(x), Some(mut y)) = (x.view::<$ty>(), y.view_mut::<$ty>()) {
                    y.iter_mut().zip(&x).for_each(|(y, x)| *y = *x);
                    return Ok(());
                }
            )*};
        }
        copy!(f32, i64, num_complex::Complex<f32>);
        Err(format!("unsupported dtype {}", x.dtype()))
    });
    let floats = Tensor::from([1.0_f32, 2.0]);
    assert!(
        op.call()
            .input(&floats)
            .make()
            .unwrap()
            .equals(&floats)
            .unwrap()
    );
    let integers = Tensor::from([[1_i64, 2], [3, 4]]).transpose();
    assert!(
        op.call()
            .input(&integers)
            .make()
            .unwrap()
            .equals(&integers)
            .unwrap()
    );
    let (_, text) = refused(op.call().input(&Tensor::from([1_u8])).make());
    assert!(text.ends_with("failed: unsupported dtype uint8"), "{text}");
}

#[test]
fn bool_views_require_valid_bytes() {
    let op = of_function(|x: Untyped<'_>, mut y: UntypedMut<'_>| {
        let (Some(x), Some(mut y)) = (x.view::<bool>(), y.view_mut::<bool>()) else {
            return Err("not all bytes are flags");
        };
        y.iter_mut().zip(&x).for_each(|(y, x)| *y = !x);
        Ok(())
    });
    let flags = |bytes: [u8; 3]| {
        let storage = Storage::from_vec(bytes.to_vec());
        Tensor::from_storage(storage, &[3], DType::BOOL).unwrap()
    };
    let negated = op.call().input(&flags([1, 0, 1])).make().unwrap();
    assert_eq!(negated.to_vec::<bool>().unwrap(), [false, true, false]);
    let (_, text) = refused(op.call().input(&flags([1, 0, 7])).make());
    assert!(text.ends_with("failed: not all bytes are flags"), "{text}");
    let good = flags([0, 0, 0]);
    let call = op.call().input(&good);
    let (_, text) = refused(call.output(&mut flags([2, 0, 0])).run());
    assert!(text.ends_with("failed: not all bytes are flags"), "{text}");
    let seen = flags([1, 0, 7]).slice(0, ..2).unwrap();
    let negated = op.call().input(&seen).make().unwrap();
    assert_eq!(negated.to_vec::<bool>().unwrap(), [false, true]);
}

/// `copy(x) -> y`, by bytes.
fn copied_by_bytes() -> OpHandle {
    of_function(|x: Untyped<'_>, mut y: UntypedMut<'_>| y.copy_from(&x))
}

#[test]
fn copy_of_every_dtype_and_layout_keeps_elements() {
    let op = copied_by_bytes();
    let widest = DType::F64.with_lanes(3).unwrap();
    let odd = [DType::U8.with_lanes(3), DType::F6_E2M3FN.with_lanes(4)].map(Result::unwrap);
    let whole = DType::ALL.iter().filter(|dtype| !dtype.is_sub_byte());
    for dtype in whole.chain(&odd).chain([&widest]) {
        let size = dtype.item_bytes().unwrap();
        let bytes: Vec<u8> = (0..24 * size).map(|at| (at * 7 % 251) as u8).collect();
        // From an address that is aligned to nothing.
        let mut shifted = vec![0; size + 1];
        shifted.extend(&bytes);
        let storage = Storage::from_vec(shifted);
        let all = Tensor::from_storage(storage, &[25 * size + 1], DType::U8).unwrap();
        let bare = all.slice(0, size + 1..).unwrap();
        for x in [
            bare.reshape(&[24, size]).unwrap(),
            bare.reshape(&[24, size]).unwrap().step_by(0, -5).unwrap(),
            bare.reshape(&[24, size]).unwrap().slice(0, 3..3).unwrap(),
        ] {
            let expected: Vec<u8> = x.to_vec::<u8>().unwrap();
            let x = bytes_as(&x, *dtype);
            let y = op.call().input(&x).make().unwrap();
            assert_eq!((y.dtype(), y.shape()), (*dtype, x.shape()));
            assert_eq!(bytes_of(&y), expected);
            let mut wide = zeros(2 * x.shape()[0], *dtype).step_by(0, -2).unwrap();
            op.call().input(&x).output(&mut wide).run().unwrap();
            assert_eq!(bytes_of(&wide), expected);
        }
    }
}

/// Elements of which every bit is 0, which not every type has as a number.
fn zeros(count: usize, dtype: DType) -> Tensor {
    let size = dtype.item_bytes().unwrap();
    bytes_as(&Tensor::zeros(&[count, size], DType::U8).unwrap(), dtype)
}

/// Rows of bytes, each as one element.
fn bytes_as(rows: &Tensor, dtype: DType) -> Tensor {
    rows.bit_cast(DType::U8.with_lanes(rows.shape()[1] as u16).unwrap())
        .unwrap()
        .squeeze(1)
        .unwrap()
        .bit_cast(dtype)
        .unwrap()
}

fn bytes_of(tensor: &Tensor) -> Vec<u8> {
    let copy = tensor.copy().unwrap();
    copy.as_bytes().unwrap().to_vec::<u8>().unwrap()
}

#[test]
fn copy_refuses_mismatched_elements() {
    let copies = |x: Untyped<'_>, mut y: UntypedMut<'_>| y.copy_from(&x);
    let x = Tensor::from([1_i16, 2]);
    let to_fixed = Op::new("f").input("x", "T").output("y", DType::I32);
    let converts = op(to_fixed, [Kernel::new("f").function(copies)]);
    let (_, text) = refused(converts.call().input(&x).make());
    assert!(
        text.ends_with("failed: expected elements of int32, got int16; cast them first"),
        "{text}"
    );
    let shorter = Op::new("f").input("x", "T").output("y", "T");
    let shorter = shorter.shapes(|_| Ok(vec![vec![1]]));
    let shorter = op(shorter, [Kernel::new("f").function(copies)]);
    let (_, text) = refused(shorter.call().input(&x).make());
    assert!(
        text.ends_with("failed: elements of shape [2] have no places in [1]"),
        "{text}"
    );
    let nibbles = Tensor::zeros(&[3], DType::U4).unwrap();
    let (_, text) = refused(copied_by_bytes().call().input(&nibbles).make());
    assert!(
        text.ends_with("failed: elements of uint4 aren't whole bytes"),
        "{text}"
    );
    let on_device = Kernel::new("copy").on(DeviceKind::Cuda).function(copies);
    let on_device = op(copy(), [on_device]);
    let layout = Layout::contiguous(&[2]).unwrap();
    let [x, y] = [0x1000, 0x2000].map(|address| invented(address, &layout, Device::cuda(0)));
    let (_, text) = refused(on_device.call().input(x).output(Written(y)).run());
    assert!(
        text.contains("failed: the CPU can't reach memory on cuda:0"),
        "{text}"
    );
}

#[test]
fn untyped_arguments_accept_dtypes_without_a_rust_type() {
    let op = of_function(|x: Untyped<'_>, y: UntypedMut<'_>| {
        assert_eq!(
            (x.dtype(), y.dtype(), x.nbytes()),
            (DType::I4, DType::I4, 2)
        );
    });
    let x = Tensor::zeros(&[3], DType::I4).unwrap();
    assert_eq!(op.call().input(&x).make().unwrap().dtype(), DType::I4);
}
