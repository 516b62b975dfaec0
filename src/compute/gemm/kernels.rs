//! Micro-kernels of each unit and level, and what is packed for them.

use super::dots;
use super::lanes::Lanes;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
use super::lanes::amx;
use super::lanes::portable::{Multiply, Pair, Portable};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::lanes::{avx2 as of_avx2, avx512 as of_avx512};
use super::tile::{Tile, add_up};
use crate::compute::Level;

/// A micro-kernel for a number of rows.
///
/// # Safety
///
/// The CPU has the level. The panels have as many units as [`Tile`] says, for all columns of a
/// tile, and the result has room for the rows of the kernel and the columns of the call.
pub(super) type Run<U, S> = unsafe fn(&Tile<U, S>);

/// Micro-kernels for tiles of each number of rows up to the most.
#[derive(Debug)]
pub(super) struct Tiles<U: 'static, S: 'static> {
    /// The kernel for `rows + 1` rows at each place.
    pub(super) run: &'static [Run<U, S>],
    /// Units for each step of a panel of `a`, at least one for each row.
    pub(super) row_units: usize,
    /// The columns of a tile.
    pub(super) columns: usize,
    /// Dot products of rows with a vector, and the lanes of their registers; `None` where products
    /// with vectors aren't taken.
    pub(super) dots: Option<(dots::Run<U, S>, usize)>,
    /// The extents of blocks.
    pub(super) blocks: Blocks,
    /// Products that are worth a thread of their own.
    pub(super) grain: usize,
    /// What a thread does before its first call of a kernel, and after the last.
    pub(super) around: [unsafe fn(); 2],
}

/// The most that is packed at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocks {
    /// Bytes of a panel for each lane.
    pub(super) depth_bytes: usize,
    /// Rows of a block of `a`, which is to stay in the second cache.
    pub(super) rows: usize,
    /// Columns of a block of `b`, which is to stay in the third cache.
    pub(super) columns: usize,
}

impl Blocks {
    /// Two panels fit the first cache.
    const FIRST_CACHE: Self = Self {
        depth_bytes: 1024,
        rows: 378,
        columns: 1024,
    };
    /// Panels of `b` come from the second cache: tiles have twice as many columns.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    const SECOND_CACHE: Self = Self {
        depth_bytes: 2048,
        rows: 196,
        columns: 1024,
    };
    /// As those, of kernels that take as long for fewer bytes.
    #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
    const TILES: Self = Self {
        depth_bytes: 2048,
        rows: 128,
        columns: 1024,
    };
}

/// The grain of micro-kernels of vectors.
const GRAIN: usize = if cfg!(test) { 1 << 10 } else { 1 << 17 };

/// The grain of micro-kernels of tiles.
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
const GRAIN_OF_TILES: usize = if cfg!(test) { 1 << 10 } else { 1 << 21 };

/// Nothing is to be done.
unsafe fn nothing() {}

macro_rules! compiled {
    ($($function:ident, $dots:ident $(, $features:literal)?;)*) => {$(
        /// Adds the products up, compiled for a level.
        ///
        /// # Safety
        ///
        /// As for [`Run`].
        $(
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            #[target_feature(enable = $features)]
        )?
        unsafe fn $function<
            L: Lanes, const ROWS: usize, const REGISTERS: usize, const ROW_UNITS: usize
        >(tile: &Tile<L::Unit, L::Sum>) {
            // SAFETY: the same contract.
            unsafe { add_up::<L, ROWS, REGISTERS>(tile, ROW_UNITS) }
        }

        /// Adds dot products up, compiled for a level.
        ///
        /// # Safety
        ///
        /// As for [`dots::Run`].
        $(
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            #[target_feature(enable = $features)]
        )?
        unsafe fn $dots<L: Lanes<Sum: Multiply<Sum = L::Sum> + Default>>(
            units: usize,
            vector: *const L::Unit,
            rows: &[*const L::Unit],
        ) -> [L::Sum; dots::ROWS] {
            // SAFETY: the same contract.
            unsafe { dots::add_up::<L>(units, vector, rows) }
        }
    )*};
}

compiled! {
    baseline, baseline_dots;
    avx2, avx2_dots, "avx2,fma";
    avx512, avx512_dots, "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni";
    avx512bf16, avx512bf16_dots,
        "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16";
}

