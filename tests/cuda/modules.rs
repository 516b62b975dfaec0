//! Modules: what can be loaded, what is known of its kernels, and when it is unloaded.

use crate::capture::capture;
use crate::double::{
    calls, driver_folder, fail, forget_failures, in_child, live, mistakes, on_double,
};
use crate::kernels::{PTX, axpy, kernel};
use dlbridge::cuda::{self, Argument, CudaError, Gpu, Launch, Module, Stream};
use dlbridge::{DType, Tensor};

fn gpu() -> Gpu {
    Gpu::new(0).unwrap()
}

#[test]
fn kernel_reports_its_attributes() {
    on_double("modules::kernel_reports_its_attributes", || {
        let module = Module::load(Gpu::new(1).unwrap(), PTX).unwrap();
        let kernel = module.function("mixed").unwrap();
        assert_eq!((kernel.name(), kernel.gpu().id()), ("mixed", 1));
        assert_eq!(kernel.parameters(), Some(&[1, 2, 8, 24][..]));
        assert_eq!((kernel.registers(), kernel.max_threads()), (32, 1024));
        assert_eq!(kernel.static_shared(), 0);
        assert_eq!(kernel.max_dynamic_shared(), Ok(49_152));
        let none = module.function("nothing").unwrap();
        assert_eq!(none.parameters(), Some(&[][..]));
        for name in ["axpi", "", "axpy\0"] {
            let error = module.function(name).unwrap_err();
            let wanted = CudaError::NoFunction { name: name.into() };
            assert_eq!(error, wanted);
        }
        let error = module.function("axpi").unwrap_err().to_string();
        assert!(
            error.starts_with("there is no kernel \"axpi\" in the module"),
            "{error}"
        );
    });
}

#[test]
fn old_driver_reports_no_parameters() {
    let environment = [("LIBCUDA_DOUBLE_VERSION", "12030")];
    let test = "modules::old_driver_reports_no_parameters";
    in_child(test, &driver_folder(), &environment, || {
        let kernel = axpy(gpu());
        assert_eq!(kernel.parameters(), None);
        assert_eq!(calls("cuFuncGetParamInfo"), 0);
        let stream = Stream::new(gpu()).unwrap();
        let x = cuda::zeros(&[1], DType::F32, &stream).unwrap();
        let arguments = [
            Argument::from(0_u64),
            Argument::from(1.0_f32),
            Argument::from(x.data_ptr()),
            Argument::from(x.data_ptr()),
        ];
        // SAFETY: these are the kernel's arguments, and no elements.
        unsafe { kernel.launch(&stream, Launch::over(1, 1), &arguments) }.unwrap();
        stream.synchronize().unwrap();
    });
}

#[test]
fn driver_that_is_too_old_is_an_error() {
    let environment = [("LIBCUDA_DOUBLE_VERSION", "11040")];
    let test = "modules::driver_that_is_too_old_is_an_error";
    in_child(test, &driver_folder(), &environment, || {
        assert_eq!(
            Gpu::new(0).unwrap_err().to_string(),
            "expected CUDA driver 12.0 or newer, found 11.4; update NVIDIA's driver"
        );
    });
}

#[test]
fn load_rejects_data_that_is_not_an_image() {
    on_double("modules::load_rejects_data_that_is_not_an_image", || {
        let load = |image: &[u8]| Module::load(gpu(), image).unwrap_err().to_string();
        assert_eq!(
            load(b"__global__ void f() {}"),
            "the kernels can't be loaded: cuModuleLoadDataEx failed with CUDA_ERROR_INVALID_PTX: invalid ptx (the \
             driver is of CUDA 12.8)\nptxas application ptx input, line 1; fatal : Missing .version directive at \
             start of file"
        );
        assert_eq!(
            load(b"\x7fELF\x02\x01\x01"),
            "the kernels can't be loaded: it is a cubin of which a part is missing"
        );
        assert_eq!(calls("cuModuleLoadDataEx"), 1);
        // What isn't the image's fault is another error.
        fail("cuModuleLoadDataEx", 1, 2);
        let error = Module::load(gpu(), PTX).unwrap_err();
        assert!(
            matches!(error, CudaError::Driver { code: 2, .. }),
            "{error}"
        );
        assert_eq!(live("modules"), 0);
    });
}

#[test]
fn module_is_unloaded_with_its_last_handle() {
    on_double("modules::module_is_unloaded_with_its_last_handle", || {
        let module = Module::load(gpu(), PTX).unwrap();
        let (one, other) = (
            module.function("axpy").unwrap(),
            module.function("many").unwrap(),
        );
        let again = one.clone();
        drop((module, one, other));
        assert_eq!(live("modules"), 1);
        assert_eq!(again.module().function("mixed").unwrap().name(), "mixed");
        drop(again);
        assert_eq!(live("modules"), 0);
        assert_eq!(calls("cuCtxSynchronize"), 0, "nothing was launched");
    });
}

#[test]
fn module_is_kept_until_its_kernels_end() {
    on_double("modules::module_is_kept_until_its_kernels_end", || {
        let stream = Stream::new(gpu()).unwrap();
        let x = cuda::to_device(&Tensor::from([2.0_f32]), &stream).unwrap();
        let mut y = cuda::zeros(&[1], DType::F32, &stream).unwrap();
        {
            let kernel = axpy(gpu());
            let mut call = kernel.call(&stream, Launch::over(1, 32));
            call.value(1_u64)
                .value(4.0_f32)
                .tensor(&x)
                .tensor_mut(&mut y);
            // SAFETY: these are the kernel's arguments.
            unsafe { call.run() }.unwrap();
        }
        assert_eq!((live("modules"), calls("cuCtxSynchronize")), (1, 0));
        assert_eq!(cuda::to_host(&y).unwrap().to_vec::<f32>().unwrap(), [8.0]);
        assert_eq!((live("modules"), calls("cuCtxSynchronize")), (0, 0));
    });
}

