//! Copies between the host and GPUs, over places and layouts, against the host's own.

use crate::double::{calls, live, on_double};
use dlbridge::cuda::{self, CudaError, Gpu, Stream};
use dlbridge::{DType, Tensor};

fn stream(id: i32) -> Stream {
    Stream::new(Gpu::new(id).unwrap()).unwrap()
}

/// 0, 1, 2, ... of a shape.
fn counted(shape: &[usize]) -> Tensor {
    let len = shape.iter().product::<usize>();
    Tensor::from_vec((0..len as i32).collect(), shape).unwrap()
}

type Look = fn(&Tensor) -> Tensor;

/// Views of a tensor of shape 4 x 3 x 5.
const VIEWS: [(&str, Look); 9] = [
    ("whole", Tensor::clone),
    ("transposed", Tensor::transpose),
    ("rows", |t| t.slice(0, 1..3).unwrap()),
    ("columns", |t| t.slice(2, 1..4).unwrap()),
    ("every second", |t| t.step_by(2, 2).unwrap()),
    ("backwards", |t| t.step_by(0, -1).unwrap()),
    ("all backwards", |t| {
        t.step_by(2, -2).unwrap().step_by(1, -1).unwrap()
    }),
    ("permuted", |t| {
        t.permute(&[1, 2, 0]).unwrap().slice(0, 0..2).unwrap()
    }),
    ("one", |t| {
        t.select(0, 2)
            .unwrap()
            .select(0, 1)
            .unwrap()
            .select(0, 3)
            .unwrap()
    }),
];

#[test]
fn every_view_round_trips_through_the_gpu() {
    on_double("copies::every_view_round_trips_through_the_gpu", || {
        let stream = stream(0);
        let host = counted(&[4, 3, 5]);
        let device = cuda::to_device(&host, &stream).unwrap();
        assert!(device.is_copied() && !host.is_copied());
        for (name, look) in VIEWS {
            let expected = look(&host).to_vec::<i32>().unwrap();
            let sent = cuda::to_device(&look(&host), &stream).unwrap();
            assert!(sent.layout().is_contiguous());
            assert_eq!(
                cuda::to_host(&sent).unwrap().to_vec::<i32>().unwrap(),
                expected,
                "{name}"
            );
            let fetched = cuda::to_host(&look(&device)).unwrap();
            assert_eq!(fetched.to_vec::<i32>().unwrap(), expected, "{name}");
            assert_eq!(fetched.shape(), look(&host).shape());
        }
    });
}

#[test]
fn every_view_is_written() {
    on_double("copies::every_view_is_written", || {
        let stream = stream(0);
        for (name, look) in VIEWS {
            let new = counted(look(&counted(&[4, 3, 5])).shape());
            // What the host writes is what the GPU writes.
            let mut expected = vec![-1; 60];
            let places = look(&counted(&[4, 3, 5])).to_vec::<i32>().unwrap();
            for (place, value) in places.iter().zip(new.to_vec::<i32>().unwrap()) {
                expected[*place as usize] = value;
            }
            let blank = Tensor::from_vec(vec![-1; 60], &[4, 3, 5]).unwrap();
            let sent = cuda::to_device(&new, &stream).unwrap();
            let device = cuda::to_device(&blank, &stream).unwrap();
            for whole in [device, blank.copy().unwrap()] {
                let mut view = look(&whole);
                drop(whole);
                cuda::copy_into(&mut view, &sent, &stream).unwrap();
                let memory = view.storage().clone();
                let whole = Tensor::from_storage(memory, &[4, 3, 5], DType::I32).unwrap();
                let found = cuda::to_host(&whole).unwrap().to_vec::<i32>().unwrap();
                assert_eq!(found, expected, "{name} on {}", whole.device());
                let refused = cuda::copy_into(&mut view, &sent, &stream).unwrap_err();
                assert!(
                    refused.to_string().contains("shared with"),
                    "there is another handle"
                );
            }
        }
    });
}

#[test]
fn gpus_copy_from_each_other() {
    on_double("copies::gpus_copy_from_each_other", || {
        let (here, there) = (stream(0), stream(1));
        let host = counted(&[4, 3, 5]);
        let device = cuda::to_device(&host, &here).unwrap();
        for (name, look) in VIEWS {
            let sent = cuda::to_device(&look(&device), &there).unwrap();
            assert_eq!(sent.device().to_string(), "cuda:1");
            let expected = look(&host).to_vec::<i32>().unwrap();
            assert_eq!(
                cuda::to_host(&sent).unwrap().to_vec::<i32>().unwrap(),
                expected,
                "{name}"
            );
        }
        drop(device);
        here.synchronize().unwrap();
        there.synchronize().unwrap();
    });
}

