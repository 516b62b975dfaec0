//! Lists of a fixed size, and lists of such lists: tensors of rank 2 and higher.

use super::{check_nulls, primitive};
use crate::crates::TakeError;
use crate::dtype::DType;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::layout::Layout;
use crate::tensor::Tensor;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, FixedSizeListArray};
use arrow_schema::{DataType, Field};
use std::sync::Arc;

/// The element types that both have.
macro_rules! for_dtype {
    ($($Theirs:ident: $Type:ident = $OURS:ident),* $(,)?) => {
        /// Creates a tensor of an array of plain numbers.
        fn of_numbers(values: ArrayRef, layout: Layout) -> Result<Tensor, Error> {
            match values.data_type() {
                $(DataType::$Theirs => {
                    let array = values.as_primitive::<$Type>().clone();
                    drop(values); // So that the array may be the memory's only handle.
                    primitive::tensor(array, layout)
                })*
                other => {
                    let (found, wanted) = (other.to_string(), "plain numbers, or lists of them");
                    Err(Incompatibility::new(IncompatibilityKind::DType, found, wanted).into())
                }
            }
        }

        /// Creates an array of a tensor's elements.
        pub(super) fn numbers(tensor: Tensor) -> Result<ArrayRef, TakeError> {
            match tensor.dtype() {
                $(DType::$OURS => Ok(Arc::new(primitive::array::<$Type>(tensor)?)),)*
                found => {
                    let (found, wanted) = (found.to_string(), "a number type of Arrow");
                    let error = Incompatibility::new(IncompatibilityKind::DType, found, wanted);
                    Err(TakeError::new(tensor, error))
                }
            }
        }
    };
}

for_dtype! {
    Int8: Int8Type = I8, Int16: Int16Type = I16, Int32: Int32Type = I32, Int64: Int64Type = I64,
    UInt8: UInt8Type = U8, UInt16: UInt16Type = U16, UInt32: UInt32Type = U32,
    UInt64: UInt64Type = U64,
    Float16: Float16Type = F16, Float32: Float32Type = F32, Float64: Float64Type = F64,
}

/// A tensor of one more dimension than lists lie in each other.
impl TryFrom<FixedSizeListArray> for Tensor {
    type Error = Error;

    /// # Errors
    ///
    /// When there are nulls, or the innermost values aren't plain numbers.
    fn try_from(list: FixedSizeListArray) -> Result<Self, Error> {
        let len = list.len();
        with_sizes(list, vec![len])
    }
}

/// Creates a tensor of a list, whose sizes so far are these.
fn with_sizes(list: FixedSizeListArray, mut shape: Vec<usize>) -> Result<Tensor, Error> {
    check_nulls(list.null_count())?;
    let (_, size, values, _) = list.into_parts();
    shape.push(size.unsigned_abs() as usize);
    if let Some(inner) = values.as_any().downcast_ref::<FixedSizeListArray>() {
        let inner = inner.clone();
        drop(values);
        return with_sizes(inner, shape);
    }
    of_numbers(values, Layout::contiguous(&shape)?)
}

/// Lists of the last dimension's size, in lists of those before it; the first dimension is the
/// array's length.
impl TryFrom<Tensor> for FixedSizeListArray {
    type Error = TakeError;

    /// # Errors
    ///
    /// When the rank is below 2, a size is above `i32::MAX`, or the elements are of a type that
    /// Arrow doesn't have, not on the CPU or not one after another.
    fn try_from(tensor: Tensor) -> Result<Self, TakeError> {
        let shape = tensor.shape().to_vec();
        if shape.len() < 2 {
            let found = format!("rank {}", shape.len());
            let error = Incompatibility::new(IncompatibilityKind::Rank, found, "rank 2 or more")
                .with_remedy("convert it to a PrimitiveArray");
            return Err(TakeError::new(tensor, error));
        }
        if shape[1..].iter().any(|size| i32::try_from(*size).is_err()) {
            let (found, wanted) = (format!("shape {shape:?}"), "sizes of at most 2^31 - 1");
            let error = Incompatibility::new(IncompatibilityKind::Shape, found, wanted);
            return Err(TakeError::new(tensor, error));
        }
        Ok(lists(numbers(tensor)?, &shape))
    }
}

/// Puts values into lists of the last dimension's size, and these into lists of those before it.
fn lists(mut values: ArrayRef, shape: &[usize]) -> FixedSizeListArray {
    for axis in (1..shape.len()).rev() {
        let field = Arc::new(Field::new_list_field(values.data_type().clone(), false));
        let (size, len) = (shape[axis] as i32, shape[..axis].iter().product());
        let list = FixedSizeListArray::try_new_with_length(field, size, values, None, len);
        let list = list.expect("sizes that multiply to the number of values");
        if axis == 1 {
            return list;
        }
        values = Arc::new(list);
    }
    unreachable!("the rank is at least 2")
}

/// Puts all values of a tensor's first dimension's elements into one list each.
pub(super) fn flat_lists(values: ArrayRef, len: usize, size: i32) -> FixedSizeListArray {
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), false));
    let list = FixedSizeListArray::try_new_with_length(field, size, values, None, len);
    list.expect("sizes that multiply to the number of values")
}

/// Creates a tensor of a list's values, of this shape.
pub(super) fn with_shape(list: FixedSizeListArray, shape: &[usize]) -> Result<Tensor, Error> {
    check_nulls(list.null_count())?;
    let (_, _, values, _) = list.into_parts();
    of_numbers(values, Layout::contiguous(shape)?)
}
