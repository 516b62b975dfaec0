//! Ops and their kernels: a kernel is callable with tensors of any framework.
//!
//! An [`Op`] says what is taken and given. A [`Kernel`] is a Rust function that does it for a
//! device and for some element types; what its arguments are is what it asks for. Both are
//! registered, by a macro from any crate of the program or in a [`Registry`] of one's own, and
//! found by name. A [`Call`] checks its arguments, chooses the kernel (which is remembered), makes
//! the results, and calls it: from Rust with tensors and views, from Python with those of any
//! framework.
//!
//! ```
//! use dlbridge::Tensor;
//! use dlbridge::kernel::{Kernel, Op, Registry, Source, Target};
//!
//! dlbridge::register_op!(
//!     Op::new("demo.hypot")
//!         .doc("The length of the hypotenuse, by element.")
//!         .input("a", "T")
//!         .input("b", "T")
//!         .output("c", "T")
//!         .broadcasts()
//! );
//! dlbridge::register_kernel!(Kernel::new("demo.hypot").function(hypot));
//!
//! fn hypot(a: Source<'_, f64>, b: Source<'_, f64>, c: Target<'_, f64>) {
//!     c.zip(&a, &b, f64::hypot);
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let hypot = Registry::global().op("demo.hypot")?;
//! let (a, b) = (Tensor::from([3.0, 5.0]), Tensor::from([4.0]));
//! assert_eq!(hypot.call().input(&a).input(&b).make()?.to_vec::<f64>()?, [5.0, 41.0_f64.sqrt()]);
//! # Ok(())
//! # }
//! ```
//!
//! # Which kernel a call gets
//!
//! Those of the op, of the requested label (none, mostly), whose device reaches the
//! arguments, and whose element types, ranks, layouts and attribute values they have. Among several
//! the one of the highest priority; then, for memory that several devices reach, such as CUDA's
//! managed memory, the one for that kind of memory, or else CUDA's before the CPU's; then the one
//! that asks for more: first of the layout, then of ranks, of attributes, and of types. Two kernels
//! between which all that leaves no choice can't both be registered. A call that no kernel is for
//! fails, and says of each why.
//!
//! # Optional and variadic inputs
//!
//! An [optional input](Op::optional_input) may be left out: the kernel's function takes an
//! [`Option`]. A function that doesn't is for calls that give the input. A
//! [variadic input](Op::variadic_input) is one or more tensors, of which the function takes a
//! [`Vec`]. Which inputs are given decides which kernel a call gets; how many tensors a variadic one
//! has does not.
//!
//! # What compilers of frameworks learn
//!
//! A definition may say more, for frameworks that compile programs or differentiate them; each is
//! optional. [Sizes](Op::sizes) as a rule that holds for unknown sizes, too; whether the op works
//! [by element](Op::elementwise) or takes [batches](Op::batches); [gradients](Op::gradient), as
//! calls of other ops; and of a kernel, whether it may be
//! [captured](Kernel::capturable) in a graph of a device.
//!
//! # What a kernel refuses
//!
//! A kernel, a rule and a factory may return any error. An [`ArgumentError`] says which argument
//! is wrong, what was expected and what was found; in Python it is an `IndexError`, a `ValueError`
//! or a `TypeError` with these fields.
//!
//! # What is checked
//!
//! Number and names of arguments; element types against the op and each other; shapes, which are
//! broadcast where the op says so; devices; alignment; that what is written may be, has no two
//! elements at one place, and shares no memory with another argument. Results may be exactly where
//! an input is if the op [says so](Op::in_place) and the kernel takes [`Source`]s and [`Target`]s.
//! Such a kernel may be parallel: [`Target::map`] and its siblings by elements, and
//! [`Target::map_lines`] by lines, are split among threads.

mod argument_error;
mod argument_overlap;
mod attribute;
pub(crate) mod backend;
mod call;
mod choose;
mod dispatch_cache;
mod in_place;
#[macro_use]
mod declared_ops;
mod argument_type;
mod call_key;
mod definition;
mod error;
mod factory_cache;
mod frame;
mod function;
mod global_op;
mod gradient;
mod handle;
mod latest;
mod nearest;
mod observe;
mod op;
mod operand;
mod registry;
mod shapes;
mod sizes;
mod text;

pub use argument_error::ArgumentError;
pub use argument_type::{DeviceSource, DeviceTarget, Parameter, Ranked, Untyped, UntypedMut};
pub use attribute::{Attribute, AttributeKind, AttributeValue};
pub use call::Call;
pub use definition::{Kernel, KernelContext};
pub use error::{CallError, Failure, Reason, RegistrationError};
#[doc(hidden)]
pub use frame::lookup;
pub use function::{KernelFunction, Outcome};
pub use global_op::GlobalOp;
pub use gradient::{Gradient, GradientAttribute, GradientValue};
pub use handle::{KernelInfo, OpHandle};
pub use in_place::{Source, Target};
pub use observe::{Observer, Record, observe};
pub use op::{CheckRule, ElementType, Op, ShapeContext, ShapeRule, WorkRule};
pub use operand::{IntoOperand, IntoOperandMut, Operand};
pub use registry::Registry;
pub use sizes::{PartialShape, SizeAlternative, SizeExpression, SizeItem, SizeRule};

#[cfg(feature = "python")]
pub(crate) use call::make;
#[cfg(any(feature = "hosts", feature = "python"))]
pub(crate) use frame::{CallHost, Frame, Operands};
#[cfg(feature = "hosts")]
pub(crate) use frame::{Made, settled::Settled};
#[cfg(feature = "python")]
pub(crate) use handle::{Attributes, complete};
#[cfg(feature = "hosts")]
pub(crate) use latest::{Hash, Latest, Place};
#[cfg(feature = "python")]
pub(crate) use nearest::nearest;

/// For the macros.
#[doc(hidden)]
pub mod __private {
    pub use super::declared_ops::Registration;
    pub use inventory::submit;
}
