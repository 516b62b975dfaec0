//! Beside `import tensorflow`, in an embedded Python.

use dlbridge::Tensor;
use dlbridge::dlpack::{Legacy, Managed};
use dlbridge::tensorflow::{Context, EagerTensor, Operation, TensorFlow, TensorFlowError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeSet;
use std::fs;

/// Uses the library that Python has loaded, on a tensor that Python made, and hands the result to
/// Python.
pub(super) fn use_imported() {
    let none = TensorFlow::from_process().unwrap_err();
    assert!(matches!(none, TensorFlowError::NotFound { .. }), "{none}");
    Python::initialize();
    Python::attach(|py| {
        let names = PyDict::new(py);
        let program = c"import tensorflow as tf\n\
            x = tf.constant([1.0, 2.0, 3.0] * 16)\n\
            capsule = tf.experimental.dlpack.to_dlpack(x)\n\
            version = tf.__version__";
        py.run(program, None, Some(&names)).unwrap();
        let get = |name: &str| names.get_item(name).unwrap().unwrap();

        let tensorflow = TensorFlow::load().unwrap();
        assert_eq!(
            tensorflow.version_text(),
            get("version").extract::<String>().unwrap()
        );
        assert_eq!(
            TensorFlow::from_process().unwrap().path(),
            tensorflow.path()
        );

        // SAFETY: the capsule is a legacy one of TensorFlow, whose managed tensor is ours once it
        // is renamed.
        let x = unsafe {
            let capsule = get("capsule");
            let pointer = ffi::PyCapsule_GetPointer(capsule.as_ptr(), c"dltensor".as_ptr());
            ffi::PyCapsule_SetName(capsule.as_ptr(), c"used_dltensor".as_ptr());
            Tensor::from_dlpack(Managed::<Legacy>::from_raw(pointer.cast()).unwrap()).unwrap()
        };
        let context = Context::new(tensorflow).unwrap();
        let shared = EagerTensor::from_tensor(&context, &x).unwrap();
        let sum = Operation::new(&context, "AddV2").unwrap();
        let sum = sum
            .input(&shared)
            .unwrap()
            .input(&shared)
            .unwrap()
            .run_one()
            .unwrap();
        let numbers = sum.to_tensor().unwrap().to_vec::<f32>().unwrap();
        names.set_item("numbers", numbers).unwrap();
        let check = c"assert numbers == (x + x).numpy().tolist(), numbers";
        py.run(check, None, Some(&names)).unwrap();
    });
    // There is one library, and not a second.
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let files: BTreeSet<_> = maps
        .lines()
        .filter(|line| line.contains("libtensorflow_cc"))
        .map(|line| line.split_whitespace().nth(4).unwrap())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
}
