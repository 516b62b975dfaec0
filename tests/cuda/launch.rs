//! Launches: arguments, and order.

use crate::allocations::allocations;
use crate::capture::capture;
use crate::double::{Launched, calls, forget_mistakes, journal, mistakes, on_double, register};
use crate::kernels::{axpy, kernel};
use dlbridge::cuda::{self, Argument, CudaError, Function, Gpu, Launch, Stream};
use dlbridge::{DType, Tensor};
use half::f16;
use std::ffi::{c_int, c_void};

fn stream() -> Stream {
    Stream::new(Gpu::new(0).unwrap()).unwrap()
}

/// y = a * x + y
pub(crate) fn run(
    kernel: &Function,
    a: f32,
    x: &Tensor,
    y: &mut Tensor,
    on: &Stream,
) -> Result<(), CudaError> {
    let len = y.len();
    let mut call = kernel.call(on, Launch::over(len, 256));
    call.value(len as u64).value(a).tensor(x).tensor_mut(y);
    // SAFETY: these are the kernel's arguments.
    unsafe { call.run() }
}

fn fetched(tensor: &Tensor) -> Vec<f32> {
    cuda::to_host(tensor).unwrap().to_vec().unwrap()
}

#[test]
fn launched_kernel_writes_its_tensors() {
    on_double("launch::launched_kernel_writes_its_tensors", || {
        let stream = stream();
        let kernel = axpy(stream.gpu());
        let x = cuda::to_device(&Tensor::from([1.0_f32, 2.0, 3.0]), &stream).unwrap();
        let mut y = cuda::to_device(&Tensor::from([10.0_f32, 20.0]), &stream).unwrap();
        // A part of a tensor begins where its first element is.
        run(&kernel, 3.0, &x.slice(0, 1..3).unwrap(), &mut y, &stream).unwrap();
        assert_eq!(calls("cuStreamSynchronize"), 2, "only for what was sent");
        assert_eq!(fetched(&y), [16.0, 29.0]);
        assert_eq!(fetched(&x), [1.0, 2.0, 3.0]);
    });
}

#[test]
fn streams_wait_for_each_other() {
    on_double("launch::streams_wait_for_each_other", || {
        let (one, other, third) = (stream(), stream(), stream());
        let kernel = axpy(one.gpu());
        let x = cuda::to_device(&Tensor::from([1.0_f32, 2.0]), &one).unwrap();
        let mut y = cuda::zeros(&[2], DType::F32, &other).unwrap();
        run(&kernel, 2.0, &x, &mut y, &third).unwrap();
        let mut z = cuda::zeros(&[2], DType::F32, &one).unwrap();
        run(&kernel, 1.0, &y, &mut z, &one).unwrap();
        // It is read on one stream by now, and waits there before it is written on another.
        run(&kernel, 5.0, &x, &mut y, &other).unwrap();
        drop(x);
        assert_eq!(calls("cuStreamSynchronize"), 1, "only for what was sent");
        assert_eq!(fetched(&z), [2.0, 4.0]);
        assert_eq!(fetched(&y), [7.0, 14.0]);
    });
}

#[test]
fn missing_wait_is_detected_as_a_race() {
    on_double("launch::missing_wait_is_detected_as_a_race", || {
        let (one, other) = (stream(), stream());
        let kernel = axpy(one.gpu());
        let x = cuda::zeros(&[2], DType::F32, &one).unwrap();
        let y = cuda::zeros(&[2], DType::F32, &other).unwrap();
        let arguments = [
            Argument::from(2_u64),
            Argument::from(1.0_f32),
            Argument::from(x.data_ptr()),
            Argument::from(y.data_ptr()),
        ];
        // SAFETY: these are the kernel's arguments; the race is the test's, and in the double
        // nothing happens at once.
        unsafe { kernel.launch(&other, Launch::over(2, 32), &arguments) }.unwrap();
        assert!(mistakes().contains("axpy<<<"), "{}", mistakes());
        forget_mistakes();
        other.synchronize().unwrap();
    });
}

