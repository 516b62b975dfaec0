//! Functions and variables in libraries that the process has loaded.

use libloading::os::unix::Library;

/// Returns a library that the process has loaded, by its file name. It is never unloaded.
pub(super) fn loaded(name: &str) -> Option<&'static Library> {
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
    // SAFETY: nothing is loaded, so no initialiser runs: the flag returns what is there already.
    let library = unsafe { Library::open(Some(name), flags) };
    Some(Box::leak(Box::new(library.ok()?)))
}

/// Returns the address of a symbol.
pub(super) fn address(library: &'static Library, name: &str) -> Option<*mut std::ffi::c_void> {
    // SAFETY: the address isn't used as anything here.
    let symbol = unsafe { library.get::<*mut std::ffi::c_void>(name.as_bytes()) };
    symbol.ok().map(|symbol| symbol.into_raw())
}

/// Declares a struct of C functions by their names, and how they are looked up: `required` ones,
/// without which there is no struct, and `optional` ones.
macro_rules! lookup_table {
    (
        $(#[$attribute:meta])* struct $Name:ident;
        required { $(fn $required:ident($($argument:ty),* $(,)?) $(-> $result:ty)?;)* }
        optional { $(fn $optional:ident($($of:ty),* $(,)?) $(-> $gives:ty)?;)* }
    ) => {
        $(#[$attribute])*
        pub(super) struct $Name {
            $(pub(super) $required: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            $(pub(super) $optional: Option<unsafe extern "C" fn($($of),*) $(-> $gives)?>,)*
        }

        impl $Name {
            /// Looks the functions up.
            ///
            /// # Safety
            ///
            /// The library's functions of these names have these signatures.
            unsafe fn find(
                library: &'static libloading::os::unix::Library,
                host: $crate::hosts::Host,
            ) -> Result<Self, $crate::hosts::HostError> {
                // SAFETY: the functions have these signatures, as `find` requires; the library is
                // never unloaded, so that the addresses stay.
                unsafe {
                    Ok(Self {
                        $($required: *library
                            .get(stringify!($required).as_bytes())
                            .map_err(|_| host.no_function(stringify!($required)))?,)*
                        $($optional: library
                            .get(stringify!($optional).as_bytes())
                            .ok()
                            .map(|symbol| *symbol),)*
                    })
                }
            }
        }
    };
}

pub(super) use lookup_table;
