//! Columns of tensors of one shape: Arrow's canonical extension type `arrow.fixed_shape_tensor`.

use super::list;
use crate::crates::TakeError;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::tensor::Tensor;
use arrow_array::{Array, FixedSizeListArray};
use arrow_schema::Field;
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use serde_json::{Value, json};

/// The extension type's name.
const NAME: &str = "arrow.fixed_shape_tensor";

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
        let array = list::flat_lists(list::numbers(tensor)?, len, size);
        let metadata = json!({ "shape": shape }).to_string();
        let metadata = [
            (EXTENSION_TYPE_NAME_KEY, NAME.to_owned()),
            (EXTENSION_TYPE_METADATA_KEY, metadata),
        ];
        let field = Field::new("tensor", array.data_type().clone(), false);
        let field = field.with_metadata(metadata);
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
    if field.extension_type_name() != Some(NAME) {
        let found = field.extension_type_name().unwrap_or("no extension type");
        let error = Incompatibility::new(IncompatibilityKind::Type, found.to_owned(), NAME);
        return Err(error.into());
    }
    let metadata: Value = field
        .extension_type_metadata()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let sizes = numbers(&metadata["shape"]).ok_or_else(|| no_shape(&metadata))?;
    let product = sizes
        .iter()
        .try_fold(1_usize, |all, size| all.checked_mul(*size));
    if product != usize::try_from(array.value_length()).ok() {
        let found = format!("lists of {}", array.value_length());
        let wanted = format!("elements of shape {sizes:?}");
        return Err(Incompatibility::new(IncompatibilityKind::Shape, found, wanted).into());
    }
    let mut shape = vec![array.len()];
    shape.extend(&sizes);
    let tensor = list::with_shape(array, &shape)?;
    // The specification's word is the first; `arrow-schema` writes the second.
    let order = ["permutation", "permutations"].map(|key| &metadata[key]);
    let Some(order) = order.into_iter().find(|order| !order.is_null()) else {
        return Ok(tensor);
    };
    let order = numbers(order)
        .filter(|order| (0..sizes.len()).all(|axis| order.contains(&axis)))
        .filter(|order| order.len() == sizes.len())
        .ok_or_else(|| no_shape(&metadata))?;
    let mut axes = vec![0];
    axes.extend(order.iter().map(|axis| axis + 1));
    tensor.permute(&axes)
}

/// Returns a list of sizes or axes.
fn numbers(value: &Value) -> Option<Vec<usize>> {
    let numbers = value.as_array()?.iter();
    numbers
        .map(|number| usize::try_from(number.as_u64()?).ok())
        .collect()
}

#[cold]
fn no_shape(metadata: &Value) -> Error {
    let found = format!("metadata {metadata}");
    let wanted = "a shape, and a permutation of its axes or none";
    Incompatibility::new(IncompatibilityKind::Shape, found, wanted).into()
}
