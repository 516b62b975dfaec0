//! Errors of the value and memory floors: what was found, what was wanted, and the way out.
//!
//! One enum a concern, with fields rather than sentences; [`Error`] is the sum of them, for
//! callers who just pass them on.

use crate::device::{Device, DeviceKind};
use crate::dtype::{DType, TypeCode};
use std::fmt;

/// Any error of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What should be an element type is none.
    #[error(transparent)]
    DType(#[from] DTypeError),
    /// What should be a device is none.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Sizes and strides that describe no tensor, or not the one that was asked for.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A tensor whose memory can't be used in the way that was asked for.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// A tensor that can't leave by the way that was asked for.
    #[error(transparent)]
    Export(#[from] ExportError),
}

/// Why something is no element type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DTypeError {
    /// A code that DLPack 1.3 doesn't define.
    #[error("DLPack 1.3 has no element type of code {code}")]
    Code {
        /// The code.
        code: u8,
    },
    /// A width that means nothing for the code.
    #[error("an element of kind {code:?} can't be {bits} bits wide, only one of {:?}", .code.widths())]
    Width {
        /// The kind of number.
        code: TypeCode,
        /// The width, in bits.
        bits: u8,
    },
    /// An element that consists of no numbers.
    #[error("an element type needs at least one lane")]
    NoLanes,
    /// A name that no element type has.
    #[error(
        "no element type is called {name:?}; names are like \"float32\", \"int4\", \"float8_e4m3fn\""
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The value 1, say, can't be written in this element type.
    #[error("{value} can't be stored as {dtype}")]
    NotRepresentable {
        /// What should have been stored.
        value: &'static str,
        /// The element type.
        dtype: DType,
    },
}

/// Why something is no device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A number that DLPack 1.3 gives to no kind of device.
    #[error("DLPack 1.3 has no device type {value}")]
    Kind {
        /// The number.
        value: u32,
    },
    /// A device number below 0.
    #[error("{} device {id}: device numbers are not negative", .kind.name())]
    NegativeId {
        /// The kind of device.
        kind: DeviceKind,
        /// The number.
        id: i32,
    },
    /// A name that no device has.
    #[error("no device is called {name:?}; names are like \"cpu\" and \"cuda:1\"")]
    Name {
        /// The name.
        name: String,
    },
}

/// Why sizes and strides are refused. The numbers are those of the invariants in
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
        crate::layout::MAX_RANK
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
        /// Which dimension.
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
    /// (6, 7) The strides lead further than an address can.
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
    /// Padded storage is for elements of one number that is no whole byte wide.
    #[error("{dtype} can't be padded: only sub-byte types of one lane can")]
    CannotPad {
        /// The element type.
        dtype: DType,
    },
    /// A dimension that isn't there.
    #[error("there is no dimension {axis} among {rank}")]
    NoSuchAxis {
        /// Which dimension was named.
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
    #[error("{start}..{stop} is no range of dimension {axis}, whose size is {size}")]
    OutOfRange {
        /// Which dimension.
        axis: usize,
        /// Where the range begins.
        start: usize,
        /// Where the range ends.
        stop: usize,
        /// The dimension's size.
        size: usize,
    },
    /// A step of 0.
    #[error("a slice can't have step 0")]
    ZeroStep,
    /// A split into parts that don't add up.
    #[error("parts of {parts:?} don't make up dimension {axis} of size {size}")]
    UnevenSplit {
        /// Which dimension.
        axis: usize,
        /// The parts' sizes.
        parts: Vec<usize>,
        /// The dimension's size.
        size: usize,
    },
    /// Only dimensions of size 1 can be squeezed.
    #[error("dimension {axis} has size {size} and can't be squeezed: only size 1 can")]
    NotSqueezable {
        /// Which dimension.
        axis: usize,
        /// Its size.
        size: usize,
    },
    /// Shapes that broadcasting doesn't unite.
    #[error("shape {from:?} can't be broadcast to {to:?}")]
    NotBroadcastable {
        /// The sizes.
        from: Vec<usize>,
        /// What they should become.
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
        /// What the sizes should become.
        to: Vec<usize>,
    },
    /// Elements that can't be read as others where they lie.
    #[error(
        "{from} elements of shape {shape:?}, strides {strides:?} can't be viewed as {to}: {reason}"
    )]
    NotCastable {
        /// The element type.
        from: DType,
        /// What it should become.
        to: DType,
        /// The sizes.
        shape: Vec<usize>,
        /// The strides.
        strides: Vec<isize>,
        /// What is in the way.
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
}