#[test]
fn contiguous_tensors_take_one_copy() {
    on_double("copies::contiguous_tensors_take_one_copy", || {
        let stream = stream(0);
        let host = counted(&[4, 3, 1, 5]);
        let device = cuda::to_device(&host, &stream).unwrap();
        let copies = || (calls("cuMemcpyAsync"), calls("cuMemcpy2DAsync_v2"));
        let looks: [Look; 3] = [
            Tensor::transpose,
            |t| t.permute(&[3, 0, 2, 1]).unwrap(),
            |t| t.permute(&[2, 1, 0, 3]).unwrap(),
        ];
        for look in looks {
            let before = copies();
            let fetched = cuda::to_host(&look(&device)).unwrap();
            assert!(fetched.layout().is_contiguous());
            assert!(fetched.equals(&look(&host)).unwrap());
            let mut view = look(&cuda::zeros(host.shape(), DType::I32, &stream).unwrap());
            cuda::copy_into(&mut view, &look(&host), &stream).unwrap();
            assert_eq!(copies(), (before.0 + 2, before.1));
            assert!(cuda::to_host(&view).unwrap().equals(&look(&host)).unwrap());
        }
    });
}

#[test]
fn rows_far_apart_are_copied_one_by_one() {
    on_double("copies::rows_far_apart_are_copied_one_by_one", || {
        let stream = stream(0);
        // Two rows of four bytes, as far apart as a copy of rows takes them at most, and one byte
        // more.
        for (pitch, count) in [(i32::MAX as usize, 1), (1 << 31, 0)] {
            let whole = cuda::empty(&[2 * pitch], DType::U8, &stream).unwrap();
            let mut rows = whole.reshape(&[2, pitch]).unwrap().slice(1, 0..4).unwrap();
            drop(whole);
            let host = Tensor::from([[1_u8, 2, 3, 4], [5, 6, 7, 8]]);
            let before = calls("cuMemcpy2DAsync_v2");
            cuda::copy_into(&mut rows, &host, &stream).unwrap();
            assert_eq!(calls("cuMemcpy2DAsync_v2"), before + count);
            assert!(cuda::to_host(&rows).unwrap().equals(&host).unwrap());
            assert_eq!(calls("cuMemcpy2DAsync_v2"), before + 2 * count);
        }
    });
}

#[test]
fn pinned_memory_is_copied_without_waiting() {
    on_double("copies::pinned_memory_is_copied_without_waiting", || {
        let stream = stream(0);
        let mut from = cuda::pinned(&[3], DType::F32, stream.gpu()).unwrap();
        from.view_mut::<f32>().unwrap().fill(1.5);
        let device = cuda::to_device(&from, &stream).unwrap();
        let mut to = cuda::pinned(&[3], DType::F32, stream.gpu()).unwrap();
        cuda::copy_into(&mut to, &device, &stream).unwrap();
        assert_eq!(calls("cuStreamSynchronize"), 0);
        // Its memory is kept until the copy was made.
        drop(from);
        assert_eq!(live("pinned memory"), 2);
        stream.synchronize().unwrap();
        assert_eq!(live("pinned memory"), 1);
        assert_eq!(to.to_vec::<f32>().unwrap(), [1.5; 3]);
        to.view_mut::<f32>().unwrap().fill(0.0);
    });
}

#[test]
fn elements_of_any_type_are_copied() {
    on_double("copies::elements_of_any_type_are_copied", || {
        let stream = stream(0);
        for name in [
            "bool",
            "int8",
            "float16",
            "bfloat16",
            "float64",
            "complex128",
            "float8_e4m3fn",
        ] {
            let host = Tensor::ones(&[5, 2], name.parse().unwrap()).unwrap();
            let sent = cuda::to_device(&host.transpose(), &stream).unwrap();
            assert!(
                cuda::to_host(&sent)
                    .unwrap()
                    .equals(&host.transpose())
                    .unwrap(),
                "{name}"
            );
        }
        let packed = Tensor::ones(&[5], DType::I4).unwrap();
        let sent = cuda::to_device(&packed, &stream).unwrap();
        assert!(cuda::to_host(&sent).unwrap().equals(&packed).unwrap());
        let error = cuda::to_host(&sent.step_by(0, 2).unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "elements of int4 that don't lie one after another can't be copied to or from a GPU"
        );
    });
}

#[test]
fn impossible_copies_fail() {
    on_double("copies::impossible_copies_fail", || {
        let stream = stream(0);
        let mut device = cuda::zeros(&[3], DType::F32, &stream).unwrap();
        let mut refused = |from: &Tensor| {
            cuda::copy_into(&mut device, from, &stream)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            refused(&Tensor::from([1.0_f32])),
            "a tensor [3] of float32 can't take the elements of one [1] of float32"
        );
        assert_eq!(
            refused(&Tensor::from([1, 2, 3])),
            "a tensor [3] of float32 can't take the elements of one [3] of int32"
        );
        let mut host = Tensor::zeros(&[3], DType::F32).unwrap();
        let error = cuda::copy_into(&mut host, &Tensor::from([1.0_f32; 3]), &stream).unwrap_err();
        assert_eq!(error.to_string(), "neither of the tensors is on a GPU");
        let mut forbidden = cuda::zeros(&[3], DType::F32, &stream)
            .unwrap()
            .into_read_only();
        let error = cuda::copy_into(&mut forbidden, &device, &stream).unwrap_err();
        assert!(matches!(error, CudaError::Tensor(_)), "{error}");
        assert!(error.to_string().contains("read-only"), "{error}");
        assert_eq!(cuda::to_host(&host).unwrap().to_string(), "[0. 0. 0.]");
    });
}
