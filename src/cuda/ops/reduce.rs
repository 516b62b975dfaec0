//! sum, mean, max: `reduce_rows.cu` and `reduce_columns.cu`.

use super::compiled_modules::{Unit, file};
use super::groups::{Groups, splits};
use super::stream_of;
use super::strided::Strided;
use super::type_names::{bytes_of, name_of};
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::memory::array::empty;
use crate::cuda::module::argument::Argument;
use crate::cuda::module::function::Function;
use crate::cuda::module::launch::Launch;
use crate::cuda::stream::Stream;
use crate::device::DeviceKind;
use crate::dtype::{DType, Element};
use crate::kernel::{Failure, Kernel, KernelContext, Operand, Untyped, UntypedMut};
use crate::ops::axis::dimensions;
use crate::tensor::Tensor;
use half::{bf16, f16};

register_kernel!(
    for T in [i8, i16, i32, i64] => sum(T::DTYPE, &INTEGERS, DType::I64)
);
register_kernel!(
    for T in [u8, u16, u32, u64] => sum(T::DTYPE, &INTEGERS, DType::U64)
);
register_kernel!(
    for T in [f16, bf16] => sum(T::DTYPE, &[T::DTYPE, DType::F32], T::DTYPE)
);
register_kernel!(
    for T in [f32, f64] => sum(T::DTYPE, &[T::DTYPE, DType::F64], T::DTYPE)
);
register_kernel!(
    for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
    reduction(of("max", T::DTYPE), "max", "Max", T::DTYPE, |_| Ok(T::DTYPE))
);
register_kernel!(
    for T in [f32, f64, f16, bf16] =>
    reduction(of("mean", T::DTYPE), "mean", "Mean", T::DTYPE, |_| Ok(T::DTYPE))
);

const INTEGERS: [DType; 8] = [
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
];

fn of(op: &str, dtype: DType) -> Kernel {
    Kernel::new(op).on(DeviceKind::Cuda).types("T", &[dtype])
}

/// Sums of a dtype, as elements of one of some, or of another one where the call names none.
fn sum(dtype: DType, results: &[DType], usual: DType) -> Kernel {
    let named = results.iter().copied().map(Some);
    let kernel = of("sum", dtype).attribute("dtype", named.chain([None]));
    reduction(kernel, "sum", "Sum", dtype, move |context| {
        let named: Option<DType> = context.attribute("dtype")?;
        Ok(named.unwrap_or(usual))
    })
}

fn reduction(
    kernel: Kernel,
    op: &'static str,
    operation: &'static str,
    dtype: DType,
    result: impl Fn(&KernelContext<'_>) -> Result<DType, Failure> + Send + Sync + 'static,
) -> Kernel {
    kernel.factory(move |context: &KernelContext<'_>| -> Result<_, Failure> {
        let gpu = Gpu::from_device(context.device())?;
        let axes: Option<Vec<i64>> = context.attribute("axis")?;
        let (element, result) = (name_of(dtype), name_of(result(context)?));
        let macros = [
            ("TYPE", element),
            ("RESULT", result),
            ("OPERATION", operation),
        ];
        let name = |kind| match element == result {
            true => format!("{op}_{kind}_{element}"),
            false => format!("{op}_{kind}_{element}_{result}"),
        };
        let rows = Unit::new(gpu, &file!("reduce_rows.cu"), name("rows"), &macros)?;
        let columns = Unit::new(gpu, &file!("reduce_columns.cu"), name("columns"), &macros)?;
        let reduction = Reduction {
            gpu,
            axes,
            rows: rows.function("rows")?,
            strided: rows.function("strided")?,
            columns: columns.function("columns")?,
            columns_packed: columns.function("columns_packed")?,
            finish: rows.function("finish")?,
            bytes: bytes_of(dtype),
        };
        Ok(move |x: Untyped<'_>, out: UntypedMut<'_>| reduction.launch(&x, &out))
    })
}

/// The kernels for an element type, and the axes along which elements are merged.
struct Reduction {
    gpu: Gpu,
    /// All of them for `None`.
    axes: Option<Vec<i64>>,
    rows: Function,
    strided: Function,
    columns: Function,
    columns_packed: Function,
    finish: Function,
    bytes: usize,
}