#[test]
fn module_is_kept_after_a_launch_that_may_have_succeeded() {
    let test = "modules::module_is_kept_after_a_launch_that_may_have_succeeded";
    on_double(test, || {
        let stream = Stream::new(gpu()).unwrap();
        let memory = cuda::zeros(&[1], DType::F32, &stream).unwrap();
        {
            let kernel = kernel(gpu(), "nothing");
            // A code that isn't known.
            fail("cuLaunchKernel", 1, 5555);
            // SAFETY: the kernel takes no arguments.
            let launched = unsafe { kernel.launch(&stream, Launch::over(1, 1), &[]) };
            assert_eq!(launched.unwrap_err().code(), Some(5555));
        }
        assert_eq!(live("modules"), 1, "the kernel may run");
        stream.synchronize().unwrap();
        assert_eq!(live("modules"), 0);
        drop(memory);
    });
}

#[test]
fn module_keeps_a_bounded_number_of_streams() {
    on_double("modules::module_keeps_a_bounded_number_of_streams", || {
        let kernel = kernel(gpu(), "nothing");
        for _ in 0..50 {
            let stream = Stream::new(gpu()).unwrap();
            // SAFETY: it takes no arguments, and does nothing.
            unsafe { kernel.launch(&stream, Launch::over(1, 1), &[]) }.unwrap();
            stream.synchronize().unwrap();
        }
        assert!(live("streams") <= 8, "{} streams are kept", live("streams"));
        drop(kernel);
        assert_eq!((live("modules"), live("streams")), (0, 0));
    });
}

#[test]
fn unload_with_untracked_stream_waits_for_the_gpu() {
    on_double(
        "modules::unload_with_untracked_stream_waits_for_the_gpu",
        || {
            let kernel = kernel(gpu(), "nothing");
            let made = Stream::new(gpu()).unwrap();
            // SAFETY: it is there as long as `made`, and not used later.
            let stream = unsafe { Stream::from_raw(gpu(), made.handle()) };
            // SAFETY: it takes no arguments, and does nothing.
            unsafe { kernel.launch(&stream, Launch::over(1, 1), &[]) }.unwrap();
            drop((stream, made));
            drop(kernel);
            assert_eq!((live("modules"), calls("cuCtxSynchronize")), (0, 1));
        },
    );
}

#[test]
fn unload_during_capture_is_deferred() {
    on_double("modules::unload_during_capture_is_deferred", || {
        let stream = Stream::new(gpu()).unwrap();
        let kernel = kernel(gpu(), "nothing");
        // SAFETY: it takes no arguments, and does nothing.
        unsafe { kernel.launch(&stream, Launch::over(1, 1), &[]) }.unwrap();
        stream.synchronize().unwrap();
        capture(&stream, 1, || {
            drop(kernel);
            assert_eq!(live("modules"), 1);
        });
        stream.synchronize().unwrap();
        assert_eq!(live("modules"), 0);
    });
}

/// Loads, launches, and looks at the result; what it makes it drops.
fn everything() -> Result<Vec<f32>, CudaError> {
    let stream = Stream::new(Gpu::new(0)?)?;
    let module = Module::load(stream.gpu(), PTX)?;
    let kernel = module.function("axpy")?;
    kernel.set_max_dynamic_shared(60_000)?;
    let x = cuda::to_device(&Tensor::from([2.0_f32]), &stream)?;
    let mut y = cuda::pinned(&[1], DType::F32, stream.gpu())?;
    let launch = Launch::over(1, 32).with_shared(60_000);
    let mut call = kernel.call(&stream, launch);
    call.value(1_u64).value(4.0_f32);
    // SAFETY: these are the kernel's arguments.
    unsafe { call.tensor(&x).tensor_mut(&mut y).run() }?;
    drop(call);
    stream.synchronize()?;
    Ok(y.to_vec::<f32>()?)
}

#[test]
fn failed_calls_leak_nothing() {
    on_double("modules::failed_calls_leak_nothing", || {
        drop(axpy(gpu()));
        assert_eq!(everything().unwrap(), [8.0]);
        let before = calls("");
        assert_eq!(everything().unwrap(), [8.0]);
        let count = calls("") - before;
        let mut failures = 0;
        for nth in 1..=count {
            // Invalid value, out of memory, invalid handle, launch out of resources.
            for code in [1, 2, 400, 701] {
                fail("", nth, code);
                match everything() {
                    Ok(values) => assert_eq!(values, [8.0], "call {nth}, code {code}"),
                    Err(error) => {
                        failures += 1;
                        let text = error.to_string();
                        let is_clear = text.contains("CUDA_ERROR_")
                            || text.contains("not enough memory")
                            // An invalid value ends the list of parameters.
                            || code == 1 && text.contains("arguments but 4 were given");
                        assert!(is_clear, "call {nth}, code {code}: {text}");
                    }
                }
                forget_failures();
                assert_eq!(
                    everything().unwrap(),
                    [8.0],
                    "after call {nth}, code {code}"
                );
                gpu().synchronize().unwrap();
                gpu().synchronize().unwrap();
                assert_eq!(mistakes(), "", "call {nth}, code {code}");
                let left = (live("memory"), live("modules"));
                assert_eq!(left, (0, 0), "call {nth}, code {code}");
            }
        }
        assert!(failures > 60, "{failures} failures were seen");
    });
}
