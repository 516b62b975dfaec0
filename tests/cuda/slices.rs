//! Slices of the crate `cudarc` as tensors, and back.

use crate::double::{calls, fail, forget_failures, live, mistakes, on_double};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr};
use dlbridge::cuda::{self, Gpu, Slice, Stream};
use dlbridge::error::IncompatibilityKind as Kind;
use dlbridge::{DType, Error, Tensor};
use std::sync::Arc;

const NUMBERS: [f32; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];

fn theirs() -> Arc<CudaStream> {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

fn address(slice: &CudaSlice<f32>, stream: &CudaStream) -> u64 {
    slice.device_ptr(stream).0
}

fn ours() -> Stream {
    Stream::new(Gpu::new(0).unwrap()).unwrap()
}

fn on_gpu() -> Tensor {
    let tensor = Tensor::from_slice(&NUMBERS, &[2, 3]).unwrap();
    cuda::to_device(&tensor, &ours()).unwrap()
}

fn numbers(tensor: &Tensor) -> Vec<f32> {
    cuda::to_host(tensor).unwrap().to_vec().unwrap()
}

fn kind(error: &Error) -> Kind {
    error.incompatibility().kind
}

#[test]
fn tensors_take_slices_over() {
    on_double("slices::tensors_take_slices_over", || {
        let stream = theirs();
        let slice = stream.clone_htod(&NUMBERS).unwrap();
        let first = address(&slice, &stream);
        let mut tensor = Tensor::try_from(slice).unwrap();
        assert_eq!((tensor.shape(), tensor.dtype()), (&[6][..], DType::F32));
        assert_eq!(tensor.data_ptr().addr() as u64, first);
        assert_eq!(tensor.device().to_string(), "cuda:0");
        assert_eq!(numbers(&tensor), NUMBERS);
        // It is the memory's only owner.
        cuda::copy_into(&mut tensor, &Tensor::from([7.0_f32; 6]), &ours()).unwrap();
        assert_eq!(numbers(&tensor), [7.0; 6]);
        assert_eq!(live("memory"), 1);
        let view = tensor.slice(0, 1..3).unwrap();
        drop(tensor);
        assert_eq!((numbers(&view), live("memory")), (vec![7.0; 2], 1));
        drop(view);
        Gpu::new(0).unwrap().synchronize().unwrap();
        assert_eq!(live("memory"), 0);
        let none = Tensor::try_from(stream.alloc_zeros::<i64>(1).unwrap()).unwrap();
        assert_eq!((none.len(), none.dtype()), (1, DType::I64));
    });
}

#[test]
fn slices_are_a_tensors_memory() {
    on_double("slices::slices_are_a_tensors_memory", || {
        let (tensor, stream) = (on_gpu(), theirs());
        let first = tensor.data_ptr().addr() as u64;
        let slice = Slice::<f32>::new(tensor.clone(), &stream).unwrap();
        assert_eq!(address(&slice, &stream), first);
        assert_eq!(slice.len(), 6);
        assert_eq!(stream.clone_dtoh(&*slice).unwrap(), NUMBERS);
        let back = slice.into_tensor();
        assert_eq!(back.shape(), [2, 3]);
        assert_eq!(back.data_ptr(), tensor.data_ptr());
        drop((tensor, back));
        // The tensor is kept for as long as it is lent, on the default stream, too.
        let slice = Slice::<f32>::try_from(on_gpu()).unwrap();
        assert_eq!(slice.stream().clone_dtoh(&*slice).unwrap(), NUMBERS);
        let none = cuda::empty(&[0, 3], DType::F32, &ours()).unwrap();
        assert_eq!(Slice::<f32>::new(none, &stream).unwrap().len(), 0);
    });
}

#[test]
fn other_streams_of_cudarc_wait_until_a_slice_is_ready() {
    on_double(
        "slices::other_streams_of_cudarc_wait_until_a_slice_is_ready",
        || {
            let (first, second) = (theirs(), theirs());
            let late = || {
                let mut from = cuda::pinned(&[6], DType::F32, Gpu::new(0).unwrap()).unwrap();
                from.view_mut::<f32>().unwrap().fill(3.0);
                cuda::to_device(&from, &ours()).unwrap()
            };
            let slice = Slice::<f32>::new(late(), &first).unwrap();
            assert_eq!(second.clone_dtoh(&*slice).unwrap(), [3.0; 6]);
            let mut slice = Slice::<f32>::new(late(), &first).unwrap();
            let mut view = slice.as_view_mut().unwrap();
            second.memset_zeros(&mut view).unwrap();
            assert_eq!(numbers(&slice.into_tensor()), [0.0; 6]);
            // Lent to be read, written by ours through no handle, and lent to be written.
            let tensor = cuda::zeros(&[6], DType::F32, &ours()).unwrap();
            let mut slice = Slice::<f32>::new(tensor, &first).unwrap();
            assert_eq!(second.clone_dtoh(&*slice).unwrap(), [0.0; 6]);
            let mut view = slice.as_view_mut().unwrap();
            second.memcpy_htod(&NUMBERS, &mut view).unwrap();
            assert_eq!(numbers(&slice.into_tensor()), NUMBERS);
            assert_eq!(mistakes(), "");
        },
    );
}

#[test]
fn slices_of_one_handle_are_written() {
    on_double("slices::slices_of_one_handle_are_written", || {
        let (tensor, stream) = (on_gpu(), theirs());
        let other = tensor.clone();
        let mut slice = Slice::<f32>::new(tensor, &stream).unwrap();
        assert_eq!(kind(&slice.as_view_mut().unwrap_err()), Kind::Alias);
        drop(other);
        let mut view = slice.as_view_mut().unwrap();
        stream.memcpy_htod(&[9.0_f32; 6], &mut view).unwrap();
        assert_eq!(numbers(&slice.into_tensor()), [9.0; 6]);
        let only_read = on_gpu().into_read_only();
        let mut slice = Slice::<f32>::new(only_read, &stream).unwrap();
        assert_eq!(kind(&slice.as_view_mut().unwrap_err()), Kind::ReadOnly);
    });
}

#[test]
fn streams_wait_for_each_other() {
    on_double("slices::streams_wait_for_each_other", || {
        // Written by cudarc, read by a stream of ours, and written by cudarc again.
        let (first, second) = (theirs(), theirs());
        let mut slice = first.alloc_zeros::<f32>(6).unwrap();
        second.memcpy_htod(&NUMBERS, &mut slice).unwrap();
        let tensor = Tensor::try_from(slice).unwrap();
        let stream = ours();
        let mut copy = cuda::zeros(&[6], DType::F32, &stream).unwrap();
        let waits = calls("cuStreamWaitEvent");
        cuda::copy_into(&mut copy, &tensor, &stream).unwrap();
        assert!(
            calls("cuStreamWaitEvent") > waits,
            "ours waits for cudarc's"
        );
        let waits = calls("cuStreamWaitEvent");
        let mut slice = Slice::<f32>::new(tensor, &second).unwrap();
        let mut view = slice.as_view_mut().unwrap();
        assert!(
            calls("cuStreamWaitEvent") > waits,
            "cudarc's waits for ours"
        );
        second.memcpy_htod(&[1.0_f32; 6], &mut view).unwrap();
        assert_eq!(numbers(&copy), NUMBERS);
        // And by a stream that only cudarc knows of.
        let third = first.context().new_stream().unwrap();
        let mut view = slice.as_view_mut().unwrap();
        third.memcpy_htod(&[2.0_f32; 6], &mut view).unwrap();
        let mut tensor = slice.into_tensor();
        cuda::copy_into(&mut copy, &tensor, &stream).unwrap();
        assert_eq!(
            (numbers(&copy), numbers(&tensor)),
            (vec![2.0; 6], vec![2.0; 6])
        );
        // Ours write only when cudarc has read.
        let slice = Slice::<f32>::new(tensor.clone(), &first).unwrap();
        let mut read = third.alloc_zeros::<f32>(6).unwrap();
        third.memcpy_dtod(&*slice, &mut read).unwrap();
        drop(slice);
        cuda::copy_into(&mut tensor, &Tensor::from([3.0_f32; 6]), &stream).unwrap();
        assert_eq!(third.clone_dtoh(&read).unwrap(), [2.0; 6]);
        assert_eq!(numbers(&tensor), [3.0; 6]);
        assert_eq!(mistakes(), "");
    });
}

#[test]
fn what_cudarc_cannot_have_is_given_back() {
    on_double("slices::what_cudarc_cannot_have_is_given_back", || {
        let stream = theirs();
        let refused = |tensor: Tensor| {
            let address = tensor.data_ptr();
            let refused = Slice::<f32>::new(tensor, &stream).unwrap_err();
            assert_eq!(refused.tensor.data_ptr(), address);
            kind(&refused.error)
        };
        assert_eq!(refused(on_gpu().transpose()), Kind::Layout);
        assert_eq!(refused(Tensor::from([1.0_f32])), Kind::Device);
        let far = Stream::new(Gpu::new(1).unwrap()).unwrap();
        assert_eq!(
            refused(cuda::zeros(&[2], DType::F32, &far).unwrap()),
            Kind::Device
        );
        assert_eq!(
            refused(cuda::zeros(&[2], DType::I32, &ours()).unwrap()),
            Kind::DType
        );
        let cpu = Slice::<f32>::try_from(Tensor::from([1.0_f32])).unwrap_err();
        assert_eq!(kind(&cpu.error), Kind::Device);
        // Work of other contexts isn't ordered with that of frameworks.
        let other = CudaContext::new_non_primary(0, 0)
            .unwrap()
            .new_stream()
            .unwrap();
        let refused = Slice::<f32>::new(on_gpu(), &other).unwrap_err();
        assert_eq!(kind(&refused.error), Kind::Device);
        let slice = other.clone_htod(&NUMBERS).unwrap();
        assert_eq!(kind(&Tensor::try_from(slice).unwrap_err()), Kind::Device);
    });
}

#[test]
fn refused_loan_leaves_the_tensor_its_memory() {
    on_double("slices::refused_loan_leaves_the_tensor_its_memory", || {
        let theirs = CudaContext::new(0).unwrap().new_stream().unwrap();
        let ours = Stream::new(Gpu::new(0).unwrap()).unwrap();
        let make = || cuda::to_device(&Tensor::from([1.0_f32; 6]), &ours).unwrap();
        let before = calls("cuEventRecord");
        drop(Slice::<f32>::new(make(), &theirs).unwrap());
        let records = calls("cuEventRecord") - before;
        ours.gpu().synchronize().unwrap();
        let handles = Arc::strong_count(&theirs);
        assert!(records > 1, "{records}");
        let mut refusals = 0;
        for nth in 1..=records {
            let (tensor, frees) = (make(), calls("cuMemFreeAsync"));
            fail("cuEventRecord", nth, 2);
            let lent = Slice::<f32>::new(tensor, &theirs);
            forget_failures();
            // What failed as events were dropped would be the next call's.
            let _ = theirs.context().check_err();
            if let Err(refused) = lent {
                refusals += 1;
                assert_eq!(calls("cuMemFreeAsync"), frees);
                let numbers = cuda::to_host(&refused.tensor).unwrap();
                assert_eq!(numbers.to_vec::<f32>().unwrap(), [1.0; 6]);
            }
        }
        assert!(refusals > 1, "{refusals}");
        ours.gpu().synchronize().unwrap();
        assert_eq!(Arc::strong_count(&theirs), handles, "no slice is left");
    });
}
