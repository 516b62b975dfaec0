//! [`Groups`]: the lanes that share a row, and the launch for them: `group.cuh`.

use super::THREADS;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::module::launch::Launch;

/// Threads that work on one row, and how many such groups a block has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Groups {
    pub(super) lanes: usize,
    groups: usize,
}

impl Groups {
    /// Groups of a power of two lanes, as near to a number as can be, within `most`. Up to a warp,
    /// a block has several.
    pub(super) fn of(lanes: usize, most: usize) -> Self {
        let lanes = lanes.max(1).next_power_of_two().min(most);
        Self {
            lanes,
            groups: (THREADS / lanes).max(1),
        }
    }

    /// Returns a block that is one group.
    pub(super) fn alone(lanes: usize) -> Self {
        Self { lanes, groups: 1 }
    }

    /// Returns blocks for a number of rows.
    pub(super) fn launch(self, rows: usize) -> Launch {
        // More than a warp is a whole block.
        let groups = if self.lanes > 32 { 1 } else { self.groups };
        let grid = [super::blocks(rows, groups), 1, 1];
        Launch::new(grid, [self.lanes as u32, groups as u32, 1])
    }
}

/// Returns in how many parts each of a number of tasks is split, so that a GPU has enough to do, of
/// at most a limit.
pub(super) fn splits(gpu: Gpu, tasks: usize, most: usize) -> usize {
    // Some blocks for each multiprocessor at once, and some more, since not all take as long.
    let wanted = 8 * gpu.multiprocessors();
    match tasks {
        0 => 1,
        tasks if tasks * 2 > wanted => 1,
        tasks => (wanted / tasks).clamp(1, most.max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::Groups;

    #[test]
    fn blocks_are_multiples_of_a_warp() {
        for lanes in [0, 1, 3, 16, 32, 33, 100, 5000] {
            let launch = Groups::of(lanes, 512).launch(1000);
            let [x, y, _] = launch.block;
            assert!(
                x.is_power_of_two() && x <= 512 && (x * y) % 32 == 0,
                "{launch:?}"
            );
            assert!(x <= 32 || y == 1, "{launch:?}");
            assert!(
                launch.grid[0] * y >= 1000 && (launch.grid[0] - 1) * y < 1000,
                "{launch:?}"
            );
        }
        assert_eq!(Groups::alone(1024).launch(7).block, [1024, 1, 1]);
    }
}
