//! Tests of ops and kernels against an oracle, for their authors.
//!
//! An [`OpTest`] calls an op with the same numbers in many ways, and compares every result with an
//! oracle's:
//!
//! | what varies | values |
//! |---|---|
//! | memory of each input, and of each result that is given | every [`Arrangement`]: contiguous, transposed, with gaps, in padded rows, backwards, one element past an aligned address, repeated |
//! | each result | made by the call, given, or in place of an input where the op allows it |
//! | threads | 1, 2 and 5 |
//! | [SIMD level](crate::compute::Level) | all that the CPU has |
//!
//! Of small tensors every pair of values occurs in some call, of larger ones every value: threads
//! are of use for larger ones only, of 200 000 elements for example. A test also fails if the call
//! writes memory that isn't a result's.
//!
//! ```
//! use dlbridge::kernel::{Kernel, Op, Source, Target};
//! use dlbridge::testing::{OpTest, Tolerance};
//! use dlbridge::Tensor;
//!
//! dlbridge::register_op!(
//!     Op::new("demo.root").input("x", "T").output("y", "T").in_place("y", "x")
//! );
//! dlbridge::register_kernel!(Kernel::new("demo.root").function(root));
//!
//! fn root(x: Source<'_, f32>, y: Target<'_, f32>) {
//!     y.map(&x, |x| x.powf(0.5));
//! }
//!
//! # fn main() {
//! let numbers: Vec<f32> = (0..24).map(|number| number as f32).collect();
//! let roots = numbers.iter().map(|number| number.sqrt()).collect();
//! let x = Tensor::from_vec(numbers, &[2, 3, 4]).unwrap();
//! let expected = Tensor::from_vec(roots, &[2, 3, 4]).unwrap();
//! OpTest::new("demo.root").input(&x).within(Tolerance::ulp(1)).expect(&expected);
//! # }
//! ```

mod arrangement;
mod combinations;
mod op_test;
mod tolerance;
mod trial;

pub use arrangement::Arrangement;
pub use op_test::OpTest;
pub use tolerance::Tolerance;
