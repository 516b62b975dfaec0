//! Type hints of arguments and results, for the stubs that maturin generates with PyO3's feature
//! `experimental-inspect`. They name types of the Python package's module `dlbridge.typing`.

use pyo3::inspect::PyStaticExpr;
use pyo3::{type_hint_identifier, type_hint_union};

/// What a tensor argument may be.
pub(super) const TENSOR_LIKE: PyStaticExpr = type_hint_identifier!("dlbridge.typing", "TensorLike");
/// What a [`DType`](crate::DType) argument may be.
pub(super) const DTYPE_LIKE: PyStaticExpr = type_hint_identifier!("dlbridge.typing", "DTypeLike");
/// What a [`Device`](crate::Device) argument may be.
pub(super) const DEVICE_LIKE: PyStaticExpr = type_hint_identifier!("dlbridge.typing", "DeviceLike");
/// A [`Tensor`](crate::Tensor) that is returned.
pub(super) const TENSOR: PyStaticExpr = type_hint_identifier!("dlbridge", "Tensor");
/// A tensor of the framework that the call's arguments have, which only the call knows.
pub(super) const OF_FRAMEWORK: PyStaticExpr = type_hint_identifier!("typing", "Any");
/// A tensor, or a number that stands for one.
pub(super) const TENSOR_LIKE_OR_NUMBER: PyStaticExpr =
    type_hint_union!(TENSOR_LIKE, type_hint_identifier!("builtins", "complex"));
pub(super) const SEQUENCE: PyStaticExpr = type_hint_identifier!("collections.abc", "Sequence");
pub(super) const MAPPING: PyStaticExpr = type_hint_identifier!("collections.abc", "Mapping");
pub(super) const STR: PyStaticExpr = type_hint_identifier!("builtins", "str");
/// A [`ReadOnlyPolicy`](super::ReadOnlyPolicy) argument.
pub(super) const POLICY: PyStaticExpr = type_hint_identifier!("dlbridge.typing", "Policy");

#[cfg(test)]
mod tests {
    use crate::python::{Dict, In, Like, List, OneOf, OrNumber, Out, Owned, ReadOnlyPolicy};
    use crate::{DType, Device, Tensor};
    use pyo3::prelude::*;

    fn input<'py, T: for<'a> FromPyObject<'a, 'py>>() -> String {
        T::INPUT_TYPE.to_string()
    }

    fn output<'py, T: IntoPyObject<'py>>() -> String {
        T::OUTPUT_TYPE.to_string()
    }

    #[test]
    fn arguments_name_what_they_take() {
        let tensor = "dlbridge.typing.TensorLike";
        assert_eq!(input::<In<'_>>(), tensor);
        assert_eq!(input::<In<'_, OneOf<(f32, f64)>, 2>>(), tensor);
        assert_eq!(input::<Out<'_, f32>>(), tensor);
        assert_eq!(input::<Owned<f32>>(), tensor);
        assert_eq!(input::<Tensor>(), tensor);
        assert_eq!(input::<Option<In<'_>>>(), format!("{tensor} | None"));
        assert_eq!(input::<OrNumber<'_, f32>>(), format!("{tensor} | complex"));
        assert_eq!(
            input::<List<In<'_>>>(),
            format!("collections.abc.Sequence[{tensor}]")
        );
        assert_eq!(
            input::<Dict<List<In<'_>>>>(),
            format!("collections.abc.Mapping[str, collections.abc.Sequence[{tensor}]]")
        );
        assert_eq!(input::<DType>(), "dlbridge.typing.DTypeLike");
        assert_eq!(input::<Device>(), "dlbridge.typing.DeviceLike");
        assert_eq!(input::<ReadOnlyPolicy>(), "dlbridge.typing.Policy");
    }

    #[test]
    fn results_name_what_they_are() {
        assert_eq!(output::<Tensor>(), "dlbridge.Tensor");
        assert_eq!(output::<Like<'_>>(), "typing.Any");
    }
}
