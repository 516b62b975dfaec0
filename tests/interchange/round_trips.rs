//! A tensor that goes out and comes back is the same tensor: memory, layout, type and flags.

use crate::foreign::{Counter, ForeignAbi, Producer};
use dlbridge::dlpack::{Flags, Legacy, Managed, Versioned};
use dlbridge::dtype::F8E5M2;
use dlbridge::{DType, Element, Error, Tensor};
use std::fmt::Debug;

/// One way out and back, which leaves the tensor itself alone.
type Way = fn(&Tensor) -> Tensor;

const WAYS: [(&str, Way); 8] = [
    ("to_dlpack", |tensor| back(tensor.to_dlpack())),
    ("into_dlpack", |tensor| back(tensor.clone().into_dlpack())),
    ("to_dlpack_as versioned", |tensor| {
        back(tensor.to_dlpack_as::<Versioned>().unwrap())
    }),
    ("into_dlpack_as versioned", |tensor| {
        back(tensor.clone().into_dlpack_as::<Versioned>().unwrap())
    }),
    ("handed on versioned", |tensor| {
        back(handed_on(tensor.to_dlpack_as::<Versioned>().unwrap()))
    }),
    ("to_dlpack_as legacy", |tensor| {
        back(tensor.to_dlpack_as::<Legacy>().unwrap())
    }),
    ("into_dlpack_as legacy", |tensor| {
        back(tensor.clone().into_dlpack_as::<Legacy>().unwrap())
    }),
    ("handed on legacy", |tensor| {
        back(handed_on(tensor.to_dlpack_as::<Legacy>().unwrap()))
    }),
];

/// Goes through another library, so that we don't see that it was ours.
fn handed_on<A: ForeignAbi>(managed: Managed<A>) -> Managed<A> {
    Producer::relay(managed).hand_out(&Counter::default())
}

/// The ways that can say what read-only and padded mean.
fn versioned_ways() -> &'static [(&'static str, Way)] {
    &WAYS[..5]
}

fn back(managed: impl TryInto<Tensor, Error = Error>) -> Tensor {
    managed.try_into().unwrap()
}

/// A view of a tensor of shape `[4, 6, 8]`.
type MakeView = fn(&Tensor) -> Result<Tensor, Error>;

const VIEWS: [(&str, MakeView); 14] = [
    ("contiguous", |base| Ok(base.clone())),
    ("transposed", |base| Ok(base.transpose())),
    ("sliced", |base| base.slice(0, 1..3)?.slice(1, 2..5)),
    ("strided", |base| base.step_by(1, 2)?.step_by(0, 3)),
    ("backwards", |base| base.step_by(0, -1)?.step_by(1, -2)),
    ("all backwards", |base| {
        base.step_by(0, -1)?.step_by(1, -1)?.step_by(2, -1)
    }),
    ("broadcast", |base| {
        base.slice(0, 1..2)?.broadcast_to(&[5, 6, 8])
    }),
    ("empty", |base| base.slice(1, 3..3)),
    ("rank 0", |base| {
        base.select(0, 2)?.select(0, 3)?.select(0, 0)
    }),
    ("offset", |base| base.slice(0, 2..)),
    ("size 1", |base| base.slice(0, 1..2)?.slice(1, 4..5)),
    ("inside a row", |base| base.slice(2, 3..7)),
    ("rank 8", |base| {
        let split = base.reshape(&[2, 2, 2, 3, 2, 2, 2, 1])?;
        split.permute(&[7, 2, 0, 6, 4, 1, 5, 3])
    }),
    ("rank 20", |base| {
        let mut shape = [1; 20];
        shape[..7].copy_from_slice(&[2, 2, 2, 3, 2, 2, 2]);
        Ok(base.reshape(&shape)?.transpose())
    }),
];

