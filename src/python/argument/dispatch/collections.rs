//! Options and collections of arguments that take several element types.

use super::{Dispatch, Dtypes};
use crate::dtype::{DType, Element};
use crate::python::argument::{Dict, List};
use std::collections::HashMap;
use std::fmt::{self, Display};
use std::hash::{BuildHasher, Hash};

/// An index behind another one.
struct Behind<'a>(&'a dyn Display, &'a dyn Display);

impl Display for Behind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]{}", self.0, self.1)
    }
}

/// Calls a function for each tensor of indexed items.
fn for_each_in<'a, X: Dtypes + 'a>(
    items: impl Iterator<Item = (impl Display, &'a X)>,
    see: &mut dyn FnMut(&dyn Display, DType, &dyn Display),
) {
    for (index, item) in items {
        item.for_each_dtype(&mut |inside, dtype, found| {
            see(&Behind(&index, inside), dtype, found);
        });
    }
}

macro_rules! collections {
    ($(
        [$($generics:tt)*] $Type:ty => $E:ident $Typed:ty, |$x:ident| $typed:expr, $items:expr;
    )+) => {$(
        impl<$($generics)*> Dtypes for $Type {
            fn for_each_dtype(&self, see: &mut dyn FnMut(&dyn Display, DType, &dyn Display)) {
                let $x = self;
                for_each_in($items, see);
            }
        }

        impl<$($generics)*> Dispatch for $Type {
            type List = X::List;
            type Typed<$E: Element> = $Typed;

            fn typed<$E: Element>(self) -> Self::Typed<$E> {
                let $x = self;
                $typed
            }
        }
    )+};
}

collections! {
    [X: Dispatch] Vec<X>
        => E Vec<X::Typed<E>>, |x| x.into_iter().map(X::typed).collect(), x.iter().enumerate();
    [X: Dispatch, const N: usize] [X; N]
        => E [X::Typed<E>; N], |x| x.map(X::typed), x.iter().enumerate();
    [X: Dispatch] List<X>
        => E List<X::Typed<E>>, |x| x.into_iter().map(X::typed).collect(), x.iter().enumerate();
    [K: fmt::Debug + Eq + Hash, X: Dispatch, S: BuildHasher + Default] HashMap<K, X, S>
        => E HashMap<K, X::Typed<E>, S>, |x| x.into_iter().map(|(key, x)| (key, x.typed())).collect(),
        x.iter().map(|(key, x)| (format!("{key:?}"), x));
    [X: Dispatch] Dict<X>
        => E Dict<X::Typed<E>>, |x| x.into_iter().map(|(name, x)| (name, x.typed())).collect(),
        x.iter().map(|(name, x)| (format!("{name:?}"), x));
}

impl<X: Dispatch> Dtypes for Option<X> {
    fn for_each_dtype(&self, see: &mut dyn FnMut(&dyn Display, DType, &dyn Display)) {
        if let Some(x) = self {
            x.for_each_dtype(see);
        }
    }
}

impl<X: Dispatch> Dispatch for Option<X> {
    type List = X::List;
    type Typed<E: Element> = Option<X::Typed<E>>;

    fn typed<E: Element>(self) -> Self::Typed<E> {
        self.map(X::typed)
    }
}
