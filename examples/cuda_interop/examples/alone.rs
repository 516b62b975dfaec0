//! A GPU from Rust alone: `cargo run --example alone`. Without one it says why, and takes the CPU.

// Its op is in the registry where it is linked.
extern crate cuda_interop;

use dlbridge::Tensor;
use dlbridge::cuda::{self, Gpu, Stream};
use dlbridge::kernel::Registry;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let swish = Registry::global().op("interop.swish")?;
    let x = Tensor::from([-1.0_f32, 0.0, 1.0, 20.0]);

    let on_host = swish.call().input(&x).make()?;
    println!("on the CPU: {on_host}");

    let gpu = match Gpu::new(0) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("on a GPU: {error}");
            return Ok(());
        }
    };
    let stream = Stream::new(gpu)?;
    // Until this is dropped, what is asked of the GPU is asked on this stream.
    let _current = stream.make_current();
    let sent = cuda::to_device(&x, &stream)?;
    let y = swish.call().input(&sent).make()?;
    let fetched = cuda::to_host(&y)?;
    println!("on {}:        {fetched}", gpu.name()?);
    assert!(fetched.all_close(&on_host, 1e-5, 1e-6)?);
    Ok(())
}
