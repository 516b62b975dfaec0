//! The ops that come with the crate, from Rust: examples, and a comparison with naive oracles over
//! shapes, layouts and element types.
#![cfg(feature = "ops")]

#[path = "ops/arranged.rs"]
mod arranged;
#[path = "support/cases.rs"]
mod cases;
#[path = "ops/casts.rs"]
mod casts;
#[path = "ops/concat.rs"]
mod concat;
#[path = "ops/elementwise.rs"]
mod elementwise;
#[path = "ops/elsewhere.rs"]
mod elsewhere;
#[path = "ops/exact.rs"]
mod exact;
#[path = "ops/examples.rs"]
mod examples;
#[path = "ops/floats.rs"]
mod floats;
#[path = "ops/given.rs"]
mod given;
#[path = "ops/gradients.rs"]
mod gradients;
#[path = "ops/image_resizing.rs"]
mod image_resizing;
#[path = "ops/images.rs"]
mod images;
#[path = "ops/norms.rs"]
mod norms;
#[path = "ops/number.rs"]
mod number;
#[path = "ops/nv12.rs"]
mod nv12;
#[path = "ops/odd_strides.rs"]
mod odd_strides;
#[path = "ops/oracle.rs"]
mod oracle;
#[path = "ops/out.rs"]
mod out;
#[path = "ops/over_inputs.rs"]
mod over_inputs;
#[path = "ops/packed_casts.rs"]
mod packed_casts;
#[path = "ops/quantization.rs"]
mod quantization;
#[path = "ops/random.rs"]
mod random;
#[path = "ops/reductions.rs"]
mod reductions;
#[path = "ops/rows.rs"]
mod rows;
#[path = "ops/size_rules.rs"]
mod size_rules;
#[path = "ops/sums.rs"]
mod sums;
#[path = "ops/topk.rs"]
mod topk;
#[path = "ops/unary.rs"]
mod unary;
#[path = "ops/variances.rs"]
mod variances;
