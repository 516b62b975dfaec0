//! Algorithms: queried once for each problem, and cached, within bounds; and what is done where
//! there is none.

use super::library::{
    blas_mistakes, descriptors, expected, last, lines, numbers, refuse, sent, values, with_blas,
};
use crate::double::journal;
use dlbridge::cuda::{self, Gpu, Stream};
use dlbridge::{DType, ops};

#[test]
fn algorithms_are_queried_once() {
    with_blas("matmul::plans::algorithms_are_queried_once", &[], || {
        let (a, b) = (sent(&numbers(16, 16)), sent(&numbers(16, 16)));
        let asked = || lines("asked: ").len();
        for _ in 0..3 {
            ops::matmul(&a, &b).unwrap();
        }
        assert_eq!(asked(), 1);
        let other = Stream::new(Gpu::new(0).unwrap()).unwrap();
        let current = other.make_current();
        ops::matmul(&b, &a).unwrap();
        assert_eq!(asked(), 1, "on another stream it is the same");
        drop(current);
        ops::matmul(&a.transpose(), &b).unwrap();
        assert_eq!(asked(), 2);
        ops::matmul(&a.slice(0, ..15).unwrap(), &b).unwrap();
        assert_eq!(asked(), 3);
        ops::matmul(&a.slice(0, 1..).unwrap(), &b).unwrap();
        assert_eq!(asked(), 4, "it is aligned to less");
        let last = lines("asked: ").pop().unwrap();
        assert!(last.ends_with("alignments [256, 64, 256, 256]"), "{last}");
        assert_eq!(descriptors(), 4 * 4, "an operation and three matrices each");
    });
}

#[test]
fn cache_of_plans_is_bounded() {
    with_blas("matmul::plans::cache_of_plans_is_bounded", &[], || {
        let (a, b) = (sent(&numbers(600, 1)), sent(&numbers(1, 2)));
        let product = |rows| ops::matmul(&a.slice(0, ..rows).unwrap(), &b).unwrap();
        for rows in 2..600 {
            product(rows);
            assert!(descriptors() <= 4 * 512, "{}", descriptors());
        }
        assert_eq!(lines("asked: ").len(), 598);
        assert_eq!(values::<f32>(&product(2)), values::<f32>(&product(3))[..4]);
    });
}

#[test]
fn plans_are_kept_per_gpu() {
    with_blas("matmul::plans::plans_are_kept_per_gpu", &[], || {
        for id in 0..2 {
            let stream = Stream::current(Gpu::new(id).unwrap());
            let [a, b] =
                [numbers(2, 3), numbers(3, 2)].map(|x| cuda::to_device(&x, &stream).unwrap());
            for _ in 0..2 {
                let out = ops::matmul(&a, &b).unwrap();
                assert_eq!(out.device().id(), id);
                assert_eq!(values::<f32>(&out), expected::<f32>(&a, &b));
            }
            assert_eq!(lines("asked: ").len(), 1 + id as usize);
        }
    });
}

#[test]
fn missing_algorithm_uses_the_fallback_kernel() {
    let test = "matmul::plans::missing_algorithm_uses_the_fallback_kernel";
    with_blas(test, &[], || {
        for (way, rows) in [(1, 2), (2, 3), (3, 4), (4, 5)] {
            refuse(way);
            let (a, b) = (sent(&numbers(rows, 10)), sent(&numbers(10, 4)));
            let out = ops::matmul(&a, &b).unwrap();
            assert_eq!(values::<f32>(&out), expected::<f32>(&a, &b));
            // What had to be copied is taken from where it was.
            let b = b.slice(0, ..5).unwrap();
            let spread = a.step_by(1, 2).unwrap();
            let out = ops::matmul(&spread, &b).unwrap();
            assert_eq!(values::<f32>(&out), expected::<f32>(&spread, &b));
            assert_eq!((last(), descriptors()), (String::new(), 0));
        }
        assert_eq!(journal().matches("runs: matmul_f32_tiles").count(), 8);
        refuse(0);
    });
}

#[test]
fn empty_matrices_do_not_call_the_library() {
    let test = "matmul::plans::empty_matrices_do_not_call_the_library";
    with_blas(test, &[], || {
        let stream = Stream::current(Gpu::new(0).unwrap());
        let empty = |rows, columns| cuda::empty(&[rows, columns], DType::F32, &stream).unwrap();
        let nothing = ops::matmul(&empty(0, 3), &empty(3, 4)).unwrap();
        assert_eq!(nothing.shape(), [0, 4]);
        let zeros = ops::matmul(&empty(2, 0), &empty(0, 2)).unwrap();
        assert_eq!(values::<f32>(&zeros), [0.0; 4]);
        assert_eq!((lines(""), blas_mistakes()), (Vec::new(), String::new()));
    });
}
