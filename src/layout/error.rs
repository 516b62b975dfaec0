//! Errors of shapes and strides.

use crate::dtype::DType;

/// Why a shape or its strides are invalid. The numbers are those of the invariants in
/// [`layout`](crate::layout).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// (1) The rank is below 0.
    #[error("a tensor can't have {rank} dimensions")]
    NegativeRank {
        /// The rank.
        rank: i32,
    },
    /// (1) The rank is larger than any framework's.
    #[error(
        "{rank} dimensions are more than the {} that are supported",
        super::MAX_RANK
    )]
    RankTooLarge {
        /// The rank.
        rank: usize,
    },
    /// (2) Dimensions, and no sizes for them.
    #[error("the shape is NULL, though there are {rank} dimensions")]
    NullShape {
        /// The rank.
        rank: usize,
    },
    /// (3) A size is below 0.
    #[error("dimension {axis} has the negative size {size}")]
    NegativeSize {
        /// The dimension.
        axis: usize,
        /// Its size.
        size: i64,
    },
    /// (4) Not one stride for each size.
    #[error("{strides} strides for {sizes} dimensions")]
    StrideCount {
        /// How many sizes.
        sizes: usize,
        /// How many strides.
        strides: usize,
    },
    /// (5) The product of the sizes that are not 0 is too large.
    #[error("the sizes multiply to more elements than memory has addresses")]
    TooManyElements,
    /// (6) The strides lead to elements that are too far away.
    #[error("the strides lead to elements further away than memory has addresses")]
    TooFar,
    /// (7) The strides lead further than an address can, as wide as the elements are.
    #[error("sizes and strides of {dtype} elements reach further than memory has addresses")]
    ExtentTooLarge {
        /// The element type.
        dtype: DType,
    },
    /// (8) Elements, and no memory for them.
    #[error("the data pointer is NULL, though there are {elements} elements")]
    NullData {
        /// How many elements.
        elements: usize,
    },
    /// (9) Data pointer, offset and strides lead out of the address space.
    #[error("data pointer {data:#x} with byte offset {byte_offset} leads out of the address space")]
    AddressOverflow {
        /// The data pointer.
        data: usize,
        /// The byte offset.
        byte_offset: u64,
    },
    /// Memory that is too small for the layout.
    #[error("{dtype} elements of shape {shape:?} need {needed} bytes, and there are {available}")]
    TooSmall {
        /// The element type.
        dtype: DType,
        /// The sizes.
        shape: Vec<usize>,
        /// How many bytes the layout touches.
        needed: usize,
        /// How many bytes there are.
        available: usize,
    },
    /// The number of elements is not what the shape says.
    #[error("shape {shape:?} has {expected} elements, and there are {found}")]
    ElementCount {
        /// The sizes.
        shape: Vec<usize>,
        /// Their product.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// Only sub-byte elements of one lane can be padded.
    #[error("{dtype} can't be padded: only sub-byte types of one lane can")]
    CannotPad {
        /// The element type.
        dtype: DType,
    },
    /// A dimension that isn't there.
    #[error("axis {axis} is out of bounds for a tensor of rank {rank}")]
    NoSuchAxis {
        /// The requested dimension.
        axis: usize,
        /// The rank.
        rank: usize,
    },
    /// An order of dimensions that leaves one out, or names it twice.
    #[error("{axes:?} is not an order of {rank} dimensions")]
    NotAPermutation {
        /// The dimensions as they were named.
        axes: Vec<usize>,
        /// The rank.
        rank: usize,
    },
    /// A range that leaves its dimension.
    #[error("range {start}..{stop} is out of bounds for axis {axis} with size {size}")]
    OutOfRange {
        /// The dimension.
        axis: usize,
        /// Start of the range.
        start: usize,
        /// End of the range.
        stop: usize,
        /// The dimension's size.
        size: usize,
    },
    /// An index that leaves its dimension.
    #[error("index {index} is out of bounds for axis {axis} with size {size}")]
    IndexOutOfBounds {
        /// The dimension.
        axis: usize,
        /// The index.
        index: usize,
        /// The dimension's size.
        size: usize,
    },
    /// A split behind the end of its dimension.
    #[error("split at {at} is out of bounds for axis {axis} with size {size}")]
    SplitOutOfBounds {
        /// The dimension.
        axis: usize,
        /// Where to split.
        at: usize,
        /// The dimension's size.
        size: usize,
    },
    /// Another rank than a view's type names.
    #[error("expected {expected} dimensions, got shape {shape:?}")]
    RankMismatch {
        /// How many were expected.
        expected: usize,
        /// The sizes.
        shape: Vec<usize>,
    },
    /// Other strides than a view's type names.
    #[error(
        "expected elements {expected}, got shape {shape:?} with strides {strides:?}; copy the tensor first"
    )]
    NotArranged {
        /// How the elements should lie.
        expected: &'static str,
        /// The sizes.
        shape: Vec<usize>,
        /// The strides.
        strides: Vec<isize>,
    },
    /// A step of 0.
    #[error("a slice can't have step 0")]
    ZeroStep,
    /// A split into parts that don't add up.
    #[error("parts of {parts:?} don't make up dimension {axis} of size {size}")]
    UnevenSplit {
        /// The dimension.
        axis: usize,
        /// The parts' sizes.
        parts: Vec<usize>,
        /// The dimension's size.
        size: usize,
    },
    /// Only dimensions of size 1 can be squeezed.
    #[error("dimension {axis} has size {size} and can't be squeezed: only size 1 can")]
    NotSqueezable {
        /// The dimension.
        axis: usize,
        /// Its size.
        size: usize,
    },
    /// Shapes that broadcasting doesn't unite.
    #[error("shape {from:?} can't be broadcast to {to:?}")]
    NotBroadcastable {
        /// The sizes.
        from: Vec<usize>,
        /// The target sizes.
        to: Vec<usize>,
    },
    /// Strides that no view of the new shape has.
    #[error(
        "shape {from:?} with strides {strides:?} can't become {to:?} without a copy; copy it first"
    )]
    ReshapeNeedsCopy {
        /// The sizes.
        from: Vec<usize>,
        /// The strides.
        strides: Vec<isize>,
        /// The target sizes.
        to: Vec<usize>,
    },
    /// Elements that can't be read as others where they lie.
    #[error(
        "{from} elements of shape {shape:?}, strides {strides:?} can't be viewed as {to}: {reason}"
    )]
    NotCastable {
        /// The element type.
        from: DType,
        /// The target dtype.
        to: DType,
        /// The sizes.
        shape: Vec<usize>,
        /// The strides.
        strides: Vec<isize>,
        /// The obstacle.
        reason: &'static str,
    },
    /// A view of packed elements that would begin inside a byte.
    #[error(
        "the view would begin inside a byte, {bits} bits into it, as {dtype} elements are packed"
    )]
    InsideByte {
        /// The element type.
        dtype: DType,
        /// How many bits into the byte.
        bits: usize,
    },
    /// A shape that doesn't match a pattern.
    #[error("{message}")]
    Pattern {
        /// The tensor, the pattern, the shape, and where they differ.
        message: String,
        /// The shape.
        found: Vec<usize>,
        /// The pattern, with the sizes of names that are known.
        wanted: String,
        /// Whether the rank is another one.
        is_rank: bool,
    },
}
