//! Property tests of printing: any tensor can be printed.

use dlbridge::dlpack::{Description, Flags, Versioned, export};
use dlbridge::{DType, Device, Tensor};
use proptest::prelude::*;

fn any_tensor() -> impl Strategy<Value = Tensor> {
    let dtype = (prop::sample::select(DType::ALL), 1_u16..4);
    // Deep ones stay below 2 to the power of 62 elements. Miri would take hours to print those.
    let (sizes, rank, depth) = if cfg!(miri) {
        (4_usize, 3, 6)
    } else {
        (9, 4, 62)
    };
    let wide = prop::collection::vec((0..sizes, -3..=3_isize), 0..=rank);
    let deep = prop::collection::vec((1..=2_usize, -1..=1_isize), 0..=depth);
    let dims = prop_oneof![24 => wide, 1 => deep];
    let bytes = prop::collection::vec(any::<u8>(), 16);
    (dtype, dims, any::<bool>(), bytes).prop_map(|((dtype, lanes), dims, padded, bytes)| {
        let dtype = match (padded, dtype.is_sub_byte()) {
            (true, true) => dtype, // Only these can be padded, without lanes.
            _ => dtype.with_lanes(lanes).unwrap(),
        };
        foreign(dtype, &dims, padded && dtype.is_sub_byte(), &bytes)
    })
}

/// A tensor as another library may hand it out, its memory filled with the bytes given.
fn foreign(dtype: DType, dims: &[(usize, isize)], padded: bool, bytes: &[u8]) -> Tensor {
    let (shape, strides): (Vec<usize>, Vec<isize>) = dims.iter().copied().unzip();
    let steps = || {
        dims.iter()
            .map(|(size, stride)| (*size as isize - 1).max(0) * stride)
    };
    let bits = match dtype.item_bits() {
        bits if padded => bits.next_multiple_of(8),
        bits => bits,
    };
    let bytes_for = |elements: isize| (elements.unsigned_abs() * bits).div_ceil(8);
    let before = bytes_for(steps().filter(|step| *step < 0).sum());
    let after = bytes_for(steps().filter(|step| *step > 0).sum::<isize>() + 1);
    let mut memory: Vec<u8> = bytes.iter().copied().cycle().take(before + after).collect();
    let flags = if padded {
        Flags::IS_SUBBYTE_TYPE_PADDED
    } else {
        Flags::empty()
    };
    let description = Description {
        data: memory.as_mut_ptr().wrapping_add(before).cast(),
        device: Device::CPU.into(),
        dtype: dtype.into(),
        shape: &shape,
        strides: &strides,
        byte_offset: 0,
        flags,
    };
    // SAFETY: the memory has room for what the strides lead to, before and behind the first
    // element, and lives as long as the export.
    Tensor::from_dlpack(unsafe { export::<Versioned, _>(&description, memory) }).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 6 } else { 500 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_tensor_prints(tensor in any_tensor()) {
        let debug = format!("{tensor:?}");
        let (elements, facts) = debug.split_once("dtype=").unwrap();
        prop_assert!(elements.starts_with("Tensor("), "{debug}");
        prop_assert_eq!(facts.strip_suffix(')'), Some(&*tensor.dtype().to_string()));
        let numbers = tensor.len().saturating_mul(tensor.dtype().lanes().into());
        if (1..=1000).contains(&numbers) {
            // One comma behind each.
            prop_assert_eq!(elements.matches(',').count(), numbers);
        }
        let edges = tensor.shape().iter().map(|size| *size.min(&6));
        let edges = edges.fold(tensor.dtype().lanes().into(), usize::saturating_mul);
        let is_cut = numbers > 1000 && (edges < numbers || edges > 10_000);
        for text in [&debug, &tensor.to_string(), &format!("{tensor:.0}")] {
            prop_assert_eq!(text.matches('[').count(), text.matches(']').count());
            prop_assert_eq!(text.contains("..."), is_cut, "{}", text);
        }
    }
}
