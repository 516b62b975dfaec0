//! [`Session`]: runs of a graph, with tensors that are fed and fetched.

use super::error::TensorFlowError;
use super::functions::TF_Session;
use super::graph::Graph;
use super::library::TensorFlow;
use super::status::Status;
use super::tensor::TfTensor;
use crate::tensor::Tensor;
use std::fmt;
use std::ptr::{self, NonNull};

/// A session: a graph with the state of its variables.
///
/// The memory of fed tensors is shared with TensorFlow, and that of fetched ones with us. A fetched
/// tensor is in memory that TensorFlow allocated, except for a fed tensor that the graph passes on
/// (`Identity`, a `Reshape`), which is fetched in the memory in which it was fed; and a constant,
/// which is in the graph's memory.
pub struct Session {
    session: *mut TF_Session,
    graph: Graph,
}

// SAFETY: TensorFlow's sessions may be used on any thread.
unsafe impl Send for Session {}
// SAFETY: TensorFlow's sessions may be run on several threads at a time.
unsafe impl Sync for Session {}

impl Drop for Session {
    fn drop(&mut self) {
        let tensorflow = self.tensorflow();
        let functions = tensorflow.functions();
        let mut status = Status::new(tensorflow);
        // SAFETY: the session belongs to this, and is deleted once. There is nothing to do about an
        // error.
        unsafe {
            (functions.TF_CloseSession)(self.session, status.as_ptr());
            (functions.TF_DeleteSession)(self.session, status.as_ptr());
        }
    }
}

impl Session {
    /// Creates a session of a graph.
    ///
    /// # Errors
    ///
    /// When TensorFlow can't.
    pub fn new(graph: &Graph) -> Result<Self, TensorFlowError> {
        let tensorflow = graph.tensorflow();
        let functions = tensorflow.functions();
        let mut status = Status::new(tensorflow);
        // SAFETY: the options live until they are deleted here; graph and status live.
        let session = unsafe {
            let options = (functions.TF_NewSessionOptions)();
            let session = (functions.TF_NewSession)(graph.as_ptr(), options, status.as_ptr());
            (functions.TF_DeleteSessionOptions)(options);
            session
        };
        status.check("TF_NewSession")?;
        // SAFETY: the session was just made, of this graph.
        Ok(unsafe { Self::from_raw(session, graph.clone()) })
    }

    /// Takes over a session.
    ///
    /// # Safety
    ///
    /// It is valid, of this graph, and no other code deletes it.
    pub(super) unsafe fn from_raw(session: *mut TF_Session, graph: Graph) -> Self {
        Self { session, graph }
    }

    /// Returns the graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns the TensorFlow that it belongs to.
    pub fn tensorflow(&self) -> TensorFlow {
        self.graph.tensorflow()
    }

    /// Runs the graph: feeds tensors to outputs of operations, such as placeholders, and fetches
    /// others.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use dlbridge::Tensor;
    /// use dlbridge::tensorflow::{Graph, Session, TensorFlow};
    ///
    /// let graph = Graph::from_graph_def(TensorFlow::load()?, &std::fs::read("graph.pb")?)?;
    /// let x = Tensor::from_slice(&[1.0_f32, 2.0], &[2])?;
    /// let results = Session::new(&graph)?.run(&[("x:0", &x)], &["y:0"])?;
    /// println!("{}", results[0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there are no such outputs, a fed tensor can't be shared ([`TfTensor::from_tensor`]),
    /// the run fails, or what is fetched aren't numbers.
    pub fn run(
        &self,
        feeds: &[(&str, &Tensor)],
        fetches: &[&str],
    ) -> Result<Vec<Tensor>, TensorFlowError> {
        let mut shared = Vec::with_capacity(feeds.len());
        for (name, tensor) in feeds {
            shared.push((*name, TfTensor::from_tensor(self.tensorflow(), tensor)?));
        }
        let results = self.run_tf(&shared, fetches)?;
        results.iter().map(TfTensor::to_tensor).collect()
    }

    /// Runs the graph like [`run`](Self::run), with tensors of the C library: for tensors that are
    /// fed more than once, and for results that aren't numbers.
    ///
    /// # Errors
    ///
    /// When there are no such outputs, or the run fails.
    pub fn run_tf(
        &self,
        feeds: &[(&str, TfTensor)],
        fetches: &[&str],
    ) -> Result<Vec<TfTensor>, TensorFlowError> {
        let outputs = |names: &mut dyn Iterator<Item = &str>| {
            names
                .map(|name| self.graph.output(name))
                .collect::<Result<Vec<_>, _>>()
        };
        let inputs = outputs(&mut feeds.iter().map(|(name, _)| *name))?;
        let fetched = outputs(&mut fetches.iter().copied())?;
        let values: Vec<_> = feeds.iter().map(|(_, tensor)| tensor.as_ptr()).collect();
        let mut results = vec![ptr::null_mut(); fetches.len()];
        let tensorflow = self.tensorflow();
        let mut status = Status::new(tensorflow);
        // SAFETY: session and status live, and so do the fed tensors, which TensorFlow refers to by
        // references of its own; there are as many values and results as the counts say.
        unsafe {
            (tensorflow.functions().TF_SessionRun)(
                self.session,
                ptr::null(),
                inputs.as_ptr(),
                values.as_ptr(),
                inputs.len() as i32,
                fetched.as_ptr(),
                results.as_mut_ptr(),
                fetched.len() as i32,
                ptr::null(),
                0,
                ptr::null_mut(),
                status.as_ptr(),
            );
        }
        // What there is belongs to us, also beside an error.
        let results: Vec<_> = results
            .into_iter()
            .filter_map(NonNull::new)
            // SAFETY: the tensors were just made, and belong to nothing else.
            .map(|tensor| unsafe { TfTensor::from_raw(tensorflow, tensor, false) })
            .collect();
        status.check("TF_SessionRun")?;
        Ok(results)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("graph", &self.graph)
            .finish()
    }
}
