//! Elementwise functions of tensors of any strides: vectorised, and on several threads where the
//! tensors are large.

mod form;
mod function;

pub use form::Widen;
pub use function::Function;

use super::plan::Operand;
use super::simd::{Routine, Simd, dispatch};
use super::tiles::{Settings, for_each_tile};
use crate::dtype::Element;
use crate::layout::LayoutRef;
use form::{CHUNK, Form, Same, Widened, filled};
use function::{Closure, Update};
use std::mem::MaybeUninit;
use std::{ptr, slice};

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
    ($(
        $(#[$doc:meta])*
        $map:ident, $(#[$wide_doc:meta])* $map_wide:ident, $visit:ident,
        $Loop:ident, $body:ident, $chunk:ident, $by_chunks:ident, $over:ident:
        $($a:ident $A:ident $at:literal),*; over $first:ident $First:ident: $($other:ident $Other:ident),*;
    )*) => {$(
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
            let function = Closure(&function);
            // SAFETY: it requires the same.
            unsafe { $visit::<Same<O>, $(Same<$A>,)* _>(out, $($a,)* grain, function) }
        }

        $(#[$wide_doc])*
        ///
        /// # Safety
        ///
        #[doc = concat!("As for [`", stringify!($map), "`].")]
        pub unsafe fn $map_wide<O: Widen, $($A: Widen),*>(
            out: Elements<'_, O>,
            $($a: Elements<'_, $A>,)*
            grain: usize,
            function: impl Function<($($A::Wide,)*), Output = O::Wide>,
        ) {
            // SAFETY: it requires the same.
            unsafe { $visit::<Widened<O>, $(Widened<$A>,)* _>(out, $($a,)* grain, function) }
        }

        /// Writes a function's results for elements as they are calculated with.
        ///
        /// # Safety
        ///
        #[doc = concat!("As for [`", stringify!($map), "`].")]
        unsafe fn $visit<O: Form, $($A: Form,)* F>(
            out: Elements<'_, O::Stored>,
            $($a: Elements<'_, $A::Stored>,)*
            grain: usize,
            function: F,
        )
        where
            F: Function<($($A::Used,)*), Output = O::Used>,
        {
            let len = out.layout.len();
            if len <= FEW && out.layout.is_contiguous() $(&& $a.layout.is_contiguous())* {
                for at in 0..len {
                    // SAFETY: all are contiguous, and `at` is below their number of elements.
                    unsafe {
                        let result = function.call(($($A::load_one($a.first.add(at).read()),)*));
                        out.first.add(at).write(O::store_one(result));
                    }
                }
                return;
            }
            let operands = [out.operand(), $($a.operand()),*];
            let settings = Settings {
                grain,
                only_writes: true,
                takes_over_second: F::IN_PLACE,
                // `bool` is the only type without `ANY_BITS`.
                selects: false $(|| !$A::Stored::ANY_BITS)*,
            };
            let body = |at: [*mut u8; _], len: usize| {
                let out = at[0].cast();
                dispatch($Loop::<O, $($A,)* F> { out, $($a: at[$at].cast(),)* len, function });
            };
            // SAFETY: `for_each_tile` requires of the operands what this function does.
            unsafe { for_each_tile(&operands, settings, &body) };
        }

        struct $Loop<O: Form, $($A: Form,)* F> {
            out: *mut MaybeUninit<O::Stored>,
            $($a: *const $A::Stored,)*
            len: usize,
            function: F,
        }

        impl<O: Form, $($A: Form,)* F> Routine for $Loop<O, $($A,)* F>
        where
            F: Function<($($A::Used,)*), Output = O::Used>,
        {
            type Output = ();

            #[inline(always)]
            fn run<S: Simd>(self, _: S) {
                // SAFETY: `for_each_tile` gives `len` contiguous elements of each operand, in place
                // or in scratch memory. The first overlaps no other, but the second if that is
                // exactly where it is, with elements of the same size.
                unsafe {
                    if O::BY_CHUNKS $(|| $A::BY_CHUNKS)* {
                        let (out, len) = (self.out.cast(), self.len);
                        return $by_chunks::<O, $($A,)* S>(out, $(self.$a,)* len, self.function);
                    }
                    let out = slice::from_raw_parts_mut(self.out, self.len);
                    $(let $other = slice::from_raw_parts(self.$other, self.len);)*
                    if F::IN_PLACE && ptr::addr_eq(out.as_ptr(), self.$first) {
                        return $over::<O, $($A),*>(out, $($other,)* self.function);
                    }
                    let $first = slice::from_raw_parts(self.$first, self.len);
                    $body::<O, $($A),*>(out, $($a,)* self.function);
                }
            }
        }

        /// The loop. As arguments of a function the slices are known not to overlap.
        #[inline(always)]
        fn $body<O: Form, $($A: Form),*>(
            out: &mut [MaybeUninit<O::Stored>],
            $($a: &[$A::Stored],)*
            function: impl Function<($($A::Used,)*), Output = O::Used>,
        ) {
            for at in 0..out.len() {
                let result = function.call(($($A::load_one($a[at]),)*));
                out[at].write(O::store_one(result));
            }
        }

        /// The loop over results that are written over the first argument.
        ///
        /// # Safety
        ///
        /// In the place of each result there is an element of that argument, of the same size.
        #[inline(always)]
        unsafe fn $over<O: Form, $($A: Form),*>(
            out: &mut [MaybeUninit<O::Stored>],
            $($other: &[$Other::Stored],)*
            function: impl Function<($($A::Used,)*), Output = O::Used>,
        ) {
            for at in 0..out.len() {
                // SAFETY: `at` is below the number of results, and the element is there.
                let $first = unsafe { out.as_ptr().add(at).cast::<$First::Stored>().read() };
                let $first = $First::load_one($first);
                $(let $other = $Other::load_one($other[at]);)*
                out[at].write(O::store_one(function.call(($($a,)*))));
            }
        }

        /// The loop by chunks: of each, all elements are read before the results are written.
        ///
        /// # Safety
        ///
        /// There are `len` elements of each argument, and room for as many results. An argument is
        /// exactly where these are, with elements of the same size, or doesn't overlap them.
        #[inline(always)]
        unsafe fn $by_chunks<O: Form, $($A: Form,)* S: Simd>(
            out: *mut O::Stored,
            $($a: *const $A::Stored,)*
            len: usize,
            function: impl Function<($($A::Used,)*), Output = O::Used>,
        ) {
            let whole = len - len % CHUNK;
            for at in (0..whole).step_by(CHUNK) {
                // SAFETY: a chunk is there from `at` on, and is written when all is read.
                unsafe {
                    $(let $a = &*$a.add(at).cast::<[$A::Stored; CHUNK]>();)*
                    let results = $chunk::<O, $($A,)* S>($($a,)* function);
                    out.add(at).cast::<[O::Stored; CHUNK]>().write(results);
                }
            }
            if whole < len {
                // The last elements, and one of them in the other places.
                // SAFETY: they are there from `whole` on, and are written when all is read.
                unsafe {
                    $(let $a = filled(slice::from_raw_parts($a.add(whole), len - whole));)*
                    let results = $chunk::<O, $($A,)* S>($(&$a,)* function);
                    let rest = out.add(whole);
                    rest.copy_from_nonoverlapping(results.as_ptr(), len - whole);
                }
            }
        }

        /// The results of a chunk, which stays in registers.
        #[inline(always)]
        fn $chunk<O: Form, $($A: Form,)* S: Simd>(
            $($a: &[$A::Stored; CHUNK],)*
            function: impl Function<($($A::Used,)*), Output = O::Used>,
        ) -> [O::Stored; CHUNK] {
            $(let $a = $A::load_chunk::<S>($a);)*
            let mut results = MaybeUninit::<[O::Used; CHUNK]>::uninit();
            let first = results.as_mut_ptr().cast::<O::Used>();
            for at in 0..CHUNK {
                // SAFETY: there is room for as many results.
                unsafe { first.add(at).write(function.call(($($a[at],)*))) };
            }
            // SAFETY: the loop has written each of them.
            O::store_chunk::<S>(unsafe { results.assume_init_ref() })
        }
    )*};
}

maps! {
    /// Writes a function's result for each element.
    map,
    /// Writes a function's result for each element, of which 16-bit floats are converted to `f32`
    /// before, and back from it.
    map_wide, visit_one, Map, map_slice, map_chunk, map_by_chunks, map_over: a A 1; over a A:;
    /// Writes a function's result for each pair of elements.
    zip,
    /// Writes a function's result for each pair of elements, of which 16-bit floats are converted
    /// to `f32` before, and back from it.
    zip_wide, visit_two, Zip, zip_slices, zip_chunk, zip_by_chunks, zip_over: a A 1, b B 2; over a A: b B;
    /// Writes a function's result for each three elements.
    zip3,
    /// Writes a function's result for each three elements, of which 16-bit floats are converted to
    /// `f32` before, and back from it.
    zip3_wide, visit_three, Zip3, zip3_slices, zip3_chunk, zip3_by_chunks, zip3_over: a A 1, b B 2, c C 3;
    over a A: b B, c C;
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
    unsafe { visit_one::<Same<T>, Same<T>, _>(x, x, grain, Update(&function)) }
}
