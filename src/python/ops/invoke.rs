//! Execution of an op's Python call, whose results become objects of the caller's framework.

use super::bind::{Bindings, Given, Names};
use crate::device::Device;
use crate::dlpack::python::intern;
use crate::dtype::DType;
use crate::kernel::{Attributes, Operands, complete, make};
use crate::kernel::{CallError, CallHost, Failure, Frame, OpHandle, Operand};
use crate::python::argument::{BorrowedArg, number_bytes};
use crate::python::borrows;
use crate::python::borrows::Keep;
use crate::python::error::{no_such_number, with_fields_of};
use crate::python::export::{Like, path_for_result, zeroed};
use crate::python::frameworks::numpy::{self, FreshArray};
#[cfg(all(feature = "hosts", unix))]
use crate::python::frameworks::tensorflow::tape;
use crate::python::launch;
use crate::storage::Contents;
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::exceptions::{PyBufferError, PyLookupError, PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyTuple};
use smallvec::SmallVec;

/// Calls an op with what a Python function was called with. A call is plain in which no reference
/// of PyO3's is dropped; one that fails isn't.
pub(super) fn invoke<'py>(
    py: Python<'py>,
    handle: &OpHandle,
    names: &Names,
    given: Given<'_, 'py>,
    is_plain: &mut bool,
) -> PyResult<Bound<'py, PyAny>> {
    let name = handle.name();
    let mut bound = Bindings::new();
    names.bind(name, &given, &mut bound)?;
    *is_plain = bound.attributes_are_plain && bound.like.is_none() && bound.listed.is_none();
    let mut completed = Attributes::new();
    let attributes = match handle.defaults() {
        Some(defaults) if bound.attributes.is_empty() => defaults,
        _ => {
            let given = &mut bound.attributes;
            complete(handle, given, &mut completed).map_err(|reason| reason.of(name))?;
            &completed
        }
    };

    if let Some(like) = bound.like
        && let Err(error) = path_for_result(like)
    {
        return Err(of_argument(py, name, "like", error.into()));
    }
    // SAFETY: the thread is attached.
    let call_id = unsafe { borrows::next_call_id() };
    let mut entered = SmallVec::<[Option<BorrowedArg<'_>>; 4]>::new();
    let mut has_numbers = false;
    for (at, object) in bound.tensors.iter().enumerate() {
        let Some(object) = object else {
            entered.push(None);
            continue;
        };
        let is_written = handle.definition().writes(at);
        if !is_written && is_number(*object) {
            has_numbers = true;
            entered.push(None); // Its type is that of the others.
            continue;
        }
        match BorrowedArg::for_call(*object, is_written, call_id) {
            Ok(argument) => entered.push(Some(argument)),
            Err(error) => return Err(of_argument(py, name, &names.argument(py, at), error.into())),
        }
    }
    #[cfg(all(feature = "hosts", unix))]
    tape::refuse_recorded(py, name, foreign(&bound.tensors, &entered))?;
    if has_numbers {
        enter_numbers(py, handle, names, &bound.tensors, &mut entered)?;
    }

    let mut operands = Operands::new();
    let (mut present, mut on_host) = (0, true);
    for (at, argument) in entered.iter().enumerate() {
        let Some(argument) = argument else {
            operands.push(Operand::ABSENT);
            continue;
        };
        present |= 1 << handle.definition().parameter_of(at);
        let entry = argument.get();
        *is_plain &= matches!(entry.keep(), Keep::Object | Keep::Number);
        let writable = !entry.read_only && handle.definition().writes(at);
        let is = (entry.dtype, entry.device, entry.padded);
        // SAFETY: the entry keeps the memory, and the list of borrows excludes that another call
        // uses it in a way that this one doesn't allow. Other threads' accesses are up to the
        // caller: see docs/soundness.md.
        operands.push(unsafe {
            let bytes = entry.bytes.clone();
            Operand::from_known(entry.first, entry.layout(), is, writable, bytes)
        });
        if entry.device != Device::CPU {
            on_host = false;
            if let Some(tensor) = entry.tensor_of_ours() {
                operands[at].keep_by(tensor.storage());
            }
        }
    }
    let label = bound.label.as_ref().map(|label| label.to_string_lossy());
    let frame = Frame {
        handle,
        present,
        attributes,
        label: label.as_deref().unwrap_or_default(),
        threads: bound.threads,
    };
    let first = || {
        let arguments = bound.tensors.iter().zip(&entered).enumerate();
        arguments
            .filter(|(at, _)| !(names.given..names.count()).contains(at))
            .find_map(|(_, (object, argument))| {
                let is_tensor = !argument.as_ref()?.get().object.is_null();
                object.filter(|_| is_tensor)
            })
    };
    let like = bound.like.or_else(first);
    let mut around = Around {
        py,
        like,
        entered: &entered,
        in_callers_memory: bound.in_callers_memory,
        is_plain,
        made: SmallVec::new(),
    };
    match on_host {
        true => frame.run(&mut operands, &mut around)?,
        false => {
            *around.is_plain = false;
            launch::run(py, &entered, || frame.run(&mut operands, &mut around))?;
        }
    }
    give(names, &bound.tensors, around)
}

