//! [`SavedModel`]: a model that was exported from Python, with its signatures.

pub(super) mod signature;

use super::buffer::Buffer;
use super::error::TensorFlowError;
use super::graph::Graph;
use super::library::TensorFlow;
use super::session::Session;
use super::status::{Status, c_name};
use crate::tensor::Tensor;
use signature::{Signature, read_signatures};
use std::collections::BTreeMap;
use std::path::Path;
use std::{fmt, ptr};

/// A model that `tf.saved_model.save` wrote, with the values of its variables.
///
/// # Examples
///
/// ```no_run
/// use dlbridge::Tensor;
/// use dlbridge::tensorflow::{SavedModel, TensorFlow};
///
/// let model = SavedModel::load(TensorFlow::load()?, "model")?;
/// let x = Tensor::from_slice(&[1.0_f32, 2.0], &[2])?;
/// let results = model.run("serving_default", &[("x", &x)])?;
/// println!("{}", results["y"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SavedModel {
    session: Session,
    signatures: BTreeMap<String, Signature>,
}

impl SavedModel {
    /// Loads the model in a folder, as Python tags it: `serve`.
    ///
    /// # Errors
    ///
    /// When it isn't there, or TensorFlow refuses it.
    pub fn load(tensorflow: TensorFlow, folder: impl AsRef<Path>) -> Result<Self, TensorFlowError> {
        Self::load_tagged(tensorflow, folder, &["serve"])
    }

    /// Loads the model with these tags.
    ///
    /// # Errors
    ///
    /// When it isn't there, TensorFlow refuses it, or it has ops that write the memory of their
    /// inputs, or that are internal to TensorFlow.
    pub fn load_tagged(
        tensorflow: TensorFlow,
        folder: impl AsRef<Path>,
        tags: &[&str],
    ) -> Result<Self, TensorFlowError> {
        let folder = c_name(&folder.as_ref().to_string_lossy())?;
        let tags = tags
            .iter()
            .map(|tag| c_name(tag))
            .collect::<Result<Vec<_>, _>>()?;
        let tags: Vec<_> = tags.iter().map(|tag| tag.as_ptr()).collect();
        let graph = Graph::new(tensorflow);
        let mut description = Buffer::new(tensorflow);
        let functions = tensorflow.functions();
        let mut status = Status::new(tensorflow);
        // SAFETY: names, graph, buffer and status live, and there are as many tags as the count
        // says; the options live until they are deleted here.
        let session = unsafe {
            let options = (functions.TF_NewSessionOptions)();
            let session = (functions.TF_LoadSessionFromSavedModel)(
                options,
                ptr::null(),
                folder.as_ptr(),
                tags.as_ptr(),
                tags.len() as i32,
                graph.as_ptr(),
                description.as_ptr(),
                status.as_ptr(),
            );
            (functions.TF_DeleteSessionOptions)(options);
            session
        };
        status.check("TF_LoadSessionFromSavedModel")?;
        // SAFETY: the session was just made, of this graph.
        let session = unsafe { Session::from_raw(session, graph) };
        session.graph().check_ops()?;
        let signatures = read_signatures(description.bytes())?;
        Ok(Self {
            session,
            signatures,
        })
    }

    /// Returns the signatures by their names, such as `serving_default`.
    pub fn signatures(&self) -> &BTreeMap<String, Signature> {
        &self.signatures
    }

    /// Returns the session, for outputs of the graph that no signature names.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Runs a signature, with a tensor for each of its inputs.
    ///
    /// # Errors
    ///
    /// When there is no such signature or input, an input is missing, or as of [`Session::run`].
    pub fn run(
        &self,
        signature: &str,
        inputs: &[(&str, &Tensor)],
    ) -> Result<BTreeMap<String, Tensor>, TensorFlowError> {
        let unknown = |what, name: &str, known: Vec<String>| {
            let name = name.to_owned();
            TensorFlowError::Unknown { what, name, known }
        };
        let Some(found) = self.signatures.get(signature) else {
            let known = self.signatures.keys().cloned().collect();
            return Err(unknown("signature", signature, known));
        };
        let mut feeds = Vec::with_capacity(inputs.len());
        for (name, tensor) in inputs {
            let Some(input) = found.inputs.get(*name) else {
                return Err(unknown(
                    "input",
                    name,
                    found.inputs.keys().cloned().collect(),
                ));
            };
            feeds.push((input.name.as_str(), *tensor));
        }
        if let Some(name) = found
            .inputs
            .keys()
            .find(|name| inputs.iter().all(|(given, _)| given != name))
        {
            let (signature, name) = (signature.to_owned(), name.clone());
            return Err(TensorFlowError::MissingInput { signature, name });
        }
        let fetches: Vec<_> = found
            .outputs
            .values()
            .map(|output| output.name.as_str())
            .collect();
        let results = self.session.run(&feeds, &fetches)?;
        Ok(found.outputs.keys().cloned().zip(results).collect())
    }
}

impl fmt::Debug for SavedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedModel")
            .field("signatures", &self.signatures)
            .finish_non_exhaustive()
    }
}
