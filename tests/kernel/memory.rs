//! Calls that are refused for the memory that their arguments have.

use crate::support::{Written, assert_incompatible, copies, copy, op};
use dlbridge::kernel::{Kernel, OpHandle, Operand, Reason};
use dlbridge::layout::Layout;
use dlbridge::{DType, Device, Storage, Tensor, View, ViewMut};

fn copying() -> OpHandle {
    op(copy(), [Kernel::new("copy").function(copies)])
}

#[test]
fn call_rejects_read_only_outputs() {
    let op = copying();
    let x = Tensor::from([1.0_f32]);
    let text = r#"copy: argument "y" is to be written, and is read-only; pass a copy"#;
    assert_incompatible!(op.call().input(&x).named("y", &x).run(), ReadOnly, text);

    let mut read_only = x.copy().unwrap().into_read_only();
    let called = op.call().input(&x).output(&mut read_only).run();
    let (reason, text) = crate::support::refused(called);
    assert!(matches!(reason, Reason::Tensor { .. }), "{reason:?}");
    assert!(text.starts_with(r#"copy: argument "y": "#), "{text}");

    let mut shared = x.copy().unwrap();
    let other = shared.clone();
    let called = op.call().input(&x).output(&mut shared).run();
    let (reason, text) = crate::support::refused(called);
    assert!(matches!(reason, Reason::Tensor { .. }), "{reason:?}");
    assert!(text.starts_with(r#"copy: argument "y": "#), "{text}");
    drop(other);
    op.call().input(&x).output(&mut shared).run().unwrap();
}

/// An operand over some numbers, with any layout.
///
/// # Safety
///
/// The layout leads to numbers of the slice alone, and they are used in no other way.
unsafe fn over<'a>(numbers: *mut f32, layout: &'a Layout) -> Operand<'a> {
    // SAFETY: the layout stays within the slice, which has no other use, by this function's
    // contract.
    unsafe {
        Operand::from_raw(
            numbers.cast(),
            layout.as_ref(),
            DType::F32,
            Device::CPU,
            false,
            true,
        )
    }
}

#[test]
fn overlap_is_allowed_only_where_the_op_permits_it() {
    let op = copying();
    let mut numbers = [1.0_f32, 2.0, 3.0];
    let first = numbers.as_mut_ptr();
    let pair = Layout::contiguous(&[2]).unwrap();
    let repeated = Layout::strided(&[2], &[0]).unwrap();
    // SAFETY: all of it is in the array, which is used through this pointer alone.
    let (here, next, twice) = unsafe {
        (
            || over(first, &pair),
            || over(first.add(1), &pair),
            over(first, &repeated),
        )
    };
    assert_incompatible!(
        op.call().input(here()).output(Written(next())).run(),
        Alias,
        r#"copy: argument "y" is to be written, and shares memory with "x"; it can be exactly that tensor, but not another part of its memory; pass a copy"#
    );
    op.call()
        .input(here())
        .output(Written(here()))
        .run()
        .unwrap();
    assert_incompatible!(
        op.call()
            .input(&Tensor::from([1.0_f32, 2.0]))
            .output(Written(twice))
            .run(),
        Overlap,
        r#"copy: argument "y" is to be written, and elements of it are at one place; pass a copy"#
    );
    // A kernel of slices can't have what the op allows.
    let slices = |_: &[f32], _: &mut [f32]| {};
    let op = crate::support::op(copy(), [Kernel::new("copy").function(slices)]);
    assert_incompatible!(
        op.call().input(here()).output(Written(here())).run(),
        Alias,
        r#"copy: argument "y" is to be written, and shares memory with "x"; pass a copy"#
    );
}

#[test]
fn call_rejects_unaligned_or_invalid_elements() {
    let op = copying();
    let bytes = Tensor::from([0_u8; 13]);
    let start = (0..4)
        .find(|at| (bytes.data_ptr() as usize + at) % 4 == 1)
        .unwrap();
    let x = bytes
        .slice(0, start..start + 8)
        .unwrap()
        .bit_cast(DType::F32);
    let address = bytes.data_ptr() as usize + start;
    match x {
        Ok(x) => assert_incompatible!(
            op.call().input(&x).make(),
            Alignment,
            format!(
                "copy: argument \"x\" begins at {address:#x}, which is not aligned to 4 bytes; pass a copy"
            )
        ),
        Err(error) => panic!("{error}"),
    }

    let storage = Storage::from_vec(vec![0_u8, 1, 7]);
    let flags = Tensor::from_storage(storage, &[3], DType::BOOL).unwrap();
    let not = |x: View<'_, bool>, mut y: ViewMut<'_, bool>| {
        y.iter_mut().zip(&x).for_each(|(y, x)| *y = !x);
    };
    let op = crate::support::op(copy(), [Kernel::new("copy").function(not)]);
    let text = r#"copy: argument "x" has a byte 0x07, which is not a valid bool"#;
    assert_incompatible!(op.call().input(&flags).make(), Value, text);
    let good = flags.slice(0, ..2).unwrap();
    let not = op.call().input(&good).make().unwrap();
    assert_eq!(not.to_vec::<bool>().unwrap(), [true, false]);
}

#[test]
fn bytes_of_outputs_are_made_valid_once_the_call_is_right() {
    let not = |x: View<'_, bool>, mut y: ViewMut<'_, bool>| {
        assert!(y.iter().all(|y| !y));
        y.iter_mut().zip(&x).for_each(|(y, x)| *y = !x);
    };
    let op = crate::support::op(copy(), [Kernel::new("copy").function(not)]);
    let bytes = || Tensor::from_storage(Storage::from_vec(vec![7_u8, 9, 7, 7]), &[4], DType::BOOL);
    let x = Tensor::from([true, false]);
    // Twice, as calls like one before are checked in another way; and strided ones.
    for step in [1, 1, 2] {
        let whole = bytes().unwrap();
        let mut out = whole.step_by(0, step).unwrap().slice(0, ..2).unwrap();
        drop(whole);
        op.call().input(&x).output(&mut out).run().unwrap();
        assert_eq!(out.to_vec::<bool>().unwrap(), [false, true]);
    }
    let mut out = bytes().unwrap();
    assert!(op.call().input(&x).output(&mut out).run().is_err());
    let left = out.bit_cast(DType::U8).unwrap();
    assert_eq!(left.to_vec::<u8>().unwrap(), [7, 9, 7, 7]);
}
