//! C makes tensors that make no sense, and Rust refuses them.

use crate::library::{Library, trials};
use dlbridge::dlpack::{Abi, DLPackVersion, FromRawError, Managed, VERSION};
use dlbridge::dtype::TypeCode;
use dlbridge::error::{DTypeError, DeviceError, LayoutError};
use dlbridge::{DType, DeviceKind, Error, Tensor};

trials!(each_is_refused_for_its_reason);

/// Why a tensor is refused.
#[derive(Debug, PartialEq)]
enum Refusal {
    Managed(FromRawError),
    Tensor(Error),
}

impl<E: Into<Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Tensor(error.into())
    }
}

/// What is expected of the malformed tensor of that name; `None`, that nothing is wrong with it.
fn expected(name: &str) -> Option<Refusal> {
    let dtype = DType::F32;
    let version = |major| {
        let found = DLPackVersion {
            major,
            minor: VERSION.minor,
        };
        Refusal::Managed(FromRawError::Version { found })
    };
    Some(match name {
        "nothing" => return None,
        "negative_rank" => LayoutError::NegativeRank { rank: -1 }.into(),
        "rank_of_256" => LayoutError::RankTooLarge { rank: 256 }.into(),
        "largest_rank" => LayoutError::RankTooLarge {
            rank: i32::MAX as usize,
        }
        .into(),
        "null_shape" => LayoutError::NullShape { rank: 2 }.into(),
        "negative_size" => LayoutError::NegativeSize { axis: 1, size: -3 }.into(),
        "too_many_elements" => LayoutError::TooManyElements.into(),
        "strides_that_overflow" => LayoutError::TooFar.into(),
        "too_many_bytes" | "stride_too_large" => LayoutError::ExtentTooLarge { dtype }.into(),
        "null_data" => LayoutError::NullData { elements: 6 }.into(),
        "byte_offset_that_overflows" => LayoutError::AddressOverflow {
            data: 64,
            byte_offset: u64::MAX,
        }
        .into(),
        "elements_below_address_0" => LayoutError::AddressOverflow {
            data: 8,
            byte_offset: 0,
        }
        .into(),
        "unknown_type_code" => DTypeError::Code { code: 18 }.into(),
        "float_of_12_bits" => DTypeError::Width {
            code: TypeCode::Float,
            bits: 12,
        }
        .into(),
        "no_lanes" => DTypeError::NoLanes.into(),
        "unknown_device" => DeviceError::Kind { value: 5 }.into(),
        "negative_device" => DeviceError::NegativeId {
            kind: DeviceKind::Cpu,
            id: -1,
        }
        .into(),
        "older_major_version" => version(0),
        "newer_major_version" => version(VERSION.major + 1),
        "padding_of_several_lanes" => LayoutError::CannotPad {
            dtype: DType::I4.with_lanes(3).unwrap(),
        }
        .into(),
        _ => panic!("no expectation for {name}"),
    })
}

fn each_is_refused_for_its_reason<A: Abi>(library: &Library) {
    let names = library.malformed_names();
    assert!(
        names.len() > 20,
        "expected more than 20 cases, got {names:?}"
    );
    for (which, name) in (0..).zip(&names) {
        let counts = library.counts();
        let Some(raw) = library.make_malformed::<A>(which, &counts) else {
            assert!(!A::HAS_FLAGS, "{name} is for the versioned ABI at least");
            continue;
        };
        assert_eq!(counts.deletions_and_live(), (0, 1), "{name}");
        // SAFETY: C gives it away, and its deleter can be called. What else it promises is false,
        // which the import has to see before it relies on it.
        let result = unsafe { Managed::from_raw(raw.as_ptr()) }
            .map_err(Refusal::Managed)
            .and_then(|managed| Ok(Tensor::from_dlpack(managed)?));
        assert_eq!(result.as_ref().err(), expected(name).as_ref(), "{name}");
        // A refusal releases it at once, once.
        let refused = i32::from(result.is_err());
        assert_eq!(
            counts.deletions_and_live(),
            (refused, 1 - refused),
            "{name}"
        );
        drop(result);
        assert_eq!(counts.deletions_and_live(), (1, 0), "{name}");
    }
}
