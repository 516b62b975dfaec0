//! What tells calls apart.

use super::*;
use crate::kernel::{AttributeKind, Kernel, Op, Registry, Source, Target};
use crate::layout::LayoutRef;
use crate::tensor::Tensor;

fn operand(layout: LayoutRef<'_>, dtype: DType, device: Device) -> Operand<'_> {
    // SAFETY: no elements are looked at.
    unsafe {
        let dangling = std::ptr::dangling_mut::<u64>().cast();
        Operand::from_raw(dangling, layout, dtype, device, false, false)
    }
}

fn of(layout: &Layout) -> Operand<'_> {
    operand(layout.as_ref(), DType::F32, Device::CPU)
}

/// A call that was made twice and is kept, compared with others by all but their hashes.
#[test]
fn calls_are_alike_only_if_nothing_but_addresses_differs() {
    let definition = Op::new("copy").input("x", "T").output("y", "T");
    let default = Some(Attribute::Float(0.0));
    let registry = Registry::new();
    registry
        .define(definition.attribute("by", AttributeKind::Float, default))
        .unwrap();
    let kernel = |x: Source<'_, f32>, y: Target<'_, f32>| y.map(&x, |x| x);
    registry
        .register(Kernel::new("copy").function(kernel))
        .unwrap();
    let op = registry.op("copy").unwrap();
    let call = |has_defaults, attributes| Call {
        version: op.version(),
        present: 1,
        attributes,
        has_defaults,
        label: "",
    };
    let strided = Layout::strided(&[2, 3], &[3, 1]).unwrap();
    let other_strides = Layout::strided(&[2, 3], &[1, 2]).unwrap();
    let other_shape = Layout::contiguous(&[3, 2]).unwrap();
    let line = Layout::contiguous(&[6]).unwrap();

    let defaults = op.defaults().unwrap();
    for (layout, has_defaults) in [(&strided, true), (&other_strides, false)] {
        let tensor = match has_defaults {
            true => Tensor::from([[1.0_f32; 3]; 2]),
            false => Tensor::from([[1.0_f32; 2]; 3]).permute(&[1, 0]).unwrap(),
        };
        for _ in 0..2 {
            let made = op.call().input(&tensor);
            let made = match has_defaults {
                true => made,
                false => made.attribute("by", 0.0),
            };
            made.run().unwrap();
        }
        let this = call(has_defaults, defaults);
        let Ok(kept) = find(this, &[of(layout), Operand::ABSENT]) else {
            panic!("the call isn't kept");
        };
        let is_like = |call, x| kept.is_like(call, &[x, Operand::ABSENT]);
        assert!(is_like(this, of(layout)));

        let version = this.version + 1;
        assert!(!is_like(Call { version, ..this }, of(layout)));
        assert!(!is_like(
            call(!has_defaults, &[Attribute::Float(1.0)]),
            of(layout)
        ));
        assert!(!is_like(call(false, &[Attribute::Float(-0.0)]), of(layout)));
        let others = [&strided, &other_strides, &other_shape, &line];
        for other in others.iter().filter(|other| **other != layout) {
            assert!(!is_like(this, of(other)), "{other:?}");
        }
        assert!(!is_like(
            this,
            operand(layout.as_ref(), DType::I32, Device::CPU)
        ));
        let device = Device::new(DeviceKind::CudaHost, 0);
        assert!(!is_like(this, operand(layout.as_ref(), DType::F32, device)));
        let writable = Operand {
            writable: true,
            ..of(layout)
        };
        assert!(!is_like(this, writable));
        let padded = Operand {
            padded: true,
            ..of(layout)
        };
        assert!(!is_like(this, padded));
        assert!(!kept.is_like(this, &[of(layout), of(layout)]));
        assert!(!kept.is_like(this, &[of(layout)]));
    }
}
