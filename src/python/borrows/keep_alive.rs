//! Keepers of borrowed arguments' memory.

use crate::dlpack::python::Lent;
use crate::dlpack::{Managed, Versioned};
use crate::python::import::buffer::Buffer;
use crate::storage::Owner;

/// What keeps an argument's memory alive, beside its object.
pub(in crate::python) enum Keep {
    /// Nothing: the object does.
    Object,
    Managed {
        _kept: Managed<Versioned>,
    },
    /// It isn't taken: its producer releases it, with the capsule.
    Capsule {
        _lent: Lent,
    },
    Buffer {
        _kept: Box<Buffer>,
    },
    /// What a framework's tensor has its memory from, whatever becomes of the tensor.
    Owner {
        _kept: Owner,
    },
    /// It is a number, in the entry itself.
    Number,
}

/// Room for the largest number, as strictly aligned as any.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(in crate::python) struct Aligned([u8; 16]);

impl Aligned {
    pub(in crate::python) const ZERO: Self = Self([0; 16]);

    /// Returns the bytes; those that the number hasn't are 0.
    #[cfg(feature = "cuda")]
    pub(in crate::python) fn bytes(self) -> [u8; 16] {
        self.0
    }

    /// Up to 16 bytes.
    pub(in crate::python) fn from_bytes(bytes: &[u8]) -> Self {
        let mut this = Self([0; 16]);
        this.0[..bytes.len()].copy_from_slice(bytes);
        this
    }
}
