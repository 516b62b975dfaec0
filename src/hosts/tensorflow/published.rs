//! [`Published`]: an op that TensorFlow has.

use super::functions::TensorFlow;
use crate::kernel::OpHandle;

/// An op that TensorFlow has.
pub(super) struct Published {
    pub(super) tensorflow: &'static TensorFlow,
    pub(super) op: OpHandle,
}
