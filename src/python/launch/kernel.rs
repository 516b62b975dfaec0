//! Kernel launches from Python, with tensors of any framework.

mod number;

use super::calls::run_on;
use crate::cuda::{Argument, Function, Launch, Module, ParameterKind, Signature, Use, use_on};
use crate::device::{Device, DeviceKind};
use crate::error::{Incompatibility, IncompatibilityKind as Kind, miscounted};
use crate::python::argument::BorrowedArg;
use crate::python::borrows;
use crate::python::cuda::PyStream;
use crate::python::error::{not_exchangeable, with_fields_of, wrong_argument, wrong_value};
use crate::python::items::{Items, one_or_several};
use number::{is_number, number};
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

/// Kernels on a GPU, compiled from source or loaded.
#[pyclass(frozen, name = "Module", module = "dlbridge.cuda")]
#[derive(Debug)]
pub struct PyKernels {
    module: Module,
    source: Option<String>,
}

impl PyKernels {
    /// Creates a module, and the source of which it was compiled, where that is known.
    pub fn new(module: Module, source: Option<String>) -> Self {
        Self { module, source }
    }
}

#[pymethods]
impl PyKernels {
    /// Returns the kernel of a name.
    ///
    /// What its parameters are is read in the source: a pointer to what isn't `const` may be
    /// written. Where there is no source, or it says it in another way, `writes` tells which
    /// arguments are written, by their places; without it all tensors count as written.
    #[pyo3(signature = (name, *, writes=None))]
    fn kernel(&self, name: &str, writes: Option<Items<usize>>) -> PyResult<PyKernel> {
        let function = self.module.function(name)?;
        let source = self.source.as_deref();
        let signature = source.and_then(|source| Signature::parse(source, name));
        let mut kinds = signature.map(|signature| signature.parameters().to_vec());
        let has_writes = writes.is_some();
        if let Some(Items(places)) = writes {
            let found = kinds.as_ref().map(Vec::len);
            let count = found.or_else(|| function.parameters().map(<[usize]>::len));
            let count = count.unwrap_or_else(|| places.iter().max().map_or(0, |last| last + 1));
            if let Some(place) = places.iter().find(|place| **place >= count) {
                return Err(wrong_value(
                    place.to_string(),
                    format!("below {count}"),
                    format!("{name} has {count} parameters, and no place {place}"),
                ));
            }
            let kinds = kinds.get_or_insert_with(|| vec![ParameterKind::Unknown; count]);
            for (place, kind) in kinds.iter_mut().enumerate() {
                let is_pointer = matches!(kind, ParameterKind::Source | ParameterKind::Target);
                if places.contains(&place) {
                    *kind = ParameterKind::Target;
                } else if is_pointer {
                    *kind = ParameterKind::Source;
                }
            }
        }
        Ok(PyKernel {
            function,
            kinds,
            has_writes,
        })
    }

    /// Returns the GPU that it is on.
    #[getter]
    fn device(&self) -> crate::python::dtype_and_device::PyDevice {
        crate::python::dtype_and_device::PyDevice(self.module.gpu().device())
    }

    fn __repr__(&self) -> String {
        format!("<module on {}>", self.module.gpu().device())
    }
}

/// A kernel. It is called with a grid, a block, and its arguments: tensors of any framework on its
/// GPU, and numbers.
#[pyclass(frozen, name = "Kernel", module = "dlbridge.cuda")]
#[derive(Debug)]
pub struct PyKernel {
    function: Function,
    /// What its parameters are, as far as that is known.
    kinds: Option<Vec<ParameterKind>>,
    /// Whether the caller named all arguments that are written.
    has_writes: bool,
}

#[pymethods]
impl PyKernel {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.function.name()
    }

    /// Returns how many registers each of its threads has.
    #[getter]
    fn registers(&self) -> u32 {
        self.function.registers()
    }

    /// Returns how many threads a block can have.
    #[getter]
    fn max_threads(&self) -> u32 {
        self.function.max_threads()
    }

    /// Returns how many bytes of shared memory a block has, without what a launch adds.
    #[getter]
    fn shared_memory(&self) -> u32 {
        self.function.static_shared()
    }

    /// Launches the kernel on its tensors' stream, or another one, and waits for nothing.
    ///
    /// `grid` and `block` are one, two or three numbers: of blocks, and of threads in each.
    /// `shared` is how many bytes of shared memory a block has besides what the kernel declares.
    #[pyo3(signature = (grid, block, *arguments, shared=0, stream=None))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        grid: Sizes,
        block: Sizes,
        arguments: &Bound<'py, PyTuple>,
        shared: u32,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let launch = Launch::new(grid.0, block.0).with_shared(shared);
        self.function.allow_dynamic_shared(shared)?;
        let stream =
            stream.map(|stream| PyStream::from_object(stream, Some(self.function.gpu().device())));
        let _current = stream.transpose()?.map(|stream| stream.0.make_current());
        let given = self.take(arguments)?;
        let entered = given.entered.as_slice();
        run_on(py, entered, self.function.gpu(), |stream| {
            for (at, what) in &given.uses {
                let entry = entered[*at].as_ref().expect("a tensor is entered").get();
                if let Some(tensor) = entry.tensor_of_ours() {
                    use_on(tensor, stream, *what)?;
                }
            }
            // SAFETY: the author of the CUDA C++ source promises that its accesses are sound, as
            // for any extension of Python; the arguments are of the sizes that it takes, as far as
            // the driver tells.
            unsafe { self.function.launch(stream, launch, &given.values) }
        })
    }

    fn __repr__(&self) -> String {
        format!(
            "<kernel {} on {}>",
            self.name(),
            self.function.gpu().device()
        )
    }
}

