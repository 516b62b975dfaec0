//! The ops on tensors in Rust against the same functions of ndarray and candle, by turns in one
//! process. Prints markdown; `./dev bench kernels` runs it.
//!
//! All make a new result in each call, and all split large work among the same number of threads.

mod arrays;
mod cases;
mod timing;

use dlbridge::compute::threads::set_num_threads;

fn main() {
    let threads = match std::env::args().nth(1).map(|number| number.parse()) {
        Some(Ok(threads)) => threads,
        _ => panic!("expected the number of threads as the argument"),
    };
    set_num_threads(threads);
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("RAYON_NUM_THREADS", threads.to_string()) };
    let s = if threads == 1 { "" } else { "s" };
    println!("\n### From Rust, {threads} thread{s}\n");
    println!("| function | size | dlbridge | ndarray | candle | ratio | bar | met |");
    println!("|---|---|---:|---:|---:|---:|---:|---|");
    for case in cases::all() {
        println!("{}", timing::line(&case));
    }
}
