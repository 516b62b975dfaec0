//! Tensors into TensorFlow and back, and an op of its C library; `benches/python/tensorflow_op.py`
//! times the same op from Python.

#[cfg(unix)]
mod unix {
    use divan::{Bencher, black_box};
    use dlbridge::Tensor;
    use dlbridge::tensorflow::{Context, EagerTensor, Operation, TensorFlow, TfTensor};
    use std::sync::LazyLock;

    static CONTEXT: LazyLock<Option<Context>> = LazyLock::new(|| match TensorFlow::load() {
        Ok(tensorflow) => Some(Context::new(tensorflow).expect("a context")),
        Err(error) => {
            eprintln!("nothing is timed: {error}");
            None
        }
    });

    fn six() -> Tensor {
        Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[6]).unwrap()
    }

    /// Tensor to TF_Tensor, and its deletion.
    #[divan::bench]
    fn tensor_to_tf_tensor(bencher: Bencher) {
        let Some(context) = &*CONTEXT else { return };
        let (ours, tensorflow) = (six(), context.tensorflow());
        bencher.bench_local(|| TfTensor::from_tensor(tensorflow, black_box(&ours)).unwrap());
    }

    /// TF_Tensor to tensor, and its release.
    #[divan::bench]
    fn tf_tensor_to_tensor(bencher: Bencher) {
        let Some(context) = &*CONTEXT else { return };
        let theirs = TfTensor::from_tensor(context.tensorflow(), &six()).unwrap();
        bencher.bench_local(|| black_box(&theirs).to_tensor().unwrap());
    }

    #[divan::bench]
    fn tensor_to_eager_tensor(bencher: Bencher) {
        let Some(context) = &*CONTEXT else { return };
        let ours = six();
        bencher.bench_local(|| EagerTensor::from_tensor(context, black_box(&ours)).unwrap());
    }

    #[divan::bench]
    fn eager_tensor_to_tensor(bencher: Bencher) {
        let Some(context) = &*CONTEXT else { return };
        let theirs = EagerTensor::from_tensor(context, &six()).unwrap();
        bencher.bench_local(|| black_box(&theirs).to_tensor().unwrap());
    }

    /// AddV2 of eager tensors, as `tf.raw_ops.AddV2` has them.
    #[divan::bench]
    fn add_of_eager_tensors(bencher: Bencher) {
        let Some(context) = &*CONTEXT else { return };
        let x = EagerTensor::from_tensor(context, &six()).unwrap();
        bencher.bench_local(|| add(context, black_box(&x)));
    }

    /// The same from our tensor to our tensor.
    #[divan::bench]
    fn add_of_tensors(bencher: Bencher) {
        let Some(context) = &*CONTEXT else { return };
        let ours = six();
        bencher.bench_local(|| {
            let x = EagerTensor::from_tensor(context, black_box(&ours)).unwrap();
            add(context, &x).to_tensor().unwrap()
        });
    }

    fn add(context: &Context, x: &EagerTensor) -> EagerTensor {
        let sum = Operation::new(context, "AddV2").unwrap().input(x).unwrap();
        sum.input(x).unwrap().run_one().unwrap()
    }
}

fn main() {
    divan::main();
}
