//! [`Launch`]: grid, block and shared memory of a launch.

use crate::cuda::driver::answer::call;
use crate::cuda::driver::error::CudaError;
use crate::cuda::module::argument::Argument;
use crate::cuda::module::function::Function;
use crate::cuda::module::refusal;
use crate::cuda::stream::Stream;
use crate::error::Incompatibility;
use std::ptr;

/// How many blocks of how many threads a kernel runs in.
///
/// ```
/// use dlbridge::cuda::Launch;
///
/// let launch = Launch::over(1000, 256); // a thread for each of 1000 elements
/// assert_eq!((launch.grid, launch.block), ([4, 1, 1], [256, 1, 1]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a launch configuration is passed to `Function::launch`"]
pub struct Launch {
    /// How many blocks there are along x, y and z. Where one is 0, there is nothing to do.
    pub grid: [u32; 3],
    /// How many threads a block has along x, y and z.
    pub block: [u32; 3],
    /// How many bytes of shared memory a block has besides what the kernel declares.
    pub shared: u32,
}

impl Launch {
    /// Creates a launch configuration of a grid and a block.
    #[inline]
    pub fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self {
            grid,
            block,
            shared: 0,
        }
    }

    /// Creates a launch with at least one thread per element, in blocks of `block` threads along x.
    ///
    /// # Panics
    ///
    /// Fails if `block` is 0.
    #[inline]
    pub fn over(elements: usize, block: u32) -> Self {
        let blocks = elements.div_ceil(block as usize);
        // Every GPU refuses this number.
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        Self::new([blocks, 1, 1], [block, 1, 1])
    }

    /// Returns the same, with a number of bytes of dynamic shared memory for each block.
    #[inline]
    pub fn with_shared(mut self, bytes: u32) -> Self {
        self.shared = bytes;
        self
    }

    /// Returns whether there are no blocks.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }
}

/// More arguments than these need an allocation.
pub(super) const USUAL: usize = 16;

impl Function {
    /// Has a stream run the kernel with these arguments, whose values are taken at once.
    ///
    /// It is a single call of the driver: nothing is allocated for up to 16 arguments, and nothing
    /// is done about the order in which other streams use the same memory. [`call`](Self::call)
    /// takes care of that.
    ///
    /// # Errors
    ///
    /// Fails if the grid or the block is too large, the arguments are others than the kernel takes,
    /// as far as the driver tells (12.4 and newer), the stream is one of another GPU, or the driver
    /// fails.
    ///
    /// # Safety
    ///
    /// The kernel takes arguments of these types. What it does with them, and with the memory that
    /// they lead to, is sound: that is there until the work was done, no other code uses what the
    /// kernel writes, or writes what it reads, unless that comes before or after in the order of
    /// streams. If the stream is being captured, all that, and the kernel's module, last as long as
    /// the graph is used.
    #[inline]
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        launch: Launch,
        arguments: &[Argument<'_>],
    ) -> Result<(), CudaError> {
        self.check(stream, launch, arguments)?;
        if launch.is_empty() {
            return Ok(());
        }
        // SAFETY: sizes, limits and the stream's GPU were checked; this function's contract covers
        // the arguments' types and the memory that the kernel uses.
        unsafe { self.launch_checked(stream, launch, arguments) }
    }

