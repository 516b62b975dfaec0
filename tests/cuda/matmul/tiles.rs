//! The kernel for all layouts, where there is no cuBLASLt.

use super::kernels::on_doubles;
use crate::double::{calls, journal, mistakes};
use dlbridge::cuda::{self, Gpu, Stream};
use dlbridge::{Tensor, ops};

/// On the first GPU.
fn sent(tensor: &Tensor) -> Tensor {
    cuda::to_device(tensor, &Stream::current(Gpu::new(0).unwrap())).unwrap()
}

fn values(tensor: &Tensor) -> Vec<i32> {
    cuda::to_host(tensor).unwrap().to_vec().unwrap()
}

fn numbers(shape: [usize; 2]) -> Tensor {
    let count = (shape[0] * shape[1]) as i32;
    let all: Vec<i32> = (0..count).map(|number| number * 7 % 23 - 11).collect();
    Tensor::from(all).reshape(&shape).unwrap()
}

#[test]
fn every_layout_is_multiplied_without_copies() {
    let test = "matmul::tiles::every_layout_is_multiplied_without_copies";
    on_doubles(test, &[], &[], || {
        let (a, b) = (numbers([70, 5]), numbers([5, 3]));
        let expected = ops::matmul(&a, &b).unwrap().to_vec::<i32>().unwrap();
        let (a, b) = (sent(&a), sent(&b));
        let by_columns = |tensor: &Tensor| sent(&cuda::to_host(&tensor.transpose()).unwrap());
        let (turned_a, turned_b) = (by_columns(&a), by_columns(&b));
        let before = calls("cuLaunchKernel");
        for (a, b) in [
            (&a, &b),
            (&turned_a.transpose(), &b),
            (&a, &turned_b.transpose()),
        ] {
            let found = ops::matmul(a, b).unwrap();
            assert_eq!(values(&found), expected);
        }
        assert_eq!(calls("cuLaunchKernel") - before, 3, "nothing is copied");
        let nothing = ops::matmul(&sent(&numbers([0, 5])), &b).unwrap();
        assert_eq!(nothing.shape(), [0, 3]);
        assert_eq!(
            calls("cuLaunchKernel") - before,
            3,
            "there is nothing to do"
        );
        let zeros = ops::matmul(&sent(&numbers([2, 0])), &sent(&numbers([0, 3]))).unwrap();
        assert_eq!(values(&zeros), [0; 6]);
        assert_eq!(mistakes(), "");
        assert!(journal().contains("matmul_i32_tiles<<<[2, 1, 1], [256, 1, 1], 0>>>"));
    });
}
