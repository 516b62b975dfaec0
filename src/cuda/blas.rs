//! Matrix products by cuBLASLt, where the library is found.

mod descriptors;
mod functions;
mod header;
mod plan;
mod problem;

use crate::cuda::driver::capture_mode::relax_capture_mode;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::driver::library::find::{NotFound, Sought};
use crate::cuda::memory::array::empty;
use crate::cuda::stream::Stream;
use crate::dtype::DType;
use functions::{Lt, call};
use header::Handle;
use plan::Plan;
use std::collections::HashMap;
use std::mem;
use std::path::PathBuf;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

pub(super) use problem::{Numbers, Problem, Stored};

const CUBLASLT: Sought = Sought {
    names: ["libcublasLt.so.13", "libcublasLt.so.12"],
    of_packages: ["nvidia/cu13/lib", "nvidia/cublas/lib"],
    variable: "DLBRIDGE_CUBLASLT",
};

/// Value of the variable that disables the library.
const NONE: &str = "none";

/// The most memory that a product may need beside its matrices.
const MOST_WORKSPACE: u64 = 32 << 20;

/// Plans that are kept for a GPU.
const MOST_PLANS: usize = 512;

/// Configured path, found library and handles, kept for the process.
struct Known {
    told: Option<PathBuf>,
    library: Option<&'static Lt>,
    /// Whether the user set its path.
    is_named: bool,
    of_gpus: Vec<(Gpu, &'static Blas)>,
    /// Of GPUs on which it didn't start, what it said.
    failures: Vec<(Gpu, CudaError)>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known {
    told: None,
    library: None,
    is_named: false,
    of_gpus: Vec::new(),
    failures: Vec::new(),
});

/// Says where cuBLASLt is: the file, or the folder that it is in. It counts until the library was
/// loaded; the environment variable `DLBRIDGE_CUBLASLT` comes before that.
pub fn set_cublaslt_path(path: impl Into<PathBuf>) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.told = Some(path.into());
}

/// Returns why a GPU's matrices are multiplied without cuBLASLt although it was found: the error of
/// its start.
///
/// A driver that is too old for it is such a reason. Products are well then, by a kernel of ours
/// that takes longer. Where the user set the library's path, they fail instead, with this error.
pub fn cublaslt_failure(gpu: Gpu) -> Option<CudaError> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let failure = known.failures.iter().find(|(of, _)| *of == gpu);
    failure.map(|(_, error)| error.clone())
}

/// Plans by problem, and by whether they may have a workspace; `None` where there is no algorithm.
type Plans = HashMap<(Problem, bool), Option<Arc<Plan>>>;

/// cuBLASLt on a GPU.
pub(super) struct Blas {
    lt: &'static Lt,
    handle: Handle,
    plans: Mutex<Plans>,
}

// SAFETY: the handle may be used by several threads at once.
unsafe impl Send for Blas {}
// SAFETY: cuBLASLt documents its handles as thread-safe; the plans are behind a mutex.
unsafe impl Sync for Blas {}

impl Blas {
    /// Returns the library on a GPU; `None` where it isn't found, or doesn't start and the user
    /// didn't name it. The next call tries again.
    pub(super) fn of(gpu: Gpu) -> Result<Option<&'static Self>, CudaError> {
        let named = CUBLASLT.named();
        if named
            .as_ref()
            .is_some_and(|named| named.as_os_str() == NONE)
        {
            return Ok(None);
        }
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, blas)) = known.of_gpus.iter().find(|(of, _)| *of == gpu) {
            return Ok(Some(blas));
        }
        let lt = match known.library {
            Some(lt) => lt,
            None => {
                let path = match CUBLASLT.look(known.told.clone()) {
                    Ok(path) => path,
                    Err(NotFound { told: None }) => return Ok(None),
                    Err(NotFound { told: Some(told) }) => return Err(CudaError::NoBlas { told }),
                };
                let lt: &'static Lt = Box::leak(Box::new(Lt::load(&path)?));
                known.library = Some(lt);
                known.is_named = named.is_some() || known.told.is_some();
                lt
            }
        };
        let mut handle = ptr::null_mut();
        let context = gpu.enter()?;
        let relaxed = relax_capture_mode();
        // SAFETY: the context is current; it writes a handle, which is never destroyed, as the
        // GPU's context isn't.
        let started = unsafe { call!(lt, cublasLtCreate(&mut handle)) };
        drop((relaxed, context));
        known.failures.retain(|(of, _)| *of != gpu);
        if let Err(error) = started {
            known.failures.push((gpu, error.clone()));
            return if known.is_named { Err(error) } else { Ok(None) };
        }
        let blas: &'static Self = Box::leak(Box::new(Self {
            lt,
            handle,
            plans: Mutex::default(),
        }));
        known.of_gpus.push((gpu, blas));
        Ok(Some(blas))
    }

    /// Has a stream multiply matrices at these addresses: `a`, `b`, and what comes of it. `false`
    /// where there is no algorithm for that.
    ///
    /// # Safety
    ///
    /// They are matrices as the problem says, there on the stream's GPU until the work was done, of
    /// which the last one is no other code's to use meanwhile. It is the GPU of this, and its
    /// context current.
    pub(super) unsafe fn multiply(
        &self,
        stream: &Stream,
        problem: &Problem,
        places: [*const u8; 3],
    ) -> Result<bool, CudaError> {
        let Some(mut plan) = self.plan(problem, true)? else {
            return Ok(false);
        };
        let mut workspace = None;
        if plan.workspace > 0 {
            // While a graph is captured nothing can be allocated.
            let memory = match stream.is_capturing()? {
                true => None,
                false => match empty(&[plan.workspace], DType::U8, stream) {
                    Err(CudaError::OutOfMemory { .. }) => None,
                    memory => Some(memory?),
                },
            };
            if memory.is_none() {
                let Some(without) = self.plan(problem, false)? else {
                    return Ok(false);
                };
                plan = without;
            }
            workspace = memory;
        }
        let address = workspace
            .as_ref()
            .map_or(ptr::null(), crate::tensor::Tensor::data_ptr);
        // SAFETY: this function's contract covers the matrices and the current context. The
        // workspace was just allocated, in the order of the stream, and is released in that order.
        unsafe {
            plan.run(
                self.lt,
                self.handle,
                stream,
                places,
                address.cast_mut().cast(),
            )
        }?;
        Ok(true)
    }

    /// Returns the algorithm for a problem, from the cache if it is there.
    fn plan(&self, problem: &Problem, may_have: bool) -> Result<Option<Arc<Plan>>, CudaError> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = plans.get(&(*problem, may_have)) {
            return Ok(known.clone());
        }
        let most = if may_have { MOST_WORKSPACE } else { 0 };
        let plan = Plan::ask(self.lt, self.handle, problem, most)?.map(Arc::new);
        if plans.len() >= MOST_PLANS {
            drop(mem::take(&mut *plans));
        }
        plans.insert((*problem, may_have), plan.clone());
        Ok(plan)
    }
}
