//! Paddle: tensors that autograd may follow, read-only ones unknown, and an address imported once
//! at a time.

mod export;

use super::class_table::ClassTable;
use super::common::{from_capsule, is_plain, root_module};
use super::constraints::{ANYTHING, Arranged, Needs};
use super::dtypes::{is_common, is_complex};
use super::row_type::{CapsuleMethods, Export, Framework, Streams, TableVendor};
use super::tried::{Question, Tried};
use crate::dlpack::python::type_lookup;
use crate::dlpack::python::{FoundOnce, intern};
use crate::dtype::DType;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use crate::python::error::{Refused, not_exchangeable};
use crate::python::type_attribute::Attribute;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};

pub(super) static ROW: Framework = Framework {
    cast: Some("x.astype(\"{}\")"),
    vendor: Some(&VENDOR),
    capsule_methods: Some(CapsuleMethods {
        is_tensor: |object| Ok(is_paddle(&object.get_type())),
        ask: ask_capsule,
        correct: |descriptor| *descriptor,
        read_only: false,
    }),
    surely_has: is_plain,
    tried: Some(&TRIED),
    streams: Streams {
        asks: true,
        ..Streams::UNKNOWN
    },
    more: Some(export::has_already),
    ..Framework::new(
        "paddle",
        "Paddle",
        &["paddle"],
        Needs {
            has: has_dtype,
            has_padded: false,
            arranged: Arranged::Forwards,
            writes_all: true,
            most_dimensions: 9,
            ..ANYTHING
        },
        Export::Table {
            table: &TABLE,
            vendor: &VENDOR,
            without: import_capsule,
        },
    )
};

static VENDOR: TableVendor = TableVendor {
    library: Some("paddle"),
    recognise: |kind| is_paddle(kind).then_some(0),
    guard: Some(|object, _| guard(object)),
    clarify,
    note_written: Some(note_written),
    knows_read_only: false,
    runs_python: false,
    stream_lasts: |_, _, _| true,
    framework: Some(&ROW),
    make: export::make,
    ..TableVendor::new("paddle")
};

/// Which Paddle has from 3.3 on.
static TABLE: ClassTable = ClassTable::new("paddle");

/// Releases without a table lack some of the dtypes.
static TRIED: Tried = Tried::new(|py, tensor| {
    let question = Question::DType(tensor.dtype());
    Ok([TABLE.is_missing(py)?.then_some(question), None])
});

/// Imports a capsule in a release without an exchange table.
///
/// # Errors
///
/// A `BufferError` before 3.0, which copies the memory, and reads it without its strides.
fn import_capsule<'py>(
    py: Python<'py>,
    capsule: Bound<'py, PyCapsule>,
) -> PyResult<Bound<'py, PyAny>> {
    let name = intern!(py, "paddle");
    let class = py.import(name)?.getattr(intern!(py, "Tensor"))?;
    if !class.hasattr(intern!(py, "__dlpack__"))? {
        return Err(not_exchangeable(
            Incompatibility::from_reason(
                Kind::Exchange,
                "Paddle before 3.0 copies what it takes, and ignores strides",
            )
            .with_remedy("install Paddle 3.0 or newer"),
        ));
    }
    from_capsule(name, capsule)
}

