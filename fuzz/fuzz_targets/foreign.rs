//! Managed tensors as another library could make them, right or wrong.

use crate::model;
use dlbridge::Tensor;
use dlbridge::dlpack::{
    Abi, DLDataType, DLDevice, DLDeviceType, DLPackVersion, DLTensor, Deleter, Flags, Legacy,
    VERSION, Versioned,
};
use dlbridge_fuzz::{Fields, Number, raw_dtype};
use libfuzzer_sys::arbitrary::{Arbitrary, Result, Unstructured};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::rc::Rc;

/// Real memory, as strictly aligned as any element asks for.
#[repr(align(64))]
struct Memory([u8; 512]);

/// Bytes that differ. Tensors begin in the middle of them, so that strides can be negative.
static MEMORY: Memory = {
    let mut bytes = [0; 512];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] = (at * 167 / 2) as u8;
        at += 1;
    }
    Memory(bytes)
};

/// What a descriptor says, and what its struct says beside it.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) fields: Fields,
    pub(crate) dtype: DLDataType,
    pub(crate) device: DLDevice,
    pub(crate) byte_offset: Number,
    pub(crate) flags: u64,
    pub(crate) major: u32,
    pub(crate) has_deleter: bool,
    /// An address, or `None` for one in real memory.
    address: Option<Number>,
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mostly = |u: &mut Unstructured<'a>| Ok(u.int_in_range(0..=15_u8)? > 0);
        let usual = mostly(u)?;
        Ok(Self {
            fields: Fields::arbitrary(u)?,
            dtype: raw_dtype(u)?,
            device: DLDevice {
                device_type: DLDeviceType(match u.int_in_range(0..=3_u8)? {
                    0 if usual => u.int_in_range(0..=20)?,
                    0 => u32::arbitrary(u)?,
                    _ => 1,
                }),
                device_id: if mostly(u)? { 0 } else { i32::arbitrary(u)? },
            },
            byte_offset: Number::arbitrary(u)?,
            flags: if mostly(u)? {
                u.int_in_range(0..=7)?
            } else {
                u64::arbitrary(u)?
            },
            major: if mostly(u)? { 1 } else { u32::arbitrary(u)? },
            has_deleter: mostly(u)?,
            address: Option::<Number>::arbitrary(u)?,
        })
    }
}

/// What belongs to a managed tensor, and goes with it.
struct Context {
    released: Rc<Cell<u32>>,
    fields: Fields,
}

impl Input {
    /// The data pointer.
    pub(crate) fn data(&self) -> *mut u8 {
        match self.address {
            Some(address) => without_provenance_mut(address.0 as usize),
            None => MEMORY.0.as_ptr().cast_mut().wrapping_add(256),
        }
    }

    pub(crate) fn is_padded<A: Abi>(&self) -> bool {
        A::HAS_FLAGS && Flags::from_bits_retain(self.flags).contains(Flags::IS_SUBBYTE_TYPE_PADDED)
    }

    /// Whether a tensor that was imported has all its elements in real memory.
    pub(crate) fn is_readable(&self, tensor: &Tensor) -> bool {
        if self.address.is_some() || !tensor.device().is_host_accessible() {
            return false;
        }
        if tensor.is_empty() {
            return true;
        }
        let bits = model::bit_range(tensor.layout(), tensor.dtype(), tensor.is_padded());
        let begin = 256 + i128::from(self.byte_offset.0 as u64);
        begin + bits.start.div_euclid(8) >= 0 && begin + (bits.end + 7).div_euclid(8) <= 512
    }

    /// A managed tensor that says all this. `released` counts how often its deleter is called.
    pub(crate) fn managed<A: Kind>(&self, released: &Rc<Cell<u32>>) -> *mut A {
        let context = Box::new(Context {
            released: released.clone(),
            fields: self.fields.clone(),
        });
        let fields = &context.fields;
        let descriptor = DLTensor {
            data: self.data().cast(),
            device: self.device,
            ndim: fields.ndim,
            dtype: self.dtype,
            shape: fields.pointer(&fields.shape).cast_mut(),
            strides: fields.pointer(&fields.strides).cast_mut(),
            byte_offset: self.byte_offset.0 as u64,
        };
        let context = Box::into_raw(context).cast();
        let flags = Flags::from_bits_retain(self.flags);
        let mut managed = A::assemble(descriptor, flags, context, count_and_release::<A>);
        managed.pretend(
            self.major,
            self.has_deleter.then_some(count_and_release::<A>),
        );
        Box::into_raw(Box::new(managed))
    }
}

/// The two ABIs, as their producers see them.
pub(crate) trait Kind: Abi {
    fn pretend(&mut self, major: u32, deleter: Option<Deleter<Self>>);
    fn context(&self) -> *mut c_void;
}

impl Kind for Versioned {
    fn pretend(&mut self, major: u32, deleter: Option<Deleter<Self>>) {
        self.version = DLPackVersion { major, ..VERSION };
        self.deleter = deleter;
    }

    fn context(&self) -> *mut c_void {
        self.manager_ctx
    }
}

impl Kind for Legacy {
    fn pretend(&mut self, _major: u32, deleter: Option<Deleter<Self>>) {
        self.deleter = deleter;
    }

    fn context(&self) -> *mut c_void {
        self.manager_ctx
    }
}

unsafe extern "C" fn count_and_release<A: Kind>(managed: *mut A) {
    // SAFETY: consumers call this once.
    unsafe { release(managed) };
}

/// Takes back all that `Input::managed` made.
///
/// # Safety
///
/// The managed tensor came from there, and it was not released yet.
pub(crate) unsafe fn release<A: Kind>(managed: *mut A) {
    // SAFETY: both boxes were given away there, and are taken back once.
    let context = unsafe {
        let managed = Box::from_raw(managed);
        Box::from_raw(managed.context().cast::<Context>())
    };
    context.released.set(context.released.get() + 1);
}
