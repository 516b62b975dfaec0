//! Fixture of the tests: the library, and one eager runtime.

use crate::trials::Missing;
use dlbridge::tensorflow::{Context, TensorFlow};
use dlbridge::{DType, Device, Storage, Tensor};
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A test: its name, and what panics where something is wrong.
pub(crate) type Check = (&'static str, fn(&Fixture));

/// The library, and one eager runtime.
pub(crate) struct Fixture {
    pub(crate) tensorflow: TensorFlow,
    pub(crate) context: Context,
}

impl Fixture {
    /// Finds the library, loads it, and starts a runtime.
    pub(crate) fn find() -> Result<Self, Missing> {
        // SAFETY: no other thread runs yet.
        unsafe { env::set_var("TF_CPP_MIN_LOG_LEVEL", "3") };
        let tensorflow = match named() {
            Some(folder) => TensorFlow::from_path(folder)
                .map_err(|error| Missing::required(error.to_string()))?,
            None => TensorFlow::from_python(python())
                .map_err(|error| Missing::optional(error.to_string()))?,
        };
        let context =
            Context::new(tensorflow).map_err(|error| Missing::required(error.to_string()))?;
        Ok(Self {
            tensorflow,
            context,
        })
    }
}

/// The folder or file that the environment names.
pub(crate) fn named() -> Option<PathBuf> {
    let named = env::var_os("DLBRIDGE_TENSORFLOW").filter(|value| !value.is_empty());
    named.map(PathBuf::from)
}

/// The Python whose package is used.
pub(crate) fn python() -> PathBuf {
    match env::var_os("PYO3_PYTHON") {
        Some(named) => PathBuf::from(named),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv/bin/python"),
    }
}

/// Makes a tensor of 0, 1, 2, ... in memory that is aligned to 64 bytes.
pub(crate) fn numbers(shape: &[usize]) -> Tensor {
    let count = shape.iter().product();
    let numbers: Vec<f32> = (0..count).map(|i| i as f32).collect();
    Tensor::from_slice(&numbers, shape).unwrap()
}

/// Memory whose releases are counted.
pub(crate) struct Counted {
    pub(crate) tensor: Option<Tensor>,
    releases: Arc<AtomicUsize>,
}

impl Counted {
    /// Makes bytes, aligned to 64, of this type and shape.
    pub(crate) fn new(shape: &[usize], dtype: DType) -> Self {
        let plain = Tensor::zeros(shape, dtype).unwrap();
        let releases = Arc::new(AtomicUsize::new(0));
        let (data, nbytes) = (plain.data_ptr().cast_mut(), plain.nbytes());
        let release = {
            let releases = Arc::clone(&releases);
            move || {
                drop(plain);
                releases.fetch_add(1, Ordering::SeqCst);
            }
        };
        // SAFETY: `release` keeps the tensor that has these bytes.
        let storage = unsafe { Storage::from_raw(data, nbytes, Device::CPU, release) };
        let tensor = Some(Tensor::from_storage(storage, shape, dtype).unwrap());
        Self { tensor, releases }
    }

    pub(crate) fn take(&mut self) -> Tensor {
        self.tensor.take().unwrap()
    }

    pub(crate) fn releases(&self) -> usize {
        self.releases.load(Ordering::SeqCst)
    }
}
