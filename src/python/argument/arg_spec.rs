//! Requirements of an argument's type parameters, their comparison with a tensor, and the errors of
//! a mismatch.

use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::layout::LayoutRef;
use crate::python::argument_markers::{ANY_RANK, Arrangement, Kind, Place};
use crate::python::borrows::Entry;
use crate::python::error::{Refused, not_exchangeable, unsuitable};
use crate::python::frameworks::Framework;
use pyo3::Borrowed;
use pyo3::prelude::*;
use std::fmt;

/// Requirements of an argument, for the fast path.
pub(super) struct FastSpec {
    /// The element type's number; 0 for any, and for several.
    pub(super) dtype: u32,
    /// Which bits of an aligned address are 0.
    pub(super) unaligned: usize,
    pub(super) rank: usize,
}

impl FastSpec {
    pub(super) const fn new<T: Kind, const RANK: usize>() -> Self {
        Self {
            dtype: match T::WANTED {
                [dtype] => dtype.number(),
                _ => 0,
            },
            unaligned: T::MOST_ALIGNED - 1,
            rank: RANK,
        }
    }
}

/// Requirements of an argument, for the general comparison with a tensor.
#[derive(Clone, Copy)]
pub(super) struct ArgSpec {
    /// The alignment that elements of the tensor's dtype need; `None` for a dtype that isn't
    /// accepted.
    alignment: Option<usize>,
    rank: usize,
}

impl ArgSpec {
    #[inline]
    pub(super) fn new<T: Kind, const RANK: usize>(entry: &Entry) -> Self {
        Self {
            alignment: T::alignment_of(entry.dtype),
            rank: RANK,
        }
    }

