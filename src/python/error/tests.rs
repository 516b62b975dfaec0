//! The table of errors in `docs/errors.md`, made of the errors themselves.
//!
//! `DLBRIDGE_WRITE_DOCS=1 cargo test --all-features errors_table` writes it anew.

mod files;
mod samples;

use super::*;
use samples::{calls, exchange, gpus, hosts, values, variant};
use std::collections::BTreeSet;
use std::fmt::Write;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/errors.md");

const HEAD: &str = "\
# Errors

Each exception that dlbridge raises of tensors, ops and files, in the package and in extensions that
are built on it, has four attributes. (Arguments of a wrong Python type, such as `copy=1`, raise the
`TypeError` or `OverflowError` that any Python function raises.)

| attribute | what it is |
|---|---|
| `kind` | what doesn't fit: one of the names below |
| `found` | what was found; `None` where that can't be said in a few words |
| `wanted` | what was expected instead, or `None` |
| `remedy` | how to fix it, or `None` |

<!-- before:
from functools import partial
import cookbook, numpy as np
function, x = partial(cookbook.scaled, factor=2.0), np.ones(3)
-->
```python
try:
    function(x)
except TypeError as error:
    if error.kind != \"dtype\":
        raise
    function(x.astype(error.wanted))
```

The message is made of the same fields. What is raised while a framework traces a program has them,
too, as far as the framework passes the exception on. `dlbridge.explain` returns the fields without
raising. In Rust they are those of
[`Incompatibility`](https://docs.rs/dlbridge/latest/dlbridge/error/struct.Incompatibility.html),
which each error has.

| exception | means |
|---|---|
| `BufferError` | the memory can't be exchanged, or not as requested |
| `TypeError` | the object isn't a tensor, its dtype is another one, or the arguments are wrong |
| `ValueError` | another shape or layout, a value that the dtype doesn't have, memory that is in use |
| `IndexError` | an index or an axis that the tensor doesn't have |
| `LookupError` | no op, kernel, framework, device or dtype of this name |
| `ModuleNotFoundError` | the framework isn't installed |
| `AttributeError` | `dlbridge.ops` has no op of this name |
| `MemoryError` | the memory can't be allocated |
| `OSError` | a file can't be read or written; it has Python's own attributes |
| `dlbridge.CudaError`, a `RuntimeError` | a GPU, its driver or a library of NVIDIA's failed, or can't do that now |
| `RuntimeError` | a kernel failed, or a framework can't have an op |

What a framework raises instead of taking a tensor is the `__cause__` of a `BufferError`. What an
object's own methods raise, as its `__dlpack__`, comes as it is, without these attributes.

## The table

A test makes this table of the errors, and fails where it differs:
`DLBRIDGE_WRITE_DOCS=1 cargo test --all-features errors_table` writes it anew.

| error in Rust | exception | `kind` | message |
|---|---|---|---|
";

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
            .chain(hosts())
            .chain(gpus())
            .chain(files::files().into_iter().map(|error| {
                let name = format!("FileError::{}", variant(&error));
                (name, PyErr::from(error))
            }))
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
fn errors_created_while_detached_have_fields() {
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
fn fields_are_read_from_any_exception() {
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
