//! Kernels for the double that compute on the CPU.

use crate::compiler::{NOTHING_ELSE, compiler_folder};
use crate::double::{Launched, driver_folder, in_child, register};
use std::ffi::{OsString, c_int, c_void};
use std::path::{Path, PathBuf};

/// Runs the body in a child process with the driver's and the compiler's double, and other
/// libraries.
pub(super) fn on_doubles(
    test: &str,
    others: &[PathBuf],
    environment: &[(&str, &str)],
    body: impl FnOnce(),
) {
    let folders = [driver_folder(), compiler_folder()].into_iter();
    // In a child process none of them is known, nor needed.
    let folders = std::env::join_paths(folders.chain(others.iter().cloned()));
    let folders: OsString = folders.unwrap();
    let own = [("DLBRIDGE_CACHE", ""), ("DLBRIDGE_CUBLASLT", "")];
    let all = [&NOTHING_ELSE[..], &own, environment].concat();
    in_child(test, Path::new(&folders), &all, || {
        let takes_tiles = "r r w v v v v v v v v v";
        register("matmul_f32_tiles", takes_tiles, run_tiles::<f32>);
        register("matmul_i32_tiles", takes_tiles, run_tiles::<i32>);
        register("copy_4_strided", "r w v200 v4", run_copy);
        body();
    });
}

/// What the copying kernel is told: sizes, and strides of `out` and `x`, the fastest dimension
/// first.
#[derive(Clone, Copy)]
#[repr(C)]
struct Layouts {
    rank: i64,
    sizes: [i64; 8],
    strides: [[i64; 8]; 2],
}

extern "C" fn run_copy(launch: *const Launched, _: *mut c_void) -> c_int {
    // SAFETY: the double passes a launch with these arguments, whose memory is open.
    unsafe {
        let launch = &*launch;
        let (x, out) = (
            launch.argument::<*const u32>(0),
            launch.argument::<*mut u32>(1),
        );
        let layouts = launch.argument::<Layouts>(2);
        for number in 0..launch.argument::<u32>(3) {
            let mut rest = i64::from(number);
            let mut offsets = [0, 0];
            for axis in 0..layouts.rank as usize {
                let index = rest % layouts.sizes[axis];
                rest /= layouts.sizes[axis];
                for (offset, strides) in offsets.iter_mut().zip(layouts.strides) {
                    *offset += index * strides[axis];
                }
            }
            *out.offset(offsets[0] as isize) = *x.offset(offsets[1] as isize);
        }
    }
    0
}

/// A number that the kernels here multiply.
trait Number: Copy + Default + std::ops::Mul<Output = Self> + std::ops::Add<Output = Self> {}
impl Number for f32 {}
impl Number for i32 {}

extern "C" fn run_tiles<T: Number>(launch: *const Launched, _: *mut c_void) -> c_int {
    // SAFETY: the double passes a launch with these arguments, whose memory is open.
    unsafe {
        let launch = &*launch;
        let (a, b) = (
            launch.argument::<*const T>(0),
            launch.argument::<*const T>(1),
        );
        let out = launch.argument::<*mut T>(2);
        let sizes: [u64; 3] = std::array::from_fn(|place| launch.argument(3 + place));
        let [rows, columns, depth] = sizes.map(|size| size as isize);
        let strides: [i64; 6] = std::array::from_fn(|place| launch.argument(6 + place));
        let strides = strides.map(|stride| stride as isize);
        let tiles = (rows as u32).div_ceil(64) * (columns as u32).div_ceil(64);
        assert_eq!((launch.grid, launch.block), ([tiles, 1, 1], [256, 1, 1]));
        for row in 0..rows {
            for column in 0..columns {
                let mut sum = T::default();
                for k in 0..depth {
                    let of_a = *a.offset(row * strides[0] + k * strides[1]);
                    let of_b = *b.offset(k * strides[2] + column * strides[3]);
                    sum = sum + of_a * of_b;
                }
                *out.offset(row * strides[4] + column * strides[5]) = sum;
            }
        }
    }
    0
}