/// A reduction: its input and its result.
struct Task {
    /// The dimensions of the result, in the result and in x.
    kept: Strided<2>,
    merged: Strided<1>,
    results: usize,
    length: usize,
}

impl Task {
    /// Returns whether what is kept lies side by side, and what is merged is as many as the kernels
    /// count: beyond the last one their numbers must not wrap around.
    fn is_column(&self) -> bool {
        self.kept.strides[1][0] == 1 && self.length <= i32::MAX as usize
    }
}

/// The most threads of a block.
const MOST: usize = 512;
/// Elements fewer than these aren't worth another thread.
const OF_THREAD: usize = 4;

impl Reduction {
    fn launch(&self, x: &Operand<'_>, out: &Operand<'_>) -> Result<(), Failure> {
        let task = self.task(x, out)?;
        if task.results == 0 {
            return Ok(());
        }
        if task.results > u32::MAX as usize / 2 {
            return Err("there are more results than the kernels count".into());
        }
        let stream = stream_of(self.gpu);
        let is_run = task.merged.is_flat();
        match (is_run, task.is_column()) {
            (false, true) => self.by_columns(x, out, &task, &stream)?,
            _ => self.by_rows(x, out, &task, is_run, &stream)?,
        }
        Ok(())
    }

    fn task(&self, x: &Operand<'_>, out: &Operand<'_>) -> Result<Task, Failure> {
        let is_merged = dimensions(x.shape().len(), self.axes.as_deref())?;
        let keeps = out.shape().len() == x.shape().len();
        // Where a dimension of x is in the result.
        let mut place = 0;
        let mut kept = Vec::new();
        for (axis, is_merged) in is_merged.iter().enumerate() {
            if !is_merged {
                let strides = [out.layout().strides()[place], x.layout().strides()[axis]];
                kept.push((x.shape()[axis] as i64, strides.map(|stride| stride as i64)));
            }
            place += usize::from(keeps || !is_merged);
        }
        let kept = Strided::collect(kept.into_iter().rev())?;
        let merged = Strided::over([x], |axis| is_merged[axis])?;
        let (results, length) = (kept.count(), merged.count());
        Ok(Task {
            kept,
            merged,
            results,
            length,
        })
    }

    fn by_rows(
        &self,
        x: &Operand<'_>,
        out: &Operand<'_>,
        task: &Task,
        is_run: bool,
        stream: &Stream,
    ) -> Result<(), CudaError> {
        let of_thread = if is_run {
            2 * 16 / self.bytes
        } else {
            OF_THREAD
        };
        let groups = Groups::of(task.length.div_ceil(of_thread), MOST);
        let most = task.length / (groups.lanes * of_thread * 2);
        let splits = self.splits(task.results.div_ceil(MOST / groups.lanes), most, stream)?;
        let partials = self.partials(task, splits, stream)?;
        let launch = groups.launch(task.results * splits);
        let length = Argument::from(task.length as u64);
        let arguments = self.arguments(x, out, &partials, task, splits, length);
        // SAFETY: the frame checked shapes and types, and settled the order in which the memory is
        // used; the kernels touch the elements, and the partial results, alone.
        unsafe {
            match is_run {
                true => self
                    .rows
                    .launch(stream, launch, &without_merged(&arguments))?,
                false => self.strided.launch(stream, launch, &arguments)?,
            }
        }
        self.finish(out, &partials, task, splits, stream)
    }