    #[inline]
    pub(super) fn fits(
        self,
        entry: &Entry,
        arrangement: impl FnOnce(LayoutRef<'_>) -> bool,
        place: impl FnOnce(Device) -> bool,
    ) -> bool {
        let layout = entry.layout();
        self.alignment.is_some_and(|alignment| {
            (self.rank == ANY_RANK || layout.rank() == self.rank)
                && (entry.first.addr().is_multiple_of(alignment) || layout.is_empty())
        }) && arrangement(layout)
            && place(entry.device)
    }
}

/// Makes the checks that few arguments need, and the error of a mismatch.
#[inline(never)]
pub(super) fn check_further<T: Kind, const RANK: usize, L: Arrangement, D: Place>(
    entry: &Entry,
    fits: bool,
    is_written: bool,
) -> Result<(), Refused> {
    if !fits {
        let asked = ArgSpec::new::<T, RANK>(entry);
        let is_arranged = L::accepts(entry.layout());
        return Err(asked.explain(entry, T::WANTED, L::WANTED, D::WANTED, is_arranged));
    }
    if is_written && entry.read_only {
        let reason = format!(
            "the tensor is read-only, and the function writes it ({})",
            Found(entry)
        );
        let error = Incompatibility::new(IncompatibilityKind::ReadOnly, "read-only", "writable")
            .with_reason(reason);
        let remedy = "pass a copy that can be written, such as dlbridge.from_dlpack(x, copy=True)";
        return Err(not_exchangeable(error.with_remedy(remedy)).into());
    }
    if is_written && !entry.layout().overlaps_itself().is_excluded() {
        let found = Found(entry);
        let reason = format!(
            "elements of the tensor are at one place, and the function writes them ({found})"
        );
        let error = Incompatibility::new(
            IncompatibilityKind::Overlap,
            arrangement_of(entry),
            "elements apart",
        );
        return Err(
            not_exchangeable(error.with_reason(reason).with_remedy("pass a copy of it")).into(),
        );
    }
    if !T::ANY_BITS && entry.dtype == DType::BOOL && entry.device.is_host_accessible() {
        // SAFETY: the elements are as wide as bytes, of which every pattern is a `u8`.
        let bytes = unsafe { entry.view_unchecked::<u8>() };
        if let Some(byte) = bytes.find_invalid_bool() {
            let error = Error::InvalidValue {
                value: byte,
                dtype: entry.dtype,
            };
            return Err(unsuitable(error.incompatibility()).into());
        }
    }
    Ok(())
}

impl ArgSpec {
    /// Makes the error of a mismatch: what was expected, and what was found.
    #[cold]
    fn explain(
        self,
        entry: &Entry,
        dtypes: &'static [DType],
        arrangement: &'static str,
        place: &'static str,
        is_arranged: bool,
    ) -> Refused {
        let mut wanted = match dtypes {
            [] => "a tensor".to_owned(),
            _ => format!("a tensor of {}", any_of(dtypes)),
        };
        if self.rank != ANY_RANK {
            wanted += &format!(", of rank {}", self.rank);
        }
        for what in [arrangement, place] {
            if !what.is_empty() {
                wanted += &format!(", {what}");
            }
        }
        let (layout, first) = (entry.layout(), entry.first.addr());
        let reason = format!("expected {wanted}; got {}", Found(entry));
        // A mismatch that takes another object is reported before one that a copy resolves.
        let Some(alignment) = self.alignment else {
            let error = Incompatibility::new(
                IncompatibilityKind::DType,
                entry.dtype.to_string(),
                any_of(dtypes),
            );
            let error = error.with_reason(reason);
            let cast = dtypes.iter().find_map(|dtype| cast_of(entry, *dtype));
            return unsuitable(match cast {
                Some(cast) => error.with_remedy(format!("cast it with {cast}")),
                None => error,
            })
            .into();
        };
        if self.rank != ANY_RANK && layout.rank() != self.rank {
            let error = Incompatibility::new(
                IncompatibilityKind::Rank,
                layout.rank().to_string(),
                self.rank.to_string(),
            );
            return unsuitable(error.with_reason(reason)).into();
        }
        if !is_arranged {
            let error = Incompatibility::new(
                IncompatibilityKind::Layout,
                arrangement_of(entry),
                arrangement,
            );
            return unsuitable(error.with_reason(reason)).into();
        }
        if !first.is_multiple_of(alignment) && !layout.is_empty() {
            let wanted = format!("a multiple of {alignment}");
            let error = Incompatibility::new(
                IncompatibilityKind::Alignment,
                format!("{first:#x}"),
                wanted,
            )
            .with_reason(format!(
                "{reason}, at {first:#x}, which is not aligned to {alignment} bytes"
            ))
            .with_remedy("pass a copy");
            return not_exchangeable(error).into();
        }
        let error =
            Incompatibility::new(IncompatibilityKind::Device, entry.device.to_string(), place);
        not_exchangeable(error.with_reason(reason)).into()
    }
}

/// Returns dtypes as in a sentence: `float32`, `float32 or bfloat16`.
#[cold]
pub(super) fn any_of(dtypes: &[DType]) -> String {
    let names: Vec<_> = dtypes.iter().map(DType::to_string).collect();
    match &names[..] {
        [first @ .., second, last] if !first.is_empty() => {
            format!("{}, {second} or {last}", first.join(", "))
        }
        names => names.join(" or "),
    }
}

/// Returns the expression of its framework that casts an entry's object.
#[cold]
fn cast_of(entry: &Entry, dtype: DType) -> Option<String> {
    // SAFETY: an entry has a reference to its object, or none; a thread that has an argument is
    // attached.
    let cast = Python::try_attach(|py| unsafe {
        let object = Borrowed::from_ptr_or_opt(py, entry.object)?;
        Framework::of_type(&object.get_type())?.cast_to(dtype)
    });
    cast.flatten()
}

#[cold]
fn arrangement_of(entry: &Entry) -> String {
    let layout = entry.layout();
    format!("shape {:?}, strides {:?}", layout.shape(), layout.strides())
}

/// Makes the error of an unexpected shape.
#[cold]
pub(super) fn other_shape(entry: &Entry, wanted: &[usize]) -> PyErr {
    let found = format!("{:?}", entry.layout().shape());
    let error = Incompatibility::new(IncompatibilityKind::Shape, found, format!("{wanted:?}"));
    unsuitable(error.with_reason(format!("expected shape {wanted:?}; got {}", Found(entry))))
}

/// Description of the argument that was found.
pub(super) struct Found<'a>(pub(super) &'a Entry);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(entry) = self;
        // SAFETY: an entry has a reference to its object, or none; a thread that has an argument is
        // attached.
        let name = Python::try_attach(|py| unsafe {
            Borrowed::from_ptr_or_opt(py, entry.object)
                .and_then(|object| Some(object.get_type().fully_qualified_name().ok()?.to_string()))
        });
        let name = name.flatten().unwrap_or_else(|| "number".to_owned());
        let layout = entry.layout();
        write!(
            f,
            "{name} of {}, shape {:?}, strides {:?}, on {}",
            entry.dtype,
            layout.shape(),
            layout.strides(),
            entry.device
        )
    }
}
