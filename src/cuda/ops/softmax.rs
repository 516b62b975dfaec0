//! softmax: `softmax.cu`, `softmax_long.cu` and `softmax_columns.cu`.

use super::compiled_modules::{File, Unit, file};
use super::groups::{Groups, splits};
use super::rows::{Held, Lines, MOST};
use super::stream_of;
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
use crate::kernel::{DeviceSource, DeviceTarget, Failure, Kernel, KernelContext, Operand};
use crate::ops::axis::dimension;
use half::{bf16, f16};

register_kernel!(for T in [f32, f64, f16, bf16] => softmax(T::DTYPE));

fn softmax(dtype: DType) -> Kernel {
    let kernel = Kernel::new("softmax")
        .on(DeviceKind::Cuda)
        .types("T", &[dtype]);
    kernel.factory(move |context: &KernelContext<'_>| -> Result<_, Failure> {
        let gpu = Gpu::from_device(context.device())?;
        let axis: i64 = context.attribute("axis")?;
        let widest = 16 / bytes_of(dtype);
        let softmax = Softmax {
            gpu,
            axis,
            single: Kernels::new(gpu, dtype, 1)?,
            packed: Kernels::new(gpu, dtype, widest)?,
        };
        Ok(move |x: DeviceSource<'_>, out: DeviceTarget<'_>| softmax.launch(&x, &out))
    })
}

struct Softmax {
    gpu: Gpu,
    axis: i64,
    single: Kernels,
    packed: Kernels,
}

/// The kernels, by how many elements they load at once.
struct Kernels {
    pack: usize,
    held: Held,
    online: Function,
    measured: Function,
    scaled: Function,
    columns: Function,
}

impl Kernels {
    fn new(gpu: Gpu, dtype: DType, pack: usize) -> Result<Self, CudaError> {
        let macros = [("TYPE", name_of(dtype)), ("PACK", &*pack.to_string())];
        let unit = |file: &File| {
            let name = file.name.trim_end_matches(".cu");
            let name = format!("{name}_{}x{pack}", name_of(dtype));
            Unit::new(gpu, file, name, &macros)
        };
        let long = unit(&file!("softmax_long.cu"))?;
        Ok(Self {
            pack,
            held: Held::of(&unit(&file!("softmax.cu"))?)?,
            online: long.function("online")?,
            measured: long.function("measured")?,
            scaled: long.function("scaled")?,
            columns: unit(&file!("softmax_columns.cu"))?.function("columns")?,
        })
    }
}

impl Softmax {
    fn launch(&self, x: &Operand<'_>, out: &Operand<'_>) -> Result<(), Failure> {
        let axis = dimension(x.shape().len(), self.axis)?;
        let lines = Lines::of(x, out, axis)?;
        if lines.rows == 0 || lines.length == 0 {
            return Ok(());
        }
        if lines.rows > u32::MAX as usize / 2 {
            return Err("there are more lines than the kernels count".into());
        }
        let stream = stream_of(self.gpu);
        let pack = self.packed.pack;
        let kernels = match lines.are_packed(&[x, out], pack) {
            true => &self.packed,
            false => &self.single,
        };
        // Where neighbours are in other lines, threads take those.
        let is_across = lines.x_stride != 1 && lines.kept.strides[1][0] == 1;
        if is_across {
            return Ok(self.across(x, out, &lines, &stream)?);
        }
        match kernels.held.choose(lines.length, kernels.pack) {
            Some((function, groups)) => {
                // SAFETY: the frame checked shapes and types, and settled the order in which the
                // memory is used; the kernels touch the elements alone.
                unsafe {
                    function.launch(
                        &stream,
                        groups.launch(lines.rows),
                        &of_lines(x, out, &lines),
                    )
                }?;
            }
            None => self.long(kernels, x, out, &lines, &stream)?,
        }
        Ok(())
    }

