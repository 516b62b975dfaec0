//! Micro-kernel of dot products: several rows of a matrix, each with the same vector.

use super::lanes::Lanes;
use super::lanes::portable::Multiply;

/// Rows of one call.
pub(super) const ROWS: usize = 4;

/// Adds up the products of a vector with each of some rows, [`ROWS`] at most.
///
/// # Safety
///
/// The CPU has the level. The vector and each row have this many units, a multiple of the lanes of
/// a register.
pub(super) type Run<U, S> = unsafe fn(usize, *const U, &[*const U]) -> [S; ROWS];

/// Adds the products up.
///
/// # Safety
///
/// As for [`Run`].
#[inline(always)]
pub(super) unsafe fn add_up<L: Lanes<Sum: Multiply<Sum = L::Sum> + Default>>(
    units: usize,
    vector: *const L::Unit,
    rows: &[*const L::Unit],
) -> [L::Sum; ROWS] {
    let mut all = [L::Sum::default(); ROWS];
    // SAFETY: the contract of `Run`.
    unsafe {
        if let [a, b, c, d] = *rows {
            all = several::<L, 4, 2>(units, vector, [a, b, c, d]);
        } else {
            for (sum, row) in all.iter_mut().zip(rows) {
                // As many registers, so that results don't depend on the rows beside them.
                [*sum] = several::<L, 1, 2>(units, vector, [*row]);
            }
        }
    }
    all
}

/// Adds the products of a number of rows up, in several registers for each.
#[inline(always)]
unsafe fn several<
    L: Lanes<Sum: Multiply<Sum = L::Sum> + Default>,
    const COUNT: usize,
    const REGISTERS: usize,
>(
    units: usize,
    vector: *const L::Unit,
    rows: [*const L::Unit; COUNT],
) -> [L::Sum; COUNT] {
    // SAFETY: the contract of `Run`: there are this many units everywhere.
    unsafe {
        let mut sums = [[L::zero(); REGISTERS]; COUNT];
        let mut at = 0;
        while at + REGISTERS * L::LANES <= units {
            for register in 0..REGISTERS {
                let place = at + register * L::LANES;
                let factors = L::load(vector.add(place));
                for row in 0..COUNT {
                    let others = L::load(rows[row].add(place));
                    sums[row][register] = L::add_products(sums[row][register], factors, others);
                }
            }
            at += REGISTERS * L::LANES;
        }
        while at + L::LANES <= units {
            let factors = L::load(vector.add(at));
            for row in 0..COUNT {
                let others = L::load(rows[row].add(at));
                sums[row][0] = L::add_products(sums[row][0], factors, others);
            }
            at += L::LANES;
        }
        let mut all = [L::Sum::default(); COUNT];
        for row in 0..COUNT {
            if let Some(offset) = L::OFFSET {
                let factor = L::splat(&raw const offset);
                let mut offsets = L::zero();
                for step in 0..units / L::LANES {
                    let others = L::load(rows[row].add(step * L::LANES));
                    offsets = L::add_products(offsets, factor, others);
                }
                sums[row][0] = L::sub(sums[row][0], offsets);
            }
            for register in 0..REGISTERS {
                all[row] = L::Sum::add(all[row], in_one::<L>(sums[row][register]));
            }
        }
        all
    }
}

/// Returns the sum of all lanes.
#[inline(always)]
unsafe fn in_one<L: Lanes<Sum: Multiply<Sum = L::Sum> + Default>>(sums: L::Sums) -> L::Sum {
    let mut room = [L::Sum::default(); 16];
    // SAFETY: no register has more lanes; the CPU has the level.
    unsafe { L::store(sums, room.as_mut_ptr(), false) };
    let mut len = L::LANES;
    while len > 1 {
        len /= 2;
        for lane in 0..len {
            room[lane] = L::Sum::add(room[lane], room[lane + len]);
        }
    }
    room[0]
}
