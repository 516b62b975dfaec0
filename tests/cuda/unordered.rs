//! Memory that isn't ordered on our streams: other libraries' that wasn't imported, and memory that
//! was used on a stream that may be gone.

use crate::compiler::compiler_folder;
use crate::double::{Launched, driver_folder, in_child, live, mistakes, on_double, peek, register};
use crate::memory::{foreign, foreign_copy};
use dlbridge::cuda::{self, Gpu, Stream};
use dlbridge::{DType, Tensor, ops};
use std::ffi::{c_int, c_void};
use std::path::Path;

fn stream(id: i32) -> Stream {
    Stream::new(Gpu::new(id).unwrap()).unwrap()
}

#[test]
fn copy_to_unordered_memory_is_awaited() {
    on_double("unordered::copy_to_unordered_memory_is_awaited", || {
        let (home, stream) = (stream(0), stream(0));
        let source = cuda::to_device(&Tensor::from([7.0_f32; 4]), &stream).unwrap();
        let made = [
            cuda::pinned(&[4], DType::F32, home.gpu()).unwrap(),
            cuda::managed(&[4], DType::F32, home.gpu()).unwrap(),
            cuda::zeros(&[4], DType::F32, &home).unwrap(),
        ];
        home.synchronize().unwrap();
        for theirs in made {
            let mut to = foreign_copy(theirs);
            cuda::copy_into(&mut to, &source, &stream).unwrap();
            let bytes = [7.0_f32; 4].map(f32::to_le_bytes).concat();
            assert_eq!(peek(to.data_ptr(), 16), bytes, "{}", to.device());
        }
    });
}

#[test]
fn unordered_source_is_kept_until_the_copy_ends() {
    on_double(
        "unordered::unordered_source_is_kept_until_the_copy_ends",
        || {
            let (home, stream) = (stream(0), stream(0));
            let made = [
                cuda::zeros(&[4], DType::F32, &home).unwrap(),
                cuda::managed(&[4], DType::F32, home.gpu()).unwrap(),
            ];
            home.synchronize().unwrap();
            for theirs in made {
                let there = cuda::to_device(&foreign(theirs), &stream).unwrap();
                assert_eq!(
                    cuda::to_host(&there).unwrap().to_vec::<f32>().unwrap(),
                    [0.0; 4]
                );
            }
        },
    );
}

#[test]
fn cpu_looks_at_imported_managed_memory_when_it_is_ready() {
    let test = "unordered::cpu_looks_at_imported_managed_memory_when_it_is_ready";
    on_double(test, || {
        let home = stream(0);
        let sevens = cuda::to_device(&Tensor::from([7.0_f32; 4]), &home).unwrap();
        let mut memory = cuda::managed(&[4], DType::F32, home.gpu()).unwrap();
        cuda::copy_into(&mut memory, &sevens, &home).unwrap();
        let every_other = foreign(memory.step_by(0, 2).unwrap());
        let imported = cuda::import(every_other, &home, &home).unwrap();
        assert_eq!(imported.device(), memory.device());
        assert!(imported.storage().has_gaps());
        assert_eq!(imported.view::<f32>().unwrap().to_vec(), [7.0; 2]);
    });
}

extern "C" fn no_work(_: *const Launched, _: *mut c_void) -> c_int {
    0
}

#[test]
fn unordered_argument_of_an_op_is_kept_until_the_kernel_ends() {
    let folders = std::env::join_paths([driver_folder(), compiler_folder()]).unwrap();
    let environment = [("DLBRIDGE_CACHE", ""), ("DLBRIDGE_CUBLASLT", "none")];
    let test = "unordered::unordered_argument_of_an_op_is_kept_until_the_kernel_ends";
    in_child(test, Path::new(&folders), &environment, || {
        register("matmul_i32_tiles", "r r w v v v v v v v v v", no_work);
        let (home, stream) = (stream(0), stream(0));
        let [a, b] = [(); 2].map(|()| cuda::zeros(&[2, 2], DType::I32, &home).unwrap());
        home.synchronize().unwrap();
        let _current = stream.make_current();
        let (a, b) = (foreign(a), foreign(b));
        let product = ops::matmul(&a, &b).unwrap();
        drop((a, b));
        home.synchronize().unwrap();
        assert_eq!(mistakes(), "");
        drop(product);
        stream.synchronize().unwrap();
        stream.synchronize().unwrap();
        assert_eq!((mistakes(), live("memory")), (String::new(), 0));
    });
}

#[test]
fn memory_used_on_an_untracked_stream_waits_for_that_gpu() {
    on_double(
        "unordered::memory_used_on_an_untracked_stream_waits_for_that_gpu",
        || {
            for make in [cuda::pinned, cuda::managed] {
                let kept = stream(1);
                // SAFETY: the stream lives until the end of this block.
                let untracked = unsafe { Stream::from_raw(kept.gpu(), kept.handle()) };
                let from = make(&[4], DType::F32, Gpu::new(0).unwrap()).unwrap();
                let there = cuda::to_device(&from, &untracked).unwrap();
                drop(from);
                assert_eq!(peek(there.data_ptr(), 16), [0; 16], "the copy is done");
                assert_eq!(mistakes(), "");
            }
        },
    );
}

#[test]
fn imported_tensor_with_other_handles_is_not_written() {
    on_double(
        "unordered::imported_tensor_with_other_handles_is_not_written",
        || {
            let home = stream(0);
            let made = || foreign_copy(cuda::managed(&[4], DType::F32, home.gpu()).unwrap());
            let mut alone = cuda::import(made(), &home, &home).unwrap();
            alone.view_mut::<f32>().unwrap().fill(1.0);
            let first = made();
            let second = first.clone();
            let mut imported = cuda::import(first, &home, &home).unwrap();
            let mut other = cuda::import_unordered(second.clone(), &home).unwrap();
            for tensor in [&mut imported, &mut other] {
                assert!(tensor.view_mut::<f32>().is_err());
            }
            drop(second);
            assert!(other.view_mut::<f32>().is_err(), "there are others");
        },
    );
}
