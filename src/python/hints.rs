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