/// Asks a tensor of a release before `__dlpack__`, which is 2.6.
fn ask_capsule<'py>(
    object: Borrowed<'_, 'py, PyAny>,
    is_written: bool,
) -> PyResult<Option<Bound<'py, PyCapsule>>> {
    let py = object.py();
    if !is_paddle(&object.get_type()) {
        return Ok(None);
    }
    guard(object).map_err(PyErr::from)?;
    let is_contiguous = object.call_method0(intern!(py, "is_contiguous"))?;
    if !is_contiguous.is_truthy()? {
        // Its capsule would say nothing of strides.
        return Err(not_exchangeable(
            Incompatibility::from_reason(
                Kind::Layout,
                "this release of Paddle can't share a tensor that isn't contiguous",
            )
            .with_remedy("pass tensor.contiguous()"),
        ));
    }
    let paddle = py.import(intern!(py, "paddle"))?;
    let dtype = object.getattr(intern!(py, "dtype"))?;
    if dtype.eq(paddle.getattr(intern!(py, "bool"))?)? {
        return Err(not_exchangeable(
            Incompatibility::from_reason(
                Kind::DType,
                "this release of Paddle declares bool as uint8 in DLPack",
            )
            .with_remedy("pass tensor.astype(\"uint8\")"),
        ));
    }
    let capsule = paddle
        .getattr(intern!(py, "utils"))?
        .getattr(intern!(py, "dlpack"))?
        .call_method1(intern!(py, "to_dlpack"), (object,));
    let capsule = capsule.map_err(|error| clarify(object, error))?;
    if is_written {
        note_written(object);
    }
    Ok(Some(capsule.cast_into()?))
}

fn has_dtype(dtype: DType) -> bool {
    // It takes uint16 for bfloat16.
    is_common(dtype)
        || is_complex(dtype)
        || matches!(
            dtype,
            DType::U32 | DType::U64 | DType::BF16 | DType::F8_E4M3FN | DType::F8_E5M2
        )
}

/// Paddle's class of tensors: made in C, though Python code can change it.
fn is_paddle(kind: &Bound<'_, PyType>) -> bool {
    type_lookup::has_c_getter(kind, intern!(kind.py(), "stop_gradient"))
        && root_module(kind) == "paddle"
}

/// Refuses a tensor that autograd follows: what is done with its memory here, it wouldn't know of.
/// No Python code runs.
#[inline]
fn guard(object: Borrowed<'_, '_, PyAny>) -> Result<bool, Refused> {
    // What is rare stands in functions of its own, so that this one saves no registers.
    static STOP_GRADIENT: FoundOnce<Attribute> = FoundOnce::new();
    let py = object.py();
    let attribute = match STOP_GRADIENT.get(py) {
        Some(attribute) => attribute,
        None => STOP_GRADIENT.get_or_try_find(py, || stop_gradient(py))?,
    };
    match attribute.is(object, true)? {
        true => Ok(false),
        false => Err(followed_by_autograd()),
    }
}

#[cold]
#[inline(never)]
fn stop_gradient(py: Python<'_>) -> PyResult<Attribute> {
    let class = py.import("paddle")?.getattr("Tensor")?;
    Attribute::from_class(&class, "stop_gradient")
}

#[cold]
#[inline(never)]
fn followed_by_autograd() -> Refused {
    not_exchangeable(
        Incompatibility::from_reason(
            Kind::RequiresGrad,
            "autograd follows this tensor (stop_gradient=False), which it can't outside of Paddle",
        )
        .with_remedy("pass tensor.detach()"),
    )
    .into()
}

/// Counts that a tensor was written, for autograd, which refuses to use what changed since it was
/// kept.
fn note_written(object: Borrowed<'_, '_, PyAny>) {
    let py = object.py();
    // What was raised before stays raised.
    let raised = PyErr::take(py);
    let _ = object.call_method0(intern!(py, "_bump_inplace_version"));
    if let Some(raised) = raised {
        raised.restore(py);
    }
}

/// Returns what Paddle's table says of tensors that have no memory of one piece, in clearer words.
#[cold]
fn clarify(object: Borrowed<'_, '_, PyAny>, error: PyErr) -> PyErr {
    let is_dense = object
        .call_method0(intern!(object.py(), "is_dense"))
        .and_then(|answer| answer.is_truthy());
    if !matches!(is_dense, Ok(false)) {
        return error;
    }
    let clear = not_exchangeable(
        Incompatibility::from_reason(
            Kind::Layout,
            "the tensor is sparse, so its elements aren't one piece of memory",
        )
        .with_remedy("pass tensor.to_dense()"),
    );
    clear.set_cause(object.py(), Some(error));
    clear
}
