//! The walk through TensorFlow's structs, for each representation of shapes.

use crate::fixture::{Check, Fixture, numbers};
use dlbridge::tensorflow::{
    DataType, EagerTensor, Inspection, ShapeRepresentation, TfTensor, inspect,
};
use dlbridge::{DType, Tensor};

pub(crate) const CHECKS: &[Check] = &[
    ("every_representation_of_shapes_is_read", representations),
    ("every_dtype_code_is_read", codes),
    ("references_are_those_of_the_buffer", references),
    ("inspection_prints_as_a_table", table),
];

fn look(tensor: &TfTensor) -> Inspection {
    // SAFETY: the library is the release that Python's package has.
    unsafe { inspect(tensor) }.unwrap()
}

fn share(fixture: &Fixture, tensor: &Tensor) -> TfTensor {
    TfTensor::from_tensor(fixture.tensorflow, tensor).unwrap()
}

fn representations(fixture: &Fixture) {
    use ShapeRepresentation::{OutOfLine, Rep16, Rep32};
    let shapes: [(&[usize], _); 7] = [
        (&[], Rep16),
        (&[2, 3], Rep16),
        (&[1, 2, 3, 1, 2, 3], Rep16),
        (&[70_000], Rep32),
        (&[1, 70_000, 2], Rep32),
        (&[1, 1, 70_000, 1], OutOfLine),
        (&[1, 2, 1, 2, 1, 2, 3], OutOfLine),
    ];
    for (shape, representation) in shapes {
        let ours = Tensor::zeros(shape, DType::U8).unwrap();
        let theirs = share(fixture, &ours);
        let found = look(&theirs);
        assert_eq!(found.representation, representation, "{shape:?}");
        let sizes: Vec<_> = shape.iter().map(|size| *size as i64).collect();
        assert_eq!(found.shape, sizes);
        assert_eq!(found.elements, sizes.iter().product::<i64>());
        assert_eq!(found.data, ours.data_ptr().addr());
        assert_eq!(found.tf_tensor, theirs.as_raw().addr());
        assert_eq!(found.tensor, found.interface + 8);
        assert!(found.buffer != 0 && found.buffer.is_multiple_of(8));
    }
}

fn codes(fixture: &Fixture) {
    let mut seen = 0;
    for data_type in DataType::all() {
        let Ok(dtype) = data_type.dtype() else {
            continue;
        };
        if !dtype.is_sub_byte()
            && let Ok(theirs) =
                TfTensor::from_tensor(fixture.tensorflow, &Tensor::zeros(&[2], dtype).unwrap())
        {
            assert_eq!(look(&theirs).data_type, data_type);
            seen += 1;
        }
    }
    assert!(seen >= 15, "{seen}");
}

fn references(fixture: &Fixture) {
    let theirs = share(fixture, &numbers(&[2]));
    assert_eq!(look(&theirs).references, 1);
    let handle = EagerTensor::from_tf_tensor(&fixture.context, &theirs).unwrap();
    let with_handle = look(&theirs).references;
    assert!(with_handle > 1, "{with_handle}");
    let other = handle.to_tf_tensor().unwrap();
    assert_eq!(look(&other).buffer, look(&theirs).buffer);
    assert_eq!(look(&other).references, with_handle + 1);
    drop((handle, other));
    assert_eq!(look(&theirs).references, 1);
}

fn table(fixture: &Fixture) {
    let ours = numbers(&[2, 3]);
    let found = look(&share(fixture, &ours));
    let table = found.to_string();
    let rows: Vec<Vec<_>> = table
        .lines()
        .map(|row| row.split_whitespace().collect())
        .collect();
    assert_eq!(rows[0], ["field", "place", "value"]);
    assert_eq!(rows[4], ["shape", "Tensor", "+", "0", "[2,", "3]"]);
    assert_eq!(rows[5], ["dtype", "Tensor", "+", "13", "1", "(DT_FLOAT)"]);
    assert_eq!(rows[6], ["rank", "Tensor", "+", "14", "2"]);
    assert_eq!(rows[7], ["representation", "Tensor", "+", "15", "Rep16"]);
    assert_eq!(rows[10], ["references", "TensorBuffer", "+", "8", "1"]);
    let data = format!("{:#x}", ours.data_ptr().addr());
    assert_eq!(rows[11], ["data", "TensorBuffer", "+", "16", data.as_str()]);
    assert_eq!(rows.len(), 12);
}
