//! Entry of the driver's functions: locked, counted, recorded, and failing on request.

use crate::abi::{Address, Handle, Host, In, Out, Stream, Text};
use crate::codes::{Code, Outcome};
use crate::driver::{self, Driver, Locked};
use std::ffi::{c_char, c_int, c_void};

/// Calls that programs may make before `cuInit`.
const BEFORE_INIT: [&str; 6] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetProcAddress",
    "cuGetProcAddress_v2",
];

/// Calls that a callback of a stream may make.
const IN_CALLBACKS: [&str; 2] = ["cuGetErrorName", "cuGetErrorString"];

pub(crate) fn enter(
    name: &'static str,
    arguments: impl FnOnce(&Driver) -> Vec<Option<String>>,
    body: impl FnOnce(&mut Locked) -> Outcome,
) -> c_int {
    let mut driver = Locked::take();
    let words = arguments(&driver)
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ");
    let injected = driver.record.count(name);
    let result = if driver::in_callback() && !IN_CALLBACKS.contains(&name) {
        driver
            .record
            .mistake(format!("{name} was called in a callback of a stream"));
        Err(Code::ERROR_NOT_PERMITTED)
    } else if let Some(code) = injected {
        Err(code)
    } else if !driver.initialized && !BEFORE_INIT.contains(&name) {
        Err(Code::ERROR_NOT_INITIALIZED)
    } else {
        body(&mut driver)
    };
    driver.record.call(name, &words, result);
    result.err().map_or(Code::SUCCESS.0, |code| code.0)
}

/// Defines functions of the driver. Each has the name and the arguments that the driver's header
/// gives it.
macro_rules! api {
    ($(fn $name:ident($driver:ident $(, $argument:ident: $type:ty)* $(,)?) $body:block)*) => {
        $(
            #[doc = concat!("NVIDIA's `", stringify!($name), "`.")]
            ///
            /// # Safety
            ///
            /// What NVIDIA's documentation of the function asks for.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
                crate::call::enter(
                    stringify!($name),
                    |_driver| vec![$(crate::call::InWords::named(&$argument, stringify!($argument), _driver)),*],
                    |$driver: &mut crate::driver::Locked| -> crate::codes::Outcome { $body },
                )
            }
        )*

        /// The names and addresses of this file's functions.
        pub(crate) fn functions() -> Vec<(&'static str, usize)> {
            vec![$((stringify!($name), $name as *const () as usize)),*]
        }
    };
}
pub(crate) use api;

/// What the journal says of an argument.
pub(crate) trait InWords {
    fn words(&self, driver: &Driver) -> Option<String>;

    fn named(&self, name: &str, driver: &Driver) -> Option<String> {
        self.words(driver).map(|words| format!("{name}: {words}"))
    }
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl InWords for $type {
            fn words(&self, _: &Driver) -> Option<String> {
                Some(self.to_string())
            }
        }
    )*};
}

numbers!(u8, u16, i32, u32, u64, usize);

macro_rules! handles {
    ($($type:ty),*) => {$(
        impl InWords for $type {
            fn words(&self, _: &Driver) -> Option<String> {
                Some(match self.id() {
                    Some(id) => format!("{} {id}", <$type>::WORD),
                    None if self.value() == 0 => "null".to_owned(),
                    None => format!("{:#x}", self.value()),
                })
            }
        }
    )*};
}

handles!(
    crate::abi::Context,
    crate::abi::Event,
    crate::abi::Module,
    crate::abi::Function,
    crate::abi::Pool,
    crate::abi::Graph,
    crate::abi::GraphExec
);

impl InWords for Stream {
    fn words(&self, _: &Driver) -> Option<String> {
        Some(match (self.0, self.id()) {
            (0 | 1, _) => "the default stream".to_owned(),
            (2, _) => "the thread's default stream".to_owned(),
            (_, Some(id)) => format!("stream {id}"),
            (value, None) => format!("{value:#x}"),
        })
    }
}

impl InWords for Address {
    fn words(&self, driver: &Driver) -> Option<String> {
        Some(driver.memory.words(self.0))
    }
}

impl InWords for Host {
    fn words(&self, driver: &Driver) -> Option<String> {
        Some(driver.memory.words(self.0 as u64))
    }
}

impl InWords for Text {
    fn words(&self, _: &Driver) -> Option<String> {
        self.read().ok().map(|text| format!("{text:?}"))
    }
}

macro_rules! unsaid {
    ($([$($generic:ident)?] $type:ty;)*) => {$(
        impl$(<$generic>)? InWords for $type {
            fn words(&self, _: &Driver) -> Option<String> {
                None
            }
        }
    )*};
}

unsaid! {
    [T] Out<T>;
    [T] In<T>;
    [T] Option<T>;
    [] *mut c_void;
    [] *const c_void;
    [] *mut *mut c_void;
    [] *mut c_char;
    [] crate::abi::structures::Location;
    [] crate::api::unsupported::IpcHandle;
}
