//! Compiled kernels, loaded on the double of the driver.

use crate::double::{calls, on_double};
use crate::find::tests;
use dlbridge::cuda::{Function, Gpu, Launch, Source, Stream};
use dlbridge::{DType, cuda};

tests!(
    a_cubin_is_loaded,
    one_that_is_to_be_linked_is_loaded,
    ptx_tells_its_arguments,
);

const AXPY: &str = r#"
struct Sizes { size_t rows; int columns; };

template <class T> __global__ void axpy(size_t count, T factor, const T* x, T* y, bool flag, Sizes sizes) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (flag && i < count * sizes.rows) y[i] = factor * x[i] + y[i];
}
"#;

fn axpy(options: &[&str]) -> Function {
    let source = Source::new(AXPY).name("axpy.cu").kernel("axpy<float>");
    let source = options
        .iter()
        .fold(source, |source, option| source.option(*option));
    let module = source.compile_for(Gpu::new(0).unwrap()).unwrap();
    module.function("axpy<float>").unwrap()
}

/// Launches it with the arguments that it takes; the double only looks at them.
fn launch(kernel: &Function) {
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Sizes {
        rows: usize,
        columns: i32,
    }
    let stream = Stream::new(kernel.gpu()).unwrap();
    let x = cuda::zeros(&[4], DType::F32, &stream).unwrap();
    let mut y = cuda::zeros(&[4], DType::F32, &stream).unwrap();
    let sizes = Sizes {
        rows: 1,
        columns: 4,
    };
    assert_eq!((sizes.rows, sizes.columns), (1, 4));
    let mut call = kernel.call(&stream, Launch::over(4, 128));
    call.value(4_u64)
        .value(2.0_f32)
        .tensor(&x)
        .tensor_mut(&mut y);
    call.value(true).value(cuda::Argument::from_ref(&sizes));
    // SAFETY: these are the kernel's arguments.
    unsafe { call.run() }.unwrap();
    drop(call);
    stream.synchronize().unwrap();
    assert_eq!(calls("cuLaunchKernel"), 1);
}

fn a_cubin_is_loaded() {
    on_double("loading::a_cubin_is_loaded", || {
        let kernel = axpy(&[]);
        // The double doesn't read machine code; NVIDIA's driver does.
        assert_eq!(kernel.parameters(), None);
        launch(&kernel);
    });
}

/// Its sections for memory aren't called what they are in other cubins.
fn one_that_is_to_be_linked_is_loaded() {
    on_double("loading::one_that_is_to_be_linked_is_loaded", || {
        let source = Source::new(
            r#"
            __device__ int of_all[100000];
            __device__ int first[3] = {1, 2, 3};
            __shared__ float of_block[1000];
            extern "C" __global__ void mix(int at) {
                __shared__ float tile[2000];
                tile[threadIdx.x] = of_block[at];
                __syncthreads();
                of_block[threadIdx.x] = tile[at];
                of_all[at] += first[at % 3]++;
            }
            "#,
        );
        let source = source.name("mix.cu").option("-rdc=true");
        let module = source.compile_for(Gpu::new(0).unwrap()).unwrap();
        assert_eq!(module.function("mix").unwrap().name(), "mix");
    });
}

fn ptx_tells_its_arguments() {
    on_double("loading::ptx_tells_its_arguments", || {
        let kernel = axpy(&["--gpu-architecture=compute_80"]);
        assert_eq!(kernel.parameters(), Some(&[8, 4, 8, 8, 1, 16][..]));
        launch(&kernel);
        let stream = Stream::new(kernel.gpu()).unwrap();
        let error = {
            let mut call = kernel.call(&stream, Launch::over(4, 128));
            // SAFETY: it is refused.
            unsafe { call.value(4_u64).value(2.0_f64).run() }.unwrap_err()
        };
        assert_eq!(
            error.to_string(),
            "kernel axpy<float>: expected 4 bytes for argument 1, got 8"
        );
    });
}
