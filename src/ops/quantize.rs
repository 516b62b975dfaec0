//! `quantize` and `dequantize`: affine quantisation to integers of 8 and 4 bits, with a scale for
//! each tensor, channel or group.

mod blocks;
mod kernels;
mod scales;
mod strided;

use crate::dtype::DType;
use crate::kernel::ArgumentError;
use crate::kernel::AttributeKind;
use crate::kernel::Call;
use crate::kernel::CallError;
use crate::kernel::ElementType;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::kernel::Op;
use crate::kernel::ShapeContext;
use crate::kernel::Untyped;
use crate::kernel::UntypedMut;
use crate::tensor::Tensor;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};
use kernels::{dequantize_elements, quantize_elements};
use scales::Along;

/// The dtypes of quantised numbers.
const QUANTIZED: [DType; 4] = [DType::I8, DType::U8, DType::I4, DType::U4];

register_op!(
    definition(("quantize", "x", "F"), DType::I8)
        .doc(
            "Floats as integers of 8 or 4 bits: saturate(round(x * (1 / scale)) + zero_point), calculated in float32, \
             halves rounded to the even integer. NaN becomes zero_point. scale has shape [], or [n] for each index of \
             an axis, or with group the shape of x with a scale for each group of elements along the axis, whose size \
             is a multiple of group. zero_point has the same shape, or [], or is 0 where it is left out."
        )
        .keeps_shape(|question| check(question, "x"))
        .sizes("x[s...] -> out[s...]")
);
register_kernel!(
    for T in [f32, f16, bf16] =>
    Kernel::new("quantize")
        .fills_results()
        .attribute("dtype", QUANTIZED)
        .releases_gil_from(1 << 16)
        .factory(|context: &KernelContext<'_>| {
            let along = along(|name| context.attribute(name))?;
            Ok(move |
                x: View<'_, T>,
                scale: View<'_, f32>,
                zero_point: Option<View<'_, i32>>,
                out: UntypedMut<'_>,
            | quantize_elements(along, &x, &scale, zero_point.as_ref(), &out))
        })
);

register_op!(
    definition(("dequantize", "q", "Q"), DType::F32)
        .doc(
            "Quantised integers as floats: (q - zero_point) * scale, calculated in float32. scale and zero_point have \
             the shapes that quantize has them in."
        )
        .keeps_shape(|question| check(question, "q"))
        .sizes("q[s...] -> out[s...]")
);
register_kernel!(
    for T in [f32, f16, bf16] =>
    Kernel::new("dequantize")
        .fills_results()
        .types("Q", &QUANTIZED)
        .releases_gil_from(1 << 16)
        .factory(|context: &KernelContext<'_>| {
            let along = along(|name| context.attribute(name))?;
            Ok(move |
                q: Untyped<'_>,
                scale: View<'_, f32>,
                zero_point: Option<View<'_, i32>>,
                out: ViewMut<'_, T>,
            | dequantize_elements(along, &q, &scale, zero_point.as_ref(), &out))
        })
);

/// Returns the definition of such an op, of its name and those of its tensor and its elements. Its
/// results have this dtype unless another one is requested.
fn definition((op, tensor, elements): (&str, &str, &str), dtype: DType) -> Op {
    Op::new(op)
        .input(tensor, elements)
        .input("scale", DType::F32)
        .optional_input("zero_point", DType::I32)
        .output("out", ElementType::Attribute("dtype".into()))
        .attribute("dtype", AttributeKind::DType, Some(dtype.into()))
        .attribute("axis", AttributeKind::Int, Some((-1_i64).into()))
        .attribute("group", AttributeKind::Int, Some(0_i64.into()))
}

/// Checks the scales of the tensor of this name.
fn check(question: &ShapeContext<'_>, tensor: &str) -> Result<(), Failure> {
    along(|name| question.attribute(name))?.check(question, tensor)
}

