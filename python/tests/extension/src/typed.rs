//! For each element type: reading, writing and keeping, and a number in a tensor's place.

use dlbridge::Element;
use dlbridge::python::{In, OrNumber, Out, Owned};
use half::{bf16, f16};
use num_complex::Complex;
use pyo3::prelude::*;

/// An element as what Python has of it.
trait Shown: Element {
    type As: for<'py> IntoPyObject<'py>;
    fn shown(self) -> Self::As;
}

macro_rules! shown {
    ($($ty:ty as $As:ty: $function:expr;)*) => {$(
        impl Shown for $ty {
            type As = $As;
            fn shown(self) -> $As {
                let function: fn($ty) -> $As = $function;
                function(self)
            }
        }
    )*};
}

shown! {
    f32 as f32: |x| x;
    f64 as f64: |x| x;
    i8 as i8: |x| x;
    i32 as i32: |x| x;
    i64 as i64: |x| x;
    u8 as u16: u16::from; // a list of them would become bytes
    u64 as u64: |x| x;
    bool as bool: |x| x;
    f16 as f32: f16::to_f32;
    bf16 as f32: bf16::to_f32;
    Complex<f32> as (f32, f32): |x| (x.re, x.im);
}

fn all<T: Shown>(elements: Vec<T>) -> Vec<T::As> {
    elements.into_iter().map(T::shown).collect()
}

macro_rules! typed {
    ($($ty:ty: $read:ident $write:ident $own:ident $number:ident;)*) => {
        $(
            #[pyfunction]
            fn $read(x: In<'_, $ty>) -> Vec<<$ty as Shown>::As> {
                all(x.view().to_vec())
            }

            #[pyfunction]
            fn $write(mut out: Out<'_, $ty>, value: OrNumber<'_, $ty>) -> PyResult<()> {
                value.check_shape(&[])?;
                out.view_mut().fill(value.view()[[]]);
                Ok(())
            }

            #[pyfunction]
            fn $own(x: Owned<$ty>) -> PyResult<Vec<<$ty as Shown>::As>> {
                Ok(all(x.to_vec::<$ty>()?))
            }

            #[pyfunction]
            fn $number(x: OrNumber<'_, $ty>) -> (Vec<usize>, Vec<<$ty as Shown>::As>) {
                (x.shape().to_vec(), all(x.view().to_vec()))
            }
        )*
        register!($($read, $write, $own, $number),*);
    };
}

typed! {
    f32: read_f32 write_f32 own_f32 number_f32;
    f64: read_f64 write_f64 own_f64 number_f64;
    i8: read_i8 write_i8 own_i8 number_i8;
    i32: read_i32 write_i32 own_i32 number_i32;
    i64: read_i64 write_i64 own_i64 number_i64;
    u8: read_u8 write_u8 own_u8 number_u8;
    u64: read_u64 write_u64 own_u64 number_u64;
    bool: read_bool write_bool own_bool number_bool;
    f16: read_f16 write_f16 own_f16 number_f16;
    bf16: read_bf16 write_bf16 own_bf16 number_bf16;
    Complex<f32>: read_c64 write_c64 own_c64 number_c64;
}
