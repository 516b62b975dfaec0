//! [`Context`]: an eager runtime of TensorFlow.

use super::super::error::TensorFlowError;
use super::super::functions::TFE_Context;
use super::super::library::TensorFlow;
use super::super::status::Status;
use std::fmt;
use std::sync::Arc;

/// An eager runtime: devices and threads that execute ops. Cloning it gives another handle to the
/// same.
///
/// Creating one takes tens of milliseconds, so that a program usually has one.
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

struct Inner {
    context: *mut TFE_Context,
    tensorflow: TensorFlow,
}

// SAFETY: TensorFlow's contexts may be used on any thread.
unsafe impl Send for Inner {}
// SAFETY: TensorFlow's contexts may be used on several threads at a time.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the context belongs to this, and what was made in it keeps it, so nothing uses it
        // any more.
        unsafe { (self.tensorflow.functions().TFE_DeleteContext)(self.context) }
    }
}

impl Context {
    /// Creates a runtime with TensorFlow's default options: ops are executed before a call returns.
    ///
    /// # Errors
    ///
    /// When TensorFlow can't, such as for lack of memory.
    pub fn new(tensorflow: TensorFlow) -> Result<Self, TensorFlowError> {
        let functions = tensorflow.functions();
        let mut status = Status::new(tensorflow);
        // SAFETY: the options live until they are deleted here; the status lives.
        let context = unsafe {
            let options = (functions.TFE_NewContextOptions)();
            let context = (functions.TFE_NewContext)(options, status.as_ptr());
            (functions.TFE_DeleteContextOptions)(options);
            context
        };
        status.check("TFE_NewContext")?;
        let inner = Arc::new(Inner {
            context,
            tensorflow,
        });
        Ok(Self { inner })
    }

    /// Returns the TensorFlow that it belongs to.
    pub fn tensorflow(&self) -> TensorFlow {
        self.inner.tensorflow
    }

    /// Returns whether both are handles to one runtime.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    pub(super) fn as_ptr(&self) -> *mut TFE_Context {
        self.inner.context
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tensorflow = self.tensorflow();
        f.debug_struct("Context")
            .field("tensorflow", &tensorflow)
            .finish()
    }
}
