//! Layouts that cuBLASLt takes as they are, their descriptors, and those that are copied first.

use super::library::{expected, last, lines, numbers, sent, values, with_blas};
use crate::double::{calls, journal};
use dlbridge::cuda::{self, Gpu, Stream};
use dlbridge::kernel::Registry;
use dlbridge::{DType, Element, Tensor, ops};
use half::{bf16, f16};

/// The same matrix by columns.
fn by_columns(rows: usize, columns: usize) -> Tensor {
    let stored = ops::copy(&numbers(rows, columns).transpose()).unwrap();
    sent(&stored).transpose()
}

/// The same matrix, with room between its rows.
fn padded(rows: usize, columns: usize) -> Tensor {
    let stream = Stream::current(Gpu::new(0).unwrap());
    let all = cuda::zeros(&[rows, columns + 3], DType::F32, &stream).unwrap();
    let mut place = all.slice(1, 1..columns + 1).unwrap();
    drop(all);
    cuda::copy_into(&mut place, &numbers(rows, columns), &stream).unwrap();
    place
}

#[test]
fn contiguous_rows_and_columns_are_not_copied() {
    let test = "matmul::layouts::contiguous_rows_and_columns_are_not_copied";
    with_blas(test, &[], || {
        let (m, k, n) = (3, 5, 4);
        let (a, b) = (sent(&numbers(m, k)), sent(&numbers(k, n)));
        let (a_by_columns, b_by_columns) = (by_columns(m, k), by_columns(k, n));
        let (wide_a, wide_b) = (padded(m, k), padded(k, n));
        let wanted: Vec<f32> = expected(&a, &b);
        // By columns, `out` is transposed, and so its factors come in the other order.
        let cases = [
            (&a, &b, "F32 in 68 NN 4x3x5 [4, 5, 4]"),
            (&a_by_columns, &b, "F32 in 68 NT 4x3x5 [4, 3, 4]"),
            (&a, &b_by_columns, "F32 in 68 TN 4x3x5 [5, 5, 4]"),
            (&a_by_columns, &b_by_columns, "F32 in 68 TT 4x3x5 [5, 3, 4]"),
            (&wide_a, &wide_b, "F32 in 68 NN 4x3x5 [7, 8, 4]"),
            (&wide_a, &b_by_columns, "F32 in 68 TN 4x3x5 [5, 8, 4]"),
        ];
        for (number, (a, b, told)) in cases.into_iter().enumerate() {
            let before = calls("cuLaunchKernel");
            let out = ops::matmul(a, b).unwrap();
            assert_eq!(last(), format!("{told} with 0 bytes"), "case {number}");
            assert_eq!(calls("cuLaunchKernel") - before, 1, "nothing is copied");
            assert_eq!(values::<f32>(&out), wanted, "case {number}");
        }
    });
}

#[test]
fn results_by_columns_or_padded_are_not_copied() {
    let test = "matmul::layouts::results_by_columns_or_padded_are_not_copied";
    with_blas(test, &[], || {
        let matmul = Registry::global().op("matmul").unwrap();
        let (a, b) = (sent(&numbers(3, 5)), sent(&numbers(5, 4)));
        let wanted: Vec<f32> = expected(&a, &b);
        for (mut out, told) in [
            (
                by_columns(3, 4),
                "F32 in 68 TT 3x4x5 [5, 4, 3] with 0 bytes",
            ),
            (padded(3, 4), "F32 in 68 NN 4x3x5 [4, 5, 7] with 0 bytes"),
        ] {
            let call = matmul.call().input(&a).input(&b);
            call.output(&mut out).run().unwrap();
            assert_eq!(last(), told);
            assert_eq!(values::<f32>(&out), wanted);
        }
    });
}

#[test]
fn other_layouts_are_copied() {
    let test = "matmul::layouts::other_layouts_are_copied";
    with_blas(test, &[], || {
        let matmul = Registry::global().op("matmul").unwrap();
        let (a, b) = (sent(&numbers(3, 10)), sent(&numbers(5, 4)));
        let spread = a.step_by(1, 2).unwrap();
        let backwards = b.step_by(0, -1).unwrap();
        let row = sent(&numbers(1, 4)).broadcast_to(&[5, 4]).unwrap();
        let told = "F32 in 68 NN 4x3x5 [4, 5, 4] with 0 bytes";
        for (a, b, copies) in [
            (&spread, &b, 1),
            (&spread, &backwards, 2),
            (&spread, &row, 2),
        ] {
            let before = calls("cuLaunchKernel");
            let out = ops::matmul(a, b).unwrap();
            assert_eq!(last(), told);
            assert_eq!(calls("cuLaunchKernel") - before, copies + 1);
            assert_eq!(values::<f32>(&out), expected::<f32>(a, b));
        }
        let stream = Stream::current(Gpu::new(0).unwrap());
        let all = cuda::zeros(&[3, 8], DType::F32, &stream).unwrap();
        let mut out = all.step_by(1, 2).unwrap();
        drop(all);
        let call = matmul.call().input(&spread).input(&b);
        call.output(&mut out).run().unwrap();
        assert_eq!(last(), told);
        assert_eq!(values::<f32>(&out), expected::<f32>(&spread, &b));
        let journal = journal();
        assert!(!journal.contains("matmul_f32_tiles"), "{journal}");
    });
}

#[test]
fn vectors_are_matrices_with_any_stride() {
    let test = "matmul::layouts::vectors_are_matrices_with_any_stride";
    with_blas(test, &[], || {
        let wide = sent(&numbers(5, 4));
        // A column of a matrix, and a row of its transposed one.
        let column = wide.slice(1, 2..3).unwrap();
        let row = column.transpose();
        for (a, b) in [
            (&row, &wide),
            (&row, &column),
            (&column, &row),
            (&wide.transpose(), &column),
        ] {
            let before = calls("cuLaunchKernel");
            let out = ops::matmul(a, b).unwrap();
            assert_eq!(calls("cuLaunchKernel") - before, 1, "nothing is copied");
            assert_eq!(values::<f32>(&out), expected::<f32>(a, b));
        }
    });
}

fn check<T: Element + PartialEq>(told: &str) {
    let [a, b] = [numbers(3, 5), numbers(5, 4)].map(|x| ops::cast(&x, T::DTYPE).unwrap());
    let (a, b) = (sent(&a), sent(&b));
    let out = ops::matmul(&a, &b).unwrap();
    assert_eq!((out.dtype(), out.shape()), (T::DTYPE, &[3, 4][..]));
    assert_eq!(last(), format!("{told} NN 4x3x5 [4, 5, 4] with 0 bytes"));
    assert!(values::<T>(&out) == expected::<T>(&a, &b), "of {told}");
}

#[test]
fn each_dtype_is_computed_in_its_precision() {
    let test = "matmul::layouts::each_dtype_is_computed_in_its_precision";
    with_blas(test, &[], || {
        check::<f32>("F32 in 68");
        check::<f16>("F16 in 68");
        check::<bf16>("BF16 in 68");
        check::<f64>("F64 in 70");
        // Only sums in these precisions are allowed.
        for asked in lines("asked: ") {
            assert!(asked.contains("33554432 bytes, schemes 2,"), "{asked}");
        }
    });
}
