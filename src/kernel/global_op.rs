//! Ops of the global registry, looked up at their first call.

use super::error::CallError;
use super::handle::OpHandle;
use super::registry::Registry;
use std::sync::OnceLock;

/// An op of the [global registry](Registry::global), looked up when it is first called: for
/// functions that call always the same one.
///
/// ```
/// use dlbridge::Tensor;
/// use dlbridge::kernel::{CallError, GlobalOp, Kernel, Op, Source, Target};
///
/// dlbridge::register_op!(Op::new("demo.square").input("x", "T").output("y", "T"));
/// dlbridge::register_kernel!(Kernel::new("demo.square").function(kernel));
///
/// fn kernel(x: Source<'_, f32>, y: Target<'_, f32>) {
///     y.map(&x, |x| x * x);
/// }
///
/// pub fn square(x: &Tensor) -> Result<Tensor, CallError> {
///     static SQUARE: GlobalOp = GlobalOp::new("demo.square");
///     SQUARE.get()?.call().input(x).make()
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// assert_eq!(square(&Tensor::from([3.0_f32]))?.to_vec::<f32>()?, [9.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct GlobalOp {
    name: &'static str,
    handle: OnceLock<OpHandle>,
}

impl GlobalOp {
    /// Creates a handle to the op of this name, which is looked up at its first use.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            handle: OnceLock::new(),
        }
    }

    /// Returns the op.
    ///
    /// # Errors
    ///
    /// When nothing of this name was registered.
    pub fn get(&self) -> Result<&OpHandle, CallError> {
        if let Some(handle) = self.handle.get() {
            return Ok(handle);
        }
        let handle = Registry::global().op(self.name)?;
        Ok(self.handle.get_or_init(|| handle))
    }
}
