//! Apache Arrow.
#![cfg(feature = "arrow")]

mod support;

use arrow_array::types::{Float32Type, Int32Type};
use arrow_array::{
    Array, FixedSizeListArray, Float32Array, Float64Array, Int32Array, TimestampSecondArray,
};
use arrow_schema::extension::FixedShapeTensor;
use arrow_schema::{DataType, Field};
use dlbridge::crates::arrow::{FixedShape, from_fixed_shape};
use dlbridge::error::{Error, IncompatibilityKind as Kind};
use dlbridge::{DType, Tensor};
use std::sync::atomic::Ordering;
use support::{counted, kind};

#[test]
fn arrays_move_their_memory_if_they_are_the_only_handle() -> Result<(), Error> {
    let array = Float32Array::from(vec![1.0, 2.0, 3.0]);
    let first = array.values().as_ptr();
    let mut tensor = Tensor::try_from(array)?;
    assert_eq!(tensor.data_ptr().cast(), first);
    tensor.view_mut::<f32>()?[[1]] = 20.0;
    let array = Float32Array::try_from(tensor)?;
    assert_eq!((array.values().as_ptr(), array.value(1)), (first, 20.0));
    assert!(array.into_builder().is_ok()); // it is a vector again
    // Memory of Arrow's own, aligned more than a vector's.
    let built: Int32Array = (0..5).map(Some).collect();
    let (_, values, _) = built.into_parts();
    let built = Int32Array::new(values, None);
    let mut tensor = Tensor::try_from(built)?;
    tensor.view_mut::<i32>()?[[4]] = -1;
    assert_eq!(tensor.to_vec::<i32>()?, [0, 1, 2, 3, -1]);
    Ok(())
}

#[test]
fn shared_arrays_are_read_only_and_kept() -> Result<(), Error> {
    let array = Float32Array::from(vec![1.0, 2.0, 3.0, 4.0]);
    let part = array.slice(1, 2);
    let first = part.values().as_ptr();
    let tensor = Tensor::try_from(part)?;
    assert_eq!(tensor.data_ptr().cast(), first);
    assert!(tensor.is_read_only());
    drop(array);
    assert_eq!(tensor.to_vec::<f32>()?, [2.0, 3.0]);
    Ok(())
}

#[test]
fn arrays_keep_tensors_of_any_owner() -> Result<(), Error> {
    let (tensor, drops) = counted(vec![1_i32, 2, 3], &[3]);
    let first = tensor.data_ptr();
    let array = Int32Array::try_from(tensor)?;
    assert_eq!(array.values().as_ptr().cast(), first);
    let part = array.slice(1, 2);
    drop(array);
    assert_eq!((drops.load(Ordering::Relaxed), part.value(1)), (0, 3));
    drop(part);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    // A part of a vector, which isn't its beginning.
    let part = Tensor::from(vec![1_i32, 2, 3, 4]).slice(0, 2..)?;
    assert_eq!(Int32Array::try_from(part)?.values()[..], [3, 4]);
    let none = Tensor::from(vec![1_i32]).slice(0, 1..)?;
    assert!(Int32Array::try_from(none)?.is_empty());
    Ok(())
}

#[test]
fn lists_are_dimensions() -> Result<(), Error> {
    let tensor = Tensor::from_vec((0..24_i32).collect(), &[2, 3, 4])?;
    let first = tensor.data_ptr();
    let list = FixedSizeListArray::try_from(tensor)?;
    assert_eq!((list.len(), list.value_length()), (2, 3));
    let back = Tensor::try_from(list.slice(1, 1))?;
    assert_eq!(back.shape(), [1, 3, 4]);
    assert_eq!(back.to_vec::<i32>()?, (12..24).collect::<Vec<_>>());
    assert_eq!(back.data_ptr(), first.wrapping_add(48));
    drop(back);
    let mut back = Tensor::try_from(list)?;
    assert_eq!((back.shape(), back.data_ptr()), (&[2, 3, 4][..], first));
    back.view_mut::<i32>()?; // it is the only handle again
    for shape in [[0, 3], [3, 0]] {
        let list = FixedSizeListArray::try_from(Tensor::zeros(&shape, DType::F32)?)?;
        assert_eq!(Tensor::try_from(list)?.shape(), shape);
    }
    Ok(())
}

