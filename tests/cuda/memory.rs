//! Allocation, and the order of releases.

use crate::double::{calls, journal, live, on_double, peek};
use dlbridge::cuda::{self, CudaError, Gpu, Stream};
use dlbridge::dlpack::{Description, Flags, Versioned, export};
use dlbridge::{DType, Device, DeviceKind, Tensor};

/// A tensor as it comes from another library, that orders its memory on its own stream alone.
pub(crate) fn foreign(theirs: Tensor) -> Tensor {
    foreign_with(theirs, Flags::empty())
}

/// The same, which is a copy for its consumer, and so writable.
pub(crate) fn foreign_copy(theirs: Tensor) -> Tensor {
    foreign_with(theirs, Flags::IS_COPIED)
}

fn foreign_with(theirs: Tensor, flags: Flags) -> Tensor {
    let (shape, strides) = (theirs.shape().to_vec(), theirs.strides().to_vec());
    let description = Description {
        data: theirs.data_ptr().cast_mut().cast(),
        device: theirs.device().into(),
        dtype: theirs.dtype().into(),
        shape: &shape,
        strides: &strides,
        byte_offset: 0,
        flags,
    };
    // SAFETY: that describes the tensor, which the export keeps.
    Tensor::from_dlpack(unsafe { export::<Versioned, _>(&description, theirs) }).unwrap()
}

fn stream() -> Stream {
    Stream::new(Gpu::new(0).unwrap()).unwrap()
}

#[test]
fn gpu_tensors_have_the_attributes_of_host_tensors() {
    on_double(
        "memory::gpu_tensors_have_the_attributes_of_host_tensors",
        || {
            let stream = stream();
            let zeros = cuda::zeros(&[2, 3], DType::F32, &stream).unwrap();
            assert_eq!(zeros.device(), Device::cuda(0));
            assert_eq!((zeros.shape(), zeros.strides()), (&[2, 3][..], &[3, 1][..]));
            assert_eq!(zeros.data_ptr().addr() % 256, 0);
            assert!(!zeros.is_read_only());
            assert!(zeros.view::<f32>().is_err(), "the CPU can't look at it");
            assert_eq!(
                cuda::to_host(&zeros).unwrap().to_vec::<f32>().unwrap(),
                [0.0; 6]
            );
            let part = zeros.slice(0, 1..2).unwrap().transpose();
            drop(zeros);
            assert_eq!(
                cuda::to_host(&part).unwrap().to_string(),
                "[[0.]\n [0.]\n [0.]]"
            );
        },
    );
}

#[test]
fn empty_tensors_allocate_nothing() {
    on_double("memory::empty_tensors_allocate_nothing", || {
        let empty = cuda::zeros(&[0, 4], DType::F32, &stream()).unwrap();
        assert_eq!(
            (live("device memory"), empty.device()),
            (0, Device::cuda(0))
        );
        assert_eq!(cuda::to_host(&empty).unwrap().shape(), [0, 4]);
        let sent = cuda::to_device(&Tensor::zeros(&[0], DType::F32).unwrap(), &stream()).unwrap();
        assert_eq!(sent.shape(), [0]);
        let pinned = cuda::pinned(&[0], DType::F32, Gpu::new(0).unwrap()).unwrap();
        assert_eq!(pinned.device().kind(), DeviceKind::CudaHost);
    });
}

#[test]
fn too_large_allocations_fail() {
    on_double("memory::too_large_allocations_fail", || {
        let stream = stream();
        let error = cuda::empty(&[1 << 50], DType::F32, &stream).unwrap_err();
        let bytes = 4 << 50;
        let device = Device::cuda(0);
        assert_eq!(error, CudaError::OutOfMemory { device, bytes });
        assert_eq!(
            error.to_string(),
            "there is not enough memory on cuda:0 for 4503599627370496 bytes"
        );
        let error = cuda::empty(&[usize::MAX, 2], DType::F32, &stream).unwrap_err();
        assert!(matches!(error, CudaError::Tensor(_)), "{error}");
        let error = cuda::pinned(&[1 << 50], DType::F32, stream.gpu()).unwrap_err();
        assert!(matches!(error, CudaError::OutOfMemory { .. }), "{error}");
    });
}

