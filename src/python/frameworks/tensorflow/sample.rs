//! [`Sample`]: a tensor by which functions are compared.

use crate::error::Error;
use crate::tensor::Tensor;
use std::sync::Arc;

/// A tensor that tells whether its memory is in use.
pub(super) struct Sample {
    pub(super) tensor: Tensor,
    owners: Arc<()>,
}

/// Memory that TensorFlow shares.
#[repr(align(64))]
struct Lines([f32; 16]);

struct Memory {
    lines: Box<Lines>,
    _owner: Arc<()>,
}

impl AsRef<[f32]> for Memory {
    fn as_ref(&self) -> &[f32] {
        &self.lines.0[..6]
    }
}

impl Sample {
    pub(super) fn new() -> Result<Self, Error> {
        let owners = Arc::new(());
        let memory = Memory {
            lines: Box::new(Lines([0.5; 16])),
            _owner: Arc::clone(&owners),
        };
        let tensor = Tensor::from_owner(memory, &[2, 3])?;
        Ok(Self { tensor, owners })
    }

    /// Returns whether another tensor is the same.
    pub(super) fn is(&self, other: &Option<Tensor>) -> bool {
        other.as_ref().is_some_and(|other| {
            other.data_ptr() == self.tensor.data_ptr()
                && other.dtype() == self.tensor.dtype()
                && other.shape() == self.tensor.shape()
        })
    }

    /// Drops the tensor, and returns whether nothing else has its memory.
    pub(super) fn release(self) -> bool {
        drop(self.tensor);
        Arc::strong_count(&self.owners) == 1
    }
}
