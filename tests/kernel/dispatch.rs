//! Dispatch and registration, compared with a naive model.

use crate::cases::cases;
use crate::model::{Argument, Asked, CallModel, KernelModel, chosen};
use crate::support::Written;
use dlbridge::device::DeviceKind;
use dlbridge::kernel::{
    AttributeKind, Kernel, Op, Operand, Ranked, Reason, RegistrationError, Registry, Untyped,
    UntypedMut,
};
use dlbridge::layout::Layout;
use dlbridge::{DType, Device, View, ViewMut};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::cell::Cell;
use std::sync::LazyLock;

const DEVICES: [DeviceKind; 5] = [
    DeviceKind::Cpu,
    DeviceKind::Cuda,
    DeviceKind::CudaHost,
    DeviceKind::CudaManaged,
    DeviceKind::Metal,
];
const TYPES: [DType; 3] = [DType::F32, DType::F64, DType::I32];
const VALUES: [i64; 3] = [0, 1, 2];
const LABELS: [&str; 2] = ["", "other"];

thread_local! {
    static RAN: Cell<Option<usize>> = const { Cell::new(None) };
}

/// What the arguments of the functions below ask for, in their order.
const FORMS: [(Option<DType>, Option<usize>, bool, bool); 7] = [
    (None, None, false, false),
    (None, Some(0), false, false),
    (None, Some(1), false, false),
    (Some(DType::F32), None, false, true),
    (Some(DType::F32), None, true, true),
    (Some(DType::F64), Some(1), true, true),
    (Some(DType::F32), Some(0), false, true),
];