/// A launch's arguments.
struct Given<'py> {
    values: SmallVec<[Argument<'static>; 12]>,
    entered: SmallVec<[Option<BorrowedArg<'py>>; 8]>,
    /// Which of those are used how.
    uses: SmallVec<[(usize, Use); 8]>,
}

impl PyKernel {
    fn take<'py>(&self, arguments: &Bound<'py, PyTuple>) -> PyResult<Given<'py>> {
        let kinds = self.kinds.as_deref();
        let sizes = self.function.parameters();
        let count = kinds.map(<[_]>::len).or(sizes.map(<[_]>::len));
        if let Some(count) = count.filter(|count| *count != arguments.len()) {
            let given = arguments.len();
            let reason = miscounted(count, "argument", given);
            let reason = format!("{} {reason}", self.name());
            return Err(wrong_argument(given.to_string(), count.to_string(), reason));
        }
        let mut given = Given {
            values: SmallVec::new(),
            entered: SmallVec::new(),
            uses: SmallVec::new(),
        };
        // SAFETY: the thread is attached.
        let call_id = unsafe { borrows::next_call_id() };
        for (at, object) in arguments.iter_borrowed().enumerate() {
            let kind = kinds.map_or(ParameterKind::Unknown, |kinds| kinds[at]);
            let size = sizes.map(|sizes| sizes[at]);
            let outcome = given.push(self, object, kind, size, call_id);
            outcome.map_err(|error| of_argument(object.py(), self.name(), at, error))?;
        }
        Ok(given)
    }
}

impl<'py> Given<'py> {
    fn push(
        &mut self,
        kernel: &PyKernel,
        object: Borrowed<'_, 'py, PyAny>,
        kind: ParameterKind,
        size: Option<usize>,
        call_id: usize,
    ) -> PyResult<()> {
        use ParameterKind::{Source, Target, Unknown};
        let is_pointer = matches!(kind, Source | Target);
        if object.is_none() && (is_pointer || kind == Unknown) {
            self.values.push(Argument::from(0_u64));
            return Ok(());
        }
        if !is_pointer && let Some(number) = number(object, kind, size)? {
            self.values.push(number);
            return Ok(());
        }
        if !matches!(kind, Source | Target | Unknown) || is_number(object) {
            let what = object.get_type().fully_qualified_name()?;
            let wanted = if is_pointer { "a tensor" } else { "a number" };
            let reason = format!("expected {wanted}, got {what}");
            return Err(wrong_argument(what.to_string(), wanted, reason));
        }
        let is_written = kind == Target || kind == Unknown && !kernel.has_writes;
        let entered = BorrowedArg::for_call(object, is_written, call_id)?;
        let entry = entered.get();
        check_place(entry.device, kernel, is_written)?;
        if is_written && entry.read_only {
            let error = Incompatibility::new(Kind::ReadOnly, "read-only", "writable");
            return Err(not_exchangeable(
                error
                    .with_reason("the tensor is read-only, and the kernel may write it")
                    .with_remedy("declare the parameter as a pointer to const, or pass writes="),
            ));
        }
        self.values.push(Argument::from(entry.first.cast_const()));
        let what = if is_written { Use::Write } else { Use::Read };
        self.uses.push((self.entered.len(), what));
        self.entered.push(Some(entered));
        Ok(())
    }
}

fn check_place(device: Device, kernel: &PyKernel, is_written: bool) -> PyResult<()> {
    let gpu = kernel.function.gpu();
    let is_reached = match device.kind() {
        DeviceKind::Cuda => device.id() == gpu.id(),
        DeviceKind::CudaHost | DeviceKind::CudaManaged => true,
        _ => false,
    };
    if is_reached {
        return Ok(());
    }
    let gpu = gpu.device();
    let remedy = match is_written {
        true => format!("pass a tensor on {gpu} for the result, and copy that back"),
        false => format!("copy it there first, such as by dlbridge.from_dlpack(x).to(\"{gpu}\")"),
    };
    let error = Incompatibility::new(Kind::Device, device.to_string(), gpu.to_string());
    let reason = format!("the tensor is on {device}, which {gpu} doesn't reach");
    Err(not_exchangeable(
        error.with_reason(reason).with_remedy(remedy),
    ))
}

/// Adds the kernel and the argument's position to an error.
#[cold]
fn of_argument(py: Python<'_>, kernel: &str, at: usize, error: PyErr) -> PyErr {
    let message = format!("{kernel}: argument {at}: {}", error.value(py));
    let clear = PyErr::from_type(error.get_type(py), message);
    let clear = with_fields_of(py, clear, &error);
    clear.set_cause(py, Some(error));
    clear
}

/// One, two or three sizes.
struct Sizes([u32; 3]);

impl FromPyObject<'_, '_> for Sizes {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let sizes: Vec<u32> = one_or_several(&object)?;
        match sizes[..] {
            [x] => Ok(Self([x, 1, 1])),
            [x, y] => Ok(Self([x, y, 1])),
            [x, y, z] => Ok(Self([x, y, z])),
            _ => Err(wrong_value(
                format!("{} sizes", sizes.len()),
                "1 to 3 sizes",
                format!(
                    "a grid, or a block, has one, two or three sizes, got {}",
                    sizes.len()
                ),
            )),
        }
    }
}
