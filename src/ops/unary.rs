//! Elementwise functions of one tensor: `negative`, `abs`, `exp`, `log`, `sqrt`, `rsqrt`, `tanh`,
//! `sigmoid`, `relu`, `silu` and `gelu`.

use super::number::Number;
use crate::compute::elementwise::Function;
use crate::compute::math::Math;
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::Op;
use crate::kernel::Source;
use crate::kernel::Target;
use crate::tensor::Tensor;
use half::{bf16, f16};

/// How much work an element is: the least number of elements that are worth a thread, and from
/// which on other threads run Python meanwhile.
struct Cost {
    grain: usize,
    gil: u64,
}

/// A few instructions.
const CHEAP: Cost = Cost {
    grain: crate::compute::elementwise::GRAIN,
    gil: 1 << 16,
};
/// Tens of instructions.
const COSTLY: Cost = Cost {
    grain: 1 << 13,
    gil: 1 << 14,
};

/// The kernels of an op for some types, of which 16-bit floats are calculated with as `f32`.
macro_rules! kernels {
    (
        $name:ident $([$attribute:literal = $value:literal])? by $trait:ident::$function:ident,
        $cost:ident, for $types:tt
    ) => {
        const _: () = {
            #[derive(Clone, Copy)]
            struct OfElement;

            impl<T: $trait> Function<(T,)> for OfElement {
                type Output = T;

                #[inline(always)]
                fn call(self, (x,): (T,)) -> T {
                    $trait::$function(x)
                }
            }

            register_kernel!(
                for T in $types =>
                Kernel::new(stringify!($name))
                    .fills_results()
                    $(.attribute($attribute, [$value]))?
                    .releases_gil_from($cost.gil)
                    .function(|x: Source<'_, T>, out: Target<'_, T>| {
                        out.map_wide($cost.grain, &x, OfElement);
                    })
            );
        };
    };
}

/// An op, its kernels for some types, and a function that calls it.
macro_rules! unary {
    ($name:ident by $trait:ident::$function:ident, $cost:ident, for $types:tt, $doc:literal
        $(, gradient $gradient:literal)?) => {
        register_op!(
            Op::new(stringify!($name))
                .doc($doc)
                .input("x", "T")
                .output("out", "T")
                .in_place("out", "x")
                .elementwise()
                $(.gradient("x", $gradient))?
        );
        kernels!($name by $trait::$function, $cost, for $types);

        #[doc = $doc]
        ///
        /// # Errors
        ///
        /// When the tensor's dtype isn't supported.
        pub fn $name<'a>(x: impl IntoOperand<'a>) -> Result<Tensor, CallError> {
            static OP: GlobalOp = GlobalOp::new(stringify!($name));
            OP.get()?.call().input(x).make()
        }
    };
}

unary!(
    negative by Number::negative, CHEAP,
    for [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64],
    "Numbers with the other sign, by element: out = -x. Integers wrap around.",
    gradient "negative(dout)"
);
unary!(
    abs by Number::absolute, CHEAP,
    for [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64],
    "Absolute values, by element: out = |x|. The least signed integer stays as it is."
);
unary!(
    relu by Number::relu, CHEAP,
    for [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64],
    "Numbers, or 0 where they are less, by element: out = max(x, 0). NaN stays NaN."
);
unary!(
    sqrt by Math::sqrt, CHEAP, for [f32, f64, f16, bf16],
    "Square roots, by element, rounded once. Of numbers below 0 they are NaN.",
    gradient "divide(dout, add(out, out))"
);
unary!(
    rsqrt by Math::rsqrt, CHEAP, for [f32, f64, f16, bf16],
    "1 over square roots, by element, within 1.5 ulp: out = 1 / sqrt(x)."
);
unary!(
    exp by Math::exp, COSTLY, for [f32, f64, f16, bf16],
    "Exponentials, by element, within 2 ulp: out = e^x.",
    gradient "multiply(dout, out)"
);
unary!(
    log by Math::log, COSTLY, for [f32, f64, f16, bf16],
    "Natural logarithms, by element, within 1 ulp. Of 0 they are -inf, of numbers below 0 NaN.",
    gradient "divide(dout, x)"
);
unary!(
    tanh by Math::tanh, COSTLY, for [f32, f64, f16, bf16],
    "Hyperbolic tangents, by element, within 4 ulp.",
    gradient "subtract(dout, multiply(dout, multiply(out, out)))"
);
unary!(
    sigmoid by Math::sigmoid, COSTLY, for [f32, f64, f16, bf16],
    "The logistic function, by element, within 3 ulp: out = 1 / (1 + exp(-x)).",
    gradient "multiply(dout, subtract(out, multiply(out, out)))"
);
unary!(
    silu by Math::silu, COSTLY, for [f32, f64, f16, bf16],
    "The sigmoid linear unit, by element, within 4 ulp: out = x / (1 + exp(-x))."
);

register_op!(
    Op::new("gelu")
        .doc("The Gaussian error linear unit, by element, within 6 ulp: out = x * P(X < x) of a normally \
              distributed X. approximate=\"tanh\" has its approximation by a hyperbolic tangent instead.")
        .input("x", "T")
        .output("out", "T")
        .attribute("approximate", AttributeKind::Text, Some("none".into()))
        .in_place("out", "x")
        .elementwise()
);
kernels!(gelu ["approximate" = "none"] by Math::gelu, COSTLY, for [f32, f64, f16, bf16]);
kernels!(gelu ["approximate" = "tanh"] by Math::gelu_tanh, COSTLY, for [f32, f64, f16, bf16]);

/// The Gaussian error linear unit, by element, within 6 ulp: x P(X < x) of a normally distributed
/// `X`. The op's attribute `approximate` has the function's approximation by a hyperbolic tangent.
///
/// # Errors
///
/// When the tensor's dtype isn't supported.
pub fn gelu<'a>(x: impl IntoOperand<'a>) -> Result<Tensor, CallError> {
    static OP: GlobalOp = GlobalOp::new("gelu");
    OP.get()?.call().input(x).make()
}
