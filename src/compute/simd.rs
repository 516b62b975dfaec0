//! SIMD levels: code compiled for several instruction sets, of which the CPU's best is chosen at
//! run time.

use std::cell::Cell;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An instruction set that loops are compiled for.
///
/// The best one of the CPU is used, unless the environment variable `DLBRIDGE_SIMD` or
/// [`with_level`] says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// What every CPU of the architecture has: SSE2 on x86-64, NEON on AArch64.
    Baseline,
    /// AVX2, FMA and F16C: vectors of 32 bytes.
    Avx2,
    /// AVX-512 F, BW, DQ, VL and VNNI: vectors of 64 bytes.
    Avx512,
    /// The same, and AVX-512 BF16 for products of matrices of bfloat16.
    Avx512Bf16,
    /// The same, and AMX for products of matrices of bfloat16 and of 8-bit integers: tiles of 16
    /// rows of 64 bytes.
    Amx,
}

impl Level {
    /// All levels, from the least one.
    pub const ALL: [Self; 5] = [
        Self::Baseline,
        Self::Avx2,
        Self::Avx512,
        Self::Avx512Bf16,
        Self::Amx,
    ];

    /// Returns the name, as in `DLBRIDGE_SIMD`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Avx512Bf16 => "avx512bf16",
            Self::Amx => "amx",
        }
    }

    /// Returns whether this CPU has the level.
    pub fn is_available(self) -> bool {
        match self {
            Self::Baseline => true,
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("lzcnt")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx512 => {
                Self::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vnni")
            }
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx512Bf16 => {
                Self::Avx512.is_available() && is_x86_feature_detected!("avx512bf16")
            }
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Amx => Self::Avx512Bf16.is_available() && has_amx(),
            #[cfg(any(not(target_arch = "x86_64"), miri))]
            Self::Avx2 | Self::Avx512 | Self::Avx512Bf16 | Self::Amx => false,
        }
    }

    /// Returns the levels that this CPU has and whose loops differ, from the least one: others add
    /// instructions for products of matrices alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::compute::{Level, with_level};
    ///
    /// for level in Level::loops() {
    ///     assert_eq!(with_level(level, Level::current), level);
    /// }
    /// ```
    pub fn loops() -> impl Iterator<Item = Self> {
        let is_own = |level: &Self| level.of_loops() == *level && level.is_available();
        Self::ALL.into_iter().filter(is_own)
    }

    /// Returns the level whose loops run at this one.
    pub(super) const fn of_loops(self) -> Self {
        match self {
            Self::Avx512Bf16 | Self::Amx => Self::Avx512,
            level => level,
        }
    }

    /// Returns the level in use on this thread.
    #[inline]
    pub fn current() -> Self {
        FORCED.get().unwrap_or_else(process_level)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if Some(name) == BASELINE {
            return Ok(Self::Baseline);
        }
        let found = Self::ALL.into_iter().find(|level| level.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("expected one of {names}, got {name:?}")
        })
    }
}

/// The instruction set that is the baseline, another name of which it is.
const BASELINE: Option<&str> = if cfg!(target_arch = "x86_64") {
    Some("sse2")
} else if cfg!(target_arch = "aarch64") {
    Some("neon")
} else {
    None
};

thread_local! {
    static FORCED: Cell<Option<Level>> = const { Cell::new(None) };
}

/// Returns the level of threads on which none is forced. A value of `DLBRIDGE_SIMD` that names no
/// level, or one that the CPU lacks, gives the best available level that isn't above it.
fn process_level() -> Level {
    // No lock that the child of a fork could find locked: threads may find the same level twice.
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    if let Some(at) = KNOWN.load(Ordering::Relaxed).checked_sub(1) {
        return Level::ALL[at];
    }
    let most = std::env::var("DLBRIDGE_SIMD").ok();
    let most = most
        .and_then(|name| name.parse().ok())
        .unwrap_or(Level::Amx);
    let usable = |at: &usize| Level::ALL[*at] <= most && Level::ALL[*at].is_available();
    let at = (0..Level::ALL.len()).rev().find(usable).unwrap_or(0);
    KNOWN.store(at + 1, Ordering::Relaxed);
    Level::ALL[at]
}

/// Runs a function with a level forced on this thread, and on those that
/// [`threads`](super::threads) lends to it meanwhile.
///
/// # Panics
///
/// When the CPU doesn't have the level.
pub fn with_level<R>(level: Level, function: impl FnOnce() -> R) -> R {
    assert!(level.is_available(), "this CPU doesn't have {level}");
    with_forced(Some(level), function)
}

/// Returns the level that is forced on this thread.
pub(super) fn forced() -> Option<Level> {
    FORCED.get()
}

