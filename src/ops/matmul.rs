//! `matmul`: matrix multiplication.

use crate::compute::gemm::{Factor, Matrices, Sizes, multiply};
use crate::dtype::{DType, Element};
use crate::kernel::ArgumentError;
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::ElementType;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::Op;
use crate::kernel::ShapeContext;
use crate::layout::LayoutRef;
use crate::tensor::Tensor;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};
use smallvec::SmallVec;

register_op!(
    Op::new("matmul")
        .doc(
            "The product of matrices: out[..., i, j] = the sum over k of a[..., i, k] * b[..., k, j]. A vector is \
             one row of `a` or one column of `b`, which the result is without; all dimensions before the last two \
             are broadcast. Products of integers wrap around; those of int8 and uint8 are exact for \
             `dtype=\"int32\"`. Sums of 16-bit floats are float32, and rounded once, or not for \
             `dtype=\"float32\"`."
        )
        .input("a", "T")
        .input("b", "T")
        .output(
            "out",
            ElementType::AttributeOr { attribute: "dtype".into(), variable: "T".into() }
        )
        .attribute("dtype", AttributeKind::OptionalDType, Some(None::<DType>.into()))
        .shapes(|question| shapes(question).map(|(shape, _)| vec![shape]))
        .sizes(
            "a[k], b[k] -> out[]
            | a[k], b[..., k, j] -> out[..., j]
            | a[..., i, k], b[k] -> out[..., i]
            | a[..., i, k], b[..., k, j] -> out[..., i, j]"
        )
        .batches()
        .gradient("a", GRADIENT_A)
        .gradient("b", GRADIENT_B)
        .work(|question| {
            let work = |(shape, depth): (Vec<usize>, usize)| {
                let sizes = shape.iter().chain([&depth]);
                sizes.fold(1, |work: u64, size| work.saturating_mul(*size as u64))
            };
            shapes(question).map_or(0, work)
        })
);

macro_rules! kernels {
    ($($ty:ty => $Out:ty),*) => {$(
        register_kernel!(
            Kernel::new("matmul")
                .fills_results()
                .attribute("dtype", [Some(<$Out>::DTYPE)])
                .releases_gil_from(1 << 15)
                .function(kernel::<$ty, $Out>)
        );
    )*};
}

register_kernel!(
    for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
    Kernel::new("matmul")
        .fills_results()
        .releases_gil_from(1 << 15)
        .function(kernel::<T, T>)
);
kernels!(f16 => f32, bf16 => f32, i8 => i32, u8 => i32);

/// The gradient of `a`, for each of the alternatives of the rule of sizes.
const GRADIENT_A: &str = "
    multiply(cast(dout, dtype=dtype(a)), b)
    | sum_to_like(sum(multiply(expand_dims(cast(dout, dtype=dtype(a)), axis=-2), b), axis=-1), a)
    | multiply(expand_dims(cast(dout, dtype=dtype(a)), axis=-1), b)
    | sum_to_like(matmul(cast(dout, dtype=dtype(a)), matrix_transpose(b)), a)";

/// The gradient of `b`.
const GRADIENT_B: &str = "
    multiply(cast(dout, dtype=dtype(b)), a)
    | multiply(expand_dims(cast(dout, dtype=dtype(b)), axis=-2), expand_dims(a, axis=-1))
    | sum_to_like(multiply(expand_dims(cast(dout, dtype=dtype(b)), axis=-1), a), b)
    | sum_to_like(matmul(matrix_transpose(a), cast(dout, dtype=dtype(b))), b)";

/// Returns the shape of the result, and how many products each of its elements sums up.
fn shapes(question: &ShapeContext<'_>) -> Result<(Vec<usize>, usize), Failure> {
    let (a, b) = (question.shape("a"), question.shape("b"));
    shape_of_product(a, b).ok_or_else(|| {
        let error = ArgumentError::shape("b", b, &format!("a shape that multiplies with {a:?}"));
        let reason = format!("matrices of shapes {a:?} and {b:?} can't be multiplied");
        error.with_reason(reason).into()
    })
}

fn shape_of_product(a: &[usize], b: &[usize]) -> Option<(Vec<usize>, usize)> {
    let (batch_a, rows, depth) = match a {
        [] => return None,
        [depth] => (&[][..], None, depth),
        [batch @ .., rows, depth] => (batch, Some(rows), depth),
    };
    let (batch_b, depth_b, columns) = match b {
        [] => return None,
        [depth] => (&[][..], depth, None),
        [batch @ .., depth, columns] => (batch, depth, Some(columns)),
    };
    if depth != depth_b {
        return None;
    }
    let rank = batch_a.len().max(batch_b.len());
    let size = |batch: &[usize], at: usize| match at + batch.len() {
        at if at < rank => 1,
        at => batch[at - rank],
    };
    let mut shape = Vec::with_capacity(rank + 2);
    for at in 0..rank {
        shape.push(match (size(batch_a, at), size(batch_b, at)) {
            (a, b) if a == b => a,
            (1, b) => b,
            (a, 1) => a,
            _ => return None,
        });
    }
    shape.extend(rows);
    shape.extend(columns);
    Some((shape, *depth))
}