/// A function of arguments of these forms, which says that it ran.
fn with_function(kernel: Kernel, forms: [usize; 2], number: usize) -> Kernel {
    macro_rules! second {
        ($X:ty) => {
            match forms[1] {
                0 => second!($X, UntypedMut<'_>),
                1 => second!($X, Ranked<UntypedMut<'_>, 0>),
                2 => second!($X, Ranked<UntypedMut<'_>, 1>),
                3 => second!($X, ViewMut<'_, f32>),
                4 => second!($X, &mut [f32]),
                5 => second!($X, Ranked<&mut [f64], 1>),
                _ => second!($X, Ranked<ViewMut<'_, f32>, 0>),
            }
        };
        ($X:ty, $Y:ty) => {
            kernel.function(move |_: $X, _: $Y| RAN.set(Some(number)))
        };
    }
    match forms[0] {
        0 => second!(Untyped<'_>),
        1 => second!(Ranked<Untyped<'_>, 0>),
        2 => second!(Ranked<Untyped<'_>, 1>),
        3 => second!(View<'_, f32>),
        4 => second!(&[f32]),
        5 => second!(Ranked<&[f64], 1>),
        _ => second!(f32),
    }
}

fn kernel(model: &KernelModel, number: usize) -> Kernel {
    let mut kernel = Kernel::new("op")
        .on(model.device)
        .label(model.label)
        .priority(model.priority);
    for (asked, (name, variable)) in model.arguments.iter().zip([("x", "T"), ("y", "U")]) {
        if asked.host_memory {
            kernel = kernel.host_memory(name);
        }
        if let Some(types) = &asked.types {
            kernel = kernel.types(variable, types);
        }
    }
    if let Some(values) = &model.values {
        kernel = kernel.attribute("n", values.iter().copied());
    }
    with_function(
        kernel,
        model.arguments.each_ref().map(|asked| asked.form),
        number,
    )
}

fn asked() -> impl Strategy<Value = Asked> {
    let some_types = prop::collection::vec(select(&TYPES[..]), 1..=2);
    let types = prop::option::weighted(0.4, some_types);
    (0..FORMS.len(), prop::bool::weighted(0.1), types).prop_map(|(form, host_memory, types)| {
        let (dtype, rank, row_major, looks) = FORMS[form];
        Asked {
            form,
            dtype,
            rank,
            row_major,
            looks,
            host_memory,
            types: types.filter(|_| dtype.is_none()),
        }
    })
}

fn kernel_model() -> impl Strategy<Value = KernelModel> {
    let device = prop_oneof![2 => Just(DeviceKind::Cpu), 3 => select(&DEVICES[..])];
    let label = prop_oneof![4 => Just(LABELS[0]), 1 => Just(LABELS[1])];
    let priority = prop_oneof![4 => Just(0), 1 => -1..=1];
    let values = prop::option::weighted(0.3, prop::collection::vec(select(&VALUES[..]), 1..=2));
    (device, label, priority, [asked(), asked()], values).prop_map(
        |(device, label, priority, arguments, values)| KernelModel {
            device,
            label,
            priority,
            arguments,
            values,
        },
    )
}

/// Every argument that makes a difference.
fn arguments() -> Vec<Argument> {
    let mut all = Vec::new();
    for device in DEVICES {
        for dtype in TYPES {
            for (rank, row_major) in [(0, true), (1, true), (1, false)] {
                all.push(Argument {
                    device,
                    dtype,
                    rank,
                    row_major,
                });
            }
        }
    }
    all
}

/// Every call that makes a difference.
static CALLS: LazyLock<Vec<CallModel>> = LazyLock::new(all_calls);

fn all_calls() -> Vec<CallModel> {
    let mut all = Vec::new();
    for x in arguments() {
        for y in arguments() {
            for value in VALUES {
                for label in LABELS {
                    let arguments = [x.clone(), y.clone()];
                    all.push(CallModel {
                        arguments,
                        value,
                        label,
                    });
                }
            }
        }
    }
    all
}

/// Makes a call, and says which kernel ran.
fn ran(registry: &Registry, call: &CallModel) -> Option<usize> {
    // There are as many bytes as any argument has, wherever it is said to be.
    let mut bytes = [[0_u64; 4]; 2];
    let layouts = call
        .arguments
        .each_ref()
        .map(|argument| match argument.row_major {
            true => Layout::contiguous(&vec![2; argument.rank]).unwrap(),
            false => Layout::strided(&[2], &[2]).unwrap(),
        });
    let firsts = bytes.each_mut().map(|bytes| bytes.as_mut_ptr().cast());
    let operand = |at: usize| {
        let (argument, layout) = (&call.arguments[at], layouts[at].as_ref());
        let device = Device::new(argument.device, 0);
        // SAFETY: elements of at most 8 bytes lie in four times as many, and all are numbers.
        unsafe { Operand::from_raw(firsts[at], layout, argument.dtype, device, false, at == 1) }
    };
    RAN.set(None);
    let op = registry.op("op").unwrap();
    let called = op
        .call()
        .input(operand(0))
        .in_out(Written(operand(1)))
        .attribute("n", call.value)
        .label(call.label)
        .run();
    if let Err(error) = &called {
        assert!(matches!(*error.reason, Reason::NoKernel { .. }), "{error}");
    }
    assert_eq!(called.is_ok(), RAN.get().is_some());
    RAN.get()
}

fn empty() -> Registry {
    let registry = Registry::new();
    let op = Op::new("op").input("x", "T").in_out("y", "U");
    let op = op.attribute("n", AttributeKind::Int, Some(0.into()));
    registry.define(op).unwrap();
    registry
}

/// Registers what can be, checks that this is what the model says, and gives what there is.
fn register(models: Vec<KernelModel>) -> (Registry, Vec<(usize, KernelModel)>) {
    let (registry, mut there) = (empty(), Vec::<(usize, KernelModel)>::new());
    for (number, model) in models.into_iter().enumerate() {
        let registered = registry.register(kernel(&model, number));
        let clashes = there
            .iter()
            .any(|(_, other)| other.clashes_with(&model, &CALLS));
        match registered {
            Ok(()) => assert!(model.is_sound() && !clashes, "{model:?} was registered"),
            Err(RegistrationError::Ambiguous { kernel, other, .. }) => {
                assert!(
                    model.is_sound() && clashes,
                    "{kernel} was refused for {other}"
                );
            }
            Err(error) => assert!(!model.is_sound(), "{error}"),
        }
        if model.is_sound() && !clashes {
            there.push((number, model));
        }
    }
    (registry, there)
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn dispatch_agrees_with_the_model(
        models in prop::collection::vec(kernel_model(), 0..=8),
        picks in prop::collection::vec(any::<Index>(), 60),
    ) {
        let (registry, there) = register(models);
        for pick in picks {
            let call = pick.get(&CALLS);
            let expected = chosen(&there, call);
            prop_assert_eq!(ran(&registry, call), expected, "{:?}", call);
            // Once more, as it was remembered.
            prop_assert_eq!(ran(&registry, call), expected, "{:?}", call);
        }
    }

    #[test]
    fn kernels_registered_later_are_chosen(
        models in prop::collection::vec(kernel_model(), 1..=6),
        picks in prop::collection::vec(any::<Index>(), 20),
    ) {
        let picked: Vec<_> = picks.iter().map(|pick| pick.get(&CALLS)).collect();
        let (registry, mut there) = (empty(), Vec::new());
        for (number, model) in models.into_iter().enumerate() {
            if registry.register(kernel(&model, number)).is_ok() {
                there.push((number, model));
            }
            for call in &picked {
                prop_assert_eq!(ran(&registry, call), chosen(&there, call));
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    /// Pairs that differ in little, so that most of them are close to being ambiguous.
    #[test]
    fn dispatch_rejects_ambiguous_calls_only(
        one in kernel_model(),
        other in kernel_model(),
        same in any::<[bool; 6]>(),
    ) {
        let mut other = other;
        if same[0] { other.device = one.device; }
        if same[1] { other.priority = one.priority; }
        if same[2] { other.values.clone_from(&one.values); }
        if same[3] { other.arguments[0] = one.arguments[0].clone(); }
        if same[4] { other.arguments[1] = one.arguments[1].clone(); }
        if same[5] { other.label = one.label; }
        register(vec![one, other]);
    }
}
