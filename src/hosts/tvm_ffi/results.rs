//! Results from the allocator of a packed function's caller.

use super::library::{Object, TvmFfi};
use super::value::Value;
use crate::dlpack::{DLDevice, DLDeviceType, DLTensor};
use crate::dtype::DType;
use crate::hosts::allocated::Allocator;
use crate::hosts::operands::Described;
use crate::hosts::problem::{Class, Problem};
use crate::kernel::Failure;
use crate::layout::{Layout, LayoutRef};
use smallvec::SmallVec;
use std::ptr;

/// The results of a call, which it keeps.
pub(super) struct Results {
    tvm: &'static TvmFfi,
    made: SmallVec<[Object<'static>; 1]>,
}

impl Results {
    pub(super) fn new(tvm: &'static TvmFfi) -> Self {
        Self {
            tvm,
            made: SmallVec::new(),
        }
    }

    /// Returns what the function returns: nothing, a tensor, or an array of several.
    pub(super) fn into_value(self) -> Result<Value, Problem> {
        let Self { tvm, mut made } = self;
        if made.len() <= 1 {
            let made = made.pop();
            return Ok(made.map_or(Value::NONE, |tensor| {
                let value = Value::from_tensor(tensor.handle);
                std::mem::forget(tensor);
                value
            }));
        }
        let handles = made.iter().map(|tensor| tensor.handle);
        let values: SmallVec<[Value; 4]> = handles.map(Value::from_tensor).collect();
        // SAFETY: the values are tensors, which the array holds references of its own to.
        let array = unsafe { tvm.call("ffi.Array", &values) };
        array.map_err(|text| Problem::new(Class::Kernel, text))
    }
}

// SAFETY: the tensors are new, of the dtype and row-major, which is checked, and kept.
unsafe impl Allocator for Results {
    fn allocate(&mut self, layout: LayoutRef<'_>, dtype: DType) -> Result<*mut u8, Failure> {
        let mut sizes: SmallVec<[i64; 8]> =
            layout.shape().iter().map(|size| *size as i64).collect();
        let mut wanted = DLTensor {
            data: ptr::null_mut(),
            device: DLDevice {
                device_type: DLDeviceType::CPU,
                device_id: 0,
            },
            ndim: sizes.len() as i32,
            dtype: dtype.into(),
            shape: sizes.as_mut_ptr(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the struct describes a tensor without memory, as the function expects.
        let status = unsafe { (self.tvm.functions.TVMFFIEnvTensorAlloc)(&mut wanted, &mut handle) };
        if status != 0 || handle.is_null() {
            return Err(problem(&self.tvm.take_error()).into());
        }
        let tensor = Object {
            tvm: self.tvm,
            handle,
        };
        let mut described: SmallVec<[Described; 1]> = SmallVec::new();
        // SAFETY: the handle is a tensor's.
        unsafe { Value::from_tensor(handle).describe(&mut described) }?;
        let described = described.pop().expect("a tensor was described");
        if described.layout.shape() != layout.shape() || described.dtype != dtype {
            return Err("the caller's allocator made another tensor".into());
        }
        if !Layout::as_ref(&described.layout).is_contiguous() {
            return Err("the caller's allocator made a strided tensor".into());
        }
        self.made.push(tensor);
        Ok(described.first)
    }
}

/// Returns what a text of tvm-ffi's means for a result that wasn't allocated.
fn problem(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    match text.contains("allocator is nullptr") {
        true => {
            format!("the caller has no allocator for it; give the outputs as arguments ({first})")
        }
        false => format!("the caller's allocator failed: {first}"),
    }
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn failed_allocation_has_the_first_line_of_the_reason() {
        let none = problem("TVMFFIEnvTensorAlloc: allocator is nullptr, likely\nmore");
        assert!(
            none.contains("has no allocator") && !none.contains("more"),
            "{none}"
        );
        let other = problem("not enough memory: 8 bytes\nat file.cpp");
        assert_eq!(
            other,
            "the caller's allocator failed: not enough memory: 8 bytes"
        );
    }
}
