//! Ops whose kernels do nothing but copy and fill, on the stream that is current while they run.

use cudarc::driver::sys;
use dlbridge::cuda::{Gpu, Stream};
use dlbridge::kernel::{
    AttributeKind, Failure, Kernel, KernelContext, Op, Operand, Untyped, UntypedMut,
};
use dlbridge::{DeviceKind, register_kernel, register_op};

register_op!(
    Op::new("gpu.copy")
        .doc("The same bytes elsewhere.")
        .input("x", "T")
        .output("y", "T")
);
register_kernel!(
    Kernel::new("gpu.copy")
        .on(DeviceKind::Cuda)
        .function(|x: Untyped<'_>, y: UntypedMut<'_>| copy(&y, &x))
);

register_op!(
    Op::new("gpu.second")
        .doc("The second argument's bytes, after the first one's were there.")
        .input("a", "T")
        .input("b", "T")
        .output("y", "T")
);
register_kernel!(Kernel::new("gpu.second").on(DeviceKind::Cuda).function(
    |a: Untyped<'_>, b: Untyped<'_>, y: UntypedMut<'_>| {
        copy(&y, &a)?;
        copy(&y, &b)
    }
));

register_op!(
    Op::new("gpu.fill")
        .doc("Fills with a byte.")
        .in_out("x", "T")
        .attribute("byte", AttributeKind::Int, None)
);
register_kernel!(Kernel::new("gpu.fill").on(DeviceKind::Cuda).factory(
    |context: &KernelContext<'_>| {
        let byte = u8::try_from(context.attribute::<i64>("byte")?)?;
        Ok(move |x: UntypedMut<'_>| fill(&x, byte))
    }
));

register_op!(
    Op::new("gpu.fails")
        .doc("Fails after enqueuing its work.")
        .input("x", "T")
        .output("y", "T")
);
register_kernel!(Kernel::new("gpu.fails").on(DeviceKind::Cuda).function(
    |x: Untyped<'_>, y: UntypedMut<'_>| {
        copy(&y, &x)?;
        Err::<(), Failure>("it was to fail".into())
    }
));

fn stream_of(operand: &Operand<'_>) -> Result<sys::CUstream, Failure> {
    let stream = Stream::current(Gpu::from_device(operand.device())?);
    Ok(stream.handle().cast())
}

fn copy(to: &Operand<'_>, from: &Operand<'_>) -> Result<(), Failure> {
    let (target, source) = (to.data_ptr().addr() as u64, from.data_ptr().addr() as u64);
    // SAFETY: both are memory of that many bytes on the GPU whose context the call made current,
    // and which is used in the order of this stream.
    let answer = unsafe { sys::cuMemcpyAsync(target, source, from.nbytes(), stream_of(to)?) };
    Ok(answer.result()?)
}

fn fill(x: &Operand<'_>, byte: u8) -> Result<(), Failure> {
    // SAFETY: the operand's memory is on this GPU and as long as its nbytes, and the frame ordered
    // its use on this stream.
    let answer = unsafe {
        sys::cuMemsetD8Async(x.data_ptr().addr() as u64, byte, x.nbytes(), stream_of(x)?)
    };
    Ok(answer.result()?)
}