#[test]
fn memory_is_released_in_stream_order() {
    on_double("memory::memory_is_released_in_stream_order", || {
        let stream = stream();
        let tensor = cuda::zeros(&[4], DType::I32, &stream).unwrap();
        let address = tensor.data_ptr();
        assert_eq!(peek(address, 4), [0xA5; 4], "nothing has run yet");
        drop(tensor);
        assert_eq!(calls("cuMemFreeAsync"), 1);
        assert_eq!(
            (calls("cuStreamSynchronize"), calls("cuCtxSynchronize")),
            (0, 0)
        );
        assert_eq!(peek(address, 4), [0xA5; 4], "nor was it released");
        stream.synchronize().unwrap();
        assert_eq!(live("device memory"), 0);
        let journal = journal();
        let order = [
            "cuMemAllocFromPoolAsync",
            "cuMemsetD8Async",
            "cuMemFreeAsync",
        ];
        let places = order.map(|name| journal.find(name).unwrap());
        assert!(places.is_sorted(), "{journal}");
    });
}

#[test]
fn release_waits_for_readers_on_other_streams() {
    on_double("memory::release_waits_for_readers_on_other_streams", || {
        let (one, other) = (stream(), stream());
        let from = cuda::to_device(&Tensor::from([1.0_f32, 2.0, 3.0]), &one).unwrap();
        let mut to = cuda::empty(&[3], DType::F32, &other).unwrap();
        cuda::copy_into(&mut to, &from, &other).unwrap();
        // The copy is still to be done.
        drop(from);
        one.synchronize().unwrap();
        assert_eq!(cuda::to_host(&to).unwrap().to_string(), "[1. 2. 3.]");
    });
}

#[test]
fn writers_and_readers_on_two_streams_are_ordered() {
    on_double(
        "memory::writers_and_readers_on_two_streams_are_ordered",
        || {
            let streams: Vec<_> = (0..4).map(|_| stream()).collect();
            let mut shared = cuda::to_device(&Tensor::from([0_i64]), &streams[0]).unwrap();
            let mut seen = Vec::new();
            for round in 0..12 {
                let (writer, readers) = (&streams[round % 4], [round + 1, round + 2, round + 1]);
                let new = cuda::to_device(&Tensor::from([round as i64]), writer).unwrap();
                cuda::copy_into(&mut shared, &new, writer).unwrap();
                for reader in readers {
                    let reader = &streams[reader % 4];
                    let mut copy = cuda::empty(&[1], DType::I64, reader).unwrap();
                    cuda::copy_into(&mut copy, &shared, reader).unwrap();
                    seen.push((round as i64, copy));
                }
            }
            drop(shared);
            for (round, copy) in seen {
                assert_eq!(
                    cuda::to_host(&copy).unwrap().to_vec::<i64>().unwrap(),
                    [round]
                );
            }
        },
    );
}

#[test]
fn foreign_memory_is_released_after_our_work() {
    on_double("memory::foreign_memory_is_released_after_our_work", || {
        let (theirs, ours) = (stream(), stream());
        let made = cuda::to_device(&Tensor::from([5_u8, 6]), &theirs).unwrap();
        let adopted = cuda::import(foreign(made), &theirs, &theirs).unwrap();
        let mut copy = cuda::empty(&[2], DType::U8, &ours).unwrap();
        cuda::copy_into(&mut copy, &adopted, &ours).unwrap();
        drop(adopted);
        theirs.synchronize().unwrap();
        assert_eq!(
            cuda::to_host(&copy).unwrap().to_vec::<u8>().unwrap(),
            [5, 6]
        );
        let error = cuda::import(Tensor::from([1_u8]), &ours, &ours).unwrap_err();
        assert_eq!(error.to_string(), "expected a CUDA device, got cpu");
        let far = Stream::new(Gpu::new(1).unwrap()).unwrap();
        let error = cuda::import(copy, &far, &far).unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected a stream of cuda:0, where the memory is, got one of cuda:1"
        );
    });
}

#[test]
fn untracked_stream_is_not_queried_later() {
    on_double("memory::untracked_stream_is_not_queried_later", || {
        let gpu = Gpu::new(0).unwrap();
        let owned = stream();
        // SAFETY: it is there as long as `owned`, and not used later.
        let borrowed = unsafe { Stream::from_raw(gpu, owned.handle()) };
        assert_eq!(borrowed, owned);
        let tensor = cuda::zeros(&[4], DType::I32, &borrowed).unwrap();
        drop((borrowed, owned));
        drop(tensor);
        assert_eq!(calls("cuCtxSynchronize"), 1);
        gpu.synchronize().unwrap();
    });
}

#[test]
fn released_memory_is_used_again() {
    on_double("memory::released_memory_is_used_again", || {
        let stream = stream();
        for _ in 0..10_000 {
            drop(cuda::zeros(&[256], DType::F32, &stream).unwrap());
            stream.synchronize().unwrap();
        }
        assert_eq!(live("device memory"), 0);
        stream.gpu().trim().unwrap();
        assert_eq!(calls("cuMemPoolTrimTo"), 1);
    });
}
