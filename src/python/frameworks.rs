//! The table of frameworks: what each of them can have.

pub(super) mod constraints;
mod dtypes;
mod jax;
pub(super) mod mxnet;
pub(super) mod numpy;
pub(super) mod paddle;
pub(super) mod tensorflow;
pub(super) mod torch;

use crate::device::{Device, DeviceKind};
use crate::dtype::TypeCode;
use crate::error::Error;
use crate::python::cuda;
use crate::python::error::unknown_name;
use crate::python::export::convert::Conversion;
use crate::python::export::hand_over::{
    Give, own, to_cupy, to_mlx, to_mxnet, to_numpy, to_onnxruntime, to_paddle, to_pyarrow,
    to_tensorflow, to_torch, to_tvm, to_tvm_ffi,
};
use crate::python::import::type_cache::root_module;
use crate::python::refusal;
use crate::tensor::Tensor;
use constraints::{ANYTHING, Arranged, Misfit, Needs};
use dtypes::{
    has_cupy, has_jax, has_mlx, has_mxnet, has_onnxruntime, has_paddle, has_pyarrow,
    has_tensorflow, has_torch,
};
use jax::{jax_narrows, to_jax};
use pyo3::prelude::*;
use pyo3::types::PyType;

/// A framework, and how it takes a tensor.
pub(in crate::python) struct Framework {
    pub(in crate::python) name: &'static str,
    /// The packages that its types say that they are from.
    modules: &'static [&'static str],
    pub(in crate::python) needs: Needs,
    /// Whether it copies all that it takes.
    pub(in crate::python) copies: bool,
    /// Whether it surely can have a tensor, which is asked first.
    surely_has: fn(&Tensor) -> bool,
    /// What takes Python to find out.
    more: Option<Ask>,
    /// Hands over what fits, and is ready.
    give: Give,
}

type Ask = fn(Python<'_>, &Tensor) -> PyResult<Option<Misfit>>;

impl Framework {
    pub(in crate::python) fn makes(&self, module: &str) -> bool {
        self.modules.contains(&module)
    }

    /// A tensor as an object of the framework.
    ///
    /// # Errors
    ///
    /// When the framework can't have it without a copy, or refuses it.
    pub(in crate::python) fn hand_over<'py>(
        &self,
        py: Python<'py>,
        tensor: Tensor,
        conversion: &Conversion<'_, '_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if (self.surely_has)(&tensor) {
            return self.deliver(py, tensor);
        }
        if let Some(misfit) = self.misfit(py, &tensor)? {
            misfit.permit(py, conversion, self.needs.title)?;
        }
        self.deliver(py, self.settled(tensor)?)
    }

    /// Hands over a tensor that fits, or is read-only with leave to be shared.
    #[inline]
    pub(in crate::python) fn deliver<'py>(
        &self,
        py: Python<'py>,
        tensor: Tensor,
    ) -> PyResult<Bound<'py, PyAny>> {
        cuda::given_to(py, &tensor, self.name)?;
        (self.give)(py, tensor).map_err(|error| refusal::by_consumer(py, self.name, error))
    }

    /// The tensor, or, of one without elements at an address that the framework finds wrong all the
    /// same, another one without elements.
    #[inline]
    pub(in crate::python) fn settled(&self, tensor: Tensor) -> Result<Tensor, Error> {
        let is_settled = !tensor.is_empty()
            || tensor
                .data_ptr()
                .addr()
                .is_multiple_of(self.needs.alignment)
            || !tensor.device().is_host_accessible();
        if is_settled {
            return Ok(tensor);
        }
        Tensor::zeros(tensor.shape(), tensor.dtype())
    }

    /// Why the framework can't have the tensor, if that is so.
    #[inline]
    pub(in crate::python) fn misfit(
        &self,
        py: Python<'_>,
        tensor: &Tensor,
    ) -> PyResult<Option<Misfit>> {
        let misfit = self.needs.misfit(tensor);
        let is_for_good = misfit.as_ref().is_some_and(|misfit| misfit.cure.is_none());
        match self.more {
            // What no copy cures is said first.
            Some(ask) if !is_for_good => Ok(ask(py, tensor)?.or(misfit)),
            _ => Ok(misfit),
        }
    }
}

/// What users call the framework that a type is from; of other types, their own name.
#[cold]
pub(in crate::python) fn title_of(kind: &Bound<'_, PyType>) -> PyResult<String> {
    let name = root_module(kind);
    let found = FRAMEWORKS.iter().find(|framework| framework.makes(&name));
    Ok(match found {
        Some(framework) => framework.needs.title.to_owned(),
        None => kind.fully_qualified_name()?.to_string(),
    })
}

/// The framework of a package's name, as the package itself asks for a tensor.
#[cold]
pub(in crate::python) fn framework_of_package(package: &str) -> Option<&'static Framework> {
    FRAMEWORKS.iter().find(|framework| framework.makes(package))
}