/// Reads the attributes that say where scales are.
fn along(attribute: impl Fn(&str) -> Result<i64, Failure>) -> Result<Along, Failure> {
    let group = attribute("group")?;
    let group = usize::try_from(group)
        .map_err(|_| ArgumentError::value("group", group.to_string(), "0 or more"))?;
    let axis = attribute("axis")?;
    Ok(Along { axis, group })
}

/// Where scales are: along which axis, and for how many elements of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScaleAxis {
    /// The axis, counted from the last one where it is negative. A scale of shape `[]` is for all
    /// elements, whatever the axis is.
    pub axis: i64,
    /// How many elements along the axis share a scale; 0 for a scale for each index of the axis.
    pub group: usize,
}

impl Default for ScaleAxis {
    fn default() -> Self {
        Self { axis: -1, group: 0 }
    }
}

/// Returns floats as integers of 8 or 4 bits: `saturate(round(x * (1 / scale)) + zero_point)`,
/// halves rounded to the even integer.
///
/// `scale` has shape `[]`, or `[n]` for each index of the axis, or the shape of `x` with a scale
/// for each group of elements along the axis. `zero_point` is `int32`, of the same shape or `[]`,
/// or `None::<&Tensor>` for 0.
///
/// ```
/// use dlbridge::ops::{ScaleAxis, dequantize, quantize};
/// use dlbridge::{DType, Tensor};
///
/// let x = Tensor::from([[0.5_f32, -1.0, 30.0, 64.0]]);
/// let scale = Tensor::from([[0.25_f32, 10.0]]);
/// let pairs = ScaleAxis { axis: -1, group: 2 };
/// let q = quantize(&x, &scale, None::<&Tensor>, DType::I4, pairs)?;
/// assert_eq!(q.to_string(), "[[ 2 -4  3  6]]");
/// let back = dequantize(&q, &scale, None::<&Tensor>, DType::F32, pairs)?;
/// assert_eq!(back.to_vec::<f32>()?, [0.5, -1.0, 30.0, 60.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When the shapes of the scales or zero points don't fit, a zero point isn't one of the dtype's
/// numbers, `x` isn't `float32`, `float16` or `bfloat16`, or the dtype isn't `int8`, `uint8`,
/// `int4` or `uint4`.
pub fn quantize<'a>(
    x: impl IntoOperand<'a>,
    scale: impl IntoOperand<'a>,
    zero_point: impl IntoOperand<'a>,
    dtype: DType,
    along: ScaleAxis,
) -> Result<Tensor, CallError> {
    static QUANTIZE: GlobalOp = GlobalOp::new("quantize");
    make(
        QUANTIZE
            .get()?
            .call()
            .input(x)
            .input(scale)
            .input(zero_point),
        dtype,
        along,
    )
}

/// Makes the result of a call of either op, which has its tensors.
fn make(call: Call<'_, '_>, dtype: DType, along: ScaleAxis) -> Result<Tensor, CallError> {
    let group = i64::try_from(along.group).unwrap_or(i64::MAX);
    call.attribute("dtype", dtype)
        .attribute("axis", along.axis)
        .attribute("group", group)
        .make()
}

/// Returns quantised integers as floats: `(q - zero_point) * scale`. See [`quantize`].
///
/// # Errors
///
/// When the shapes of the scales or zero points don't fit, a zero point isn't one of the numbers of
/// the dtype of `q`, that isn't `int8`, `uint8`, `int4` or `uint4`, or the result's dtype isn't
/// `float32`, `float16` or `bfloat16`.
pub fn dequantize<'a>(
    q: impl IntoOperand<'a>,
    scale: impl IntoOperand<'a>,
    zero_point: impl IntoOperand<'a>,
    dtype: DType,
    along: ScaleAxis,
) -> Result<Tensor, CallError> {
    static DEQUANTIZE: GlobalOp = GlobalOp::new("dequantize");
    make(
        DEQUANTIZE
            .get()?
            .call()
            .input(q)
            .input(scale)
            .input(zero_point),
        dtype,
        along,
    )
}
