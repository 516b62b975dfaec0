//! An op with a kernel for the CPU, in Rust, and one for GPUs, in CUDA C++ that Rust compiles and
//! launches.

use dlbridge::DeviceKind;
use dlbridge::cuda::{Argument, CudaError, Gpu, Launch, Source as Code, Stream};
use dlbridge::kernel::{Failure, Kernel, KernelContext, Op, Source, Target, Untyped, UntypedMut};
use dlbridge::{DType, register_kernel, register_op};

register_op!(
    Op::new("interop.swish")
        .doc("x / (1 + exp(-x)), by element.")
        .input("x", "T")
        .output("y", "T")
);

register_kernel!(Kernel::new("interop.swish").function(on_host));

fn on_host(x: Source<'_, f32>, y: Target<'_, f32>) {
    y.map(&x, |x| x / (1.0 + (-x).exp()));
}

// A factory makes the kernel once for each GPU: it is compiled then, and not in each call.
register_kernel!(
    Kernel::new("interop.swish")
        .on(DeviceKind::Cuda)
        .types("T", &[DType::F32])
        .factory(|context: &KernelContext<'_>| {
            let gpu = Gpu::from_device(context.device())?;
            let code = Code::new(include_str!("swish.cu")).name("swish.cu");
            let swish = code.compile_for(gpu)?.function("swish")?;
            Ok(
                move |x: Untyped<'_>, y: UntypedMut<'_>| -> Result<(), Failure> {
                    if !x.layout().is_contiguous() || !y.layout().is_contiguous() {
                        return Err(
                            "swish takes elements one after another; copy the tensor first".into(),
                        );
                    }
                    let count = x.layout().len();
                    let arguments = [
                        Argument::from(x.data_ptr()),
                        Argument::from(y.data_ptr()),
                        Argument::from(count as u64),
                    ];
                    // The stream on which the call takes place: that of the tensors' framework.
                    let stream = Stream::current(gpu);
                    // SAFETY: the kernel takes these arguments, and touches as many elements as
                    // both have, which the call lends it.
                    let launched: Result<(), CudaError> =
                        unsafe { swish.launch(&stream, Launch::over(count, 256), &arguments) };
                    Ok(launched?)
                },
            )
        })
);
