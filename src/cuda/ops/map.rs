//! [`Kernels`]: the entry points of element-wise kernels: `map.cuh`.

use super::compiled_modules::Unit;
use super::strided::Strided;
use super::type_names::bytes_of;
use super::{THREADS, blocks, stream_of};
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::module::argument::Argument;
use crate::cuda::module::function::Function;
use crate::cuda::module::launch::Launch;
use crate::kernel::Operand;

/// Address and itemsize of a tensor.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) address: usize,
    pub(super) bytes: usize,
}

impl Place {
    /// Returns the address and the element width of an operand.
    pub(super) fn of(operand: &Operand<'_>) -> Self {
        Self {
            address: operand.data_ptr().addr(),
            bytes: bytes_of(operand.dtype()),
        }
    }
}

/// The kernels of a file, of which each is for some layouts.
pub(super) struct Kernels {
    flat: Function,
    rows: Option<Function>,
    strided: Function,
    strided_wide: Function,
    /// How many bytes the elements have, of the tensor where they have the most.
    bytes: usize,
}

/// Bytes that one instruction loads.
const WIDEST: usize = 16;
/// How many of those a thread of `flat` has under way, and how many elements one of `strided`.
const AT_ONCE: usize = 2;

impl Kernels {
    pub(super) fn of(unit: &Unit, bytes: usize) -> Result<Self, CudaError> {
        Ok(Self {
            rows: Some(unit.function("rows")?),
            ..Self::without_rows(unit, bytes)?
        })
    }

    pub(super) fn without_rows(unit: &Unit, bytes: usize) -> Result<Self, CudaError> {
        Ok(Self {
            flat: unit.function("flat")?,
            rows: None,
            strided: unit.function("strided")?,
            strided_wide: unit.function("strided_wide")?,
            bytes,
        })
    }

    /// Launches the fastest of them that is for these layouts: of tensors of one shape, of which
    /// the first is the output. `arguments` puts the arguments together, of which the layout and
    /// the count are the last ones.
    ///
    /// # Safety
    ///
    /// The kernels take these arguments, and the tensors are theirs to read and write.
    pub(super) unsafe fn launch<const N: usize, const ARGUMENTS: usize>(
        &self,
        gpu: Gpu,
        places: [Place; N],
        layout: Strided<N>,
        arguments: impl for<'a> Fn(Argument<'a>, Argument<'a>) -> [Argument<'a>; ARGUMENTS],
    ) -> Result<(), CudaError> {
        let count = layout.count();
        if count == 0 {
            return Ok(());
        }
        let stream = stream_of(gpu);
        let is_aligned = |place: &Place| {
            place
                .address
                .is_multiple_of(WIDEST * place.bytes / self.bytes)
        };
        let launch = |tasks: usize, of_block: usize| {
            Launch::new([blocks(tasks, of_block), 1, 1], [THREADS as u32, 1, 1])
        };
        let pack = WIDEST / self.bytes;
        if layout.is_flat() && places.iter().all(is_aligned) {
            let mut all: Vec<Argument<'_>> =
                arguments(Argument::from(0_u64), Argument::from(count as u64)).into();
            // It takes no layout.
            all.remove(ARGUMENTS - 2);
            let launch = launch(count, THREADS * AT_ONCE * pack);
            // SAFETY: the arguments have the types and order of `flat` in kernels/README.md; this
            // function's contract covers the memory at the places.
            return unsafe { self.flat.launch(&stream, launch, &all) };
        }
        if let Some(rows) = &self.rows
            && let Some(packs) = self.packs_of_rows(places, &layout)
        {
            let number = Argument::from(layout.rows() as u32);
            let all = arguments(Argument::from_ref(&layout), number);
            // SAFETY: the arguments have the types and order of `rows` in kernels/README.md; this
            // function's contract covers the memory at the places.
            return unsafe { rows.launch(&stream, launch(packs, THREADS), &all) };
        }
        let (function, count_as, at_once) = match layout.is_narrow() {
            true => (&self.strided, Argument::from(count as u32), AT_ONCE),
            false => (&self.strided_wide, Argument::from(count as u64), 1),
        };
        let all = arguments(Argument::from_ref(&layout), count_as);
        // SAFETY: the arguments have the types and order of `strided` (`strided_wide`) in
        // kernels/README.md; the caller holds the tensors, whose layouts were checked against
        // their memory.
        unsafe { function.launch(&stream, launch(count, THREADS * at_once), &all) }
    }

    /// Returns how many packs there are, where all rows consist of such: what `rows` asks for.
    fn packs_of_rows<const N: usize>(
        &self,
        places: [Place; N],
        layout: &Strided<N>,
    ) -> Option<usize> {
        let pack = WIDEST / self.bytes;
        let fits = |number: usize| match layout.strides[number][0] {
            0 => number > 0,
            1 => places[number].address.is_multiple_of(WIDEST) && layout.steps_by(number, pack),
            _ => false,
        };
        let columns = layout.sizes[0] as usize;
        let packs = columns.div_ceil(pack).checked_mul(layout.rows())?;
        let is_narrow = packs < i32::MAX as usize && layout.is_narrow();
        // Short rows leave most lanes of a warp idle.
        (columns >= 4 * pack && is_narrow && (0..N).all(fits)).then_some(packs)
    }
}