/// Why memory can't be used in the way that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// The elements are of another type.
    #[error("the tensor's elements are {found}, not {wanted}")]
    DType {
        /// What they are.
        found: DType,
        /// What was asked for.
        wanted: DType,
    },
    /// The elements are padded to whole bytes, or not.
    #[error("{dtype} elements are {} here", if *.padded { "padded to whole bytes" } else { "packed" })]
    Padding {
        /// The element type.
        dtype: DType,
        /// Whether they are padded.
        padded: bool,
    },
    /// The processor can't reach the memory.
    #[error("the processor can't reach memory on {device}; copy the tensor to the host first")]
    NotOnHost {
        /// Where the memory is.
        device: Device,
    },
    /// The address is no multiple of the element's alignment.
    #[error(
        "the elements begin at {address:#x}, which is not aligned to {alignment} bytes; copy the tensor first"
    )]
    Misaligned {
        /// Where they begin.
        address: usize,
        /// What their type asks for.
        alignment: usize,
    },
    /// Writing was asked for, and the owner forbids it.
    #[error("the tensor is read-only; copy it to get one that can be written")]
    ReadOnly,
    /// Writing was asked for, and others may be reading or writing.
    #[error(
        "the tensor's memory is shared {with}, so writing needs a copy, or an unsafe promise that nobody else uses it"
    )]
    Shared {
        /// Whom it is shared with.
        with: SharedWith,
    },
    /// Writing was asked for, and several elements are at one place.
    #[error(
        "elements of shape {shape:?}, strides {strides:?} overlap, so they can't be written through; copy the tensor first"
    )]
    SelfOverlap {
        /// The sizes.
        shape: Vec<usize>,
        /// The strides.
        strides: Vec<isize>,
    },
    /// A byte that is no value of the element type.
    #[error("byte {value:#04x} is no {dtype}")]
    InvalidValue {
        /// The byte.
        value: u8,
        /// The element type.
        dtype: DType,
    },
    /// Several elements where one was wanted.
    #[error("the tensor has {elements} elements, not one")]
    NotScalar {
        /// How many there are.
        elements: usize,
    },
    /// Two tensors of different shapes where equal ones were wanted.
    #[error("shape {left:?} is not {right:?}")]
    ShapeMismatch {
        /// The one.
        left: Vec<usize>,
        /// The other.
        right: Vec<usize>,
    },
}

/// Who else may be using a tensor's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SharedWith {
    /// Other tensors, exports or weak references made from it in this program.
    Handles,
    /// The foreign library that it came from.
    Producer,
}

impl fmt::Display for SharedWith {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Handles => "with other handles to it",
            Self::Producer => "with the library that it came from",
        })
    }
}

/// Why a tensor can't be exported in the way that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The legacy ABI can't say that memory must not be written.
    #[error(
        "a read-only tensor can't be exported through the legacy DLManagedTensor, which can't mark it; export the versioned one, or copy it first"
    )]
    LegacyReadOnly,
    /// The legacy ABI can't say that elements are padded.
    #[error(
        "padded {dtype} elements can't be exported through the legacy DLManagedTensor, which can't mark them; export the versioned one"
    )]
    LegacyPadded {
        /// The element type.
        dtype: DType,
    },
}