/// Looks at what `mixed` is given.
extern "C" fn look(launch: *const Launched, _: *mut c_void) -> c_int {
    // SAFETY: the double passes a launch with these arguments.
    unsafe {
        let launch = &*launch;
        let is_right = launch.argument::<u8>(0) == 1
            && launch.argument::<u16>(1) == f16::ONE.to_bits()
            && launch.argument::<f64>(2) == -2.5
            && launch.argument::<[u64; 3]>(3) == [3, 4, 5]
            && (launch.grid, launch.block, launch.shared) == ([1, 2, 3], [4, 5, 6], 7);
        if is_right { 0 } else { 1 }
    }
}

#[test]
fn arguments_of_every_kind_reach_the_kernel() {
    on_double("launch::arguments_of_every_kind_reach_the_kernel", || {
        register("mixed", "v1 v2 v8 v24", look);
        let stream = stream();
        let kernel = kernel(stream.gpu(), "mixed");
        let sizes = [3_u64, 4, 5];
        let launch = Launch::new([1, 2, 3], [4, 5, 6]).with_shared(7);
        let mut call = kernel.call(&stream, launch);
        call.value(true).value(f16::ONE).value(-2.5_f64);
        call.value(Argument::from_ref(&sizes));
        // SAFETY: these are the kernel's arguments.
        unsafe { call.run() }.unwrap();
        // The callback failed the launch if something was wrong.
        stream.synchronize().unwrap();
    });
}

#[test]
fn many_arguments_reach_the_kernel() {
    on_double("launch::many_arguments_reach_the_kernel", || {
        let stream = stream();
        let kernel = kernel(stream.gpu(), "many");
        let arguments: Vec<Argument<'_>> = (0..17_u64).map(Argument::from).collect();
        // SAFETY: the kernel takes as many numbers.
        unsafe { kernel.launch(&stream, Launch::over(1, 1), &arguments) }.unwrap();
        let all: Vec<String> = (0..17).map(|number| number.to_string()).collect();
        let all = format!("many<<<[1, 1, 1], [1, 1, 1], 0>>>({})", all.join(", "));
        stream.synchronize().unwrap();
        assert!(journal().contains(&all), "{}", journal());
    });
}

#[test]
fn captured_launch_is_replayed() {
    on_double("launch::captured_launch_is_replayed", || {
        let stream = stream();
        let kernel = axpy(stream.gpu());
        let x = cuda::to_device(&Tensor::from([1.0_f32, 2.0]), &stream).unwrap();
        let mut y = cuda::zeros(&[2], DType::F32, &stream).unwrap();
        let pinned = cuda::pinned(&[2], DType::F32, stream.gpu()).unwrap();
        stream.synchronize().unwrap();
        capture(&stream, 3, || {
            run(&kernel, 2.0, &x, &mut y, &stream).unwrap();
            run(&kernel, 1.0, &pinned, &mut y, &stream).unwrap();
        });
        assert_eq!(fetched(&y), [6.0, 12.0]);
    });
}

#[test]
fn launch_allocates_nothing() {
    on_double("launch::launch_allocates_nothing", || {
        let (stream, other) = (stream(), stream());
        let kernel = axpy(stream.gpu());
        let x = cuda::zeros(&[2], DType::F32, &stream).unwrap();
        let mut y = cuda::zeros(&[2], DType::F32, &stream).unwrap();
        let mut launch = |on: &Stream| run(&kernel, 1.0, &x, &mut y, on).unwrap();
        // What is looked up once, and an event, is made by the first ones.
        for on in [&stream, &other, &stream] {
            launch(on);
        }
        let before = calls("cuLaunchKernel");
        let count = allocations(|| {
            for _ in 0..50 {
                launch(&stream);
                launch(&other);
            }
        });
        assert_eq!(calls("cuLaunchKernel") - before, 100);
        assert_eq!(count, 0);
        stream.synchronize().unwrap();
    });
}
