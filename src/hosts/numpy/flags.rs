//! [`Flags`]: what a thread's CPU notes of calculations, such as a division by zero.

/// The notes as they are made, which its drop brings back. NumPy warns of those that a loop leaves,
/// and loops for several elements at once calculate what no result depends on.
pub(super) struct Flags(u64);

impl Flags {
    /// Returns the notes that there are.
    pub(super) fn keep() -> Self {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            let mut register = 0_u32;
            // SAFETY: the instruction stores 4 bytes, for which there is room.
            unsafe {
                std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut register, options(nostack));
            }
            Self(register.into())
        }
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        {
            let register: u64;
            // SAFETY: the instruction reads a register that every thread has.
            unsafe { std::arch::asm!("mrs {}, fpsr", out(reg) register, options(nomem, nostack)) };
            Self(register)
        }
        #[cfg(any(not(any(target_arch = "x86_64", target_arch = "aarch64")), miri))]
        Self(0)
    }
}

impl Drop for Flags {
    fn drop(&mut self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            let register = self.0 as u32;
            // SAFETY: the instruction loads 4 bytes that were stored from the register, so that no
            // bit is set that it doesn't have, and rounding stays as it is.
            unsafe {
                std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const register, options(nostack));
            }
        }
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        // SAFETY: the register gets bits that it had.
        unsafe {
            std::arch::asm!("msr fpsr, {}", in(reg) self.0, options(nomem, nostack));
        }
    }
}
