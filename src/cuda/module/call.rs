//! [`Call`]: a stream-ordered launch with tensors.

use crate::cuda::driver::error::CudaError;
use crate::cuda::memory::tensor_uses::{is_ordered, use_on};
use crate::cuda::module::argument::Argument;
use crate::cuda::module::function::Function;
use crate::cuda::module::launch::{Launch, USUAL};
use crate::cuda::module::refusal;
use crate::cuda::stream::Stream;
use crate::cuda::stream::deferred::release_after;
use crate::cuda::stream::last_writer::Use;
use crate::device::DeviceKind;
use crate::error::Incompatibility;
use crate::tensor::Tensor;
use smallvec::SmallVec;

/// A launch that is put together argument by argument: see [`Function::call`].
#[must_use = "it is launched by `run`"]
#[derive(Debug)]
pub struct Call<'a> {
    function: &'a Function,
    stream: &'a Stream,
    launch: Launch,
    arguments: SmallVec<[Argument<'a>; USUAL]>,
    tensors: SmallVec<[(&'a Tensor, Use); USUAL / 2]>,
    /// The first thing that was wrong with an argument.
    problem: Option<Box<Incompatibility>>,
}

impl Function {
    /// Starts a launch on a stream; its arguments are added one after another.
    ///
    /// ```no_run
    /// use dlbridge::Tensor;
    /// use dlbridge::cuda::{CudaError, Function, Launch, Stream};
    ///
    /// /// y = a * x + y
    /// fn axpy(
    ///     kernel: &Function, a: f32, x: &Tensor, y: &mut Tensor, on: &Stream,
    /// ) -> Result<(), CudaError> {
    ///     let len = y.len();
    ///     let mut call = kernel.call(on, Launch::over(len, 256));
    ///     call.value(len as u64).value(a).tensor(x).tensor_mut(y);
    ///     // SAFETY: the kernel is `axpy(size_t, float, const float*, float*)`.
    ///     unsafe { call.run() }
    /// }
    /// ```
    #[inline(always)]
    pub fn call<'a>(&'a self, stream: &'a Stream, launch: Launch) -> Call<'a> {
        Call {
            function: self,
            stream,
            launch,
            arguments: SmallVec::new(),
            tensors: SmallVec::new(),
            problem: None,
        }
    }
}

impl<'a> Call<'a> {
    /// Adds a tensor that the kernel reads: the address of its first element.
    #[inline]
    pub fn tensor(&mut self, tensor: &'a Tensor) -> &mut Self {
        self.add(tensor, Use::Read)
    }

    /// Adds a tensor that the kernel may write: the address of its first element.
    #[inline]
    pub fn tensor_mut(&mut self, tensor: &'a mut Tensor) -> &mut Self {
        if tensor.is_read_only() {
            let index = self.arguments.len();
            self.refuse(|| refusal::read_only(index));
        }
        self.add(tensor, Use::Write)
    }

    /// Adds a number, an address, or a C struct: see [`Argument`].
    #[inline]
    pub fn value(&mut self, value: impl Into<Argument<'a>>) -> &mut Self {
        self.arguments.push(value.into());
        self
    }

    #[inline]
    fn add(&mut self, tensor: &'a Tensor, what: Use) -> &mut Self {
        let (device, gpu) = (tensor.device(), self.function.gpu().id());
        let is_reached = match device.kind() {
            DeviceKind::Cuda => device.id() == gpu,
            DeviceKind::CudaHost | DeviceKind::CudaManaged => true,
            _ => false,
        };
        if !is_reached {
            let index = self.arguments.len();
            self.refuse(|| refusal::unreachable(index, device, gpu));
        }
        self.tensors.push((tensor, what));
        self.value(tensor.data_ptr())
    }

    /// Notes a problem, unless there is one already.
    #[cold]
    fn refuse(&mut self, problem: impl FnOnce() -> Incompatibility) {
        self.problem.get_or_insert_with(|| Box::new(problem()));
    }

    /// Launches it: the stream waits for what must be done before with the tensors, and later users
    /// of them, through this crate, waits for the kernel.
    ///
    /// # Errors
    ///
    /// See [`Function::launch`]; and when a tensor is in memory that the GPU doesn't reach, or is
    /// to be written and read-only. Then nothing is launched.
    ///
    /// # Safety
    ///
    /// See [`Function::launch`]. Of the order of work, only what this crate doesn't know is left to
    /// promise: what others do with a tensor that came from them and wasn't
    /// [adopted](crate::cuda::import), and what the host does meanwhile with pinned and managed
    /// memory.
    #[inline]
    pub unsafe fn run(&mut self) -> Result<(), CudaError> {
        let (function, stream, launch) = (self.function, self.stream, self.launch);
        if let Some(problem) = &self.problem {
            return Err(function.refused((**problem).clone()));
        }
        function.check(stream, launch, &self.arguments)?;
        if launch.is_empty() {
            return Ok(());
        }
        for (tensor, what) in &self.tensors {
            use_on(tensor, stream, *what)?;
        }
        // SAFETY: sizes, limits and the stream's GPU were checked; this function's contract covers
        // the arguments' types and the memory that the kernel uses.
        unsafe { function.launch_checked(stream, launch, &self.arguments) }?;
        self.keep_host_memory()
    }

    /// Keeps others' memory of the host until the kernel is done with it: it isn't released in the
    /// order of streams. What a graph uses, its user keeps.
    #[inline]
    fn keep_host_memory(&self) -> Result<(), CudaError> {
        let is_host = |(tensor, _): &&(&Tensor, Use)| {
            tensor.device().kind() != DeviceKind::Cuda && !is_ordered(tensor)
        };
        let mut kept = self.tensors.iter().filter(is_host).peekable();
        if kept.peek().is_none() {
            return Ok(());
        }
        let kept: Vec<Tensor> = kept.map(|(tensor, _)| (*tensor).clone()).collect();
        match release_after(self.stream, kept) {
            Err(CudaError::Capturing { .. }) => Ok(()),
            kept => kept,
        }
    }
}
