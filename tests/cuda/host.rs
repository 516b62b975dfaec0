//! Memory that the CPU and GPUs use.

use crate::capture::capture;
use crate::double::{calls, live, on_double};
use crate::kernels::axpy;
use crate::launch::run;
use dlbridge::cuda::{self, CudaError, Gpu, Stream};
use dlbridge::device::DeviceKind;
use dlbridge::dtype::Scalar;
use dlbridge::kernel::{Kernel, Op, Registry, UntypedMut};
use dlbridge::{DType, Tensor, ops};

fn gpu() -> Gpu {
    Gpu::new(0).unwrap()
}

/// Pinned and managed memory, of which all elements are 2.
fn both() -> [Tensor; 2] {
    [cuda::pinned, cuda::managed].map(|make| {
        let mut tensor = make(&[2], DType::F32, gpu()).unwrap();
        tensor.view_mut::<f32>().unwrap().fill(2.0);
        tensor
    })
}

#[test]
fn host_reads_pinned_and_managed_memory() {
    on_double("host::host_reads_pinned_and_managed_memory", || {
        let gpu = Gpu::new(0).unwrap();
        let mut pinned = cuda::pinned(&[2], DType::F32, gpu).unwrap();
        assert_eq!(pinned.device().to_string(), "cuda_host:0");
        pinned.view_mut::<f32>().unwrap().fill(2.5);
        let mut managed = cuda::managed(&[2], DType::F32, gpu).unwrap();
        assert_eq!(managed.device().to_string(), "cuda_managed:0");
        managed.view_mut::<f32>().unwrap()[[1]] = 1.5;
        assert_eq!(pinned.to_vec::<f32>().unwrap(), [2.5, 2.5]);
        assert_eq!(managed.to_vec::<f32>().unwrap(), [0.0, 1.5]);
        assert_eq!((live("pinned memory"), live("managed memory")), (1, 1));
        drop((pinned, managed));
        assert_eq!(live("memory"), 0);
    });
}

#[test]
fn pinned_memory_is_kept_until_the_kernel_ends() {
    on_double("host::pinned_memory_is_kept_until_the_kernel_ends", || {
        let stream = Stream::new(gpu()).unwrap();
        let kernel = axpy(gpu());
        let mut x = cuda::pinned(&[2], DType::F32, gpu()).unwrap();
        x.view_mut::<f32>().unwrap().fill(2.0);
        let mut y = cuda::managed(&[2], DType::F32, gpu()).unwrap();
        run(&kernel, 1.5, &x, &mut y, &stream).unwrap();
        let result = y.clone();
        drop((x, y));
        assert_eq!((live("pinned memory"), live("managed memory")), (1, 1));
        stream.synchronize().unwrap();
        assert_eq!(live("pinned memory"), 0);
        assert_eq!(result.to_vec::<f32>().unwrap(), [3.0, 3.0]);
    });
}

#[test]
fn host_access_waits_for_kernels() {
    on_double("host::host_access_waits_for_kernels", || {
        let stream = Stream::new(gpu()).unwrap();
        let kernel = axpy(gpu());
        for mut y in both() {
            let x = cuda::to_device(&Tensor::from([1.0_f32, 2.0]), &stream).unwrap();
            run(&kernel, 3.0, &x, &mut y, &stream).unwrap();
            assert!(!stream.is_done().unwrap());
            cuda::settle(&y).unwrap();
            assert!(stream.is_done().unwrap());
            assert_eq!(y.to_vec::<f32>().unwrap(), [5.0, 8.0]);
            // Who only reads it is waited for, too, as the CPU may write.
            let mut z = cuda::zeros(&[2], DType::F32, &stream).unwrap();
            run(&kernel, 1.0, &y, &mut z, &stream).unwrap();
            cuda::settle(&y).unwrap();
            assert!(stream.is_done().unwrap());
        }
    });
}

#[test]
fn copies_wait_for_kernels() {
    on_double("host::copies_wait_for_kernels", || {
        let stream = Stream::new(gpu()).unwrap();
        let kernel = axpy(gpu());
        for mut y in both() {
            let x = cuda::to_device(&Tensor::from([1.0_f32, 2.0]), &stream).unwrap();
            run(&kernel, 1.0, &x, &mut y, &stream).unwrap();
            assert_eq!(
                cuda::to_host(&y).unwrap().to_vec::<f32>().unwrap(),
                [3.0, 4.0]
            );
            run(&kernel, 1.0, &x, &mut y, &stream).unwrap();
            let mut copy = Tensor::zeros(&[2], DType::F32).unwrap();
            cuda::copy_on_host(&mut copy, &y).unwrap();
            assert_eq!(copy.to_vec::<f32>().unwrap(), [4.0, 6.0]);
        }
    });
}

#[test]
fn cpu_kernels_wait_for_gpu_kernels() {
    on_double("host::cpu_kernels_wait_for_gpu_kernels", || {
        let stream = Stream::new(gpu()).unwrap();
        let kernel = axpy(gpu());
        let [mut pinned, _] = both();
        let x = cuda::to_device(&Tensor::from([1.0_f32, 2.0]), &stream).unwrap();
        run(&kernel, 1.0, &x, &mut pinned, &stream).unwrap();
        let sum = ops::add(&pinned, &pinned).unwrap();
        assert_eq!(sum.to_vec::<f32>().unwrap(), [6.0, 8.0]);
    });
}