macro_rules! tiles {
    ($level:ident, $dots:ident, $L:ty, $registers:literal, $row_units:literal, [$($rows:literal)*], $blocks:ident) => {
        &Tiles {
            run: &[$($level::<$L, $rows, $registers, $row_units>),*],
            row_units: $row_units,
            columns: $registers * <$L as Lanes>::LANES,
            dots: Some(($dots::<$L>, <$L as Lanes>::LANES)),
            blocks: Blocks::$blocks,
            grain: GRAIN,
            around: [nothing, nothing],
        }
    };
}

/// Units that there are micro-kernels for.
pub(super) trait Kernels: Copy + 'static {
    /// What products of these units are added up in.
    type Sum: Copy + 'static;

    /// Returns the micro-kernels of a level.
    fn tiles(level: Level) -> &'static Tiles<Self, Self::Sum>;
}

macro_rules! kernels {
    ($($Unit:ty => $Sum:ty, $lanes:literal $(, $avx2:ty, $registers:literal)? ; $avx512:ty;)*) => {$(
        impl Kernels for $Unit {
            type Sum = $Sum;

            fn tiles(level: Level) -> &'static Tiles<Self, $Sum> {
                match level.of_loops() {
                    #[cfg(all(target_arch = "x86_64", not(miri)))]
                    Level::Avx512 => {
                        tiles!(avx512, avx512_dots, $avx512, 2, 16, [1 2 3 4 5 6 7 8 9 10 11 12 13 14], SECOND_CACHE)
                    }
                    $(
                        #[cfg(all(target_arch = "x86_64", not(miri)))]
                        Level::Avx2 => tiles!(avx2, avx2_dots, $avx2, $registers, 8, [1 2 3 4 5 6], FIRST_CACHE),
                    )?
                    _ => {
                        // Registers of 16 bytes, of which SSE2 has 16 and NEON 32.
                        tiles!(baseline, baseline_dots, Portable<$Unit, $lanes>, 2, 8, [1 2 3 4], FIRST_CACHE)
                    }
                }
            }
        }
    )*};
}

kernels! {
    f32 => f32, 4, of_avx2::F32, 2; of_avx512::F32;
    f64 => f64, 2, of_avx2::F64, 2; of_avx512::F64;
    Pair => i32, 4, of_avx2::Pairs, 2; of_avx512::Pairs;
    i32 => i32, 4, of_avx2::I32, 2; of_avx512::I32;
    i64 => i64, 2; of_avx512::I64;
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Kernels for of_avx512::BfPair {
    type Sum = f32;

    fn tiles(level: Level) -> &'static Tiles<Self, f32> {
        assert!(
            level >= Level::Avx512Bf16,
            "other levels multiply bfloat16 as f32"
        );
        tiles!(avx512bf16, avx512bf16_dots, of_avx512::BfPairs, 2, 16, [1 2 3 4 5 6 7 8 9 10 11 12 13 14], SECOND_CACHE)
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Kernels for of_avx512::Quad {
    type Sum = i32;

    fn tiles(level: Level) -> &'static Tiles<Self, i32> {
        assert!(level >= Level::Avx512, "other levels multiply pairs");
        // Sums of the offset need registers, too.
        tiles!(avx512, avx512_dots, of_avx512::Quads, 2, 16, [1 2 3 4 5 6 7 8 9 10 11 12 13], SECOND_CACHE)
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
macro_rules! amx_kernels {
    ($($Unit:ty => $Sum:ty, $function:ident;)*) => {$(
        impl Kernels for $Unit {
            type Sum = $Sum;

            fn tiles(level: Level) -> &'static Tiles<Self, $Sum> {
                assert!(level >= Level::Amx, "other levels multiply smaller units");
                &Tiles {
                    run: &[amx::$function as Run<Self, $Sum>; amx::SIDE],
                    row_units: amx::SIDE,
                    columns: amx::SIDE,
                    dots: None,
                    blocks: Blocks::TILES,
                    grain: GRAIN_OF_TILES,
                    around: [amx::enter, amx::leave],
                }
            }
        }
    )*};
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
amx_kernels! {
    amx::BfRow => f32, multiply_bf_rows;
    amx::ByteRow => i32, multiply_byte_rows;
}
