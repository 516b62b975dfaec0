//! NVIDIA's libraries that are loaded while the program runs: where they are, and their functions.
//!
//! They are looked up here and not by `cudarc`, which looks for a library by names alone: one of any version comes
//! before `.so.13` there, so one that is too old would be taken though a new one was loaded already; it can't be told
//! where the library is, and panics where a function is missing. It also takes every answer for one that was known when
//! it was built.

pub(super) mod find;

use libloading::Library;
use std::path::Path;

/// Loads a library for good: its functions are used to the end, and those of others that share it.
///
/// # Safety
///
/// What it runs when it is loaded is sound.
pub(super) unsafe fn load(path: &Path) -> Result<&'static Library, libloading::Error> {
    // SAFETY: the caller's promise.
    let library = unsafe { Library::new(path) }?;
    Ok(Box::leak(Box::new(library)))
}

/// Declares `Functions`: a library's functions, by their names.
macro_rules! functions {
    ($($function:ident($($argument:ty),*) -> $answer:ty;)*) => {
        /// The library's functions, by their names.
        #[allow(non_snake_case, reason = "the names are NVIDIA's")]
        pub(super) struct Functions {
            $(pub(super) $function: unsafe extern "C" fn($($argument),*) -> $answer,)*
        }

        impl Functions {
            /// # Safety
            ///
            /// The library's functions of these names have these types, and it is never unloaded.
            unsafe fn look_up(library: &::libloading::Library) -> Result<Self, ::libloading::Error> {
                Ok(Self {
                    // SAFETY: the caller's promise.
                    $($function: unsafe { *library.get(stringify!($function))? },)*
                })
            }
        }
    };
}
pub(super) use functions;