/// Borrows the numbers among the arguments, as tensors of rank 0, where nothing was entered yet.
#[inline(never)]
fn enter_numbers<'py>(
    py: Python<'py>,
    handle: &OpHandle,
    names: &Names,
    given: &[Option<Borrowed<'_, 'py, PyAny>>],
    entered: &mut [Option<BorrowedArg<'py>>],
) -> PyResult<()> {
    for (at, object) in given.iter().enumerate() {
        let Some(object) = object.filter(|_| entered[at].is_none()) else {
            continue;
        };
        let dtype = dtype_of_number(handle, at, entered, given);
        let bytes = number_bytes(object, dtype).transpose();
        let bytes = bytes.unwrap_or_else(|| Err(no_such_number(object, dtype)));
        let argument = bytes.and_then(|bytes| Ok(BorrowedArg::number(bytes, dtype)?));
        let wrong = |error| of_argument(py, handle.name(), &names.argument(py, at), error);
        entered[at] = Some(argument.map_err(wrong)?);
    }
    Ok(())
}

/// Returns the tensors of frameworks whose objects don't keep their memory themselves.
#[cfg(all(feature = "hosts", unix))]
#[inline]
fn foreign<'a, 'py>(
    objects: &[Option<Borrowed<'a, 'py, PyAny>>],
    arguments: &[Option<BorrowedArg<'_>>],
) -> impl Iterator<Item = Borrowed<'a, 'py, PyAny>> {
    let is_foreign = |argument: &BorrowedArg<'_>| {
        let keep = argument.get().keep();
        !matches!(keep, Keep::Object | Keep::Number | Keep::Owner { .. })
    };
    let pairs = objects.iter().zip(arguments);
    pairs.filter_map(move |(object, argument)| {
        object.filter(|_| argument.as_ref().is_some_and(is_foreign))
    })
}

