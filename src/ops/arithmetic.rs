//! Elementwise arithmetic of two tensors: `add`, `subtract`, `multiply`, `divide`, `maximum` and
//! `minimum`.

use super::number::{Number, Wide};
use crate::compute::elementwise::Function;
use crate::kernel::CallError;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::Op;
use crate::kernel::Source;
use crate::kernel::Target;
use crate::tensor::Tensor;
use half::{bf16, f16};

/// An op, its kernels for some types, and a function that calls it.
macro_rules! arithmetic {
    ($name:ident $(or $alias:ident)? by $trait:ident::$function:ident, for $types:tt, $doc:literal
        $(, gradients $a:literal, $b:literal)?) => {
        register_op!(
            Op::new(stringify!($name))
                $(.alias(stringify!($alias)))?
                .doc($doc)
                .input("a", "T")
                .input("b", "T")
                .output("out", "T")
                .broadcasts()
                .elementwise()
                .in_place("out", "a")
                .in_place("out", "b")
                $(.gradient("a", $a).gradient("b", $b))?
        );
        const _: () = {
            #[derive(Clone, Copy)]
            struct OfPair;

            impl<T: $trait> Function<(T, T)> for OfPair {
                type Output = T;
                const IN_PLACE: bool = true;

                #[inline(always)]
                fn call(self, (a, b): (T, T)) -> T {
                    a.$function(b)
                }
            }

            register_kernel!(
                for T in $types =>
                Kernel::new(stringify!($name))
                    .fills_results()
                    .releases_gil_from(1 << 16)
                    .function(|a: Source<'_, T>, b: Source<'_, T>, out: Target<'_, T>| {
                        out.zip_wide(&a, &b, OfPair);
                    })
            );
        };

        #[doc = $doc]
        ///
        /// # Errors
        ///
        /// When the tensors' dtypes differ or aren't supported, or they can't be broadcast against
        /// each other.
        pub fn $name<'a>(
            a: impl IntoOperand<'a>,
            b: impl IntoOperand<'a>,
        ) -> Result<Tensor, CallError> {
            static OP: GlobalOp = GlobalOp::new(stringify!($name));
            OP.get()?.call().input(a).input(b).make()
        }
    };
}

arithmetic!(
    add by Number::add,
    for [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64],
    "The sum of two tensors, by element: out = a + b. Sums of integers wrap around.",
    gradients "sum_to_like(dout, a)", "sum_to_like(dout, b)"
);
arithmetic!(
    subtract or sub by Number::sub,
    for [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64],
    "The difference of two tensors, by element: out = a - b. Differences of integers wrap around.",
    gradients "sum_to_like(dout, a)", "sum_to_like(negative(dout), b)"
);
arithmetic!(
    multiply or mul by Number::mul,
    for [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64],
    "The product of two tensors, by element: out = a * b. Products of integers wrap around.",
    gradients "sum_to_like(multiply(dout, b), a)", "sum_to_like(multiply(dout, a), b)"
);
arithmetic!(
    divide or div by Wide::div,
    for [f32, f64, f16, bf16],
    "The quotient of two tensors of floats, by element: out = a / b.",
    gradients
        "sum_to_like(divide(dout, b), a)",
        "sum_to_like(negative(divide(multiply(dout, out), b)), b)"
);
arithmetic!(
    maximum by Number::max_or_nan,
    for [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64],
    "The larger element of two tensors, or NaN where either is NaN."
);
arithmetic!(
    minimum by Number::min_or_nan,
    for [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64],
    "The smaller element of two tensors, or NaN where either is NaN."
);
