//! Descriptors that make no sense: each is refused for its own reason, nothing behind them is
//! read, and the deleter is called once, at the refusal.

use crate::foreign::{Counter, ForeignAbi, Producer};
use dlbridge::dlpack::{
    DLDataTypeCode, DLDeviceType, DLPackVersion, Flags, FromRawError, Managed, Versioned,
};
use dlbridge::error::{DTypeError, DeviceError, LayoutError};
use dlbridge::{DType, DeviceKind, Error, Tensor};
use std::ptr;

for_both_abis!(
    ranks,
    sizes,
    strides,
    data_pointers,
    element_types,
    devices,
    what_is_wrong_twice_is_released_once,
);

/// How to make a good descriptor a bad one.
type Spoil = fn(&mut Producer);

/// Spoils two rows of three `f32`s in each way, and expects its refusal.
fn assert_refused<A: ForeignAbi, E: Into<Error> + Clone>(cases: &[(Spoil, E)]) {
    for (case, (spoil, expected)) in cases.iter().enumerate() {
        let deletions = Counter::default();
        let mut producer = Producer::two_rows();
        spoil(&mut producer);
        let managed = producer.hand_out::<A>(&deletions);
        assert_eq!(deletions.count(), 0, "case {case}: before the import");
        let error = Tensor::from_dlpack(managed).unwrap_err();
        assert_eq!(error, expected.clone().into(), "case {case}");
        assert_eq!(deletions.count(), 1, "case {case}: at the refusal");
    }
}

/// Invariants 1 and 2.
fn ranks<A: ForeignAbi>() {
    assert_refused::<A, LayoutError>(&[
        (|it| it.ndim = -1, LayoutError::NegativeRank { rank: -1 }),
        (
            |it| it.ndim = i32::MIN,
            LayoutError::NegativeRank { rank: i32::MIN },
        ),
        (
            |it| {
                it.ndim = -1;
                it.shape = None;
                it.strides = None;
            },
            LayoutError::NegativeRank { rank: -1 },
        ),
        // There are fewer numbers than these ranks say: Miri would see a read of them.
        (|it| it.ndim = 256, LayoutError::RankTooLarge { rank: 256 }),
        (
            |it| it.ndim = i32::MAX,
            LayoutError::RankTooLarge {
                rank: i32::MAX as usize,
            },
        ),
        (|it| it.shape = None, LayoutError::NullShape { rank: 2 }),
        (
            |it| {
                it.ndim = 255;
                it.shape = None;
                it.strides = None;
            },
            LayoutError::NullShape { rank: 255 },
        ),
    ]);
}

/// Invariants 3 and 5. Strides are NULL here, so that sizes alone are to blame.
fn sizes<A: ForeignAbi>() {
    fn set<const N: usize>(it: &mut Producer, sizes: [i64; N]) {
        it.ndim = N as i32;
        it.shape = Some(sizes.to_vec());
        it.strides = None;
    }
    let negative = |axis, size| LayoutError::NegativeSize { axis, size };
    let many = LayoutError::TooManyElements;
    assert_refused::<A, LayoutError>(&[
        (|it| set(it, [-1, 3]), negative(0, -1)),
        (|it| set(it, [2, i64::MIN]), negative(1, i64::MIN)),
        (|it| set(it, [0, -3]), negative(1, -3)),
        (|it| set(it, [1 << 32, 1 << 32]), many.clone()),
        (|it| set(it, [i64::MAX, 2]), many.clone()),
        (|it| set(it, [i64::MAX, i64::MAX]), many.clone()),
        (|it| set(it, [1 << 31; 3]), many.clone()),
        // No elements, and views of them could still overflow.
        (|it| set(it, [0, 1 << 62, 4]), many.clone()),
        (|it| set(it, [1 << 62, 4, 0]), many),
        // A number of elements that can be counted, and bits that can't.
        (
            |it| set(it, [1 << 60]),
            LayoutError::ExtentTooLarge { dtype: DType::F32 },
        ),
    ]);
}

/// Invariants 6 and 7.
fn strides<A: ForeignAbi>() {
    let dtype = DType::F32;
    let far = LayoutError::TooFar;
    let bits = LayoutError::ExtentTooLarge { dtype };
    assert_refused::<A, LayoutError>(&[
        (|it| it.strides = Some(vec![0, i64::MAX]), far.clone()),
        (|it| it.strides = Some(vec![0, i64::MIN]), far.clone()),
        // Each dimension alone is possible.
        (|it| it.strides = Some(vec![i64::MAX, 1]), far.clone()),
        (|it| it.strides = Some(vec![i64::MIN, -1]), far.clone()),
        // The first and the last element are too far from each other.
        (|it| it.strides = Some(vec![i64::MIN, 1]), far),
        (|it| it.strides = Some(vec![1 << 60, 1]), bits.clone()),
        (|it| it.strides = Some(vec![-(1 << 60), 1]), bits.clone()),
        (
            |it| it.strides = Some(vec![1 << 57, -(1 << 57)]),
            bits.clone(),
        ),
    ]);
}

