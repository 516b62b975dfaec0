//! GPUs.

use dlbridge::Device;
use dlbridge::cuda::{Gpu, Module, Source, Stream, count};
use dlbridge::python::package::{PyKernels, PyStream};
use pyo3::prelude::*;

fn failed(error: dlbridge::cuda::CudaError) -> PyErr {
    error.into()
}

/// The GPU of a device, by whatever names it; the first one where none is named.
fn gpu(device: Option<&Bound<'_, PyAny>>) -> PyResult<Gpu> {
    let Some(device) = device else {
        return Gpu::new(0).map_err(failed);
    };
    if let Ok(id) = device.extract::<i32>() {
        return Gpu::new(id).map_err(failed);
    }
    Gpu::from_device(device.extract::<Device>()?).map_err(failed)
}

/// Whether there is a GPU that can be used.
#[pyfunction]
#[pyo3(name = "_cuda_is_available")]
pub(super) fn is_available() -> bool {
    count().is_ok()
}

/// How many GPUs there are.
#[pyfunction]
#[pyo3(name = "_cuda_device_count")]
pub(super) fn device_count() -> usize {
    count().unwrap_or(0)
}

/// Name, compute capability, multiprocessors, bytes that are free, and that there are.
type Properties = (String, (i32, i32), usize, usize, usize);

/// What a GPU is: name, compute capability, multiprocessors, bytes that are free, and that there
/// are.
#[pyfunction]
#[pyo3(name = "_cuda_properties", signature = (device=None))]
pub(super) fn properties(device: Option<&Bound<'_, PyAny>>) -> PyResult<Properties> {
    let gpu = gpu(device)?;
    let (free, all) = gpu.memory().map_err(failed)?;
    let name = gpu.name().map_err(failed)?;
    Ok((
        name,
        gpu.compute_capability(),
        gpu.multiprocessors(),
        free,
        all,
    ))
}

/// Waits for all work on a GPU.
#[pyfunction]
#[pyo3(name = "_cuda_synchronize", signature = (device=None))]
pub(super) fn synchronize(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let gpu = gpu(device)?;
    py.detach(|| gpu.synchronize()).map_err(failed)
}

/// The stream on which this thread works.
#[pyfunction]
#[pyo3(name = "_cuda_current_stream", signature = (device=None))]
pub(super) fn current_stream(device: Option<&Bound<'_, PyAny>>) -> PyResult<PyStream> {
    Ok(PyStream::from(Stream::current(gpu(device)?)))
}

/// Gives memory back that is kept to be used again.
#[pyfunction]
#[pyo3(name = "_cuda_trim", signature = (device=None))]
pub(super) fn trim(device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    gpu(device)?.trim().map_err(failed)
}

/// A folder in which packages of Python's lie, and with them perhaps CUDA's libraries.
#[pyfunction]
#[pyo3(name = "_cuda_add_search_path")]
pub(super) fn add_search_path(folder: std::path::PathBuf) {
    dlbridge::cuda::add_search_path(folder);
}

/// Compiles CUDA C++ for a GPU.
#[pyfunction]
#[pyo3(name = "_cuda_compile")]
pub(super) fn compile(
    py: Python<'_>,
    source: String,
    name: &str,
    options: Vec<String>,
    headers: Vec<(String, String)>,
    kernels: Vec<String>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyKernels> {
    let gpu = gpu(device)?;
    let mut unit = Source::new(source.clone()).name(name);
    unit = options.into_iter().fold(unit, Source::option);
    unit = kernels.into_iter().fold(unit, Source::kernel);
    for (name, text) in headers {
        unit = unit.header(name, text);
    }
    let module = py.detach(|| unit.compile_for(gpu)).map_err(failed)?;
    Ok(PyKernels::new(module, Some(source)))
}

/// Loads what was compiled before: a cubin, a fat binary, or PTX.
#[pyfunction]
#[pyo3(name = "_cuda_load")]
pub(super) fn load(
    py: Python<'_>,
    image: &[u8],
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyKernels> {
    let gpu = gpu(device)?;
    let module = py.detach(|| Module::load(gpu, image)).map_err(failed)?;
    Ok(PyKernels::new(module, None))
}

/// Raises an error that says why no GPU can be used, where that is so.
#[pyfunction]
#[pyo3(name = "_cuda_check")]
pub(super) fn check() -> PyResult<()> {
    count().map(drop).map_err(failed)
}
