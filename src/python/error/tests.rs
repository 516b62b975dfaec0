//! The table of errors in `docs/errors.md`, made of the errors themselves.
//!
//! `DLBRIDGE_WRITE_DOCS=1 cargo test --all-features errors_table` writes it anew.

mod files;

use super::*;
use crate::cuda::CudaError as GpuError;
use crate::device::{Device, DeviceKind};
use crate::dtype::TypeCode;
use crate::error::{DTypeError, DeviceError, LayoutError, SharedWith};
use crate::kernel::{Attribute, AttributeKind};
use std::collections::BTreeSet;
use std::fmt::Write;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/errors.md");

const HEAD: &str = "\
# Errors

Each exception that dlbridge raises, in the package and in extensions that are built on it, has four attributes:

| attribute | what it is |
|---|---|
| `kind` | what doesn't fit: one of the names below |
| `found` | what was found; `None` where that can't be said in a few words |
| `wanted` | what was expected instead, or `None` |
| `remedy` | how to fix it, or `None` |

```python
try:
    function(x)
except TypeError as error:
    if error.kind != \"dtype\":
        raise
    function(x.astype(error.wanted))
```

The message is made of the same fields. `dlbridge.explain` returns them without raising. In Rust they are those of
[`Incompatibility`](https://docs.rs/dlbridge/latest/dlbridge/error/struct.Incompatibility.html), which each error has.

| exception | means |
|---|---|
| `BufferError` | the memory can't be exchanged, or not as requested |
| `TypeError` | the object isn't a tensor, its dtype is another one, or the arguments are wrong |
| `ValueError` | another shape or layout, a value that the dtype doesn't have, memory that is in use |
| `LookupError` | no op, kernel, framework, device or dtype of this name |
| `MemoryError` | the memory can't be allocated |
| `OSError` | a file can't be read or written; it has Python's own attributes |
| `dlbridge.CudaError`, a `RuntimeError` | a GPU, its driver or a library of NVIDIA's failed, or can't do that now |
| `RuntimeError` | a kernel failed |

What a framework raises instead of exchanging a tensor is the `__cause__` of a `BufferError`.

## The table

A test makes this table of the errors, and fails where it differs:
`DLBRIDGE_WRITE_DOCS=1 cargo test --all-features errors_table` writes it anew.

| error in Rust | exception | `kind` | message |
|---|---|---|---|
";

/// The name of an error's variant.
fn variant(error: &impl std::fmt::Debug) -> String {
    let text = format!("{error:?}");
    let end = text.find(|c: char| !c.is_alphanumeric());
    text[..end.unwrap_or(text.len())].to_owned()
}

fn values() -> Vec<(String, PyErr)> {
    let (shape, strides) = (vec![2, 3], vec![1, 2]);
    let (device, dtype) = (Device::cuda(0), DType::F32);
    let mut all = Vec::new();
    let mut add = |name: &str, variant: String, error: Error| {
        all.push((format!("{name}::{variant}"), PyErr::from(error)));
    };
    for error in [
        DTypeError::Code { code: 99 },
        DTypeError::Width {
            code: TypeCode::Float,
            bits: 7,
        },
        DTypeError::NoLanes,
        DTypeError::Name {
            name: "float33".to_owned(),
        },
        DTypeError::NotRepresentable {
            value: "0.5".to_owned(),
            dtype: DType::I8,
        },
    ] {
        add("DTypeError", variant(&error), error.into());
    }
    for error in [
        DeviceError::Kind { value: 99 },
        DeviceError::NegativeId {
            kind: DeviceKind::Cuda,
            id: -1,
        },
        DeviceError::Name {
            name: "gpu".to_owned(),
        },
    ] {
        add("DeviceError", variant(&error), error.into());
    }
    for error in [
        LayoutError::RankTooLarge { rank: 99 },
        LayoutError::NegativeSize { axis: 0, size: -1 },
        LayoutError::TooManyElements,
        LayoutError::ElementCount {
            shape: shape.clone(),
            expected: 6,
            found: 5,
        },
        LayoutError::CannotPad { dtype },
        LayoutError::NoSuchAxis { axis: 3, rank: 2 },
        LayoutError::ReshapeNeedsCopy {
            from: shape.clone(),
            strides: strides.clone(),
            to: vec![6],
        },
    ] {
        add("LayoutError", variant(&error), error.into());
    }
    for error in [
        AccessError::DType {
            found: DType::F64,
            wanted: dtype,
        },
        AccessError::NotOnHost { device },
        AccessError::InUse {
            device,
            reason: "a graph is captured".to_owned(),
        },
        AccessError::Misaligned {
            address: 0x1001,
            alignment: 4,
        },
        AccessError::ReadOnly,
        AccessError::Shared {
            with: SharedWith::Handles,
        },
        AccessError::SelfOverlap {
            shape: shape.clone(),
            strides: vec![0, 1],
        },
        AccessError::Interleaved {
            shape: shape.clone(),
            strides: strides.clone(),
        },
        AccessError::NotContiguous {
            shape: shape.clone(),
            strides,
        },
        AccessError::InvalidValue {
            value: 2,
            dtype: DType::BOOL,
        },
        AccessError::OutOfMemory { bytes: 1 << 60 },
        AccessError::NotScalar { elements: 6 },
        AccessError::ShapeMismatch {
            left: shape,
            right: vec![6],
        },
    ] {
        add("AccessError", variant(&error), error.into());
    }
    all
}

fn calls() -> Vec<(String, PyErr)> {
    let argument = || "x".to_owned();
    let about = |kind, problem| {
        let error = Incompatibility::new(kind, "found", "wanted").with_remedy("pass a copy");
        let reason = format!("argument \"x\" {problem}");
        Reason::Incompatible {
            argument: argument(),
            error: Box::new(error.with_reason(reason)),
        }
    };
    let reasons = [
        Reason::NoSuchOp {
            known: vec!["add".to_owned()],
        },
        Reason::NoKernel {
            wanted: "float32 on cuda:0".to_owned(),
            there_are: Vec::new(),
        },
        Reason::Missing {
            argument: argument(),
        },
        Reason::TooMany {
            wanted: 1,
            given: 2,
        },
        Reason::NoSuchArgument {
            argument: "y".to_owned(),
            known: vec![argument()],
        },
        Reason::GivenTwice {
            argument: argument(),
        },
        Reason::Attribute {
            attribute: "axis".to_owned(),
            wanted: AttributeKind::Int,
            found: Attribute::Bool(true),
        },
        about(
            Kind::DType,
            "has elements of float64, and float32 is needed",
        ),
        about(Kind::Shape, "has shape [2]; the result has [3]"),
        about(Kind::Device, "is on cuda:1, and others are on cuda:0"),
        about(Kind::ReadOnly, "is to be written, and is read-only"),
        about(
            Kind::Overlap,
            "is to be written, and elements of it are at one place",
        ),
        about(
            Kind::Alias,
            "is to be written, and shares memory with \"y\"",
        ),
        about(
            Kind::Alignment,
            "begins at 0x1001, which is not aligned to 4 bytes",
        ),
        about(Kind::Value, "has a byte 0x02, which is no bool"),
        Reason::Invalid("x has shape [3], and y [4]".to_owned()),
        Reason::Kernel {
            kernel: "add (cpu)".to_owned(),
            failure: "it failed".into(),
        },
    ];
    let row = |reason: Reason| {
        (
            format!("Reason::{}", variant(&reason)),
            PyErr::from(reason.of("add")),
        )
    };
    reasons.into_iter().map(row).collect()
}

fn exchange() -> Vec<(String, PyErr)> {
    let of =
        |kind, found: &'static str, wanted: &'static str| Incompatibility::new(kind, found, wanted);
    let argument = |fields: Incompatibility| ("an argument's type".to_owned(), unsuitable(fields));
    let framework = |fields: Incompatibility| {
        (
            "a framework's constraint".to_owned(),
            not_exchangeable(fields),
        )
    };
    vec![
        argument(
            of(Kind::Type, "list", "a tensor")
                .with_reason("list is no tensor: it has neither __dlpack__ nor a buffer"),
        ),
        argument(of(Kind::DType, "float64", "float32")),
        argument(of(Kind::Rank, "1", "2")),
        argument(of(Kind::Shape, "[3]", "[2, 3]")),
        argument(of(Kind::Layout, "strides [1, 2]", "row-major without gaps")),
        argument(
            of(Kind::Alias, "memory in use", "memory that isn't in use").with_remedy("pass a copy"),
        ),
        framework(
            of(Kind::DType, "int4", "a dtype of the framework")
                .with_reason("TensorFlow has no int4"),
        ),
        framework(of(Kind::Padding, "padded int4", "packed int4")),
        framework(
            of(
                Kind::RequiresGrad,
                "requires_grad=True",
                "requires_grad=False",
            )
            .with_remedy("pass tensor.detach()"),
        ),
        framework(
            of(Kind::Conjugate, "conjugated lazily", "not conjugated")
                .with_remedy("pass tensor.resolve_conj()"),
        ),
        framework(
            of(Kind::Negative, "negated lazily", "not negated")
                .with_remedy("pass tensor.resolve_neg()"),
        ),
        framework(of(Kind::Copy, "copy=False", "copy=None")),
        framework(Incompatibility::from_reason(
            Kind::Exchange,
            "jax can't share the tensor: it was deleted",
        )),
    ]
}

fn gpus() -> Vec<(String, PyErr)> {
    let errors = [
        GpuError::NoDriver,
        GpuError::OutOfMemory {
            bytes: 1 << 40,
            device: Device::cuda(0),
        },
    ];
    let row = |error: GpuError| {
        (
            format!("CudaError::{}", variant(&error)),
            PyErr::from(error),
        )
    };
    let failed = (
        "any other CudaError".to_owned(),
        cuda_failed("the driver failed"),
    );
    errors.into_iter().map(row).chain([failed]).collect()
}

fn files() -> Vec<(String, PyErr)> {
    let row = |error| {
        (
            format!("FileError::{}", variant(&error)),
            PyErr::from(error),
        )
    };
    files::files().into_iter().map(row).collect()
}

#[test]
fn errors_table_in_the_docs_is_up_to_date() {
    Python::initialize();
    let mut table = HEAD.to_owned();
    let mut kinds = BTreeSet::new();
    Python::attach(|py| {
        for (name, error) in values()
            .into_iter()
            .chain(exchange())
            .chain(calls())
            .chain(gpus())
            .chain(files())
        {
            let value = error.value(py);
            let field = |name| {
                value
                    .getattr(name)
                    .unwrap()
                    .extract::<Option<String>>()
                    .unwrap()
            };
            let kind = field("kind").unwrap();
            if let Some(remedy) = field("remedy") {
                assert!(
                    value.to_string().ends_with(&format!("; {remedy}")),
                    "{value}"
                );
            }
            let exception = error.get_type(py);
            let message = value.to_string().replace('|', "\\|").replace('\n', " ");
            writeln!(
                table,
                "| {name} | `{}` | `{kind}` | {message} |",
                exception.name().unwrap()
            )
            .unwrap();
            kinds.insert(kind);
        }
    });
    let missing: Vec<_> = Kind::ALL
        .iter()
        .filter(|kind| !kinds.contains(kind.as_str()))
        .collect();
    assert!(
        missing.is_empty(),
        "kinds without an error in the table: {missing:?}"
    );
    if std::env::var_os("DLBRIDGE_WRITE_DOCS").is_some() {
        std::fs::write(PATH, &table).unwrap();
    }
    let found = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(
        found == table,
        "docs/errors.md differs: run this test with DLBRIDGE_WRITE_DOCS=1"
    );
}

#[test]
fn errors_made_while_detached_have_their_fields() {
    Python::initialize();
    let error = Python::attach(|py| py.detach(|| not_exchangeable(DType::F32.to_string())));
    Python::attach(|py| {
        let fields = fields_of(py, &error);
        assert_eq!(
            fields,
            Incompatibility::from_reason(Kind::Exchange, "float32")
        );
    });
}

#[test]
fn fields_are_those_of_any_exception_that_has_them() {
    Python::initialize();
    Python::attach(|py| {
        let error = PyBufferError::new_err("it was donated; make another");
        error.value(py).setattr("remedy", "make another").unwrap();
        let fields = fields_of(py, &error);
        assert_eq!(fields.reason(), "it was donated");
        assert_eq!(fields.remedy.as_deref(), Some("make another"));
        let plain = fields_of(py, &PyBufferError::new_err("it was donated; make another"));
        assert_eq!(
            (&*plain.reason(), plain.remedy.as_deref()),
            ("it was donated; make another", None)
        );
    });
}