/// The framework of a name.
pub(in crate::python) fn framework_of(name: &str) -> PyResult<&'static Framework> {
    let found = FRAMEWORKS.iter().find(|framework| framework.name == name);
    found.ok_or_else(|| {
        let names: Vec<_> = FRAMEWORKS.iter().map(|framework| framework.name).collect();
        unknown_name(format!(
            "no framework is called {name:?}; there are {}",
            names.join(", ")
        ))
    })
}

const fn framework(
    name: &'static str,
    modules: &'static [&'static str],
    needs: Needs,
    give: Give,
) -> Framework {
    Framework {
        name,
        modules,
        needs,
        copies: false,
        surely_has: |_| false,
        more: None,
        give,
    }
}

pub(in crate::python) const TORCH: Needs = Needs {
    title: "PyTorch",
    has: has_torch,
    has_padded: false,
    arranged: Arranged::Forwards,
    reaches: |device| !is_pinned_or_managed(device),
    writes_all: true,
    ..ANYTHING
};

pub(in crate::python) const PADDLE: Needs = Needs {
    title: "Paddle",
    has: has_paddle,
    has_padded: false,
    arranged: Arranged::Forwards,
    writes_all: true,
    most_dimensions: 9,
    ..ANYTHING
};

/// Which of them is NumPy.
pub(in crate::python) const NUMPY: usize = 1;

pub(in crate::python) static FRAMEWORKS: [Framework; 13] = [
    framework("dlbridge", &["dlbridge"], ANYTHING, own),
    Framework {
        surely_has: numpy::surely_has,
        more: Some(numpy::lacks),
        ..framework(
            "numpy",
            &["numpy"],
            Needs {
                title: "NumPy",
                reaches: Device::is_host_accessible,
                most_dimensions: numpy::MAX_RANK,
                ..ANYTHING
            },
            to_numpy,
        )
    },
    framework("torch", &["torch"], TORCH, to_torch),
    Framework {
        more: Some(jax_narrows),
        ..framework(
            "jax",
            &["jax", "jaxlib"],
            Needs {
                title: "JAX",
                has: has_jax,
                has_padded: false,
                arranged: Arranged::Dense,
                // It copies what isn't.
                alignment: 64,
                reaches: |device| !is_pinned_or_managed(device),
                ..ANYTHING
            },
            to_jax,
        )
    },
    framework(
        "tensorflow",
        &["tensorflow"],
        Needs {
            title: "TensorFlow",
            has: has_tensorflow,
            has_padded: false,
            arranged: Arranged::RowMajor,
            // It aborts when an operation finds memory that isn't.
            alignment: 64,
            reaches: |device| !is_pinned_or_managed(device),
            most_dimensions: 254,
            ..ANYTHING
        },
        to_tensorflow,
    ),
    Framework {
        more: Some(paddle::export::has_already),
        ..framework("paddle", &["paddle"], PADDLE, to_paddle)
    },
    Framework {
        copies: true,
        ..framework(
            "mlx",
            &["mlx"],
            Needs {
                title: "MLX",
                has: has_mlx,
                has_padded: false,
                arranged: Arranged::Forwards,
                reaches: Device::is_host_accessible,
                ..ANYTHING
            },
            to_mlx,
        )
    },
    framework(
        "cupy",
        &["cupy"],
        Needs {
            title: "CuPy",
            has: has_cupy,
            has_padded: false,
            reaches: |device| matches!(device.kind(), DeviceKind::Cuda | DeviceKind::CudaManaged),
            writes_all: true,
            ..ANYTHING
        },
        to_cupy,
    ),
    framework(
        "pyarrow",
        &["pyarrow"],
        Needs {
            title: "PyArrow",
            has: has_pyarrow,
            arranged: Arranged::Forwards,
            reaches: Device::is_host_accessible,
            most_dimensions: numpy::MAX_RANK,
            ..ANYTHING
        },
        to_pyarrow,
    ),
    framework(
        "tvm",
        &["tvm"],
        Needs {
            title: "TVM",
            arranged: Arranged::RowMajor,
            alignment: 64,
            ..TVM_FFI
        },
        to_tvm,
    ),
    framework("tvm_ffi", &["tvm_ffi"], TVM_FFI, to_tvm_ffi),
    framework(
        "mxnet",
        &["mxnet"],
        Needs {
            title: "MXNet",
            has: has_mxnet,
            has_padded: false,
            arranged: Arranged::RowMajor,
            writes_all: true,
            ..ANYTHING
        },
        to_mxnet,
    ),
    framework(
        "onnxruntime",
        &["onnxruntime"],
        Needs {
            title: "ONNX Runtime",
            has: has_onnxruntime,
            has_padded: false,
            arranged: Arranged::RowMajor,
            writes_all: true,
            ..ANYTHING
        },
        to_onnxruntime,
    ),
];

const TVM_FFI: Needs = Needs {
    title: "TVM FFI",
    has: |dtype| dtype.code() != TypeCode::Complex,
    has_padded: false,
    writes_all: true,
    ..ANYTHING
};

fn is_pinned_or_managed(device: Device) -> bool {
    use DeviceKind::{CudaHost, CudaManaged, RocmHost};
    matches!(device.kind(), CudaHost | CudaManaged | RocmHost)
}
