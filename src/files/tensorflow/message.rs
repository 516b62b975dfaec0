//! The structs of the message, as TensorFlow's `tensor.proto` has them.

use prost::Message;
use prost::bytes::Bytes;

#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorProto {
    #[prost(int32, tag = "1")]
    pub(super) dtype: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) tensor_shape: Option<Shape>,
    /// The bytes of all elements, row-major.
    #[prost(bytes = "bytes", tag = "4")]
    pub(super) tensor_content: Bytes,
    #[prost(float, repeated, tag = "5")]
    pub(super) float_val: Vec<f32>,
    #[prost(double, repeated, tag = "6")]
    pub(super) double_val: Vec<f64>,
    /// Of 32 bits and less, but for 32 bits without a sign.
    #[prost(int32, repeated, tag = "7")]
    pub(super) int_val: Vec<i32>,
    #[prost(float, repeated, tag = "9")]
    pub(super) scomplex_val: Vec<f32>,
    #[prost(int64, repeated, tag = "10")]
    pub(super) int64_val: Vec<i64>,
    #[prost(bool, repeated, tag = "11")]
    pub(super) bool_val: Vec<bool>,
    #[prost(double, repeated, tag = "12")]
    pub(super) dcomplex_val: Vec<f64>,
    /// The bits of float16 and bfloat16.
    #[prost(int32, repeated, tag = "13")]
    pub(super) half_val: Vec<i32>,
    #[prost(uint32, repeated, tag = "16")]
    pub(super) uint32_val: Vec<u32>,
    #[prost(uint64, repeated, tag = "17")]
    pub(super) uint64_val: Vec<u64>,
    /// A byte for each element of 8 bits and less.
    #[prost(bytes = "vec", tag = "18")]
    pub(super) float8_val: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(message, repeated, tag = "2")]
    pub(super) dim: Vec<Dim>,
    #[prost(bool, tag = "3")]
    pub(super) unknown_rank: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Dim {
    #[prost(int64, tag = "1")]
    pub(super) size: i64,
}
