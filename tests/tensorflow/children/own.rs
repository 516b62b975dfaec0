//! The same through this crate, which refuses; and what else needs a process of its own.

use dlbridge::Tensor;
use dlbridge::tensorflow::{
    Context, EagerTensor, Operation, TensorFlow, TensorFlowError, TfTensor,
};
use std::fs;
use std::path::Path;

fn context(path: &Path) -> Context {
    Context::new(TensorFlow::from_path(path).unwrap()).unwrap()
}

pub(super) fn refuse_misaligned_memory(path: &Path) {
    let context = context(path);
    let aligned = Tensor::from_slice(&[0.0_f32; 64], &[64]).unwrap();
    let misaligned = aligned.slice(0, 1..41).unwrap();
    let error = EagerTensor::from_tensor_by_dlpack(&context, &misaligned).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("expected an address aligned to 64 bytes"),
        "{error}"
    );
    let copy = TfTensor::from_tensor_or_copy(context.tensorflow(), &misaligned).unwrap();
    let x = EagerTensor::from_tf_tensor(&context, &copy).unwrap();
    Operation::new(&context, "AddV2")
        .unwrap()
        .input(&x)
        .unwrap()
        .input(&x)
        .unwrap()
        .run()
        .unwrap();
}

pub(super) fn refuse_strings(path: &Path) {
    let context = context(path);
    let numbers = Tensor::from_slice(&[1.0_f32; 16], &[16]).unwrap();
    let numbers = EagerTensor::from_tensor(&context, &numbers).unwrap();
    let text = Operation::new(&context, "AsString")
        .unwrap()
        .input(&numbers)
        .unwrap();
    let error = text.run_one().unwrap().to_tensor_by_dlpack().unwrap_err();
    let expected = "expected a tensor of numbers, got DT_STRING";
    assert!(error.to_string().starts_with(expected), "{error}");
}

/// Makes 100,000 round trips each way, of 4 KiB, of which a leak would take 400 MB: our memory as
/// TensorFlow's tensors and back, through DLPack and back, and memory that TensorFlow allocates.
pub(super) fn stay_flat(path: &Path) {
    const TRIPS: usize = 100_000;
    const ALLOWED: usize = 64 << 20;
    let context = context(path);
    let one_trip = || {
        let ours = Tensor::full(&[1024], 1.0_f32).unwrap();
        let theirs = TfTensor::from_tensor(context.tensorflow(), &ours).unwrap();
        let eager = EagerTensor::from_tf_tensor(&context, &theirs).unwrap();
        assert_eq!(theirs.to_tensor().unwrap().data_ptr(), ours.data_ptr());
        assert_eq!(eager.to_tensor().unwrap().data_ptr(), ours.data_ptr());
        let exchanged = EagerTensor::from_tensor_by_dlpack(&context, &ours).unwrap();
        let back = exchanged.to_tensor_by_dlpack().unwrap();
        assert_eq!(back.data_ptr(), ours.data_ptr());
        let op = Operation::new(&context, "Neg")
            .unwrap()
            .input(&eager)
            .unwrap();
        let negated = op.run_one().unwrap().to_tensor().unwrap();
        let theirs = TfTensor::from_tensor(context.tensorflow(), &negated).unwrap();
        assert_eq!(theirs.data_ptr(), negated.data_ptr());
    };
    (0..TRIPS / 20).for_each(|_| one_trip());
    let before = resident();
    (0..TRIPS).for_each(|_| one_trip());
    let grown = resident().saturating_sub(before);
    assert!(
        grown < ALLOWED,
        "{grown} bytes more after {TRIPS} round trips"
    );
}

/// The resident memory of this process, in bytes.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<usize>()
        .unwrap()
        << 10
}

/// Prints what came of it, for the parent to compare.
fn report(loaded: Result<TensorFlow, TensorFlowError>) {
    match loaded {
        Ok(loaded) => println!(
            "loaded {} {}",
            loaded.version_text(),
            loaded.path().display()
        ),
        Err(error) => println!("{error}"),
    }
}

pub(super) fn load() {
    report(TensorFlow::load());
}

pub(super) fn load_path(path: &Path) {
    report(TensorFlow::from_path(path));
}

pub(super) fn load_process() {
    report(TensorFlow::from_process());
}

/// Has the process another TensorFlow when one is requested: `first` below the folder, and then
/// `second`.
pub(super) fn load_two(folder: &Path) {
    report(TensorFlow::from_path(folder.join("first")));
    report(TensorFlow::from_path(folder.join("second")));
}

#[cfg(feature = "python")]
pub(super) fn run_memory_example(path: &Path) {
    crate::examples::memory::run(TensorFlow::from_path(path).unwrap()).unwrap();
}
