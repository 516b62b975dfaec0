//! Workspaces of algorithms: on several streams, while a graph is captured, and without memory.

use super::library::{
    blas_mistakes, expected, last, lines, need_workspace, numbers, sent, values, with_blas,
};
use crate::capture::capture;
use crate::double::{calls, journal, mistakes};
use dlbridge::cuda::{self, Gpu, Stream};
use dlbridge::kernel::Registry;
use dlbridge::{DType, Tensor, ops};

fn ends_with(bytes: u64) {
    let told = last();
    assert!(told.ends_with(&format!(" with {bytes} bytes")), "{told}");
}

#[test]
fn workspace_is_per_stream() {
    with_blas("matmul::workspace::workspace_is_per_stream", &[], || {
        need_workspace(1 << 20);
        let gpu = Gpu::new(0).unwrap();
        let (a, b) = (sent(&numbers(3, 5)), sent(&numbers(5, 4)));
        let wanted: Vec<f32> = expected(&a, &b);
        let streams = [(); 3].map(|()| Stream::new(gpu).unwrap());
        let mut results = Vec::new();
        // All of them have it at the same time: a common one would be a mistake of the driver's.
        for stream in streams.iter().chain(&streams) {
            let _current = stream.make_current();
            results.push(ops::matmul(&a, &b).unwrap());
            ends_with(1 << 20);
        }
        for out in &results {
            assert_eq!(values::<f32>(out), wanted);
        }
        need_workspace(64 << 20);
        let out = ops::matmul(&b.transpose(), &a.transpose()).unwrap();
        ends_with(0);
        assert_eq!(out.shape(), [4, 3]);
    });
}

#[test]
fn workspace_during_capture_is_not_used() {
    let test = "matmul::workspace::workspace_during_capture_is_not_used";
    with_blas(test, &[], || {
        need_workspace(1 << 20);
        let stream = Stream::new(Gpu::new(0).unwrap()).unwrap();
        let _current = stream.make_current();
        let matmul = Registry::global().op("matmul").unwrap();
        let (a, b) = (sent(&numbers(3, 10)), sent(&numbers(10, 4)));
        let half = b.slice(0, ..5).unwrap();
        let spread = a.step_by(1, 2).unwrap();
        let zeros = || cuda::zeros(&[3, 4], DType::F32, &stream).unwrap();
        let mut outs = [zeros(), zeros()];
        let run = |a: &Tensor, b: &Tensor, out: &mut Tensor| {
            matmul.call().input(a).input(b).output(out).run().unwrap();
        };
        run(&a, &b, &mut outs[0]);
        ends_with(1 << 20);
        stream.synchronize().unwrap();
        let allocations = calls("cuMemAllocFromPoolAsync");
        capture(&stream, 2, || {
            run(&a, &b, &mut outs[0]);
            ends_with(0);
            // What would have to be copied first is multiplied by the kernel.
            run(&spread, &half, &mut outs[1]);
        });
        assert_eq!(calls("cuMemAllocFromPoolAsync"), allocations);
        let runs = "runs: in a graph, matmul_f32_tiles";
        assert_eq!(journal().matches(runs).count(), 2);
        assert_eq!(values::<f32>(&outs[0]), expected::<f32>(&a, &b));
        assert_eq!(values::<f32>(&outs[1]), expected::<f32>(&spread, &half));
        run(&a, &b, &mut outs[0]);
        ends_with(1 << 20);
        assert_eq!(lines("asked: ").len(), 2, "with it and without");
    });
}

#[test]
fn workspace_without_memory_is_not_used() {
    let test = "matmul::workspace::workspace_without_memory_is_not_used";
    with_blas(test, &[("LIBCUDA_DOUBLE_MEMORY", "1000000")], || {
        need_workspace(1 << 20);
        let (a, b) = (sent(&numbers(3, 10)), sent(&numbers(10, 4)));
        let out = ops::matmul(&a, &b).unwrap();
        ends_with(0);
        assert_eq!(values::<f32>(&out), expected::<f32>(&a, &b));
        // Nor is there room for a copy.
        let stream = Stream::current(Gpu::new(0).unwrap());
        let large = cuda::zeros(&[400, 400], DType::F32, &stream).unwrap();
        let spread = large.step_by(1, 2).unwrap();
        let few = large.slice(0, ..200).unwrap().slice(1, ..2).unwrap();
        let _rest = cuda::zeros(&[50_000], DType::F32, &stream).unwrap();
        let before = lines("asked: ").len();
        let out = ops::matmul(&spread, &few).unwrap();
        assert_eq!(values::<f32>(&out), [0.0; 800]);
        assert_eq!(lines("asked: ").len(), before);
        assert!(journal().contains("runs: matmul_f32_tiles"));
        assert_eq!(
            (blas_mistakes(), mistakes()),
            (String::new(), String::new())
        );
    });
}
