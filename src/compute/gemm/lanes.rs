//! [`Lanes`]: vector registers of a SIMD level, and the products that they add up.

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
pub(super) mod amx;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) mod avx2;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) mod avx512;
pub(super) mod portable;

/// Registers with sums in several lanes.
///
/// A *unit* is what a lane multiplies in one step: one number, or a pair of numbers whose products
/// are added up. Implementations are marked `#[inline(always)]`, to be compiled for the level of
/// the function that they are inlined into.
///
/// # Safety
///
/// All functions need the CPU to have the level. Pointers must be valid for the elements that are
/// named, with any alignment that their type allows.
pub(super) trait Lanes {
    /// What is multiplied.
    type Unit: Copy;
    /// What is added up.
    type Sum: Copy;
    /// A register of units.
    type Units: Copy;
    /// A register of sums.
    type Sums: Copy;
    /// The number of lanes.
    const LANES: usize;
    /// The unit of which products with all columns are subtracted from the sums, if there is one:
    /// what units of rows are larger than their numbers.
    const OFFSET: Option<Self::Unit> = None;

    unsafe fn zero() -> Self::Sums;
    /// Reads a unit for each lane.
    unsafe fn load(from: *const Self::Unit) -> Self::Units;
    /// Reads one unit for all lanes.
    unsafe fn splat(from: *const Self::Unit) -> Self::Units;
    unsafe fn add_products(sums: Self::Sums, a: Self::Units, b: Self::Units) -> Self::Sums;
    /// Returns the differences of sums.
    unsafe fn sub(sums: Self::Sums, others: Self::Sums) -> Self::Sums;
    /// Stores the sums, or adds them to what is there.
    unsafe fn store(sums: Self::Sums, to: *mut Self::Sum, adds: bool);
    /// Stores the sums of the first lanes, or adds them to what is there.
    unsafe fn store_first(sums: Self::Sums, lanes: usize, to: *mut Self::Sum, adds: bool);
    /// Tells the CPU that this memory is written soon.
    unsafe fn prefetch(to: *const Self::Sum);
}
