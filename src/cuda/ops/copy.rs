//! copy: `copy.cu`, and `transpose.cu` for when another dimension becomes the fastest.

use super::compiled_modules::{Unit, file};
use super::map::{Kernels, Place};
use super::strided::Strided;
use super::{blocks, stream_of};
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::module::argument::Argument;
use crate::cuda::module::function::Function;
use crate::cuda::module::launch::Launch;
use crate::device::DeviceKind;
use crate::kernel::{Failure, Kernel, KernelContext, Operand, Untyped, UntypedMut};
use std::sync::OnceLock;

register_kernel!(Kernel::new("copy").on(DeviceKind::Cuda).factory(
    |context: &KernelContext<'_>| -> Result<_, Failure> {
        let copies = Copies::new(Gpu::from_device(context.device())?);
        Ok(move |x: Untyped<'_>, out: UntypedMut<'_>| copies.launch(&x, &out))
    }
));

/// The sizes of elements for which there are kernels.
const SIZES: [usize; 5] = [1, 2, 4, 8, 16];

/// Returns the kernels of `copy.cu` for elements of a size in bytes.
pub(super) fn unit(gpu: Gpu, bytes: usize) -> Result<Unit, CudaError> {
    let macros = [("SIZE", &*bytes.to_string())];
    Unit::new(gpu, &file!("copy.cu"), format!("copy_{bytes}"), &macros)
}

/// The kernels that were needed by now.
pub(super) struct Copies {
    gpu: Gpu,
    plain: [OnceLock<Kernels>; SIZES.len()],
    transpose: [OnceLock<Function>; 2 * SIZES.len()],
}

impl Copies {
    pub(super) fn new(gpu: Gpu) -> Self {
        Self {
            gpu,
            plain: Default::default(),
            transpose: Default::default(),
        }
    }

    pub(super) fn launch(&self, x: &Operand<'_>, out: &Operand<'_>) -> Result<(), CudaError> {
        let itemsize = x.dtype().step_bits(false) / 8;
        // Elements are moved as the largest words that all of them are made of, and lie at
        // multiples of.
        let addresses = x.data_ptr().addr() | out.data_ptr().addr();
        let bytes = 1 << (itemsize | addresses | 16).trailing_zeros();
        let words = (itemsize / bytes) as i64;
        let (shape, strides) = (
            x.shape(),
            [out, x].map(|operand| operand.layout().strides()),
        );
        let dims = (0..shape.len()).rev().map(|axis| {
            let strides = strides.map(|strides| strides[axis] as i64 * words);
            (shape[axis] as i64, strides)
        });
        let layout = Strided::<2>::sorted([(words, [1, 1])].into_iter().chain(dims))?;
        if layout.count() == 0 {
            return Ok(());
        }
        if let Some(matrices) = Matrices::of(&layout) {
            return self.transpose(x, out, &matrices, bytes);
        }
        let place = bytes.trailing_zeros() as usize;
        let kernels = match self.plain[place].get() {
            Some(kernels) => kernels,
            None => {
                let made = Kernels::of(&unit(self.gpu, bytes)?, bytes)?;
                self.plain[place].get_or_init(|| made)
            }
        };
        let [x_at, out_at] = [x.data_ptr(), out.data_ptr()].map(Argument::from);
        // SAFETY: the frame checked shapes and types, and settled the order in which the memory is
        // used; the kernel touches the elements alone.
        unsafe {
            let places = [out, x].map(|operand| Place {
                address: operand.data_ptr().addr(),
                bytes,
            });
            kernels.launch(self.gpu, places, layout, |layout, count| {
                [x_at, out_at, layout, count]
            })
        }
    }

    fn transpose(
        &self,
        x: &Operand<'_>,
        out: &Operand<'_>,
        matrices: &Matrices,
        bytes: usize,
    ) -> Result<(), CudaError> {
        let addresses = x.data_ptr().addr() | out.data_ptr().addr();
        let pack = matrices.pack(bytes, addresses);
        let place = 2 * bytes.trailing_zeros() as usize + usize::from(pack > 1);
        let function = match self.transpose[place].get() {
            Some(function) => function,
            None => {
                let macros = [("SIZE", &*bytes.to_string()), ("PACK", &*pack.to_string())];
                let name = format!("transpose_{bytes}x{pack}");
                let unit = Unit::new(self.gpu, &file!("transpose.cu"), name, &macros)?;
                let function = unit.function("tiles")?;
                self.transpose[place].get_or_init(|| function)
            }
        };
        let side = 32 * (4 / bytes).max(1);
        let tiles = matrices.rows.div_ceil(side) * matrices.columns.div_ceil(side);
        let launch = Launch::new([blocks(tiles * matrices.count, 1), 1, 1], [32, 8, 1]);
        let arguments = [
            Argument::from(x.data_ptr()),
            Argument::from(out.data_ptr()),
            Argument::from_ref(&matrices.others),
            Argument::from(matrices.count as u32),
            Argument::from(matrices.rows as u64),
            Argument::from(matrices.columns as u64),
            Argument::from(matrices.x_stride),
            Argument::from(matrices.out_stride),
        ];
        // SAFETY: the arguments have the types and order of `tiles` in kernels/README.md, and the
        // frame keeps the operands' memory in this stream's order.
        unsafe { function.launch(&stream_of(self.gpu), launch, &arguments) }
    }
}

/// A copy as matrices that are transposed: what is fastest in one tensor isn't in the other.
struct Matrices {
    others: Strided<2>,
    count: usize,
    /// Along what is fastest in `out`.
    rows: usize,
    /// Along what is fastest in `x`.
    columns: usize,
    x_stride: i64,
    out_stride: i64,
}

/// Smaller matrices leave most of a tile idle.
const LEAST_SIDE: usize = 8;

impl Matrices {
    fn of(layout: &Strided<2>) -> Option<Self> {
        let dims = 0..layout.rank as usize;
        let [out, x] = layout.strides;
        let fastest =
            |strides: [i64; super::strided::MOST]| dims.clone().find(|at| strides[*at] == 1);
        let (row, column) = (fastest(out)?, fastest(x)?);
        if row == column {
            return None;
        }
        let (rows, columns) = (layout.sizes[row] as usize, layout.sizes[column] as usize);
        let others = dims.filter(|at| *at != row && *at != column);
        let others = others.map(|at| (layout.sizes[at], [out[at], x[at]]));
        let others = Strided::collect(others).ok()?;
        let count = others.count();
        let is_narrow = count * rows.div_ceil(32) * columns.div_ceil(32) < i32::MAX as usize;
        let is_large = rows >= LEAST_SIDE && columns >= LEAST_SIDE;
        // What is broadcast is better read once, by the plain kernel.
        let is_plain = x[row] > 0 && out[column] > 0;
        (is_narrow && is_large && is_plain).then_some(Self {
            others,
            count,
            rows,
            columns,
            x_stride: x[row],
            out_stride: out[column],
        })
    }

    /// Returns how many small elements are moved at once.
    fn pack(&self, bytes: usize, addresses: usize) -> usize {
        let pack = 4 / bytes.min(4);
        let is_multiple = |number: i64| number % pack as i64 == 0;
        let strides = self.others.strides.iter().flatten().copied();
        let fits = addresses.is_multiple_of(4)
            && strides
                .chain([self.x_stride, self.out_stride])
                .all(is_multiple)
            && [self.rows, self.columns]
                .iter()
                .all(|size| is_multiple(*size as i64));
        if fits { pack } else { 1 }
    }
}
