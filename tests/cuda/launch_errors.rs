//! Launches that are refused, and those for which there is nothing to do.

use crate::double::{calls, on_double};
use crate::kernels::{axpy, kernel};
use crate::launch::run;
use dlbridge::cuda::{self, Argument, CudaError, Gpu, Launch, Stream};
use dlbridge::error::IncompatibilityKind as Kind;
use dlbridge::{DType, Tensor};

fn stream(id: i32) -> Stream {
    Stream::new(Gpu::new(id).unwrap()).unwrap()
}

/// Asserts that a launch was refused for this: what was found, and what was wanted.
#[track_caller]
fn assert_refused(launched: Result<(), CudaError>, kind: Kind, found: &str, wanted: &str) {
    let CudaError::Launch { problem, .. } = launched.unwrap_err() else {
        panic!("it isn't about the launch");
    };
    assert_eq!(problem.kind, kind);
    assert_eq!(problem.found.as_deref(), Some(found));
    assert_eq!(problem.wanted.as_deref(), Some(wanted));
}

#[test]
fn empty_grid_launches_nothing() {
    on_double("launch_errors::empty_grid_launches_nothing", || {
        let stream = stream(0);
        let kernel = axpy(stream.gpu());
        let x = cuda::zeros(&[0], DType::F32, &stream).unwrap();
        let mut y = cuda::zeros(&[0], DType::F32, &stream).unwrap();
        run(&kernel, 1.0, &x, &mut y, &stream).unwrap();
        let arguments = [Argument::from(0_u64)];
        // SAFETY: it is refused.
        let launched = unsafe { kernel.launch(&stream, Launch::over(0, 32), &arguments) };
        assert_refused(launched, Kind::Value, "1", "4");
        assert_eq!(calls("cuLaunchKernel"), 0);
    });
}

#[test]
fn too_large_launches_fail() {
    on_double("launch_errors::too_large_launches_fail", || {
        let stream = stream(0);
        let kernel = kernel(stream.gpu(), "nothing");
        // SAFETY: a kernel without arguments, which does nothing.
        let launch = |launch| unsafe { kernel.launch(&stream, launch, &[]) };
        let cases = [
            (
                Launch::new([1, 65_536, 1], [1, 1, 1]),
                "kernel nothing: a grid has at most 65535 blocks along y, got 65536",
            ),
            (
                Launch::over(usize::MAX, 1),
                "kernel nothing: a grid has at most 2147483647 blocks along x, got 4294967295",
            ),
            (
                Launch::new([1, 1, 1], [1, 1, 65]),
                "kernel nothing: a block has 1 to 64 threads along z, got 65",
            ),
            (
                Launch::new([1, 1, 1], [0, 1, 1]),
                "kernel nothing: a block has 1 to 1024 threads along x, got 0",
            ),
            (
                Launch::new([1, 1, 1], [u32::MAX; 3]),
                "kernel nothing: a block has 1 to 1024 threads along x, got 4294967295",
            ),
            (
                Launch::new([1, 1, 1], [512, 3, 1]),
                "kernel nothing: a block of it has at most 1024 threads, got 1536",
            ),
        ];
        for (wanted, text) in cases {
            assert_eq!(launch(wanted).unwrap_err().to_string(), text);
        }
        assert_eq!(calls("cuLaunchKernel"), 0);
        let large = Launch::over(1, 1).with_shared(50_000);
        assert_refused(launch(large), Kind::Value, "50000", "at most 49152");
        kernel.set_max_dynamic_shared(50_000).unwrap();
        assert_eq!(kernel.max_dynamic_shared(), Ok(50_000));
        launch(large).unwrap();
        let error = kernel.set_max_dynamic_shared(u32::MAX).unwrap_err();
        assert_eq!(error.code(), Some(1), "{error}");
        let refused = kernel.allow_dynamic_shared(u32::MAX);
        assert_refused(refused, Kind::Value, "4294967295", "at most 232448");
        stream.synchronize().unwrap();
    });
}

