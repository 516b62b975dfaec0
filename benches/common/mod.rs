//! Round trips that the benchmarks compare, with dlbridge and with dlpark.

use dlbridge::Tensor;
use dlbridge::dlpack::{Managed, Versioned};
use dlpark::ffi::{DLDataType, DLDevice, DLManagedTensorVersioned};
use dlpark::metadata::Dynamic;
use dlpark::versioned::Dlpack;
use std::hint::black_box;
use std::sync::Arc;

/// The shapes that are measured: 64 elements each, at rank 1, 4 and 8.
pub(crate) const SHAPES: [&[usize]; 3] = [&[64], &[2, 4, 4, 2], &[1, 2, 2, 2, 2, 2, 2, 1]];

pub(crate) fn numbers() -> Vec<f32> {
    vec![1.0; 64]
}

/// `Vec` -> `Tensor` -> export -> import with full validation -> drop.
pub(crate) fn round_trip(numbers: Vec<f32>, shape: &[usize]) {
    let tensor = Tensor::from_vec(numbers, shape).unwrap();
    let managed = tensor.into_dlpack();
    let raw = black_box(managed.into_raw());
    // SAFETY: given away in the line above.
    let managed = unsafe { Managed::from_raw(raw.as_ptr()) }.unwrap();
    drop(black_box(Tensor::from_dlpack(managed).unwrap()));
}

/// The same with dlpark: `Vec` -> managed tensor -> its pointer -> validated -> drop.
pub(crate) fn round_trip_dlpark(numbers: Vec<f32>, shape: &[usize]) {
    let managed = dlpark_export(Box::new(numbers), shape);
    let raw = black_box(managed.into_raw());
    // SAFETY: given away in the line above.
    let managed = unsafe { Dlpack::from_raw(raw) }.unwrap();
    {
        let view = managed.validate().unwrap();
        black_box((view.shape(), view.strides(), view.data_ptr()));
    }
    drop(black_box(managed));
}

/// dlpark's way to export a `Vec`: boxed as the context, with compact strides.
#[expect(clippy::box_collection, reason = "what dlpark takes as a context")]
fn dlpark_export(numbers: Box<Vec<f32>>, shape: &[usize]) -> Dlpack {
    let data = numbers.as_ptr().cast_mut().cast();
    let mut managed = Dynamic::compact(shape).initialize(numbers).unwrap();
    managed.set_data(data);
    managed.set_dtype(DLDataType::F32);
    managed.set_device(DLDevice::CPU);
    // SAFETY: the vector is the context, and lives as long as the managed tensor.
    unsafe { managed.finish() }
}

/// What is exported again and again.
pub(crate) struct Shared {
    pub(crate) tensor: Tensor,
    pub(crate) vec: Arc<Vec<f32>>,
    pub(crate) shape: &'static [usize],
}

impl Shared {
    pub(crate) fn new(shape: &'static [usize]) -> Self {
        Self {
            tensor: Tensor::from_vec(numbers(), shape).unwrap(),
            vec: Arc::new(numbers()),
            shape,
        }
    }

    /// Another export of an existing tensor, and its drop.
    pub(crate) fn reexport(&self) {
        drop(black_box(self.tensor.to_dlpack()));
    }

    /// dlpark's way to export what stays: an `Arc` as the context.
    pub(crate) fn reexport_dlpark(&self) {
        let data = self.vec.as_ptr().cast_mut().cast();
        let mut managed = Dynamic::compact(self.shape)
            .initialize(Arc::clone(&self.vec))
            .unwrap();
        managed.set_data(data);
        managed.set_dtype(DLDataType::F32);
        managed.set_device(DLDevice::CPU);
        // SAFETY: the vector is kept by the context, as long as the managed tensor lives.
        let managed: dlpark::Managed<DLManagedTensorVersioned> = unsafe { managed.finish() };
        drop(black_box(managed));
    }
}

/// A managed tensor that neither of both libraries made for itself: one of dlpark's, whose owner
/// is an `Arc`.
pub(crate) fn foreign(vec: &Arc<Vec<f32>>, shape: &[usize]) -> *mut Versioned {
    let data = vec.as_ptr().cast_mut().cast();
    let mut managed = Dynamic::compact(shape).initialize(Arc::clone(vec)).unwrap();
    managed.set_data(data);
    managed.set_dtype(DLDataType::F32);
    managed.set_device(DLDevice::CPU);
    // SAFETY: the vector is kept by the context, as long as the managed tensor lives.
    let managed: dlpark::Managed<DLManagedTensorVersioned> = unsafe { managed.finish() };
    managed.into_raw()
}

/// A foreign tensor is taken over with full validation, and dropped.
pub(crate) fn import(raw: *mut Versioned) {
    // SAFETY: it was given away in `foreign`.
    let managed = unsafe { Managed::from_raw(raw) }.unwrap();
    drop(black_box(Tensor::from_dlpack(managed).unwrap()));
}

/// The same with dlpark, which has no handle to count.
pub(crate) fn import_dlpark(raw: *mut Versioned) {
    // SAFETY: it was given away in `foreign`.
    let managed = unsafe { Dlpack::from_raw(raw) }.unwrap();
    {
        let view = managed.validate().unwrap();
        black_box((view.shape(), view.strides(), view.data_ptr()));
    }
    drop(black_box(managed));
}

/// An imported tensor that was never shared.
pub(crate) fn imported(shape: &[usize]) -> Tensor {
    let raw = foreign(&Arc::new(numbers()), shape);
    // SAFETY: it was given away in `foreign`.
    Tensor::from_dlpack(unsafe { Managed::from_raw(raw) }.unwrap()).unwrap()
}