    /// Checks that the launch is possible.
    #[inline]
    pub(super) fn check(
        &self,
        stream: &Stream,
        launch: Launch,
        arguments: &[Argument<'_>],
    ) -> Result<(), CudaError> {
        let limits = &self.gpu().facts().limits;
        let within =
            |sizes: &[u32; 3], most: &[u32; 3]| sizes.iter().zip(most).all(|(a, b)| a <= b);
        let [x, y, z] = launch.block.map(u64::from);
        // None is more than 2^32, unless it is refused for being too large along its axis.
        let threads = x.saturating_mul(y).saturating_mul(z);
        let fits = within(&launch.grid, &limits.grid)
            && within(&launch.block, &limits.block)
            && (1..=u64::from(self.max_threads())).contains(&threads)
            && stream.gpu() == self.gpu();
        let same = |(argument, wanted): (&Argument<'_>, &usize)| argument.bytes() == *wanted;
        let takes = self.parameters().is_none_or(|parameters| {
            parameters.len() == arguments.len() && arguments.iter().zip(parameters).all(same)
        });
        match fits && takes {
            true => Ok(()),
            false => Err(self.refused(self.problem(stream, launch, arguments))),
        }
    }

    /// Returns what is wrong with a launch that can't be.
    #[cold]
    fn problem(
        &self,
        stream: &Stream,
        launch: Launch,
        arguments: &[Argument<'_>],
    ) -> Incompatibility {
        let limits = &self.gpu().facts().limits;
        for (place, axis) in ['x', 'y', 'z'].into_iter().enumerate() {
            let (found, most) = (launch.grid[place], limits.grid[place]);
            if found > most {
                return refusal::grid(axis, found, most);
            }
            let (found, most) = (launch.block[place], limits.block[place]);
            if found > most || found == 0 {
                return refusal::block(axis, found, most);
            }
        }
        let found = launch.block.into_iter().map(u64::from).product();
        let most = self.max_threads();
        if found > u64::from(most) {
            return refusal::threads(found, most);
        }
        if stream.gpu() != self.gpu() {
            return refusal::stream(stream.gpu().id(), self.gpu().id());
        }
        let wanted = self.parameters().unwrap_or_default();
        for (index, (argument, wanted)) in arguments.iter().zip(wanted).enumerate() {
            if argument.bytes() != *wanted {
                return refusal::size(index, argument.bytes(), *wanted);
            }
        }
        refusal::count(arguments.len(), wanted.len())
    }

    /// Launches what was checked, and isn't empty.
    ///
    /// # Safety
    ///
    /// See [`launch`](Self::launch).
    #[inline]
    pub(super) unsafe fn launch_checked(
        &self,
        stream: &Stream,
        launch: Launch,
        arguments: &[Argument<'_>],
    ) -> Result<(), CudaError> {
        let mut few = [ptr::null_mut(); USUAL];
        let mut many = Vec::new();
        let addresses = match few.get_mut(..arguments.len()) {
            Some(few) => few,
            None => {
                many.resize(arguments.len(), ptr::null_mut());
                &mut many[..]
            }
        };
        for (address, argument) in addresses.iter_mut().zip(arguments) {
            *address = argument.address();
        }
        let _context = self.gpu().enter()?;
        let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (launch.grid, launch.block);
        // SAFETY: the function is there, its context current, and the stream one of it; there is an
        // address for each argument, at which there are as many bytes as the kernel takes, as far
        // as that is known, and else this function's contract covers it, as it covers the kernel's
        // accesses.
        let launched = unsafe {
            call!(cuLaunchKernel(
                self.raw(),
                grid_x,
                grid_y,
                grid_z,
                block_x,
                block_y,
                block_z,
                launch.shared,
                stream.raw()?,
                addresses.as_mut_ptr(),
                ptr::null_mut()
            ))
        };
        // After a failure with an unknown code, too, as the kernel may run.
        self.module().note_launch(stream);
        launched.map_err(|error| self.explained(error, launch))
    }

    /// Returns an error of the driver's, which says no more than that something was wrong with the
    /// sizes.
    #[cold]
    fn explained(&self, error: CudaError, launch: Launch) -> CudaError {
        let found = launch.shared;
        if found == 0 {
            return error;
        }
        match self.max_dynamic_shared() {
            Ok(most) if most < found => self.refused(refusal::shared(found, most)),
            _ => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Launch;

    #[test]
    fn launch_for_count_has_a_thread_for_every_element() {
        for (elements, blocks) in [(0, 0), (1, 1), (256, 1), (257, 2), (1 << 20, 4096)] {
            assert_eq!(Launch::over(elements, 256).grid, [blocks, 1, 1]);
        }
        assert!(Launch::over(0, 32).is_empty());
        assert_eq!(Launch::over(usize::MAX, 1).grid[0], u32::MAX);
        assert_eq!(Launch::over(1, 32).with_shared(5).shared, 5);
    }
}