/// Elements of any type, their bytes all different as far as a byte goes.
fn base(dtype: DType) -> Tensor {
    let shape = [4, 6, 8];
    let bytes = dtype.packed_bytes(4 * 6 * 8).unwrap();
    let pattern: Vec<u8> = (0..bytes).map(|i| (i * 7 % 251) as u8).collect();
    let memory = Tensor::from_slice(&pattern, &[bytes]).unwrap();
    Tensor::from_storage(memory.storage().clone(), &shape, dtype).unwrap()
}

#[track_caller]
fn assert_same(back: &Tensor, tensor: &Tensor, what: &str) {
    assert_eq!(back.data_ptr(), tensor.data_ptr(), "{what}: pointer");
    assert_eq!(back.shape(), tensor.shape(), "{what}: shape");
    assert_eq!(back.strides(), tensor.strides(), "{what}: strides");
    assert_eq!(back.dtype(), tensor.dtype(), "{what}: dtype");
    assert_eq!(back.device(), tensor.device(), "{what}: device");
    assert_eq!(back.len(), tensor.len(), "{what}: len");
    assert_eq!(back.is_read_only(), tensor.is_read_only(), "{what}");
    assert_eq!(back.is_padded(), tensor.is_padded(), "{what}: padded");
    assert!(!back.is_copied(), "{what}: shared, so not copied");
}

fn packed_bytes(tensor: &Tensor) -> Vec<u8> {
    let copy = tensor.copy().unwrap().as_bytes().unwrap();
    copy.to_vec::<u8>().unwrap()
}

#[test]
fn every_dtype_and_layout_round_trips() {
    // What Miri could find doesn't depend on the code.
    let few = [DType::U1, DType::F6_E2M3FN, DType::BOOL, DType::C128];
    let dtypes = if cfg!(miri) { &few } else { DType::ALL };
    for &dtype in dtypes {
        let base = base(dtype);
        let mut seen = 0;
        for (name, make_view) in VIEWS {
            let what = format!("{dtype}, {name}");
            let tensor = match make_view(&base) {
                Ok(tensor) => tensor,
                Err(_) if dtype.is_sub_byte() => continue, // It would begin inside a byte.
                Err(error) => panic!("{what}: {error}"),
            };
            seen += 1;
            for (way, there_and_back) in WAYS {
                let back = there_and_back(&tensor);
                assert_same(&back, &tensor, &format!("{what}, {way}"));
                if !cfg!(miri) {
                    let expected = packed_bytes(&tensor);
                    assert_eq!(packed_bytes(&back), expected, "{what}, {way}");
                }
            }
        }
        assert!(seen >= if dtype.is_sub_byte() { 12 } else { 14 }, "{dtype}");
    }
}

#[test]
fn vector_dtypes_keep_their_lanes() {
    for (dtype, lanes) in [
        (DType::F32, 4),
        (DType::U1, 8),
        (DType::I4, 3),
        (DType::BF16, 2),
    ] {
        let dtype = dtype.with_lanes(lanes).unwrap();
        let tensor = base(dtype).step_by(0, -2).unwrap();
        for (way, there_and_back) in WAYS {
            let back = there_and_back(&tensor);
            assert_same(&back, &tensor, way);
            assert_eq!(back.dtype().lanes(), lanes);
            assert_eq!(packed_bytes(&back), packed_bytes(&tensor), "{dtype}, {way}");
        }
    }
}

#[test]
fn round_trip_keeps_read_only() {
    let tensor = base(DType::F32).into_read_only();
    for (_, make_view) in VIEWS {
        let view = make_view(&tensor).unwrap();
        assert!(view.is_read_only());
        for (way, there_and_back) in versioned_ways() {
            assert_same(&there_and_back(&view), &view, way);
        }
    }
}

