//! Functions of [`ops`](super), writing to a tensor that is there already: no memory is allocated
//! for the result. Other ops take one as the [output](crate::kernel::Call::output) of a call.
//!
//! The result's shape and dtype are those that the function without `out` returns; anything else is
//! refused. `out` may have any strides. It shares no memory with an argument: a tensor that has
//! another handle isn't written.
//!
//! ```
//! use dlbridge::{Tensor, ops};
//!
//! let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
//! let mut sums = Tensor::from([0.0_f32; 2]);
//! for _ in 0..3 {
//!     ops::out::sum(&x, Some(&[0]), false, &mut sums)?; // the same memory each time
//! }
//! assert_eq!(sums.to_vec::<f32>()?, [4.0, 6.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::dtype::DType;
use crate::kernel::{CallError, GlobalOp, IntoOperand, IntoOperandMut};

macro_rules! name {
    ($name:ident) => {
        stringify!($name)
    };
    ($name:ident $op:literal) => {
        $op
    };
}

/// Defines functions by the names of an op's tensors and of its attributes.
macro_rules! functions {
    ($($name:ident($($tensor:ident),+ $(; $($value:ident: $Type:ty = $key:literal),+)?)
        $(calls $op:literal)?;)*) => {$(
        #[doc = concat!("Writes the result of [`ops::", stringify!($name), "`](fn@super::", stringify!($name), ") to `out`.")]
        ///
        /// # Errors
        ///
        /// Those of that function; and when `out` has another shape or dtype than its result, can't
        /// be written, or shares memory with an argument.
        pub fn $name<'a>(
            $($tensor: impl IntoOperand<'a>,)+
            $($($value: $Type,)+)?
            out: impl IntoOperandMut<'a>,
        ) -> Result<(), CallError> {
            static OP: GlobalOp = GlobalOp::new(name!($name $($op)?));
            let call = OP.get()?.call()$(.input($tensor))+;
            $($(let call = call.attribute($key, $value);)+)?
            call.output(out).run().map(drop)
        }
    )*};
}

functions! {
    add(a, b);
    subtract(a, b);
    multiply(a, b);
    divide(a, b);
    maximum(a, b);
    minimum(a, b);
    fma(a, b, c);
    where_(condition, a, b) calls "where";
    equal(a, b);
    not_equal(a, b);
    less(a, b);
    less_equal(a, b);
    greater(a, b);
    greater_equal(a, b);
    negative(x);
    abs(x);
    exp(x);
    log(x);
    sqrt(x);
    rsqrt(x);
    tanh(x);
    sigmoid(x);
    relu(x);
    gelu(x);
    silu(x);
    copy(x);
    cast(x; dtype: DType = "dtype");
    sum(x; axes: Option<&[i64]> = "axis", keepdims: bool = "keepdims");
    mean(x; axes: Option<&[i64]> = "axis", keepdims: bool = "keepdims");
    max(x; axes: Option<&[i64]> = "axis", keepdims: bool = "keepdims");
    min(x; axes: Option<&[i64]> = "axis", keepdims: bool = "keepdims");
    var(x; axes: Option<&[i64]> = "axis", correction: f64 = "correction", keepdims: bool = "keepdims");
    std(x; axes: Option<&[i64]> = "axis", correction: f64 = "correction", keepdims: bool = "keepdims");
    argmax(x; axis: Option<i64> = "axis", keepdims: bool = "keepdims");
    argmin(x; axis: Option<i64> = "axis", keepdims: bool = "keepdims");
    softmax(x; axis: i64 = "axis");
    log_softmax(x; axis: i64 = "axis");
    rms_norm(x, weight; eps: f64 = "eps");
    layer_norm(x, weight, bias; axis: i64 = "axis", eps: f64 = "eps");
    matmul(a, b);
    take(x, indices; axis: i64 = "axis");
}
