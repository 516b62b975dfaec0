//! Elementwise functions of tensors of any strides: vectorised, and on several threads where the
//! tensors are large.

use super::plan::Operand;
use super::simd::{Routine, Simd, dispatch};
use super::tiles::{Settings, for_each_tile};
use crate::dtype::Element;
use crate::layout::LayoutRef;
use std::mem::MaybeUninit;
use std::slice;

/// The least number of elements that are worth a thread, if the function takes a few instructions.
pub const GRAIN: usize = 1 << 15;

/// So few elements, if they are contiguous, are best visited without a plan.
const FEW: usize = 16;

/// Elements at an address and wherever a layout leads from there.
#[derive(Debug, Clone, Copy)]
pub struct Elements<'a, T> {
    /// The address of the element of index 0.
    pub first: *mut T,
    /// Shape and strides.
    pub layout: LayoutRef<'a>,
}

impl<'a, T> Elements<'a, T> {
    pub(crate) fn operand(&self) -> Operand<'a> {
        Operand {
            first: self.first.cast(),
            layout: self.layout,
            item: size_of::<T>(),
        }
    }
}

macro_rules! maps {
    ($($(#[$doc:meta])* $map:ident, $Loop:ident, $body:ident: $($a:ident $A:ident $at:literal),*;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// The shapes are the same. Every element that the layouts lead to is there, aligned, and
        /// a value of its type; `out` can be written, has no two elements at one place, and no
        /// other code uses it. Another operand is either exactly where `out` is, with elements of
        /// the same size, or doesn't overlap it.
        pub unsafe fn $map<O: Element, $($A: Element),*>(
            out: Elements<'_, O>,
            $($a: Elements<'_, $A>,)*
            grain: usize,
            function: impl Fn($($A),*) -> O + Sync,
        ) {
            let len = out.layout.len();
            if len <= FEW && out.layout.is_contiguous() $(&& $a.layout.is_contiguous())* {
                for at in 0..len {
                    // SAFETY: all are contiguous, and `at` is below their number of elements.
                    unsafe { out.first.add(at).write(function($($a.first.add(at).read()),*)) };
                }
                return;
            }
            let operands = [out.operand(), $($a.operand()),*];
            let settings = Settings { grain, only_writes: true };
            let function = &function;
            // SAFETY: `for_each_tile` requires of the operands what this function does.
            unsafe {
                for_each_tile(&operands, settings, &|at, len| {
                    dispatch($Loop {
                        out: at[0].cast(),
                        $($a: at[$at].cast(),)*
                        len,
                        function,
                    });
                });
            }
        }

        struct $Loop<'a, O, $($A,)* F> {
            out: *mut MaybeUninit<O>,
            $($a: *const $A,)*
            len: usize,
            function: &'a F,
        }

        impl<O: Element, $($A: Element,)* F: Fn($($A),*) -> O> Routine for $Loop<'_, O, $($A,)* F> {
            type Output = ();

            #[inline(always)]
            fn run<S: Simd>(self, _: S) {
                // SAFETY: `for_each_tile` gives `len` contiguous elements of each operand, in
                // place or in scratch memory, of which the first doesn't overlap the others.
                unsafe {
                    let out = slice::from_raw_parts_mut(self.out, self.len);
                    $(let $a = slice::from_raw_parts(self.$a, self.len);)*
                    $body(out, $($a,)* self.function);
                }
            }
        }

        /// The loop. As arguments of a function the slices are known not to overlap.
        #[inline(always)]
        fn $body<O: Copy, $($A: Copy),*>(
            out: &mut [MaybeUninit<O>],
            $($a: &[$A],)*
            function: impl Fn($($A),*) -> O,
        ) {
            for at in 0..out.len() {
                out[at].write(function($($a[at]),*));
            }
        }
    )*};
}

maps! {
    /// Writes a function's result for each element.
    map, Map, map_slice: a A 1;
    /// Writes a function's result for each pair of elements.
    zip, Zip, zip_slices: a A 1, b B 2;
    /// Writes a function's result for each three elements.
    zip3, Zip3, zip3_slices: a A 1, b B 2, c C 3;
}

/// Replaces each element by a function's result for it.
///
/// # Safety
///
/// Every element that the layout leads to is there, aligned, a value of its type, and can be
/// written; no two of them are at one place, and no other code uses them.
pub unsafe fn update<T: Element>(
    x: Elements<'_, T>,
    grain: usize,
    function: impl Fn(T) -> T + Sync,
) {
    // SAFETY: this function requires of `x` what `map` does of its output, of which the input is
    // exactly in the same place.
    unsafe { map(x, x, grain, function) }
}
