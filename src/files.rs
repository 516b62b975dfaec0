//! Tensors in files and messages.
//!
//! | format | read | written |
//! |---|---|---|
//! | safetensors | shared | as the library `safetensors` does |
//! | `.npy` | shared; big-endian copied | as `numpy.save` does |
//! | `.npz` | stored arrays shared, deflated ones copied | as `numpy.savez` does |
//! | TensorFlow's `TensorProto` | `tensor_content` shared | as `tf.make_tensor_proto` does |
//! | ONNX's `TensorProto` | `raw_data`, external data shared | as `onnx.numpy_helper` does; external data |
//!
//! The messages are of the feature `proto`; their lists of values are copied.
//!
//! A [`TensorFile`] is opened by mapping a file into memory, or from bytes. Its tensors are read
//! one by one or all at once; whatever bytes can be a tensor as they are stay where they are, and
//! the tensor keeps the mapping. [`Loaded`] says which tensors were copied, and why.
//! [`SaveOptions`] write tensors straight from their memory.
//!
//! # Examples
//!
//! ```
//! use dlbridge::Tensor;
//! use dlbridge::files::{Format, SaveOptions, TensorFile};
//!
//! let path = std::env::temp_dir().join(format!("dlbridge-{}.safetensors", std::process::id()));
//! let weights = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
//! SaveOptions::new(Format::Safetensors).align(64).save(&path, &[("weights", &weights)])?;
//!
//! // SAFETY: no program changes the file meanwhile.
//! let file = unsafe { TensorFile::map(&path) }?;
//! let loaded = file.load(64)?;
//! assert!(loaded.copied.is_empty()); // it is the mapped file
//! assert!(loaded.tensors[0].1.equals(&weights)?);
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), dlbridge::files::FileError>(())
//! ```

#[cfg(target_endian = "big")]
compile_error!("the feature `files` is for little-endian targets");

mod bulk;
mod error;
mod file;
mod format;
mod inflate;
#[cfg(feature = "proto")]
mod message;
mod npy;
mod npz;
#[cfg(feature = "proto")]
mod onnx;
mod read;
mod replace;
mod safetensors;
mod save;
mod source;
mod stored;
#[cfg(feature = "proto")]
mod tensorflow;
mod writer;

pub use error::FileError;
pub use file::{Loaded, OpenOptions, TensorFile};
pub use format::Format;
pub use save::SaveOptions;
pub use stored::{Copied, Stored};
