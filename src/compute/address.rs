//! [`Address`]: a place in memory that several threads know.

/// An address that threads may have. Who has it says which of them uses what is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Address(pub(super) *mut u8);

// SAFETY: it is a number to threads; to use the memory is unsafe.
unsafe impl Send for Address {}
// SAFETY: shared references give nothing but the number.
unsafe impl Sync for Address {}

impl Address {
    /// Returns the address of a byte from there on.
    #[inline]
    pub(super) fn byte(self, at: usize) -> *mut u8 {
        self.0.wrapping_add(at)
    }
}
