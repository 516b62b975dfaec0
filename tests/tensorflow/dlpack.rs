//! TensorFlow's own functions for DLPack.

use crate::fixture::{Check, Counted, Fixture};
use dlbridge::tensorflow::{EagerTensor, Version};
use dlbridge::{DType, Tensor};

pub(crate) const CHECKS: &[Check] = &[
    ("dlpack_shares_memory_both_ways", dlpack_shares),
    ("dlpack_releases_once_where_it_refuses", dlpack_refuses),
];

fn dlpack_shares(fixture: &Fixture) {
    for (dtype, nbytes) in [
        (DType::F32, 24),
        (DType::BF16, 12),
        (DType::I64, 48),
        (DType::U8, 6),
    ] {
        let mut memory = Counted::new(&[2, 3], dtype);
        let ours = memory.take();
        let theirs = EagerTensor::from_tensor_by_dlpack(&fixture.context, &ours).unwrap();
        let back = theirs.to_tensor_by_dlpack().unwrap();
        assert_eq!(back.data_ptr(), ours.data_ptr());
        assert_eq!((back.dtype(), back.nbytes()), (dtype, nbytes));
        assert!(back.is_read_only());
        assert_eq!(theirs.to_tensor().unwrap().data_ptr(), ours.data_ptr());
        drop((ours, theirs));
        assert_eq!(memory.releases(), 0);
        drop(back);
        assert_eq!(memory.releases(), 1);
    }
    // Read-only memory as well, as TensorFlow doesn't write it.
    static TABLE: Aligned = Aligned([1.0, 2.0, 3.0]);
    let table: &'static [f32] = &TABLE.0;
    let ours = Tensor::from_owner(table, &[3]).unwrap();
    let theirs = EagerTensor::from_tensor_by_dlpack(&fixture.context, &ours).unwrap();
    assert_eq!(
        theirs.to_tensor().unwrap().to_vec::<f32>().unwrap(),
        [1.0, 2.0, 3.0]
    );
}

#[repr(align(64))]
struct Aligned([f32; 3]);

fn dlpack_refuses(fixture: &Fixture) {
    // 8-bit floats, where the version has them, are shared by the C library and refused by its
    // DLPack.
    let mut memory = Counted::new(&[4], DType::F8_E5M2);
    let ours = memory.take();
    let error = EagerTensor::from_tensor_by_dlpack(&fixture.context, &ours).unwrap_err();
    if fixture.tensorflow.version()
        >= (Version {
            major: 2,
            minor: 21,
        })
    {
        let text = error.to_string();
        assert!(
            text.starts_with("TFE_HandleFromDLPack failed with INVALID_ARGUMENT: "),
            "{text}"
        );
    }
    assert_eq!(memory.releases(), 0);
    drop(ours);
    assert_eq!(memory.releases(), 1);
}