/// Returns the results in the order of the op's parameters: those given as `out`, and those
/// allocated.
#[inline]
fn give<'py>(
    names: &Names,
    given: &[Option<Borrowed<'_, 'py, PyAny>>],
    around: Around<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    // What most calls with `out` need.
    if let [at] = names.results[..]
        && let Some(object) = given[at]
    {
        return Ok(object.to_owned());
    }
    let Around { py, like, made, .. } = around;
    let mut made = made.into_iter();
    let mut object_at = |at: usize| match given[at] {
        Some(object) => Ok(object.to_owned()),
        None => match made.next().expect("what wasn't given was made") {
            NewObject::Array(array) => Ok(array.into_object()),
            NewObject::Tensor(tensor) => {
                Like::new(like.map(|like| like.to_owned()), tensor).into_pyobject(py)
            }
        },
    };
    match names.results[..] {
        [] => Ok(py.None().into_bound(py)),
        [at] => object_at(at),
        ref several => {
            let all = several.iter().map(|at| object_at(*at));
            Ok(PyTuple::new(py, all.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
    }
}

/// Returns whether it is a Python number, of an enum, too; array scalars, of which one is a float,
/// are tensors.
#[inline]
fn is_number(object: Borrowed<'_, '_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyFloat>() || object.is_instance_of::<PyInt>()
}

/// Returns the element type that a number is taken as: that of the tensors which have the same, or
/// else what all the numbers that have the same can be.
fn dtype_of_number(
    handle: &OpHandle,
    at: usize,
    entered: &[Option<BorrowedArg<'_>>],
    given: &[Option<Borrowed<'_, '_, PyAny>>],
) -> DType {
    let op = handle.definition();
    if let Some(dtype) = op.fixed_type(at) {
        return dtype;
    }
    let others = || (0..given.len()).filter(|other| *other == at || op.has_type_of(at, *other));
    let known = others().filter_map(|other| entered[other].as_ref()).next();
    if let Some(argument) = known {
        return argument.get().dtype;
    }
    let numbers = || others().filter_map(|other| given[other]);
    if numbers().any(|number| number.is_instance_of::<PyFloat>()) {
        DType::F64
    } else if numbers().all(|number| number.is_instance_of::<PyBool>()) {
        DType::BOOL
    } else {
        DType::I64
    }
}

/// Adds the argument's name to an error. One of a kind that isn't ours may not be made of a text,
/// or may mean something else: it stays, and gets a note.
#[cold]
fn of_argument(py: Python<'_>, op: &str, argument: &str, error: PyErr) -> PyErr {
    let kind = error.get_type(py);
    let ours = [
        py.get_type::<PyBufferError>(),
        py.get_type::<PyTypeError>(),
        py.get_type::<PyValueError>(),
        py.get_type::<PyLookupError>(),
        py.get_type::<PyMemoryError>(),
    ];
    if !ours.iter().any(|known| known.is(&kind)) {
        let note = format!("{op}: argument {argument:?}");
        // From Python 3.11 on; before, it goes without.
        let _ = error
            .value(py)
            .call_method1(intern!(py, "add_note"), (note,));
        return error;
    }
    let message = format!("{op}: argument {argument:?}: {}", error.value(py));
    let clear = PyErr::from_type(kind, message);
    let clear = with_fields_of(py, clear, &error);
    clear.set_cause(py, Some(error));
    clear
}

/// A call from Python.
struct Around<'a, 'py> {
    py: Python<'py>,
    like: Option<Borrowed<'a, 'py, PyAny>>,
    entered: &'a [Option<BorrowedArg<'py>>],
    in_callers_memory: bool,
    is_plain: &'a mut bool,
    /// Results, in the order of their parameters.
    made: SmallVec<[NewObject<'py>; 1]>,
}

/// A result, before it becomes an object of the caller's framework.
enum NewObject<'py> {
    Array(FreshArray<'py>),
    Tensor(Tensor),
}

// SAFETY: results are new, and kept.
unsafe impl CallHost for Around<'_, '_> {
    #[inline]
    fn make<'a>(
        &mut self,
        shape: &[usize],
        dtype: DType,
        device: Device,
        contents: Contents,
    ) -> Result<Operand<'a>, Failure> {
        if device == Device::CPU
            && self.like.is_some_and(numpy::is_array)
            && let Some(array) = FreshArray::new(self.py, shape, dtype, contents)?
        {
            // SAFETY: the array is new, and kept until the host is dropped, after the call.
            let operand = unsafe { array.operand() };
            self.made.push(NewObject::Array(array));
            return Ok(operand);
        }
        // Frameworks' allocators return host memory only.
        let tensor = if !self.in_callers_memory || !device.is_host_accessible() {
            make(shape, dtype, device, contents)?
        } else {
            *self.is_plain = false;
            let like = self.like.map(|like| like.to_owned());
            zeroed(like.as_ref(), shape, dtype)?
        };
        // SAFETY: the tensor is new, and kept until the host is dropped, after the call.
        let operand = unsafe { Operand::of_new(&tensor) };
        self.made.push(NewObject::Tensor(tensor));
        Ok(operand)
    }

    #[inline]
    fn run(
        &mut self,
        releases: bool,
        body: &mut (dyn FnMut() -> Result<(), Failure> + Send),
    ) -> Result<(), Failure> {
        if !releases {
            return body();
        }
        *self.is_plain = false;
        for argument in self.entered.iter().flatten() {
            argument.own(self.py).map_err(PyErr::from)?;
        }
        self.py.detach(body)
    }
}

impl From<CallError> for PyErr {
    #[cold]
    fn from(error: CallError) -> Self {
        crate::python::error::of_call(error)
    }
}
