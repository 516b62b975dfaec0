//! The structs of the message, as ONNX's `onnx.proto` has them.

use prost::Message;
use prost::bytes::Bytes;

#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorProto {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub(super) dims: Vec<i64>,
    #[prost(int32, optional, tag = "2")]
    pub(super) data_type: Option<i32>,
    #[prost(message, optional, tag = "3")]
    pub(super) segment: Option<Segment>,
    #[prost(float, repeated, tag = "4")]
    pub(super) float_data: Vec<f32>,
    /// Integers of 32 bits and less, the bits of smaller floats, and bytes of packed elements.
    #[prost(int32, repeated, tag = "5")]
    pub(super) int32_data: Vec<i32>,
    #[prost(int64, repeated, tag = "7")]
    pub(super) int64_data: Vec<i64>,
    #[prost(string, optional, tag = "8")]
    pub(super) name: Option<String>,
    /// The bytes of all elements, row-major.
    #[prost(bytes = "bytes", optional, tag = "9")]
    pub(super) raw_data: Option<Bytes>,
    #[prost(double, repeated, tag = "10")]
    pub(super) double_data: Vec<f64>,
    /// Integers of 32 and 64 bits without a sign.
    #[prost(uint64, repeated, tag = "11")]
    pub(super) uint64_data: Vec<u64>,
    #[prost(message, repeated, tag = "13")]
    pub(super) external_data: Vec<Entry>,
    #[prost(int32, optional, tag = "14")]
    pub(super) data_location: Option<i32>,
}

/// A part of a tensor that is in several messages.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Segment {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Entry {
    #[prost(string, optional, tag = "1")]
    pub(super) key: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(super) value: Option<String>,
}
