//! [`Buffer`]: bytes that TensorFlow writes.

use super::functions::TF_Buffer;
use super::library::TensorFlow;
use std::slice;

/// A buffer for one of TensorFlow's messages, which is deleted with this.
pub(super) struct Buffer {
    tensorflow: TensorFlow,
    buffer: *mut TF_Buffer,
}

impl Buffer {
    pub(super) fn new(tensorflow: TensorFlow) -> Self {
        // SAFETY: the function takes nothing, and never fails.
        let buffer = unsafe { (tensorflow.functions().TF_NewBuffer)() };
        Self { tensorflow, buffer }
    }

    pub(super) fn as_ptr(&mut self) -> *mut TF_Buffer {
        self.buffer
    }

    /// Returns the bytes; none if nothing was written.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the buffer lives as long as `self`, and nothing writes it while `self` is
        // borrowed; it has as many bytes as it says.
        unsafe {
            let TF_Buffer { data, length, .. } = *self.buffer;
            if data.is_null() {
                &[]
            } else {
                slice::from_raw_parts(data.cast(), length)
            }
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the buffer belongs to this, and is deleted once.
        unsafe { (self.tensorflow.functions().TF_DeleteBuffer)(self.buffer) }
    }
}