#[test]
fn gpu_of_kernel_is_found_after_host_arguments() {
    on_double("host::gpu_of_kernel_is_found_after_host_arguments", || {
        let registry = Registry::new();
        let fill = Op::new("fill").input("value", "T").output("y", "T");
        let fill = fill.shapes(|_| Ok(vec![vec![2]]));
        registry.define(fill).unwrap();
        let runs = |value: f32, _: UntypedMut<'_>| assert_eq!(value, 7.0);
        let managed = Kernel::new("fill").on(DeviceKind::CudaManaged);
        let managed = managed.host_memory("value").function(runs);
        registry.register(managed).unwrap();
        let fill = registry.op("fill").unwrap();

        let stream = Stream::new(gpu()).unwrap();
        let kernel = axpy(gpu());
        let [_, mut y] = both();
        let x = cuda::to_device(&Tensor::from([1.0_f32, 2.0]), &stream).unwrap();
        run(&kernel, 1.0, &x, &mut y, &stream).unwrap();
        let waits = calls("cuStreamWaitEvent");
        fill.call().number(7.0_f32).output(&mut y).run().unwrap();
        assert_eq!(calls("cuStreamWaitEvent"), waits + 1);
        // Nothing is of a GPU but the number's place.
        let alone = fill.call().number(7.0_f32).make();
        assert!(alone.is_err(), "numbers alone are on no GPU");
    });
}

#[test]
fn streams_wait_for_each_other() {
    on_double("host::streams_wait_for_each_other", || {
        let [one, other] = [(); 2].map(|()| Stream::new(gpu()).unwrap());
        let kernel = axpy(gpu());
        for mut y in both() {
            let x = cuda::to_device(&Tensor::from([1.0_f32, 2.0]), &one).unwrap();
            let waits = calls("cuStreamWaitEvent");
            run(&kernel, 1.0, &x, &mut y, &one).unwrap();
            assert_eq!(
                calls("cuStreamWaitEvent"),
                waits,
                "new memory is ready for everyone"
            );
            let mut z = cuda::zeros(&[2], DType::F32, &other).unwrap();
            run(&kernel, 1.0, &y, &mut z, &other).unwrap();
            assert_eq!(calls("cuStreamWaitEvent"), waits + 1);
            assert_eq!(
                cuda::to_host(&z).unwrap().to_vec::<f32>().unwrap(),
                [3.0, 4.0]
            );
        }
    });
}

#[test]
fn views_wait_for_the_gpu() {
    on_double("host::views_wait_for_the_gpu", || {
        let stream = Stream::new(gpu()).unwrap();
        let kernel = axpy(gpu());
        let looks: [fn(&mut Tensor) -> f32; 5] = [
            |y| y.view::<f32>().unwrap()[[1]],
            |y| y.view_mut::<f32>().unwrap()[[1]],
            |y| y.copy().unwrap().to_vec::<f32>().unwrap()[1],
            |y| match y.scalars().unwrap().last() {
                Some(Scalar::Float(value)) => value as f32,
                other => panic!("{other:?}"),
            },
            |y| {
                let text = y.to_string();
                let last = text.trim_end_matches(".]").rsplit(' ').next();
                last.unwrap().parse().unwrap()
            },
        ];
        for mut y in both() {
            let x = cuda::to_device(&Tensor::from([0.0_f32, 2.0]), &stream).unwrap();
            let mut expected = 2.0;
            for look in looks {
                run(&kernel, 1.0, &x, &mut y, &stream).unwrap();
                assert!(!stream.is_done().unwrap());
                expected += 2.0;
                assert_eq!(look(&mut y), expected);
            }
        }
    });
}

#[test]
fn dropping_memory_does_not_block() {
    on_double("host::dropping_memory_does_not_block", || {
        let stream = Stream::new(gpu()).unwrap();
        let kernel = axpy(gpu());
        for (mut y, kind) in both().into_iter().zip(["pinned memory", "managed memory"]) {
            let x = cuda::to_device(&Tensor::from([1.0_f32, 2.0]), &stream).unwrap();
            let waits = calls("cuStreamSynchronize");
            run(&kernel, 1.0, &x, &mut y, &stream).unwrap();
            drop(y);
            assert_eq!(calls("cuStreamSynchronize"), waits);
            assert_eq!(live(kind), 1, "the kernel may still be using it");
            stream.synchronize().unwrap();
            assert_eq!(live(kind), 0);
        }
    });
}

#[test]
fn graph_does_not_block_the_host() {
    on_double("host::graph_does_not_block_the_host", || {
        let stream = Stream::new(gpu()).unwrap();
        let kernel = axpy(gpu());
        let x = cuda::to_device(&Tensor::from([1.0_f32, 2.0]), &stream).unwrap();
        for mut y in both() {
            capture(&stream, 2, || {
                run(&kernel, 1.0, &x, &mut y, &stream).unwrap();
                let error = cuda::settle(&y).unwrap_err();
                assert!(matches!(error, CudaError::Capturing { .. }), "{error}");
                let error = y.view::<f32>().unwrap_err();
                assert_eq!(
                    error.to_string(),
                    format!(
                        "the memory on {} is in use: memory that a graph uses can't be looked at while a graph is captured",
                        y.device()
                    )
                );
            });
            cuda::settle(&y).unwrap();
            assert_eq!(y.to_vec::<f32>().unwrap(), [4.0, 6.0]);
        }
    });
}