/// Invariants 8 and 9.
fn data_pointers<A: ForeignAbi>() {
    fn point_to(it: &mut Producer, address: usize) {
        it.data = ptr::without_provenance_mut(address);
    }
    let null = |elements| LayoutError::NullData { elements };
    let overflow = |data, byte_offset| LayoutError::AddressOverflow { data, byte_offset };
    let top = usize::MAX - 15; // Six elements need 24 bytes.
    assert_refused::<A, LayoutError>(&[
        (|it| point_to(it, 0), null(6)),
        (
            |it| {
                it.data = ptr::null_mut();
                it.byte_offset = 64;
            },
            null(6),
        ),
        (
            |it| {
                it.data = ptr::null_mut();
                it.ndim = 0;
            },
            null(1),
        ),
        (
            |it| {
                it.data = ptr::null_mut();
                it.device.device_type = DLDeviceType::METAL;
            },
            null(6),
        ),
        (|it| point_to(it, usize::MAX - 15), overflow(top, 0)),
        (
            |it| {
                point_to(it, 64);
                it.byte_offset = u64::MAX;
            },
            overflow(64, u64::MAX),
        ),
        (
            |it| {
                point_to(it, 64);
                it.byte_offset = u64::MAX - 70;
            },
            overflow(64, u64::MAX - 70),
        ),
        (
            |it| {
                point_to(it, 8);
                it.strides = Some(vec![-3, -1]); // down to 20 bytes below
            },
            overflow(8, 0),
        ),
    ]);
}

fn element_types<A: ForeignAbi>() {
    use dlbridge::dtype::TypeCode;
    let width = |code, bits| DTypeError::Width { code, bits };
    assert_refused::<A, DTypeError>(&[
        (
            |it| it.dtype.code = DLDataTypeCode(18),
            DTypeError::Code { code: 18 },
        ),
        (
            |it| it.dtype.code = DLDataTypeCode(255),
            DTypeError::Code { code: 255 },
        ),
        (|it| it.dtype.bits = 0, width(TypeCode::Float, 0)),
        (|it| it.dtype.bits = 255, width(TypeCode::Float, 255)),
        (
            |it| it.dtype.code = DLDataTypeCode(6), // booleans of 32 bits
            width(TypeCode::Bool, 32),
        ),
        (|it| it.dtype.lanes = 0, DTypeError::NoLanes),
    ]);
}

fn devices<A: ForeignAbi>() {
    let kind = |value| DeviceError::Kind { value };
    let negative = |kind, id| DeviceError::NegativeId { kind, id };
    assert_refused::<A, DeviceError>(&[
        (|it| it.device.device_type = DLDeviceType(0), kind(0)),
        (|it| it.device.device_type = DLDeviceType(5), kind(5)),
        (|it| it.device.device_type = DLDeviceType(19), kind(19)),
        (
            |it| it.device.device_type = DLDeviceType(u32::MAX),
            kind(u32::MAX),
        ),
        (|it| it.device.device_id = -1, negative(DeviceKind::Cpu, -1)),
        (
            |it| {
                it.device.device_type = DLDeviceType::CUDA;
                it.device.device_id = i32::MIN;
            },
            negative(DeviceKind::Cuda, i32::MIN),
        ),
    ]);
}

fn what_is_wrong_twice_is_released_once<A: ForeignAbi>() {
    let deletions = Counter::default();
    let mut producer = Producer::two_rows();
    producer.ndim = -7;
    producer.dtype.lanes = 0;
    producer.device.device_id = -1;
    producer.data = ptr::null_mut();
    let refused = Tensor::from_dlpack(producer.hand_out::<A>(&deletions));
    assert!(refused.is_err());
    assert_eq!(deletions.count(), 1);
}

#[test]
fn padded_flag_on_packed_vectors_is_refused() {
    // Three lanes of 4 bits don't fill whole bytes, and where the padding would be is not defined.
    let dtype = DType::I4.with_lanes(3).unwrap();
    let deletions = Counter::default();
    let mut producer = Producer::two_rows();
    producer.dtype = dtype.into();
    producer.flags = Flags::IS_SUBBYTE_TYPE_PADDED;
    let managed = producer.hand_out::<Versioned>(&deletions);
    let error = Tensor::from_dlpack(managed).unwrap_err();
    assert_eq!(error, LayoutError::CannotPad { dtype }.into());
    assert_eq!(deletions.count(), 1);
}

#[test]
fn foreign_major_version_is_refused() {
    for major in [0, 2, u32::MAX] {
        let deletions = Counter::default();
        let mut producer = Producer::two_rows();
        let found = DLPackVersion { major, minor: 0 };
        producer.version = found;
        let raw = producer.hand_out_raw::<Versioned>(&deletions);
        // SAFETY: the producer gives it away, and its deleter may be called.
        let error = unsafe { Managed::from_raw(raw) }.unwrap_err();
        assert_eq!(error, FromRawError::Version { found });
        assert_eq!(deletions.count(), 1);
    }
}

#[test]
fn null_managed_tensor_is_refused() {
    // SAFETY: NULL is allowed.
    let error = unsafe { Managed::<Versioned>::from_raw(ptr::null_mut()) }.unwrap_err();
    assert_eq!(error, FromRawError::Null);
}
