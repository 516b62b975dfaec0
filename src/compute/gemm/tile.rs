//! The micro-kernel: a tile of the result, whose sums stay in registers, from packed panels.

use super::lanes::Lanes;

/// Arguments of a micro-kernel.
///
/// It adds up products of `units` steps. In each it reads a unit for each row, which lie one after
/// another, and one for each column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile<U, S> {
    pub(super) units: usize,
    /// A panel of `a`: `row_units` units for each step.
    pub(super) a: *const U,
    /// A panel of `b`.
    pub(super) b: *const U,
    /// The distance of the units of one step from those of the next.
    pub(super) b_step: isize,
    pub(super) out: *mut S,
    /// The distance of the rows of the result.
    pub(super) out_row: isize,
    /// How many rows of the result are stored, as many as the kernel is for.
    pub(super) rows: usize,
    /// How many columns of the result are stored.
    pub(super) columns: usize,
    /// Whether the products are added to what is in the result.
    pub(super) adds: bool,
}

/// Adds the products up, of `ROWS` rows and `REGISTERS` registers of columns.
///
/// # Safety
///
/// As for [`Run`](super::kernels::Run).
#[inline(always)]
pub(super) unsafe fn add_up<L: Lanes, const ROWS: usize, const REGISTERS: usize>(
    tile: &Tile<L::Unit, L::Sum>,
    row_units: usize,
) {
    debug_assert_eq!(tile.rows, ROWS);
    // SAFETY: the contract of `Run`: panels are there for all steps, and room in the result for all
    // rows and this many columns; the CPU has the level.
    unsafe {
        let mut sums = [[L::zero(); REGISTERS]; ROWS];
        for row in 0..ROWS {
            let first = tile.out.offset(row as isize * tile.out_row);
            for register in 0..REGISTERS {
                L::prefetch(first.wrapping_add(register * L::LANES));
            }
        }
        let mut offsets = [L::zero(); REGISTERS];
        let (mut a, mut b) = (tile.a, tile.b);
        for _ in 0..tile.units {
            let mut columns = [L::load(b); REGISTERS];
            for register in 1..REGISTERS {
                columns[register] = L::load(b.add(register * L::LANES));
            }
            if let Some(offset) = L::OFFSET {
                let factor = L::splat(&raw const offset);
                for register in 0..REGISTERS {
                    offsets[register] =
                        L::add_products(offsets[register], factor, columns[register]);
                }
            }
            for row in 0..ROWS {
                let factor = L::splat(a.add(row));
                for register in 0..REGISTERS {
                    sums[row][register] =
                        L::add_products(sums[row][register], factor, columns[register]);
                }
            }
            a = a.wrapping_add(row_units);
            b = b.wrapping_offset(tile.b_step);
        }
        if L::OFFSET.is_some() {
            for row in 0..ROWS {
                for register in 0..REGISTERS {
                    sums[row][register] = L::sub(sums[row][register], offsets[register]);
                }
            }
        }
        if tile.columns == REGISTERS * L::LANES {
            for row in 0..ROWS {
                let first = tile.out.offset(row as isize * tile.out_row);
                for register in 0..REGISTERS {
                    L::store(
                        sums[row][register],
                        first.add(register * L::LANES),
                        tile.adds,
                    );
                }
            }
            return;
        }
        for row in 0..ROWS {
            let first = tile.out.offset(row as isize * tile.out_row);
            for register in 0..REGISTERS {
                let begin = register * L::LANES;
                if begin < tile.columns {
                    let lanes = (tile.columns - begin).min(L::LANES);
                    L::store_first(sums[row][register], lanes, first.add(begin), tile.adds);
                }
            }
        }
    }
}