/// Strides of a batch.
type Strides = SmallVec<[isize; 6]>;

/// The strides of a batch of matrices, broadcast to a rank; of its rows; and of its columns.
fn strides(
    layout: LayoutRef<'_>,
    vector_is_row: bool,
    batch: usize,
) -> (Strides, [usize; 2], [isize; 2]) {
    let (shape, strides) = (layout.shape(), layout.strides());
    let matrix = shape.len().saturating_sub(2);
    let (sizes, last) = match (&shape[matrix..], &strides[matrix..]) {
        ([rows, columns], [row, column]) => ([*rows, *columns], [*row, *column]),
        ([size], [stride]) if vector_is_row => ([1, *size], [0, *stride]),
        ([size], [stride]) => ([*size, 1], [*stride, 0]),
        _ => ([1, 1], [0, 0]),
    };
    let mut outer = Strides::from_elem(0, batch - matrix);
    let is_one = shape[..matrix].iter().map(|size| *size == 1);
    let own = strides[..matrix].iter().zip(is_one);
    outer.extend(own.map(|(stride, is_one)| if is_one { 0 } else { *stride }));
    (outer, sizes, last)
}

fn kernel<T: Element + Factor<O>, O: Element>(a: View<'_, T>, b: View<'_, T>, out: ViewMut<'_, O>) {
    let shape = out.layout().shape();
    let vectors = usize::from(a.rank() == 1) + usize::from(b.rank() == 1);
    let batch = (shape.len() + vectors).saturating_sub(2);
    let (a_batch, [rows, depth], a_last) = strides(a.layout(), true, batch);
    let (b_batch, [_, columns], b_last) = strides(b.layout(), false, batch);
    // Of the result, dimensions of vectors are missing.
    let own = out.layout().strides();
    let (out_batch, rest) = own.split_at(batch);
    let (row, column) = match (a.rank(), b.rank()) {
        (1, 1) => (0, 0),
        (1, _) => (0, rest[0]),
        (_, 1) => (rest[0], 0),
        _ => (rest[0], rest[1]),
    };
    let sizes = Sizes {
        batch: &shape[..batch],
        rows,
        depth,
        columns,
    };
    let factor = |view: &View<'_, T>| view.as_ptr();
    let a = Matrices {
        first: factor(&a),
        batch: &a_batch,
        row: a_last[0],
        column: a_last[1],
    };
    let b = Matrices {
        first: factor(&b),
        batch: &b_batch,
        row: b_last[0],
        column: b_last[1],
    };
    let out_matrices = Matrices {
        first: out.as_ptr().cast_mut(),
        batch: out_batch,
        row,
        column,
    };
    // SAFETY: the strides are those of the views, under shapes that the op's rule checked; with
    // strides of 0 where a dimension is broadcast or missing. The frame checked that `out` overlaps
    // with no other operand nor with itself.
    unsafe { multiply::<T, O>(sizes, a, b, out_matrices) }
}

/// Returns the product of two matrices, or of batches of matrices that are broadcast.
///
/// A vector stands for one row on the left, or for one column on the right, and the result is
/// without that dimension. The result has the dtype of the inputs; the op's attribute `dtype`
/// chooses another one.
///
/// # Examples
///
/// ```
/// use dlbridge::kernel::Registry;
/// use dlbridge::{DType, Tensor, ops};
///
/// let a = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
/// let v = Tensor::from([10.0_f32, 1.0]);
/// assert_eq!(ops::matmul(&a, &v)?.to_vec::<f32>()?, [12.0, 34.0]);
/// assert_eq!(ops::matmul(&v, &v)?.to_vec::<f32>()?, [101.0]);
///
/// let small = Tensor::from([[100_i8, 100]]);
/// let transposed = small.transpose();
/// let matmul = Registry::global().op("matmul")?;
/// let call = matmul.call().input(&small).input(&transposed);
/// let exact = call.attribute("dtype", DType::I32).make()?;
/// assert_eq!(exact.to_vec::<i32>()?, [20_000]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When their dtypes or shapes don't match.
pub fn matmul<'a>(a: impl IntoOperand<'a>, b: impl IntoOperand<'a>) -> Result<Tensor, CallError> {
    static MATMUL: GlobalOp = GlobalOp::new("matmul");
    MATMUL.get()?.call().input(a).input(b).make()
}
