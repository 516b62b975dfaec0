//! Any managed tensor is imported: it is taken exactly when the model says so, shows what the
//! descriptor says, and is released once, after its last handle is gone.

#![no_main]

mod foreign;
#[expect(dead_code, reason = "it is shared, and each target needs a part of it")]
#[path = "../../tests/layout/model.rs"]
mod model;
mod uses;

use dlbridge::dlpack::{FromRawError, Legacy, Managed, Versioned};
use dlbridge::{DType, Device, Tensor};
use foreign::{Input, Kind};
use libfuzzer_sys::fuzz_target;
use model::Place;
use std::cell::Cell;
use std::rc::Rc;

fuzz_target!(|inputs: (bool, Input)| {
    let (is_legacy, input) = inputs;
    if is_legacy {
        import::<Legacy>(&input);
    } else {
        import::<Versioned>(&input);
    }
});

fn import<A: Kind>(input: &Input) {
    let released = Rc::new(Cell::new(0));
    let raw = input.managed::<A>(&released);
    // SAFETY: the managed tensor is given away, and its arrays are as long as its rank says. Where
    // its data pointer leads nowhere, nothing is read or written.
    let managed = unsafe { Managed::from_raw(raw) };
    let expected = u32::from(input.has_deleter);
    match managed {
        Ok(managed) => {
            assert!(!A::HAS_FLAGS || input.major == 1);
            match Tensor::from_dlpack(managed) {
                Ok(tensor) => {
                    assert!(is_acceptable::<A>(input), "taken, but should not be");
                    check(input, &tensor, A::HAS_FLAGS);
                    uses::try_everything(&tensor, input.is_readable(&tensor));
                    assert_eq!(released.get(), 0, "released while it is in use");
                    drop(tensor);
                }
                Err(error) => assert!(!is_acceptable::<A>(input), "{error}"),
            }
        }
        Err(FromRawError::Version { .. }) => assert!(A::HAS_FLAGS && input.major != 1),
        Err(error) => panic!("{error}"),
    }
    assert_eq!(released.get(), expected, "the deleter's calls");
    if !input.has_deleter {
        // SAFETY: no other code releases it, and no handle is left.
        unsafe { foreign::release(raw) };
    }
}

/// Whether all invariants hold, and DLPack knows device and element type.
fn is_acceptable<A: Kind>(input: &Input) -> bool {
    let (Ok(dtype), Ok(device)) = (DType::try_from(input.dtype), Device::try_from(input.device))
    else {
        return false;
    };
    let Input { fields, .. } = input;
    let (shape, strides) = (fields.shape.as_deref(), fields.strides.as_deref());
    if !model::violations(fields.ndim, shape, strides).is_empty() {
        return false;
    }
    let layout = fields.layout().expect("no invariant is violated");
    let padded = input.is_padded::<A>() && dtype.is_sub_byte();
    if layout.is_empty() || !padded || dtype.lanes() == 1 {
        let place = Place {
            data: input.data().addr(),
            byte_offset: input.byte_offset.0 as u64,
            has_addresses: device.has_addresses(),
        };
        let violated = model::memory_violations(layout.as_ref(), dtype, padded, place);
        return violated.is_empty() && !(padded && dtype.lanes() > 1);
    }
    false
}

/// What the tensor says of itself is what the descriptor says.
fn check(input: &Input, tensor: &Tensor, has_flags: bool) {
    let expected = input.fields.layout().expect("it was taken");
    assert_eq!(tensor.layout(), expected.as_ref());
    assert_eq!(Ok(tensor.dtype()), DType::try_from(input.dtype));
    assert_eq!(Ok(tensor.device()), Device::try_from(input.device));
    let has = |flag: u64| has_flags && input.flags & flag != 0;
    assert_eq!(tensor.is_read_only(), has(1));
    assert_eq!(tensor.is_copied(), has(2));
    assert_eq!(tensor.is_padded(), has(4) && tensor.dtype().is_sub_byte());
    if !tensor.device().has_addresses() {
        assert_eq!(tensor.data_ptr(), input.data().cast_const());
    } else if !tensor.is_empty() {
        let offset = input.byte_offset.0 as u64 as usize;
        assert_eq!(
            tensor.data_ptr(),
            input.data().wrapping_add(offset).cast_const()
        );
    }
}