    fn by_columns(
        &self,
        x: &Operand<'_>,
        out: &Operand<'_>,
        task: &Task,
        stream: &Stream,
    ) -> Result<(), CudaError> {
        let pack = if self.bytes == 1 { 8 } else { 16 / self.bytes };
        let is_packed = task.kept.sizes[0] % pack as i64 == 0
            && task.kept.steps_by(1, pack)
            && task.merged.strides[0]
                .iter()
                .all(|stride| stride % pack as i64 == 0)
            && x.data_ptr().addr().is_multiple_of(pack * self.bytes);
        let (function, width) = match is_packed {
            true => (&self.columns_packed, pack),
            false => (&self.columns, 1),
        };
        let columns = task.results.div_ceil(width).next_power_of_two().min(32);
        let rows = super::THREADS / columns;
        let tasks = task.results.div_ceil(width * columns);
        let splits = self.splits(tasks, task.length / (rows * OF_THREAD), stream)?;
        let partials = self.partials(task, splits, stream)?;
        let grid = [super::blocks(tasks * splits, 1), 1, 1];
        let launch = Launch::new(grid, [columns as u32, rows as u32, 1]);
        let length = Argument::from(task.length as u32);
        let arguments = self.arguments(x, out, &partials, task, splits, length);
        // SAFETY: the arguments have the types and order of `columns` in kernels/README.md, and the
        // frame keeps the operands' memory in this stream's order. `partials` has room for each
        // split.
        unsafe { function.launch(stream, launch, &arguments) }?;
        self.finish(out, &partials, task, splits, stream)
    }

    /// Returns in how many parts each result is worked out. While a graph is captured there is no
    /// memory for partial ones.
    fn splits(&self, tasks: usize, most: usize, stream: &Stream) -> Result<usize, CudaError> {
        match splits(self.gpu, tasks, most) {
            1 => Ok(1),
            _ if stream.is_capturing()? => Ok(1),
            splits => Ok(splits),
        }
    }

    /// Returns room for what the parts give: 8 bytes hold it for every type.
    fn partials(
        &self,
        task: &Task,
        splits: usize,
        stream: &Stream,
    ) -> Result<Option<Tensor>, CudaError> {
        match splits {
            1 => Ok(None),
            splits => empty(&[task.results, splits], DType::F64, stream).map(Some),
        }
    }

    fn arguments<'a>(
        &self,
        x: &Operand<'_>,
        out: &Operand<'_>,
        partials: &Option<Tensor>,
        task: &'a Task,
        splits: usize,
        length: Argument<'a>,
    ) -> [Argument<'a>; 9] {
        [
            Argument::from(x.data_ptr()),
            Argument::from(out.data_ptr()),
            address(partials),
            Argument::from_ref(&task.kept),
            Argument::from(task.results as u32),
            Argument::from_ref(&task.merged),
            length,
            Argument::from(splits as u32),
            Argument::from(task.length as u64),
        ]
    }

    fn finish(
        &self,
        out: &Operand<'_>,
        partials: &Option<Tensor>,
        task: &Task,
        splits: usize,
        stream: &Stream,
    ) -> Result<(), CudaError> {
        if splits == 1 {
            return Ok(());
        }
        let launch = Groups::of(splits, MOST).launch(task.results);
        let arguments = [
            address(partials),
            Argument::from(out.data_ptr()),
            Argument::from_ref(&task.kept),
            Argument::from(task.results as u32),
            Argument::from(splits as u32),
            Argument::from(task.length as u64),
        ];
        // SAFETY: the arguments have the types and order of `finish` in kernels/README.md;
        // `partials` was written before in the order of this stream, which its release follows.
        unsafe { self.finish.launch(stream, launch, &arguments) }
    }
}

fn address(partials: &Option<Tensor>) -> Argument<'static> {
    Argument::from(partials.as_ref().map_or(std::ptr::null(), Tensor::data_ptr))
}

/// Returns the arguments for contiguous elements, whose kernel takes no layout.
fn without_merged<'a>(arguments: &[Argument<'a>; 9]) -> [Argument<'a>; 8] {
    std::array::from_fn(|at| arguments[at + usize::from(at >= 5)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_longer_than_32_bits_are_not_columns() {
        let task = |length: usize, stride: i64| {
            let kept = Strided::collect([(8, [1, stride])]).unwrap();
            let merged = Strided::collect([(length as i64, [16])]).unwrap();
            let (results, length) = (kept.count(), merged.count());
            Task {
                kept,
                merged,
                results,
                length,
            }
        };
        let most = i32::MAX as usize;
        assert!(task(most, 1).is_column() && !task(most, 2).is_column());
        for length in [most + 1, u32::MAX as usize, 1 << 40] {
            assert!(!task(length, 1).is_column(), "{length}");
        }
    }
}
