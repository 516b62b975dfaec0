//! Kernels of devices, and the memory that they reach. No test reads elements, so addresses are
//! invented.

use crate::support::{Written, assert_incompatible, assert_refused, copy, op};
use dlbridge::device::DeviceKind;
use dlbridge::error::IncompatibilityKind;
use dlbridge::kernel::{CallError, Kernel, Op, OpHandle, Operand, Reason, Untyped, UntypedMut};
use dlbridge::layout::Layout;
use dlbridge::{DType, Device};
use std::cell::RefCell;
use std::ptr;

pub(crate) const PAIR: [usize; 1] = [2];

/// A tensor at an address that is never dereferenced.
pub(crate) fn invented(address: usize, layout: &Layout, device: Device) -> Operand<'_> {
    let first = ptr::without_provenance_mut(address);
    // SAFETY: the kernels of these tests look at no elements.
    unsafe { Operand::from_raw(first, layout.as_ref(), DType::F32, device, false, true) }
}

thread_local! {
    static RAN: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

fn named(name: &'static str, kind: DeviceKind) -> Kernel {
    let runs = move |_: Untyped<'_>, _: UntypedMut<'_>| RAN.with_borrow_mut(|ran| ran.push(name));
    Kernel::new("copy").name(name).on(kind).function(runs)
}

/// Calls `copy` with tensors far from each other, and says which kernel ran.
fn ran(op: &OpHandle, x: Device, y: Device) -> Result<&'static str, CallError> {
    let layout = Layout::contiguous(&PAIR).unwrap();
    let (x, y) = (invented(0x1000, &layout, x), invented(0x2000, &layout, y));
    op.call().input(x).output(Written(y)).run()?;
    Ok(RAN.with_borrow_mut(|ran| ran.pop()).unwrap())
}

fn managed() -> Device {
    Device::new(DeviceKind::CudaManaged, 0)
}

#[test]
fn dispatch_prefers_the_most_specific_device() {
    // In any order of registration.
    let orders: [fn([Kernel; 4]) -> [Kernel; 4]; 2] = [
        |all| all,
        |mut all| {
            all.reverse();
            all
        },
    ];
    let make = || {
        [
            named("cpu", DeviceKind::Cpu),
            named("cuda", DeviceKind::Cuda),
            named("managed", DeviceKind::CudaManaged),
            named("pinned", DeviceKind::CudaHost),
        ]
    };
    let host = Device::new(DeviceKind::CudaHost, 0);
    for order in orders {
        let op = op(copy(), order(make()));
        assert_eq!(ran(&op, managed(), managed()).unwrap(), "managed");
        assert_eq!(ran(&op, host, host).unwrap(), "pinned");
        assert_eq!(ran(&op, Device::CPU, host).unwrap(), "cpu");
        assert_eq!(ran(&op, Device::CPU, managed()).unwrap(), "cpu");
        assert_eq!(ran(&op, Device::cuda(0), managed()).unwrap(), "cuda");
        assert_eq!(ran(&op, Device::cuda(1), Device::cuda(1)).unwrap(), "cuda");
    }
    let two = op(
        copy(),
        [
            named("cpu", DeviceKind::Cpu),
            named("cuda", DeviceKind::Cuda),
        ],
    );
    assert_eq!(ran(&two, managed(), managed()).unwrap(), "cuda");
    assert_eq!(ran(&two, host, host).unwrap(), "cpu");
    let two = op(
        copy(),
        [
            named("managed", DeviceKind::CudaManaged),
            named("pinned", DeviceKind::CudaHost),
        ],
    );
    assert_eq!(ran(&two, managed(), managed()).unwrap(), "managed");
    assert!(ran(&two, host, managed()).is_err());
}

#[test]
fn dispatch_prefers_priority_over_specificity() {
    let op = op(
        copy(),
        [
            named("cpu", DeviceKind::Cpu).priority(1),
            named("cuda", DeviceKind::Cuda),
        ],
    );
    assert_eq!(ran(&op, managed(), managed()).unwrap(), "cpu");
    assert_eq!(ran(&op, Device::cuda(0), managed()).unwrap(), "cuda");
}

#[test]
fn call_rejects_several_devices() {
    let op = op(copy(), [named("cuda", DeviceKind::Cuda)]);
    assert_incompatible!(
        ran(&op, Device::cuda(0), Device::cuda(1)),
        Device,
        r#"copy: argument "y" is on cuda:1, and others are on cuda:0"#
    );
    // What was chosen for one device is not for another.
    assert_eq!(ran(&op, Device::cuda(1), Device::cuda(1)).unwrap(), "cuda");
    assert_eq!(ran(&op, Device::cuda(0), Device::cuda(0)).unwrap(), "cuda");
}

