//! Samples of all errors, for the table in `docs/errors.md`.

use crate::cuda::CudaError as GpuError;
use crate::device::{Device, DeviceKind};
use crate::dtype::{DType, TypeCode};
use crate::error::{DTypeError, DeviceError, SharedWith};
use crate::hosts::{Host, HostError, HostReason};
use crate::kernel::{Attribute, AttributeKind};
use crate::python::error::*;

/// Returns the name of an error's variant.
pub(super) fn variant(error: &impl std::fmt::Debug) -> String {
    let text = format!("{error:?}");
    let end = text.find(|c: char| !c.is_alphanumeric());
    text[..end.unwrap_or(text.len())].to_owned()
}

/// Returns the errors of values and memory.
pub(super) fn values() -> Vec<(String, PyErr)> {
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
        LayoutError::Pattern {
            message: "expected \"weight\" of shape [d], got [2]: dimension 0 is 2, and \"d\" is 3 in \"x\"".to_owned(),
            found: vec![2],
            wanted: "[3]".to_owned(),
            is_rank: false,
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
        Error::DTypeMismatch {
            found: DType::F64,
            wanted: dtype,
        },
        Error::NotOnHost { device },
        Error::InUse {
            device,
            reason: "a graph is captured".to_owned(),
        },
        Error::Misaligned {
            address: 0x1001,
            alignment: 4,
        },
        Error::ReadOnly,
        Error::Shared {
            with: SharedWith::Handles,
        },
        Error::SelfOverlap {
            shape: shape.clone(),
            strides: vec![0, 1],
        },
        Error::Interleaved {
            shape: shape.clone(),
            strides: strides.clone(),
        },
        Error::NotContiguous {
            shape: shape.clone(),
            strides,
        },
        Error::HasGaps,
        Error::InvalidValue {
            value: 2,
            dtype: DType::BOOL,
        },
        Error::OutOfMemory { bytes: 1 << 60 },
        Error::NotScalar { elements: 6 },
        Error::ShapeMismatch {
            left: shape,
            right: vec![6],
        },
    ] {
        add("Error", variant(&error), error);
    }
    all
}

/// Returns the errors of ops' calls.
pub(super) fn calls() -> Vec<(String, PyErr)> {
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
            op: "mul".into(),
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
        about(Kind::Index, "names row 7, and there are 3"),
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
        about(Kind::Value, "has a byte 0x02, which is not a valid bool"),
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

/// Returns the errors of arguments, indices and conversions.
pub(super) fn exchange() -> Vec<(String, PyErr)> {
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
            of(Kind::Type, "list", "a tensor").with_reason(
                "expected a tensor, got list, which has neither __dlpack__ nor a buffer",
            ),
        ),
        argument(
            of(Kind::DType, "float64", "float32").with_remedy("cast it with x.to(torch.float32)"),
        ),
        argument(of(Kind::Rank, "1", "2")),
        argument(of(Kind::Shape, "[3]", "[2, 3]")),
        argument(of(Kind::Layout, "strides [1, 2]", "row-major without gaps")),
        argument(
            of(Kind::Alias, "memory in use", "memory that isn't in use").with_remedy("pass a copy"),
        ),
        (
            "a wrong argument".to_owned(),
            wrong_argument("int", "str", "add: expected a str for label, got int"),
        ),
        (
            "an index".to_owned(),
            wrong_index(
                "2",
                "-2 to 1",
                "index 2 is out of bounds for axis 0 with size 2",
            ),
        ),
        framework(
            of(Kind::DType, "complex32", "a dtype of the framework")
                .with_reason("TensorFlow has no complex32"),
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

/// Returns the errors of ops in frameworks' compilers.
pub(super) fn hosts() -> Vec<(String, PyErr)> {
    let reasons = [
        HostReason::NotLoaded,
        HostReason::NoFunction {
            name: "aoti_torch_library_def".to_owned(),
        },
        HostReason::NoEquivalent {
            op: "add".to_owned(),
            problem: "no dtype int4".to_owned(),
        },
        HostReason::NameTaken {
            name: "dlbridge::add".to_owned(),
        },
        HostReason::TooManyOps,
        HostReason::Refused {
            what: "add(Tensor a) -> Tensor".to_owned(),
            problem: None,
        },
    ];
    let host = Host::Torch;
    let errors = reasons.map(|reason| HostError { host, reason });
    let named = errors.map(|error| {
        let name = format!("HostReason::{}", variant(&error.reason));
        (
            name,
            raise::<pyo3::exceptions::PyRuntimeError>(error.incompatibility()),
        )
    });
    named.into()
}

/// Returns the errors of GPUs.
pub(super) fn gpus() -> Vec<(String, PyErr)> {
    let errors = [
        GpuError::NoDriver,
        GpuError::NoGpu,
        GpuError::NoSuchGpu { id: 2, count: 1 },
        GpuError::OldDriver { found: 11_040 },
        GpuError::OutOfMemory {
            bytes: 1 << 40,
            device: Device::cuda(0),
        },
        GpuError::WrongStream {
            found: 1,
            wanted: Device::cuda(0),
        },
        GpuError::OtherThread,
        GpuError::UnknownAddress { address: 0x1000 },
        GpuError::Capturing {
            what: "memory can't be allocated",
        },
        GpuError::OldGpu {
            found: 35,
            oldest: 75,
        },
        GpuError::Compile {
            name: "scale.cu".to_owned(),
            log: "scale.cu(1): error: a ; is missing".to_owned(),
        },
        GpuError::NoFunction {
            name: "scale".to_owned(),
        },
        GpuError::Launch {
            kernel: "scale".to_owned(),
            problem: Box::new(
                Incompatibility::new(Kind::Value, "2048", "at most 1024")
                    .with_reason("a block of it has at most 1024 threads, got 2048"),
            ),
        },
        GpuError::Launch {
            kernel: "scale".to_owned(),
            problem: Box::new(
                Incompatibility::new(Kind::Device, "cpu", "memory that cuda:0 reaches")
                    .with_reason("argument 1 is on cpu, which cuda:0 doesn't reach")
                    .with_remedy("send the tensor there first"),
            ),
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
