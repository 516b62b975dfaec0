//! Elementwise comparisons of two tensors.

use crate::compute::elementwise::Function;
use crate::dtype::DType;
use crate::kernel::CallError;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::Op;
use crate::kernel::Source;
use crate::kernel::Target;
use crate::tensor::Tensor;
use half::{bf16, f16};

/// An op, its kernels, and a function that calls it.
macro_rules! comparison {
    ($name:ident by $operator:tt, $doc:literal) => {
        register_op!(
            Op::new(stringify!($name))
                .doc($doc)
                .input("a", "T")
                .input("b", "T")
                .output("out", DType::BOOL)
                .broadcasts()
                .elementwise()
        );
        const _: () = {
            #[derive(Clone, Copy)]
            struct OfPair;

            impl<T: PartialOrd> Function<(T, T)> for OfPair {
                type Output = bool;

                #[inline(always)]
                fn call(self, (a, b): (T, T)) -> bool {
                    a $operator b
                }
            }

            register_kernel!(
                for T in [bool, f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
                Kernel::new(stringify!($name))
                    .fills_results()
                    .releases_gil_from(1 << 16)
                    .function(|a: Source<'_, T>, b: Source<'_, T>, out: Target<'_, bool>| {
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

comparison!(equal by ==, "Whether elements are equal: out = a == b. NaN equals nothing.");
comparison!(not_equal by !=, "Whether elements differ: out = a != b. NaN differs from all.");
comparison!(less by <, "Whether elements are less: out = a < b. NaN never is.");
comparison!(less_equal by <=, "Whether elements are less or equal: out = a <= b. NaN never is.");
comparison!(greater by >, "Whether elements are greater: out = a > b. NaN never is.");
comparison!(
    greater_equal by >=,
    "Whether elements are greater or equal: out = a >= b. NaN never is."
);
