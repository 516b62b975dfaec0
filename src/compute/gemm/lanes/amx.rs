//! Tiles of AMX: registers of 16 rows of 64 bytes, and what multiplies them.

use super::avx512::{BfPair, Quad};
use super::portable::Multiply;
use crate::compute::gemm::tile::Tile;
use std::arch::asm;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU8, Ordering};

/// Rows and columns of the result that a micro-kernel calculates: two registers in each direction.
pub(in crate::compute::gemm) const SIDE: usize = 32;

/// 32 bfloat16 numbers of a row of the first factor. Columns of the second one are packed as pairs,
/// 16 for each step.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
pub(in crate::compute::gemm) struct BfRow(pub(in crate::compute::gemm) [BfPair; 16]);

/// 64 whole numbers of 8 bits of a row of the first factor. Columns of the second one are packed as
/// groups of four, 16 for each step.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
pub(in crate::compute::gemm) struct ByteRow(pub(in crate::compute::gemm) [Quad; 16]);

/// Returns whether the system lets this process use tiles, for which it is asked once: their
/// registers take more room in a thread's state than all others.
pub(in crate::compute::gemm) fn is_permitted() -> bool {
    const REQUEST: libc::c_ulong = 0x1023;
    const TILE_DATA: libc::c_ulong = 18;
    const YES: u8 = 1;
    const NO: u8 = 2;
    // No lock that the child of a fork could find locked: threads may ask twice.
    static KNOWN: AtomicU8 = AtomicU8::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: the request takes a number, and changes nothing but what later instructions
            // may do. A system that doesn't know it returns an error.
            let outcome = unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST, TILE_DATA) };
            let known = if outcome == 0 { YES } else { NO };
            KNOWN.store(known, Ordering::Relaxed);
            known == YES
        }
        known => known == YES,
    }
}

/// The shapes of the eight registers: all are whole.
#[repr(C, align(64))]
struct Shapes {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

static WHOLE: Shapes = Shapes {
    palette: 1,
    start_row: 0,
    reserved: [0; 14],
    row_bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

/// Gives this thread's registers their shapes, until [`leave`].
///
/// # Safety
///
/// The CPU has AMX, and the process [may use it](is_permitted).
pub(in crate::compute::gemm) unsafe fn enter() {
    // SAFETY: the instruction reads the 64 bytes of shapes, which the CPU has; it may be executed,
    // as is required here. No other code of the thread uses these registers.
    unsafe {
        asm!(
            "ldtilecfg [{}]",
            in(reg) &raw const WHOLE,
            options(nostack, readonly, preserves_flags)
        );
    }
}

/// Empties this thread's registers.
///
/// # Safety
///
/// As for [`enter`].
pub(in crate::compute::gemm) unsafe fn leave() {
    // SAFETY: the instruction may be executed, as is required here.
    unsafe { asm!("tilerelease", options(nostack, nomem, preserves_flags)) };
}

/// Sums that aren't stored where the result is at once.
#[repr(C, align(64))]
struct Room<S>([MaybeUninit<S>; SIDE * SIDE]);

macro_rules! kernels {
    ($($function:ident, $Unit:ty => $Sum:ty, $instruction:literal;)*) => {$(
        /// Adds the products up.
        ///
        /// # Safety
        ///
        /// As for [`Run`](crate::compute::gemm::kernels::Run), of panels with a unit for [`SIDE`]
        /// rows and columns in each step; the thread has [entered](enter).
        pub(in crate::compute::gemm) unsafe fn $function(tile: &Tile<$Unit, $Sum>) {
            let mut room = Room([MaybeUninit::<$Sum>::uninit(); SIDE * SIDE]);
            let is_whole = tile.rows == SIDE && tile.columns == SIDE;
            let (out, row, adds) = match is_whole {
                true => (tile.out, tile.out_row, tile.adds),
                false => (room.0.as_mut_ptr().cast::<$Sum>(), SIDE as isize, false),
            };
            // SAFETY: the thread has entered, so all registers are whole. Of each step, 16 rows of
            // 64 bytes are at `a` and below, and 16 of twice as many at `b`, as the contract says.
            // There is room for the sums: all rows and columns of the result, or of `room`.
            unsafe {
                asm!(
                    "test {adds:e}, {adds:e}",
                    "jz 2f",
                    "tileloadd tmm0, [{out} + {row}*1]",
                    "tileloadd tmm1, [{out} + {row}*1 + 64]",
                    "tileloadd tmm2, [{below} + {row}*1]",
                    "tileloadd tmm3, [{below} + {row}*1 + 64]",
                    "jmp 3f",
                    "2:",
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "tilezero tmm2",
                    "tilezero tmm3",
                    "3:",
                    "test {units}, {units}",
                    "jz 5f",
                    "4:",
                    "tileloadd tmm6, [{b} + {b_row}*1]",
                    "tileloadd tmm4, [{a} + {a_row}*1]",
                    "tileloadd tmm7, [{b} + {b_row}*1 + 64]",
                    concat!($instruction, " tmm0, tmm4, tmm6"),
                    "tileloadd tmm5, [{a} + {a_row}*1 + 1024]",
                    concat!($instruction, " tmm1, tmm4, tmm7"),
                    concat!($instruction, " tmm2, tmm5, tmm6"),
                    concat!($instruction, " tmm3, tmm5, tmm7"),
                    "add {a}, 2048",
                    "add {b}, 2048",
                    "dec {units}",
                    "jnz 4b",
                    "5:",
                    "tilestored [{out} + {row}*1], tmm0",
                    "tilestored [{out} + {row}*1 + 64], tmm1",
                    "tilestored [{below} + {row}*1], tmm2",
                    "tilestored [{below} + {row}*1 + 64], tmm3",
                    adds = in(reg) u32::from(adds),
                    out = in(reg) out,
                    below = in(reg) out.wrapping_offset(row * 16),
                    row = in(reg) row * 4,
                    a = inout(reg) tile.a => _,
                    a_row = in(reg) 64_usize,
                    b = inout(reg) tile.b => _,
                    b_row = in(reg) 128_usize,
                    units = inout(reg) tile.units => _,
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack)
                );
            }
            if is_whole {
                return;
            }
            for (at, sums) in room.0.chunks_exact(SIDE).take(tile.rows).enumerate() {
                // SAFETY: all sums of the room were stored, and the result has room for this many
                // rows and columns, with values if they are added to.
                unsafe {
                    let to = tile.out.offset(at as isize * tile.out_row);
                    for (at, sum) in sums.iter().take(tile.columns).enumerate() {
                        let (sum, to) = (sum.assume_init(), to.add(at));
                        *to = if tile.adds { <$Sum>::add(*to, sum) } else { sum };
                    }
                }
            }
        }
    )*};
}

kernels! {
    multiply_bf_rows, BfRow => f32, "tdpbf16ps";
    multiply_byte_rows, ByteRow => i32, "tdpbssd";
}
