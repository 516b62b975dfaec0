//! Which two kernels can't both be registered.

use crate::support::{copies, copy};
use dlbridge::device::DeviceKind;
use dlbridge::kernel::{AttributeKind, Kernel, RegistrationError, Registry, Untyped, UntypedMut};
use dlbridge::{DType, View, ViewMut};

fn may_both_be(one: Kernel, other: Kernel) -> bool {
    let registry = Registry::new();
    let op = copy().attribute("n", AttributeKind::Int, Some(0.into()));
    registry.define(op).unwrap();
    registry.register(one).unwrap();
    let registered = registry.register(other);
    assert_eq!(
        registry.kernels().len(),
        1 + usize::from(registered.is_ok())
    );
    registered.is_ok()
}

#[test]
fn registration_rejects_indistinguishable_kernels() {
    let kernel = || Kernel::new("copy").function(copies);
    let untyped = || Kernel::new("copy").function(|_: Untyped<'_>, _: UntypedMut<'_>| {});
    assert!(!may_both_be(kernel(), kernel()));
    assert!(!may_both_be(kernel().name("a"), kernel().name("b")));
    assert!(may_both_be(kernel(), kernel().label("other")));
    assert!(may_both_be(kernel(), kernel().priority(-1)));
    assert!(may_both_be(kernel(), kernel().on(DeviceKind::CudaHost)));
    assert!(may_both_be(kernel(), untyped()));
    assert!(may_both_be(kernel(), kernel().attribute("n", [1])));

    // Values that have none in common, and such as have.
    let with = |values: &[i64]| kernel().attribute("n", values.iter().copied());
    assert!(may_both_be(with(&[1, 2]), with(&[3])));
    assert!(!may_both_be(with(&[1, 2]), with(&[2, 3])));
    let of = |types: &[DType]| untyped().types("T", types);
    assert!(may_both_be(
        of(&[DType::F32, DType::F64]),
        of(&[DType::I32])
    ));
    assert!(!may_both_be(
        of(&[DType::F32, DType::F64]),
        of(&[DType::F64])
    ));

    let slices = || Kernel::new("copy").function(|_: &[f32], _: View2<'_>| {});
    let other_slices = || Kernel::new("copy").function(|_: View<'_, f32>, _: &mut [f32]| {});
    type View2<'a> = ViewMut<'a, f32>;
    assert!(may_both_be(kernel(), slices()));
    // One asks for one thing, one for another: where both have it, nothing decides.
    assert!(!may_both_be(slices(), other_slices()));
}

#[test]
fn ambiguity_error_names_both_kernels() {
    let registry = Registry::new();
    registry.define(copy()).unwrap();
    let kernel = |name| Kernel::new("copy").name(name).function(copies);
    registry.register(kernel("one")).unwrap();
    let error = registry.register(kernel("other")).unwrap_err();
    assert!(matches!(error, RegistrationError::Ambiguous { .. }));
    assert_eq!(
        error.to_string(),
        r#"copy other (cpu, T=float32) matches calls of op "copy" as well as copy one (cpu, T=float32) does; give one of them a priority, a label, or other constraints"#
    );
}

#[test]
fn host_memory_distinguishes_kernels_unless_both_accept_it() {
    let kernel = |kind| {
        Kernel::new("copy")
            .on(kind)
            .function(|_: Untyped<'_>, _: UntypedMut<'_>| {})
    };
    let may_both_be = |kind| may_both_be(kernel(kind), kernel(kind).host_memory("x"));
    assert!(may_both_be(DeviceKind::Metal));
    assert!(may_both_be(DeviceKind::Rocm));
    // Managed memory is the host's and the device's.
    assert!(!may_both_be(DeviceKind::Cuda));
    assert!(!may_both_be(DeviceKind::Cpu));
}
