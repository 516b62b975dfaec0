//! Times and allocations of the round trips, each by itself. For ratios, see `versus_dlpark`.

mod common;

use common::{
    SHAPES, Shared, foreign, import, import_dlpark, imported, numbers, round_trip,
    round_trip_dlpark,
};
use divan::{AllocProfiler, Bencher};
use dlbridge::dlpack::Versioned;
use std::sync::Arc;

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

const RANKS: [usize; 3] = [1, 4, 8];

fn shape(rank: usize) -> &'static [usize] {
    SHAPES
        .into_iter()
        .find(|shape| shape.len() == rank)
        .unwrap()
}

#[divan::bench(args = RANKS)]
fn round_trip_of_a_vec(bencher: Bencher, rank: usize) {
    let run = |numbers| round_trip(numbers, shape(rank));
    bencher.with_inputs(numbers).bench_local_values(run);
}

#[divan::bench(args = RANKS)]
fn round_trip_of_a_vec_dlpark(bencher: Bencher, rank: usize) {
    let run = |numbers| round_trip_dlpark(numbers, shape(rank));
    bencher.with_inputs(numbers).bench_local_values(run);
}

#[divan::bench(args = RANKS)]
fn another_export(bencher: Bencher, rank: usize) {
    let shared = Shared::new(shape(rank));
    bencher.bench_local(|| shared.reexport());
}

#[divan::bench(args = RANKS)]
fn another_export_dlpark(bencher: Bencher, rank: usize) {
    let shared = Shared::new(shape(rank));
    bencher.bench_local(|| shared.reexport_dlpark());
}

#[divan::bench(args = RANKS)]
fn import_of_a_foreign_tensor(bencher: Bencher, rank: usize) {
    let vec = Arc::new(numbers());
    let make = || Raw(foreign(&vec, shape(rank)));
    bencher
        .with_inputs(make)
        .bench_local_values(|raw| import(raw.0));
}

#[divan::bench(args = RANKS)]
fn import_of_a_foreign_tensor_dlpark(bencher: Bencher, rank: usize) {
    let vec = Arc::new(numbers());
    let make = || Raw(foreign(&vec, shape(rank)));
    bencher
        .with_inputs(make)
        .bench_local_values(|raw| import_dlpark(raw.0));
}

/// An input that is given away.
struct Raw(*mut Versioned);

#[divan::bench(args = RANKS)]
fn first_export_of_an_import(bencher: Bencher, rank: usize) {
    bencher
        .with_inputs(|| imported(shape(rank)))
        .bench_local_refs(|tensor| tensor.to_dlpack());
}
