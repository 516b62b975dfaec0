//! Reading elements: a view's iterator beside a slice's.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use dlbridge::Tensor;

fn main() {
    divan::main();
}

const SIDE: usize = 1000;

fn matrix() -> Tensor {
    Tensor::full(&[SIDE, SIDE], 1_u32).unwrap()
}

#[divan::bench]
fn sum_of_a_slice(bencher: Bencher) {
    let tensor = matrix();
    let view = tensor.view::<u32>().unwrap();
    let slice = view.as_slice().unwrap();
    bencher
        .counter(BytesCount::of_slice(slice))
        .bench(|| black_box(slice).iter().sum::<u32>());
}

#[divan::bench]
fn sum_of_a_dense_view(bencher: Bencher) {
    sum(bencher, &matrix());
}

#[divan::bench]
fn sum_of_every_second_column(bencher: Bencher) {
    sum(bencher, &matrix().step_by(1, 2).unwrap());
}

#[divan::bench]
fn sum_of_a_transposed_view(bencher: Bencher) {
    sum(bencher, &matrix().transpose());
}

fn sum(bencher: Bencher, tensor: &Tensor) {
    let view = tensor.view::<u32>().unwrap();
    bencher
        .counter(BytesCount::new(tensor.nbytes()))
        .bench(|| black_box(view).iter().sum::<u32>());
}
