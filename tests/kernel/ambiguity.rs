//! Pairs of kernels that can't both be registered.

use crate::support::{copies, copy};
use dlbridge::device::DeviceKind;
use dlbridge::kernel::{
    AttributeKind, Kernel, Op, RegistrationError, Registry, Untyped, UntypedMut,
};
use dlbridge::{DType, View, ViewMut};
use proptest::prelude::*;

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

/// `copy` with attributes that kernels may ask for.
fn copy_with_attributes() -> Op {
    copy()
        .attribute("mode", AttributeKind::Int, Some(0.into()))
        .attribute("scale", AttributeKind::Float, Some(1.0.into()))
        .attribute("text", AttributeKind::Text, Some("".into()))
}

/// A kernel that asks for some values of some attributes.
#[derive(Debug, Clone)]
struct Asked {
    mode: Vec<i64>,
    scale: Vec<f64>,
    text: Vec<String>,
    priority: i32,
    is_f32: bool,
}

impl Asked {
    fn kernel(&self) -> Kernel {
        let mut kernel = Kernel::new("copy").priority(self.priority);
        if !self.scale.is_empty() {
            kernel = kernel.attribute("scale", self.scale.clone());
        }
        if !self.mode.is_empty() {
            kernel = kernel.attribute("mode", self.mode.clone());
        }
        if !self.text.is_empty() {
            kernel = kernel.attribute("text", self.text.clone());
        }
        match self.is_f32 {
            true => kernel.function(copies),
            false => kernel.function(|_: Untyped<'_>, _: UntypedMut<'_>| {}),
        }
    }

    /// Returns whether both are accepted by an op that has no other kernel.
    fn goes_with(&self, other: &Self) -> bool {
        let registry = Registry::new();
        registry.define(copy_with_attributes()).unwrap();
        registry.register(self.kernel()).unwrap();
        registry.register(other.kernel()).is_ok()
    }
}

fn asked() -> impl Strategy<Value = Asked> {
    let values = proptest::collection::vec(0..3_i64, 0..3);
    let floats = proptest::sample::subsequence(vec![0.0, -0.0, 0.5], 0..3);
    let texts = proptest::sample::subsequence(vec!["a".to_owned(), "b".to_owned()], 0..2);
    (values, floats, texts, 0..2, any::<bool>()).prop_map(
        |(mode, scale, text, priority, is_f32)| Asked {
            mode,
            scale,
            text,
            priority,
            is_f32,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 }))]

    /// The index of kernels finds what a comparison with each of them finds.
    #[test]
    fn registration_rejects_kernels_that_clash_with_any_other(
        all in proptest::collection::vec(asked(), 1..12)
    ) {
        let registry = Registry::new();
        registry.define(copy_with_attributes()).unwrap();
        let mut accepted: Vec<Asked> = Vec::new();
        for new in all {
            let expected = accepted.iter().all(|other| other.goes_with(&new));
            prop_assert_eq!(registry.register(new.kernel()).is_ok(), expected, "{:?}", new);
            if expected {
                accepted.push(new);
            }
        }
        prop_assert_eq!(registry.kernels().len(), accepted.len());
    }
}