    fn across(
        &self,
        x: &Operand<'_>,
        out: &Operand<'_>,
        lines: &Lines,
        stream: &Stream,
    ) -> Result<(), CudaError> {
        let pack = self.packed.pack;
        let is_multiple = |stride: i64| stride % pack as i64 == 0;
        let is_packed = lines.kept.strides[0][0] == 1
            && is_multiple(lines.kept.sizes[0])
            && (0..2).all(|tensor| lines.kept.steps_by(tensor, pack))
            && is_multiple(lines.x_stride)
            && is_multiple(lines.out_stride)
            && [x, out]
                .iter()
                .all(|operand| operand.data_ptr().addr().is_multiple_of(16));
        let (kernels, width) = match is_packed {
            true => (&self.packed, pack),
            false => (&self.single, 1),
        };
        let columns = lines.rows.div_ceil(width).next_power_of_two().min(32);
        let grid = [super::blocks(lines.rows, columns * width), 1, 1];
        let rows = super::THREADS / columns;
        let launch = Launch::new(grid, [columns as u32, rows as u32, 1]);
        // SAFETY: the arguments have the types and order of `columns` in kernels/README.md, and the
        // frame keeps the operands' memory in this stream's order.
        unsafe {
            kernels
                .columns
                .launch(stream, launch, &of_lines(x, out, lines))
        }
    }

    /// Lines that don't fit into registers; where there are few, each is split.
    fn long(
        &self,
        kernels: &Kernels,
        x: &Operand<'_>,
        out: &Operand<'_>,
        lines: &Lines,
        stream: &Stream,
    ) -> Result<(), CudaError> {
        let most = lines.length / (MOST * kernels.pack * 4);
        let splits = splits(self.gpu, 4 * lines.rows, most);
        let groups = Groups::alone(MOST);
        // While a graph is captured there is no memory for what is measured.
        if splits == 1 || stream.is_capturing()? {
            let launch = groups.launch(lines.rows);
            // SAFETY: the arguments have the types and order of `online` in kernels/README.md, and
            // the frame keeps the operands' memory in this stream's order.
            return unsafe {
                kernels
                    .online
                    .launch(stream, launch, &of_lines(x, out, lines))
            };
        }
        let launch = groups.launch(lines.rows * splits);
        // Two numbers for each part, of up to 8 bytes.
        let measures = empty(&[lines.rows, splits, 2], DType::F64, stream)?;
        let [x_at, out_at, measures_at] =
            [x.data_ptr(), out.data_ptr(), measures.data_ptr()].map(Argument::from);
        let kept = Argument::from_ref(&lines.kept);
        let rows = Argument::from(lines.rows as u32);
        let length = Argument::from(lines.length as u64);
        let [x_stride, out_stride] = [lines.x_stride, lines.out_stride].map(Argument::from);
        let splits = Argument::from(splits as u32);
        let measure = [x_at, measures_at, kept, rows, length, x_stride, splits];
        let scale = [
            x_at,
            out_at,
            measures_at,
            kept,
            rows,
            length,
            x_stride,
            out_stride,
            splits,
        ];
        // SAFETY: the arguments have the types and order of `measured` and `scaled` in
        // kernels/README.md; the frame keeps the operands' memory in this stream's order, and the
        // measures are released in it.
        unsafe {
            kernels.measured.launch(stream, launch, &measure)?;
            kernels.scaled.launch(stream, launch, &scale)
        }
    }
}

/// Returns what most of the kernels take.
fn of_lines<'a>(x: &Operand<'_>, out: &Operand<'_>, lines: &'a Lines) -> [Argument<'a>; 7] {
    [
        Argument::from(x.data_ptr()),
        Argument::from(out.data_ptr()),
        Argument::from_ref(&lines.kept),
        Argument::from(lines.rows as u32),
        Argument::from(lines.length as u64),
        Argument::from(lines.x_stride),
        Argument::from(lines.out_stride),
    ]
}
