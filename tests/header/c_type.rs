//! C spellings of the ABI's Rust types.

use dlbridge_dlpack::*;
use std::ffi::{c_char, c_void};

/// A Rust type with a counterpart in C.
///
/// A function pointer has one only inside an `Option`, since every one of DLPack's can be null.
pub(crate) trait CType {
    /// The counterpart's name, as `tests/c/header_facts.c` writes it.
    fn spelling() -> String;
}

macro_rules! spell {
    ($($rust:ty => $c:literal),* $(,)?) => {$(
        impl CType for $rust {
            fn spelling() -> String {
                $c.to_owned()
            }
        }
    )*};
}

spell! {
    () => "void",
    c_void => "void",
    // Named as a whole: whether C's plain `char` is signed, and so what `c_char` is, varies.
    *const c_char => "const char*",
    u8 => "uint8_t",
    u16 => "uint16_t",
    u32 => "uint32_t",
    u64 => "uint64_t",
    // Also `c_int`, which is the same Rust type.
    i32 => "int32_t",
    i64 => "int64_t",
    DLDeviceType => "DLDeviceType",
    // The two fields that have a type of their own in Rust, and are plain integers in C.
    DLDataTypeCode => "uint8_t",
    Flags => "uint64_t",
    DLPackVersion => "DLPackVersion",
    DLDevice => "DLDevice",
    DLDataType => "DLDataType",
    DLTensor => "DLTensor",
    DLManagedTensor => "DLManagedTensor",
    DLManagedTensorVersioned => "DLManagedTensorVersioned",
    DLPackExchangeAPIHeader => "DLPackExchangeAPIHeader",
}

impl<T: CType> CType for *mut T {
    fn spelling() -> String {
        format!("{}*", T::spelling())
    }
}

macro_rules! spell_functions {
    ($(($($argument:ident)*))*) => {$(
        impl<R: CType, $($argument: CType),*> CType
            for Option<unsafe extern "C" fn($($argument),*) -> R>
        {
            fn spelling() -> String {
                let arguments = [$($argument::spelling()),*].join(", ");
                format!("{} (*)({arguments})", R::spelling())
            }
        }
    )*};
}

spell_functions! { (A) (A B) (A B C) (A B C D) }