#[test]
fn results_on_foreign_device_must_be_given() {
    let op = op(copy(), [named("rocm", DeviceKind::Rocm)]);
    let layout = Layout::contiguous(&PAIR).unwrap();
    assert_refused!(
        op.call()
            .input(invented(0x1000, &layout, Device::new(DeviceKind::Rocm, 0)))
            .make(),
        Reason::Allocation { .. },
        r#"copy: the result "y" can't be made: there is no memory of ours on rocm:0"#
    );
}

#[test]
fn host_scalar_with_device_result_runs_on_the_device() {
    let fills = |value: f32, _: UntypedMut<'_>| {
        RAN.with_borrow_mut(|ran| ran.push(if value == 2.0 { "filled" } else { "misread" }));
    };
    let kernel = Kernel::new("fill")
        .on(DeviceKind::Cuda)
        .host_memory("value")
        .function(fills);
    let fill = Op::new("fill")
        .input("value", "T")
        .output("y", "T")
        .shapes(|_| Ok(vec![vec![2]]));
    let op = op(fill, [kernel]);
    let layout = Layout::contiguous(&PAIR).unwrap();
    let y = || Written(invented(0x2000, &layout, Device::cuda(0)));
    op.call().number(2.0_f32).output(y()).run().unwrap();
    assert_eq!(RAN.take(), ["filled"]);
    let scalar = Layout::contiguous(&[]).unwrap();
    let on_device = op
        .call()
        .input(invented(0x3000, &scalar, Device::cuda(0)))
        .output(y())
        .run();
    let (reason, _) = crate::support::refused(on_device);
    assert!(matches!(reason, Reason::NoKernel { .. }));
}

#[test]
fn op_without_inputs_runs_on_the_device_of_its_outputs() {
    let kernel = |kind| {
        Kernel::new("noise")
            .on(kind)
            .function(|_: UntypedMut<'_>| ())
    };
    let noise = Op::new("noise")
        .output("y", DType::F32)
        .shapes(|_| Ok(vec![vec![2]]));
    let op = op(noise, [kernel(DeviceKind::Cuda), kernel(DeviceKind::Cpu)]);
    let layout = Layout::contiguous(&PAIR).unwrap();
    op.call()
        .output(Written(invented(0x2000, &layout, Device::cuda(1))))
        .run()
        .unwrap();
    assert_eq!(op.call().make().unwrap().shape(), [2]);
}

/// Whether an input and an output of these devices and addresses may be passed together.
fn are_apart(x: (Device, usize), y: (Device, usize)) -> bool {
    let op = op(
        Op::new("copy").input("x", "T").output("y", "T"),
        [
            named("cpu", DeviceKind::Cpu),
            named("cuda", DeviceKind::Cuda),
            named("metal", DeviceKind::Metal),
        ],
    );
    let layout = Layout::contiguous(&PAIR).unwrap();
    let (x, y) = (invented(x.1, &layout, x.0), invented(y.1, &layout, y.0));
    match op.call().input(x).output(Written(y)).run() {
        Err(error) => {
            let is_aliased = error.reason.incompatibility().kind == IncompatibilityKind::Alias;
            let is_elsewhere = matches!(
                error.reason.incompatibility().kind,
                IncompatibilityKind::Kernel | IncompatibilityKind::Device
            );
            assert!(is_aliased || is_elsewhere, "{error}");
            !is_aliased
        }
        Ok(_) => true,
    }
}

#[test]
fn overlap_is_checked_between_devices_that_share_memory() {
    let (cuda, metal) = (Device::cuda(0), Device::new(DeviceKind::Metal, 0));
    let pinned = Device::new(DeviceKind::CudaHost, 0);
    for device in [Device::CPU, cuda, managed(), pinned] {
        assert!(!are_apart((device, 0x1000), (device, 0x1004)));
        assert!(are_apart((device, 0x1000), (device, 0x1008)));
    }
    assert!(!are_apart((Device::CPU, 0x1000), (pinned, 0x1000)));
    assert!(!are_apart((managed(), 0x1000), (Device::CPU, 0x1000)));
    assert!(!are_apart((managed(), 0x1000), (cuda, 0x1000)));
    assert!(!are_apart((cuda, 0x1000), (managed(), 0x1004)));
    assert!(are_apart((cuda, 0x1000), (Device::CPU, 0x1000)));
    assert!(are_apart((cuda, 0x1000), (Device::cuda(1), 0x1000)));
    // Handles aren't addresses: the next number is another buffer.
    assert!(!are_apart((metal, 0x1000), (metal, 0x1000)));
    assert!(are_apart((metal, 0x1000), (metal, 0x1001)));
}