#[test]
fn fixed_shape_tensors_have_their_shape() -> Result<(), Error> {
    let tensor = Tensor::from_vec((0..12).map(|i| i as f32).collect(), &[2, 3, 2])?;
    let first = tensor.data_ptr();
    let FixedShape { field, array, .. } = FixedShape::try_from(tensor)?;
    assert_eq!(field.extension_type_metadata(), Some(r#"{"shape":[3,2]}"#));
    assert_eq!(array.value_length(), 6);
    let back = from_fixed_shape(&field, array)?;
    assert_eq!((back.shape(), back.data_ptr()), (&[2, 3, 2][..], first));

    // The example of the specification, smaller: physical shape [2, 3, 4], permutation [2, 0, 1].
    let values = Tensor::from_vec((0..24_i32).collect(), &[1, 24])?;
    let array = FixedSizeListArray::try_from(values)?;
    let column = |name: &str, metadata: &str| {
        let metadata = [
            ("ARROW:extension:name", name.to_owned()),
            ("ARROW:extension:metadata", metadata.to_owned()),
        ];
        Field::new("x", array.data_type().clone(), false).with_metadata(metadata)
    };
    let kind_of = "arrow.fixed_shape_tensor";
    for order in ["permutation", "permutations"] {
        let metadata = format!(r#"{{"shape":[2,3,4],"{order}":[2,0,1],"dim_names":null}}"#);
        let tensor = from_fixed_shape(&column(kind_of, &metadata), array.clone())?;
        assert_eq!(
            (tensor.shape(), tensor.strides()),
            (&[1, 4, 2, 3][..], &[24, 1, 12, 4][..])
        );
    }
    // As `arrow-schema` writes it.
    let theirs = FixedShapeTensor::try_new(DataType::Int32, [2, 12], None, None).unwrap();
    let field = column(kind_of, "").with_extension_type(theirs);
    assert_eq!(from_fixed_shape(&field, array.clone())?.shape(), [1, 2, 12]);

    let refused = |name: &str, metadata: &str| {
        kind(from_fixed_shape(&column(name, metadata), array.clone()).unwrap_err())
    };
    assert_eq!(refused("arrow.json", r#"{"shape":[24]}"#), Kind::Type);
    for metadata in [
        "",
        "{}",
        r#"{"shape":[25]}"#,
        r#"{"shape":[-24]}"#,
        r#"{"shape":24}"#,
    ] {
        assert_eq!(refused(kind_of, metadata), Kind::Shape);
    }
    for order in ["[0]", "[0,0]", "[0,2]", "[0,1,1]", "7"] {
        let metadata = format!(r#"{{"shape":[4,6],"permutation":{order}}}"#);
        assert_eq!(refused(kind_of, &metadata), Kind::Shape);
    }
    let column = FixedShape::try_from(Tensor::from(vec![1.0_f64, 2.0]))?; // tensors of rank 0
    assert_eq!(from_fixed_shape(&column.field, column.array)?.shape(), [2]);
    Ok(())
}

#[test]
fn conversions_name_what_does_not_fit() -> Result<(), Error> {
    let nulls = Float32Array::from(vec![Some(1.0), None]);
    let error = Tensor::try_from(nulls).unwrap_err().incompatibility();
    assert_eq!(error.kind, Kind::Value);
    assert!(error.found.unwrap().contains("1 null") && error.remedy.is_some());
    let times = TimestampSecondArray::from(vec![1, 2]);
    assert_eq!(kind(Tensor::try_from(times).unwrap_err()), Kind::DType);
    let lists = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(
        vec![Some(vec![Some(1), Some(2)]), None],
        2,
    );
    assert_eq!(kind(Tensor::try_from(lists).unwrap_err()), Kind::Value);
    let inner = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(
        vec![Some(vec![Some(1.0), None])],
        2,
    );
    assert_eq!(kind(Tensor::try_from(inner).unwrap_err()), Kind::Value);

    let matrix = || Tensor::from([[1_i32, 2], [3, 4]]);
    assert_eq!(
        kind(Int32Array::try_from(matrix()).unwrap_err()),
        Kind::Rank
    );
    assert_eq!(
        kind(Float64Array::try_from(Tensor::from(vec![1])).unwrap_err()),
        Kind::DType
    );
    let transposed = matrix().transpose();
    assert_eq!(
        kind(FixedSizeListArray::try_from(transposed).unwrap_err()),
        Kind::Layout
    );
    let complex = Tensor::zeros(&[2, 2], DType::C64)?;
    assert_eq!(
        kind(FixedSizeListArray::try_from(complex).unwrap_err()),
        Kind::DType
    );
    let line = Tensor::from(vec![1]);
    assert_eq!(
        kind(FixedSizeListArray::try_from(line).unwrap_err()),
        Kind::Rank
    );
    assert_eq!(
        kind(FixedShape::try_from(Tensor::scalar(1)).unwrap_err()),
        Kind::Rank
    );
    Ok(())
}
