//! Every element type in every shape and layout, both ways: shared or refused, and released once.

use crate::fixture::{Check, Counted, Fixture};
use crate::sharing::sample;
use dlbridge::tensorflow::{DataType, EagerTensor, Operation, TfTensor};
use dlbridge::{DType, Device, Storage, Tensor};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

pub(crate) const CHECKS: &[Check] = &[
    ("every_dtype_and_shape_is_shared_both_ways", shapes),
    ("every_dtype_in_other_layouts_is_copied_on_request", layouts),
    (
        "eight_threads_share_both_ways_and_release_once",
        threads_share,
    ),
];

pub(crate) const SHAPES: [&[usize]; 9] = [
    &[],
    &[1],
    &[7],
    &[2, 3, 4],
    &[0],
    &[3, 0, 2],
    &[1, 2, 1, 2, 1, 2, 1, 2],
    &[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 3],
    &[70_000, 2],
];

/// Makes another layout of a tensor.
type View = fn(Tensor) -> Tensor;

/// The element types that this TensorFlow has.
fn dtypes(fixture: &Fixture) -> Vec<DType> {
    let known = DataType::all().filter_map(|data_type| data_type.dtype().ok());
    let is_there =
        |dtype: &DType| TfTensor::from_tensor(fixture.tensorflow, &sample(*dtype, &[1])).is_ok();
    let dtypes: Vec<_> = known.filter(is_there).collect();
    assert!(dtypes.len() >= 15, "{dtypes:?}");
    dtypes
}

/// A tensor like another one, in the same memory, and the count of its releases.
fn counted(tensor: &Tensor) -> (Tensor, Arc<AtomicUsize>) {
    let releases = Arc::new(AtomicUsize::new(0));
    let (data, nbytes) = (tensor.data_ptr().cast_mut(), tensor.nbytes());
    let release = {
        let (kept, releases) = (tensor.clone(), Arc::clone(&releases));
        move || {
            drop(kept);
            releases.fetch_add(1, Ordering::SeqCst);
        }
    };
    // SAFETY: `release` keeps the tensor that has these bytes.
    let storage = unsafe { Storage::from_raw(data, nbytes, Device::CPU, release) };
    let counted = Tensor::from_storage(storage, tensor.shape(), tensor.dtype());
    (counted.unwrap(), releases)
}

fn bytes(tensor: &Tensor) -> &[u8] {
    match tensor.is_empty() {
        true => &[],
        // SAFETY: the tensors here are row-major on the host, and live.
        false => unsafe { std::slice::from_raw_parts(tensor.data_ptr(), tensor.nbytes()) },
    }
}

fn shapes(fixture: &Fixture) {
    for dtype in dtypes(fixture) {
        for shape in SHAPES {
            let name = format!("{dtype} {shape:?}");
            let plain = sample(dtype, shape);
            // Padded elements can't be made of a storage.
            let (ours, releases) = match dtype.is_sub_byte() {
                true => (plain.clone(), None),
                false => {
                    let (ours, releases) = counted(&plain);
                    (ours, Some(releases))
                }
            };
            let released = || releases.as_ref().map(|count| count.load(Ordering::SeqCst));
            let theirs = TfTensor::from_tensor(fixture.tensorflow, &ours).expect(&name);
            let eager = EagerTensor::from_tensor(&fixture.context, &ours).expect(&name);
            drop(ours);
            // Each way back keeps the memory alone, one after the other.
            let by_tensor = theirs.to_tensor().expect(&name);
            let by_handle = eager.to_tensor().expect(&name);
            drop((theirs, eager));
            for back in [by_tensor, by_handle] {
                assert_eq!(back.shape(), shape, "{name}");
                assert_eq!((back.dtype(), back.is_read_only()), (dtype, true), "{name}");
                assert!(
                    plain.is_empty() || back.data_ptr() == plain.data_ptr(),
                    "{name}"
                );
                assert_eq!(bytes(&back), bytes(&plain), "{name}");
                let before = released().filter(|_| !plain.is_empty());
                assert!(before.is_none_or(|count| count == 0), "{name}: {before:?}");
            }
            assert!(
                released().is_none_or(|count| count == 1),
                "{name}: {:?}",
                released()
            );
        }
    }
}

fn layouts(fixture: &Fixture) {
    let of = |dtype| sample(dtype, &[4, 6]);
    let layouts: [(&str, View); 5] = [
        ("transposed", |x| x.transpose()),
        ("columns", |x| x.slice(1, 1..3).unwrap()),
        ("backwards", |x| x.step_by(0, -1).unwrap()),
        ("repeated", |x| {
            x.slice(0, 0..1).unwrap().broadcast_to(&[5, 6]).unwrap()
        }),
        ("offset", |x| {
            x.reshape(&[24]).unwrap().slice(0, 1..24).unwrap()
        }),
    ];
    for dtype in dtypes(fixture) {
        for (layout, view) in layouts {
            let name = format!("{dtype} {layout}");
            let ours = view(of(dtype));
            let error = TfTensor::from_tensor(fixture.tensorflow, &ours).expect_err(&name);
            let expected = match layout {
                "offset" => "expected an address aligned to 64 bytes, got address ",
                _ => "expected row-major elements, got shape ",
            };
            assert!(error.to_string().starts_with(expected), "{name}: {error}");
            EagerTensor::from_tensor(&fixture.context, &ours).expect_err(&name);
            let copy = TfTensor::from_tensor_or_copy(fixture.tensorflow, &ours).expect(&name);
            assert!(copy.is_copied(), "{name}");
            let back = copy.to_tensor().expect(&name);
            assert_eq!(
                (back.shape(), back.dtype()),
                (ours.shape(), dtype),
                "{name}"
            );
            assert!(back.equals(&ours).expect(&name), "{name}");
        }
    }
}

fn threads_share(fixture: &Fixture) {
    const TRIPS: usize = 500;
    thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || {
                for trip in 0..TRIPS {
                    let mut memory = Counted::new(&[16], DType::F32);
                    let theirs = TfTensor::from_tensor(fixture.tensorflow, &memory.take());
                    let theirs = theirs.unwrap();
                    let eager = EagerTensor::from_tf_tensor(&fixture.context, &theirs).unwrap();
                    let back = theirs.to_tensor().unwrap();
                    // TensorFlow's own memory comes along, and is released by this thread.
                    let op = Operation::new(&fixture.context, "Cos").unwrap();
                    let cosines = op.input(&eager).unwrap().run_one().unwrap();
                    let cosines = cosines.to_tensor().unwrap();
                    assert_eq!(cosines.to_vec::<f32>().unwrap(), [1.0; 16]);
                    assert_eq!(memory.releases(), 0, "thread {number}, trip {trip}");
                    drop((theirs, eager, back));
                    assert_eq!(memory.releases(), 1, "thread {number}, trip {trip}");
                }
            });
        }
    });
}
