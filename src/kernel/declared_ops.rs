//! Registration by link-time collection: no list that all crates would have to be in.

use super::error::RegistrationError;
use super::registry::Registry;
use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::OnceLock;

/// What [`register_op!`](crate::register_op) and [`register_kernel!`](crate::register_kernel) leave
/// behind for the program to find.
#[doc(hidden)]
#[derive(Debug)]
pub struct Registration {
    pub(super) is_op: bool,
    pub(super) register: fn(&Registry) -> Result<(), RegistrationError>,
}

impl Registration {
    #[doc(hidden)]
    pub const fn op(register: fn(&Registry) -> Result<(), RegistrationError>) -> Self {
        Self {
            is_op: true,
            register,
        }
    }

    #[doc(hidden)]
    pub const fn kernel(register: fn(&Registry) -> Result<(), RegistrationError>) -> Self {
        Self {
            is_op: false,
            register,
        }
    }
}

inventory::collect!(Registration);

impl Registry {
    /// Returns all registrations by [`register_op!`](crate::register_op) and
    /// [`register_kernel!`](crate::register_kernel).
    ///
    /// Should something of it have been refused, such as two kernels that can't be told apart, its
    /// op refuses to be called, and says why.
    pub fn global() -> &'static Self {
        static GLOBAL: OnceLock<Registry> = OnceLock::new();
        thread_local! {
            static COLLECTS: Cell<bool> = const { Cell::new(false) };
        }
        if let Some(known) = GLOBAL.get() {
            return known;
        }
        // The thread would wait for itself.
        assert!(
            !COLLECTS.get(),
            "an expression in register_op! or register_kernel! uses the registry that it is \
             collected for; a kernel's factory may use it"
        );
        GLOBAL.get_or_init(|| {
            COLLECTS.set(true);
            let collected = catch_unwind(|| Self::collected(|_| true).0);
            COLLECTS.set(false);
            collected.unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Returns the ops registered by macros whose name passes a filter, and the refused
    /// registrations.
    pub fn collected(takes: impl Fn(&str) -> bool) -> (Self, Vec<RegistrationError>) {
        let mut all = Self::new();
        let mut refused = Vec::new();
        for is_op in [true, false] {
            let registrations = inventory::iter::<Registration>;
            for registration in registrations.into_iter().filter(|one| one.is_op == is_op) {
                if let Err(error) = (registration.register)(&all) {
                    if let Ok(op) = all.op(error.op()) {
                        op.0.refused.get_or_init(|| error.clone());
                    } else if is_op {
                        all.refused.insert(error.op().to_owned(), error.clone());
                    }
                    refused.push(error);
                }
            }
        }
        all.write().retain(|name, _| takes(name));
        all.refused.retain(|name, _| takes(name));
        refused.retain(|error| takes(error.op()));
        (all, refused)
    }
}

/// Registers an [`Op`](crate::kernel::Op), from any crate that is linked into the program.
///
/// The expression is evaluated when the program's first op is looked for, and can't use
/// [`Registry::global`](crate::kernel::Registry::global) itself, as calls of ops do.
///
/// ```
/// use dlbridge::kernel::Op;
///
/// dlbridge::register_op!(Op::new("demo.negate").input("x", "T").output("y", "T"));
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! register_op {
    ($op:expr) => {
        $crate::kernel::__private::submit! {
            $crate::kernel::__private::Registration::op(|registry| {
                registry.define_from($op, module_path!())
            })
        }
    };
}

/// Registers a [`Kernel`](crate::kernel::Kernel), from any crate that is linked into the program;
/// one for each of several element types with `for`.
///
/// The expression is evaluated when the program's first op is looked for, and can't use
/// [`Registry::global`](crate::kernel::Registry::global) itself, as calls of ops do: a
/// [`factory`](crate::kernel::Kernel::factory) can.
///
/// ```
/// use dlbridge::Tensor;
/// use dlbridge::kernel::{Kernel, Op, Registry, Source, Target};
/// use std::ops::Neg;
///
/// dlbridge::register_op!(Op::new("demo.negate").input("x", "T").output("y", "T"));
/// dlbridge::register_kernel!(
///     for T in [f32, f64, i32] => Kernel::new("demo.negate").function(negate::<T>)
/// );
///
/// fn negate<T: dlbridge::Element + Neg<Output = T>>(x: Source<'_, T>, y: Target<'_, T>) {
///     y.map(&x, T::neg);
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let op = Registry::global().op("demo.negate")?;
/// let y = op.call().input(&Tensor::from([1.0_f32, -2.0])).make()?;
/// assert_eq!(y.to_vec::<f32>()?, [-1.0, 2.0]);
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! register_kernel {
    (for $T:ident in [$($ty:ty),+ $(,)?] => $kernel:expr) => {
        $crate::kernel::__private::submit! {
            $crate::kernel::__private::Registration::kernel(|registry| {
                $({
                    type $T = $ty;
                    registry.register_from($kernel, module_path!())?;
                })+
                Ok(())
            })
        }
    };
    ($kernel:expr) => {
        $crate::kernel::__private::submit! {
            $crate::kernel::__private::Registration::kernel(|registry| {
                registry.register_from($kernel, module_path!())
            })
        }
    };
}
