//! Loading of NVIDIA's libraries at run time: the file's path, and its functions.
//!
//! They are looked up here and not by `cudarc`, which looks for a library by names alone: one of
//! any version comes before `.so.13` there, so one that is too old would be taken though a new one
//! was loaded already; it can't be told where the library is, and panics where a function is
//! missing. It also declares results as Rust enums, so that a code which wasn't known when it was
//! built would be undefined behaviour: [`functions!`] takes integers. The driver is looked up in
//! the same way (`driver/functions.rs`).

pub(in crate::cuda) mod find;

use libloading::Library;
use std::error::Error;
use std::path::Path;

/// Loads a library for good: its functions are used to the end, and those of others that share it.
///
/// # Safety
///
/// What it runs when it is loaded is sound.
pub(in crate::cuda) unsafe fn load(path: &Path) -> Result<&'static Library, libloading::Error> {
    // SAFETY: the library's initialisers are sound, by this function's contract.
    let library = unsafe { Library::new(path) }?;
    Ok(Box::leak(Box::new(library)))
}

/// Returns what the loader says is wrong, of which the error itself has only the beginning.
pub(in crate::cuda) fn problem(error: &libloading::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Declares `Functions`: a library's functions, by their names.
macro_rules! functions {
    ($($function:ident($($argument:ty),*) -> $answer:ty;)*) => {
        /// The library's functions, by their names.
        #[allow(non_snake_case, reason = "the names are NVIDIA's")]
        pub(in crate::cuda) struct Functions {
            $(pub(in crate::cuda) $function: unsafe extern "C" fn($($argument),*) -> $answer,)*
        }

        impl Functions {
            /// # Safety
            ///
            /// The library's functions of these names have these types, and it is never unloaded.
            pub(in crate::cuda) unsafe fn look_up(library: &::libloading::Library) -> Result<Self, ::libloading::Error> {
                Ok(Self {
                    // SAFETY: these symbols have these types and the library stays loaded, by this
                    // function's contract.
                    $($function: unsafe { *library.get(stringify!($function))? },)*
                })
            }
        }
    };
}
pub(in crate::cuda) use functions;
