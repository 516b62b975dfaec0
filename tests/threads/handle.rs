//! Handles to a tensor's memory, whatever they are, to be sent to other threads.

use crate::foreign::{Counter, ForeignAbi, Producer};
use crate::kinds::assert_numbers;
use dlbridge::dlpack::{Legacy, Managed, Versioned};
use dlbridge::{DType, Storage, Tensor, WeakStorage};

/// A handle of any kind.
pub(crate) enum Handle {
    Tensor(Tensor),
    Storage(Storage),
    Versioned(Managed<Versioned>),
    Legacy(Managed<Legacy>),
    Weak(WeakStorage),
}

impl Handle {
    pub(crate) fn to(tensor: &Tensor, kind: usize) -> Self {
        match kind % 5 {
            0 => Self::Tensor(tensor.clone()),
            1 => Self::Versioned(tensor.to_dlpack()),
            2 => Self::Legacy(tensor.to_dlpack_as().unwrap()),
            3 => Self::Weak(tensor.storage().downgrade()),
            _ => Self::Storage(tensor.storage().clone()),
        }
    }

    /// Reads through it, if it still can, and drops it.
    pub(crate) fn finish(self) {
        match self {
            Self::Tensor(tensor) => assert_numbers(&tensor),
            Self::Versioned(managed) => assert_numbers(&Tensor::from_dlpack(managed).unwrap()),
            Self::Legacy(managed) => {
                assert_numbers(&Tensor::from_dlpack(handed_on(managed)).unwrap());
            }
            Self::Storage(storage) => drop(storage),
            Self::Weak(weak) => {
                if let Some(storage) = weak.upgrade() {
                    let tensor = Tensor::from_storage(storage, &[2, 3], DType::F32).unwrap();
                    assert_numbers(&tensor);
                }
            }
        }
    }
}

/// Another library takes the export over and hands it on, so that we don't see that it was ours.
pub(crate) fn handed_on<A: ForeignAbi>(managed: Managed<A>) -> Managed<A> {
    Producer::relay(managed).hand_out(&Counter::default())
}
