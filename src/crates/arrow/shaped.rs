//! Columns of tensors of one shape: Arrow's canonical extension type `arrow.fixed_shape_tensor`.

use super::{list, refused};
use crate::crates::TakeError;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::tensor::Tensor;
use arrow_array::{Array, FixedSizeListArray};
use arrow_schema::extension::FixedShapeTensor;
use arrow_schema::{DataType, Field};

/// A column of tensors of one shape: the field that says which one, and the elements.
///
/// ```
/// use dlbridge::{Tensor, crates::arrow::{FixedShape, from_fixed_shape}};
///
/// let batch = Tensor::from([[[1.0_f32, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]);
/// let column = FixedShape::try_from(batch)?; // two tensors of shape [2, 2]
/// assert_eq!(column.field.extension_type_name(), Some("arrow.fixed_shape_tensor"));
/// let back = from_fixed_shape(&column.field, column.array)?;
/// assert_eq!(back.shape(), [2, 2, 2]);
/// # Ok::<(), dlbridge::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FixedShape {
    /// The column's field, named `tensor`.
    pub field: Field,
    /// The elements, one list for each tensor.
    pub array: FixedSizeListArray,
}

/// The first dimension counts the column's tensors.
impl TryFrom<Tensor> for FixedShape {
    type Error = TakeError;

    /// # Errors
    ///
    /// When the rank is 0, a tensor of the column has more than `i32::MAX` elements, or the
    /// elements are of a type that Arrow doesn't have, not on the CPU or not one after another.
    fn try_from(tensor: Tensor) -> Result<Self, TakeError> {
        let Some((&len, shape)) = tensor.shape().split_first() else {
            let error = Incompatibility::new(IncompatibilityKind::Rank, "rank 0", "rank 1 or more");
            return Err(TakeError::new(tensor, error));
        };
        let shape = shape.to_vec();
        let size = shape
            .iter()
            .try_fold(1_usize, |all, size| all.checked_mul(*size));
        let Some(size) = size.and_then(|size| i32::try_from(size).ok()) else {
            let found = format!("shape {:?}", tensor.shape());
            let wanted = "tensors of at most 2^31 - 1 elements";
            let error = Incompatibility::new(IncompatibilityKind::Shape, found, wanted);
            return Err(TakeError::new(tensor, error));
        };
        let values = list::numbers(tensor)?;
        let number = values.data_type().clone();
        let array = list::flat_lists(values, len, size);
        let kind = FixedShapeTensor::try_new(number, shape, None, None).expect("no names to check");
        let field = Field::new("tensor", array.data_type().clone(), false);
        let field = field.with_extension_type(kind);
        Ok(Self { field, array })
    }
}

/// Returns the tensors of a column as one, of one more dimension: the first counts them. A
/// permutation of the column becomes one of the strides.
///
/// # Errors
///
/// When the field isn't of that extension type, there are nulls, or the elements aren't plain
/// numbers.
pub fn from_fixed_shape(field: &Field, array: FixedSizeListArray) -> Result<Tensor, Error> {
    let kind: FixedShapeTensor = field
        .try_extension_type()
        .map_err(|error| refused(&error))?;
    if array.data_type() != field.data_type() {
        return Err(mismatch(array.data_type(), field.data_type()));
    }
    let mut shape = vec![array.len()];
    shape.extend(kind.shape());
    let tensor = list::with_shape(array, &shape)?;
    let Some(order) = kind.permutations() else {
        return Ok(tensor);
    };
    let mut axes = vec![0];
    axes.extend(order.iter().map(|axis| axis + 1));
    tensor.permute(&axes)
}

#[cold]
fn mismatch(found: &DataType, wanted: &DataType) -> Error {
    let (found, wanted) = (found.to_string(), wanted.to_string());
    Incompatibility::new(IncompatibilityKind::Type, found, wanted).into()
}