/// Runs a function with another thread's answer of [`forced`].
pub(super) fn with_forced<R>(level: Option<Level>, function: impl FnOnce() -> R) -> R {
    struct Restore(Option<Level>);
    impl Drop for Restore {
        fn drop(&mut self) {
            FORCED.set(self.0);
        }
    }
    let _restore = Restore(FORCED.replace(level));
    function()
}

/// The level that code is being compiled for.
pub trait Simd: sealed::Sealed + Copy {
    /// The level.
    const LEVEL: Level;
}

/// Returns whether the CPU has AMX's tiles of bfloat16 and of 8-bit integers, and the system keeps
/// them. Only Linux is known to.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn has_amx() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
    /// BF16, TILE, INT8.
    const INSTRUCTIONS: u32 = 1 << 22 | 1 << 24 | 1 << 25;
    /// Shapes of tiles, and their elements.
    const STATE: u64 = 1 << 17 | 1 << 18;

    #[target_feature(enable = "xsave")]
    fn kept() -> u64 {
        // SAFETY: the function has the instruction set; register 0 is there with it.
        unsafe { _xgetbv(0) }
    }

    cfg!(target_os = "linux")
        && is_x86_feature_detected!("xsave")
        && __cpuid(0).eax >= 7
        && __cpuid_count(7, 0).edx & INSTRUCTIONS == INSTRUCTIONS
        // SAFETY: the CPU has the instruction set, as was just found.
        && unsafe { kept() } & STATE == STATE
}

/// Code to be compiled for each level.
pub trait Routine {
    /// The result.
    type Output;

    /// Executes the routine. Mark it, and what it calls, `#[inline(always)]`: only code that is
    /// inlined is compiled for the level.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

macro_rules! levels {
    ($($Name:ident, $function:ident, $features:literal;)*) => {
        $(
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            #[derive(Clone, Copy)]
            struct $Name(());
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            impl sealed::Sealed for $Name {}
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            impl Simd for $Name {
                const LEVEL: Level = Level::$Name;
            }

            #[cfg(all(target_arch = "x86_64", not(miri)))]
            #[target_feature(enable = $features)]
            fn $function<R: Routine>(routine: R) -> R::Output {
                routine.run($Name(()))
            }
        )*
    };
}

#[derive(Clone, Copy)]
struct Baseline(());
impl sealed::Sealed for Baseline {}
impl Simd for Baseline {
    const LEVEL: Level = Level::Baseline;
}
levels! {
    Avx2, run_avx2, "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt";
    Avx512, run_avx512,
        "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni";
}

/// Runs a routine that was compiled for the [current level](Level::current).
#[inline]
pub fn dispatch<R: Routine>(routine: R) -> R::Output {
    match Level::current().of_loops() {
        // SAFETY: a level is current only if `Level::is_available` found its features in this CPU.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        Level::Avx512 => unsafe { run_avx512(routine) },
        // SAFETY: as `with_level` and `process_level` check it, the CPU has the level's features.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        Level::Avx2 => unsafe { run_avx2(routine) },
        _ => routine.run(Baseline(())),
    }
}

/// Runs a function whose loops are compiled for the [current level](Level::current), as far as
/// what they call is inlined.
#[inline]
pub fn vectorize<R>(function: impl FnOnce() -> R) -> R {
    struct Closure<F>(F);
    impl<R, F: FnOnce() -> R> Routine for Closure<F> {
        type Output = R;

        #[inline(always)]
        fn run<S: Simd>(self, _: S) -> R {
            self.0()
        }
    }
    dispatch(Closure(function))
}

mod sealed {
    pub trait Sealed {}
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Name;
    impl Routine for Name {
        type Output = Level;

        #[inline(always)]
        fn run<S: Simd>(self, _: S) -> Level {
            S::LEVEL
        }
    }

    #[test]
    fn with_level_runs_the_code_of_that_level() {
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            assert_eq!(
                with_level(level, || dispatch(Name)),
                level.min(Level::Avx512)
            );
            assert_eq!(with_level(level, Level::current), level);
        }
        assert_eq!(forced(), None);
    }

    #[test]
    fn with_level_restores_the_level_after_a_panic() {
        let panics = || with_level(Level::Baseline, || panic!("on purpose"));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!(forced(), None);
    }

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn level_from_str_knows_the_baseline_of_the_architecture() {
        let (own, other) = match cfg!(target_arch = "aarch64") {
            true => ("neon", "sse2"),
            false => ("sse2", "neon"),
        };
        assert_eq!(own.parse(), Ok(Level::Baseline));
        assert!(other.parse::<Level>().is_err());
    }

    #[test]
    fn level_from_str_refuses_unknown_names() {
        assert_eq!("avx2".parse(), Ok(Level::Avx2));
        let error = "sse9".parse::<Level>().unwrap_err();
        assert_eq!(
            error,
            "expected one of baseline, avx2, avx512, avx512bf16, amx, got \"sse9\""
        );
    }
}
