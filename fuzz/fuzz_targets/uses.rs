//! Operations that any tensor allows.

use crate::model;
use dlbridge::Tensor;
use dlbridge::dlpack::{Flags, Legacy, Managed};
use dlbridge::layout::Overlap;

/// Numbers that are read one by one.
const FEW: usize = 100;

/// Nothing here may panic; elements are read only where there is memory.
pub(crate) fn try_everything(tensor: &Tensor, is_readable: bool) {
    let mut views = vec![tensor.clone(), tensor.transpose()];
    for axis in 0..tensor.rank() {
        let size = tensor.shape()[axis];
        views.extend(tensor.slice(axis, size / 2..));
        views.extend(tensor.slice(axis, size..size));
        views.extend(tensor.step_by(axis, -2));
        views.extend(tensor.select(axis, size / 2));
        views.extend(tensor.unsqueeze(axis));
    }
    views.extend(tensor.reshape(&[tensor.len()]));
    let wide = [&[3], tensor.shape()].concat();
    views.extend(tensor.broadcast_to(&wide));
    views.extend(tensor.bit_cast(dlbridge::DType::U8));
    views.extend(tensor.bit_cast(dlbridge::DType::C128));
    views.extend(tensor.as_bytes());
    for view in &views {
        let (_, overlap) = (view.nbytes(), view.overlaps(tensor));
        if view.is_empty() {
            assert_eq!(overlap, Overlap::No);
        } else if view.device().has_addresses() {
            assert_ne!(overlap, Overlap::No, "a view is part of what it shows");
        }
        goes_out_and_comes_back(view);
        goes_out_and_comes_back_changed(view);
        if is_readable {
            read(view);
        } else if !view.is_empty() && !view.device().is_host_accessible() {
            assert!(view.copy().is_err());
        }
    }
}

fn goes_out_and_comes_back(tensor: &Tensor) {
    let same = |managed: Managed<_>| {
        let descriptor = managed.descriptor();
        assert!(descriptor.ndim == 0 || !descriptor.strides.is_null());
        assert!(descriptor.byte_offset == 0 || !tensor.device().has_addresses());
        let back = Tensor::from_dlpack(managed).expect("it was in order when it went out");
        assert_eq!(back.layout(), tensor.layout());
        assert_eq!(back.dtype(), tensor.dtype());
        assert_eq!(back.is_read_only(), tensor.is_read_only());
        assert_eq!(back.is_padded(), tensor.is_padded());
        assert!(tensor.is_empty() || back.data_ptr() == tensor.data_ptr());
    };
    same(tensor.to_dlpack());
    if let Ok(managed) = tensor.to_dlpack_as::<Legacy>() {
        let back = Tensor::from_dlpack(managed).expect("it was in order when it went out");
        assert_eq!(back.layout(), tensor.layout());
    }
}

/// What a consumer changed is no longer what went out.
fn goes_out_and_comes_back_changed(tensor: &Tensor) {
    let raw = tensor.to_dlpack().into_raw();
    // SAFETY: the export is owned here, so no other code looks at its fields.
    let changed = unsafe { &mut *raw.as_ptr() };
    changed.flags |= Flags::READ_ONLY;
    changed.dl_tensor.ndim -= i32::from(tensor.rank() > 0);
    // SAFETY: it is what was given up above, and describes fewer elements than before.
    let changed = unsafe { Managed::from_raw_unchecked(raw) };
    let rank = tensor.rank().saturating_sub(1);
    match Tensor::from_dlpack(changed) {
        Ok(back) => {
            assert!(back.is_read_only());
            assert_eq!(back.shape(), &tensor.shape()[..rank]);
            assert_eq!(back.strides(), &tensor.strides()[..rank]);
        }
        // Where there were no elements, leaving a dimension out makes some, at no address.
        Err(error) => assert!(tensor.is_empty(), "{error}"),
    }
}

/// Every element is read, and every other way to read it gives the same.
fn read(tensor: &Tensor) {
    let lanes = usize::from(tensor.dtype().lanes());
    let step = model::step_bits(tensor.dtype(), tensor.is_padded()) as usize;
    if tensor.len().saturating_mul(lanes.max(step / 8)) > FEW {
        return;
    }
    let copy = tensor.copy().expect("the elements are there, and few");
    assert_eq!(copy.shape(), tensor.shape());
    assert!(copy.layout().is_contiguous() && copy.is_copied());
    let scalars = |tensor: &Tensor| -> Vec<String> {
        let scalars = tensor.scalars().expect("the host has them");
        scalars.map(|scalar| format!("{scalar:?}")).collect()
    };
    let numbers = scalars(tensor);
    assert_eq!(numbers.len(), tensor.len() * lanes);
    assert_eq!(scalars(&copy), numbers);
    if let Ok(floats) = tensor.to_vec::<f32>() {
        assert_eq!(floats.len(), tensor.len());
    }
}