#[test]
fn round_trip_keeps_padded() {
    let deletions = Counter::default();
    for dtype in [DType::U1, DType::I4, DType::F6_E3M2FN, DType::F4_E2M1FN] {
        let mut producer = Producer::of(&[1_u8, 0, 1, 0, 0, 1], &[2, 3], &[3, 1]);
        producer.dtype = dtype.into();
        producer.flags = Flags::IS_SUBBYTE_TYPE_PADDED;
        let tensor = Tensor::from_dlpack(producer.hand_out::<Versioned>(&deletions)).unwrap();
        assert!(tensor.is_padded());
        let column = tensor.select(1, 2).unwrap();
        assert_eq!(packed_bytes(&column), [1, 1], "a byte an element");
        for tensor in [tensor.clone(), tensor.transpose(), column] {
            for (way, there_and_back) in versioned_ways() {
                assert_same(&there_and_back(&tensor), &tensor, way);
            }
        }
    }
    assert_eq!(deletions.count(), 4);
}

/// Writes other elements through what came back, and sees them in the tensor that went out.
fn writes_reach_the_original<T: Element + PartialEq + Debug>(element: impl Fn(u8) -> T) {
    let fresh = || {
        let elements: Vec<T> = (0..192).map(&element).collect();
        Tensor::from_slice(&elements, &[4, 6, 8]).unwrap()
    };
    let old = fresh().to_vec::<T>().unwrap();
    for (name, make_view) in VIEWS {
        if name == "broadcast" {
            continue; // Its elements overlap, so it can't be written through.
        }
        // Miri takes one that comes back as ours and one that doesn't.
        for (way, there_and_back) in WAYS.iter().step_by(if cfg!(miri) { 4 } else { 1 }) {
            let base = fresh();
            let tensor = make_view(&base).unwrap();
            let back = there_and_back(&tensor);
            // SAFETY: the other handles are not used while the view lasts.
            let mut view = unsafe { back.view_mut_unchecked::<T>() }.unwrap();
            for (i, to) in view.iter_mut().enumerate() {
                *to = element(200 - i as u8);
            }
            let written: Vec<T> = (0..tensor.len()).map(|i| element(200 - i as u8)).collect();
            let what = format!("{}, {name}, {way}", T::DTYPE);
            assert_eq!(tensor.to_vec::<T>().unwrap(), written, "{what}");
            // The rest of the memory is as it was.
            let new = base.to_vec::<T>().unwrap();
            let changed = old.iter().zip(&new).filter(|(old, new)| old != new).count();
            assert!(
                changed <= tensor.len(),
                "{what}: {changed} elements changed"
            );
        }
    }
}

#[test]
fn writes_after_round_trip_reach_the_original() {
    writes_reach_the_original(f32::from);
    if cfg!(miri) {
        return;
    }
    writes_reach_the_original(|i| i);
    writes_reach_the_original(|i| i16::from(i) * -100);
    writes_reach_the_original(|i| u64::from(i) << 40);
    writes_reach_the_original(|i| num_complex::Complex::new(f64::from(i), -1.0));
    writes_reach_the_original(|i| half::bf16::from_f32(f32::from(i)));
    writes_reach_the_original(|i| i % 3 == 0);
    // Small enough that none of them is a NaN, which would not be equal to itself.
    writes_reach_the_original(|i| F8E5M2::from_bits(i / 4));
}

#[test]
fn round_trip_keeps_device() {
    let deletions = Counter::default();
    let kinds = dlbridge::DeviceKind::ALL;
    for &kind in kinds {
        for id in [0, 3] {
            let device = dlbridge::Device::new(kind, id);
            let mut producer = Producer::two_rows();
            producer.device = device.into();
            let managed = producer.hand_out::<Versioned>(&deletions);
            let tensor = Tensor::from_dlpack(managed).unwrap();
            assert_eq!(tensor.device(), device);
            for (way, there_and_back) in WAYS {
                assert_same(&there_and_back(&tensor), &tensor, way);
            }
        }
    }
    assert_eq!(deletions.count(), 2 * kinds.len());
}