#[test]
fn dynamic_and_static_shared_memory_are_added_up() {
    let test = "launch_errors::dynamic_and_static_shared_memory_are_added_up";
    on_double(test, || {
        let stream = stream(0);
        let kernel = kernel(stream.gpu(), "sharing");
        let launch = |bytes| {
            let launch = Launch::over(1, 1).with_shared(bytes);
            // SAFETY: a kernel without arguments, which does nothing.
            unsafe { kernel.launch(&stream, launch, &[]) }
        };
        let left = 49_152 - 16_384;
        assert_eq!(kernel.static_shared(), 16_384);
        // As much as that needs no permission, and no call of the driver.
        kernel.allow_dynamic_shared(left).unwrap();
        launch(left).unwrap();
        assert_eq!(calls("cuFuncSetAttribute"), 0);
        let error = launch(left + 1).unwrap_err();
        let text = "kernel sharing: a block of it has at most 32768 bytes of dynamic shared memory, got 32769; `Function::allow_dynamic_shared` allows more";
        assert_eq!(error.to_string(), text);
        for bytes in [left + 1, 100_000] {
            kernel.allow_dynamic_shared(bytes).unwrap();
            assert_eq!(kernel.max_dynamic_shared(), Ok(bytes));
            launch(bytes).unwrap();
        }
        // Another thread is about to launch with more.
        for bytes in [0, 40_000, 60_000, 100_000] {
            kernel.allow_dynamic_shared(bytes).unwrap();
            assert_eq!(kernel.max_dynamic_shared(), Ok(100_000));
        }
        let most = 232_448 - 16_384;
        for found in [most + 1, u32::MAX] {
            let (refused, wanted) = (
                kernel.allow_dynamic_shared(found),
                format!("at most {most}"),
            );
            assert_refused(refused, Kind::Value, &found.to_string(), &wanted);
        }
        kernel.allow_dynamic_shared(most).unwrap();
        stream.synchronize().unwrap();
    });
}

#[test]
fn shared_memory_limit_raised_by_many_threads_is_the_largest() {
    let test = "launch_errors::shared_memory_limit_raised_by_many_threads_is_the_largest";
    on_double(test, || {
        let kernel = kernel(Gpu::new(0).unwrap(), "sharing");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let kernel = kernel.module().function("sharing").unwrap();
                scope.spawn(move || {
                    for step in 0..50 {
                        let bytes = 40_000 + 100 * (step * 4 + thread);
                        kernel.allow_dynamic_shared(bytes).unwrap();
                        assert!(kernel.max_dynamic_shared().unwrap() >= bytes);
                    }
                });
            }
        });
        assert_eq!(kernel.max_dynamic_shared(), Ok(40_000 + 100 * 199));
    });
}

#[test]
fn mismatched_arguments_are_refused() {
    on_double("launch_errors::mismatched_arguments_are_refused", || {
        let (here, far) = (stream(0), stream(1));
        let kernel = axpy(here.gpu());
        let x = cuda::zeros(&[2], DType::F32, &here).unwrap();
        let mut y = cuda::zeros(&[2], DType::F32, &here).unwrap();
        let launch = Launch::over(2, 32);
        // SAFETY: of these, all are refused.
        let text = |call: &mut cuda::Call<'_>| unsafe { call.run() }.unwrap_err().to_string();
        assert_eq!(
            text(kernel.call(&here, launch).value(2_u64)),
            "kernel axpy: takes 4 arguments but 1 were given"
        );
        assert_eq!(
            text(kernel.call(&here, launch).value(2_u64).value(1.0_f64)),
            "kernel axpy: expected 4 bytes for argument 1, got 8"
        );
        assert_eq!(
            text(
                kernel
                    .call(&far, launch)
                    .value(2_u64)
                    .value(1.0_f32)
                    .tensor(&x)
                    .tensor_mut(&mut y)
            ),
            "kernel axpy: expected a stream of cuda:0, where the kernel is loaded, got one of cuda:1"
        );
        let host = Tensor::from([1.0_f32, 2.0]);
        assert_eq!(
            run(&kernel, 1.0, &host, &mut y, &here)
                .unwrap_err()
                .to_string(),
            "kernel axpy: argument 2 is on cpu, which cuda:0 doesn't reach; send the tensor there first"
        );
        let there = cuda::zeros(&[2], DType::F32, &far).unwrap();
        let refused = run(&kernel, 1.0, &there, &mut y, &here);
        assert_refused(
            refused,
            Kind::Device,
            "cuda:1",
            "memory that cuda:0 reaches",
        );
        let mut read_only = y.into_read_only();
        assert_eq!(
            run(&kernel, 1.0, &x, &mut read_only, &here)
                .unwrap_err()
                .to_string(),
            "kernel axpy: argument 3 is written by the kernel, but the tensor is read-only; pass a copy"
        );
        assert_eq!(calls("cuLaunchKernel"), 0);
    });
}
