//! Devices, and the errors where there are none.

use crate::double::{driver_folder, fail, in_child, live, on_double};
use dlbridge::cuda::{self, CudaError, Gpu, PointerKind, Stream};
use dlbridge::{DType, Device, DeviceKind};

#[test]
fn missing_driver_is_an_error() {
    let nothing = tempfile::tempdir().unwrap();
    in_child(
        "gpus::missing_driver_is_an_error",
        nothing.path(),
        &[],
        || {
            assert_eq!(cuda::count(), Err(CudaError::NoDriver));
            let error = Gpu::new(0).unwrap_err();
            assert_eq!(
                error.to_string(),
                "there is no CUDA driver here: libcuda.so.1 was not found; install NVIDIA's driver"
            );
            assert_eq!(cuda::device_of(std::ptr::null()), Err(CudaError::NoDriver));
        },
    );
}

#[test]
fn driver_without_gpus_is_another_error() {
    let environment = [("LIBCUDA_DOUBLE_DEVICES", "0")];
    let test = "gpus::driver_without_gpus_is_another_error";
    in_child(test, &driver_folder(), &environment, || {
        assert_eq!(cuda::count(), Err(CudaError::NoGpu));
        assert_eq!(Gpu::new(0), Err(CudaError::NoGpu));
    });
}

#[test]
fn gpu_that_does_not_open_leaves_no_pool() {
    on_double("gpus::gpu_that_does_not_open_leaves_no_pool", || {
        for function in ["cuMemPoolSetAttribute", "cuDevicePrimaryCtxRetain"] {
            fail(function, 1, 2);
            assert!(Gpu::new(0).is_err());
            assert_eq!(live("pools"), 0, "{function}");
        }
        Gpu::new(0).unwrap();
        assert_eq!(live("pools"), 1);
    });
}

#[test]
fn gpus_are_identified_by_ordinal() {
    on_double("gpus::gpus_are_identified_by_ordinal", || {
        assert_eq!(cuda::count(), Ok(2));
        let gpu = Gpu::new(1).unwrap();
        assert_eq!((gpu.id(), gpu.device()), (1, Device::cuda(1)));
        assert_eq!(gpu.name().unwrap(), "Test double 1");
        assert_eq!(gpu.compute_capability(), (9, 0));
        assert!(gpu.multiprocessors() > 0);
        let (free, all) = gpu.memory().unwrap();
        assert!(free <= all && all > 0);
        assert_eq!(
            Gpu::from_device(Device::new(DeviceKind::CudaManaged, 1)),
            Ok(gpu)
        );
        for id in [2, -1, i32::MAX] {
            assert_eq!(Gpu::new(id), Err(CudaError::NoSuchGpu { id, count: 2 }));
        }
        let error = Gpu::from_device(Device::CPU).unwrap_err();
        assert_eq!(error.to_string(), "expected a CUDA device, got cpu");
        assert_eq!(live("contexts"), 1, "a context is made once a GPU is used");
    });
}

#[test]
fn the_previous_context_is_restored() {
    on_double("gpus::the_previous_context_is_restored", || {
        let current = || {
            let mut current = std::ptr::null_mut();
            // SAFETY: the driver is there, and writes the handle.
            unsafe { cudarc::driver::sys::cuCtxGetCurrent(&mut current) };
            current.addr()
        };
        let (first, second) = (Gpu::new(0).unwrap(), Gpu::new(1).unwrap());
        assert_eq!(current(), 0);
        let outer = first.enter().unwrap();
        let of_first = current();
        {
            let _inner = second.enter().unwrap();
            assert!(current() != of_first && current() != 0);
            let _again = second.enter().unwrap();
        }
        assert_eq!(current(), of_first);
        drop(outer);
        assert_eq!(current(), 0);
    });
}

#[test]
fn address_has_its_device() {
    on_double("gpus::address_has_its_device", || {
        let gpu = Gpu::new(1).unwrap();
        let stream = Stream::default_of(gpu);
        let own = cuda::empty(&[3], DType::F32, &stream).unwrap();
        assert_eq!(cuda::device_of(own.data_ptr()), Ok(Device::cuda(1)));
        let invalid_context = 201;
        fail("cuPointerGetAttributes", 1, invalid_context);
        assert_eq!(cuda::device_of(own.data_ptr()), Ok(Device::cuda(1)));
        let pinned = cuda::pinned(&[3], DType::F32, gpu).unwrap();
        let found = cuda::device_of(pinned.data_ptr()).unwrap();
        assert_eq!(found.kind(), PointerKind::Pinned.device_kind());
        let managed = cuda::managed(&[3], DType::F32, gpu).unwrap();
        assert_eq!(cuda::device_of(managed.data_ptr()), Ok(managed.device()));
        let host = 1_u8;
        let error = cuda::device_of(&host).unwrap_err();
        assert!(
            matches!(
                error,
                CudaError::UnknownAddress { .. } | CudaError::Driver { .. }
            ),
            "{error}"
        );
    });
}
