//! Executes queued work.

use crate::abi::{Handle, Stream};
use crate::access::Rows;
use crate::codes::{Code, Outcome};
use crate::driver::Locked;
use crate::kernels::{self, Launch};
use crate::work::Action;

impl Locked {
    /// Queues an operation, and runs it at once if its stream isn't late and nothing holds it up.
    pub(crate) fn submit(&mut self, stream: u32, action: Action, words: &str) -> Outcome {
        let id = self.queue(stream, action, words)?;
        self.run_if_eager(stream, id);
        Ok(())
    }

    pub(crate) fn run_if_eager(&mut self, stream: u32, id: Option<u64>) {
        let late = self.streams.live[&stream].late.unwrap_or(!self.work.eager);
        if let Some(id) = id.filter(|&id| !late && self.work.may_run(id)) {
            self.run(&[id]);
        }
    }

    /// Executes operations and all that they wait for, and nothing else.
    pub(crate) fn run(&mut self, targets: &[u64]) {
        if targets.iter().all(|&id| self.work.is_done(id)) {
            return;
        }
        self.begin_execution();
        for id in self.work.in_order(targets) {
            self.run_one(id);
        }
        self.end_execution();
    }

    /// Executes the first operation of those that a target waits for, so that asking again and
    /// again comes to an end.
    pub(crate) fn run_a_step(&mut self, targets: &[u64]) {
        self.begin_execution();
        if let Some(&id) = self.work.in_order(targets).first() {
            self.run_one(id);
        }
        self.end_execution();
    }

    fn run_one(&mut self, id: u64) {
        let Some(operation) = self.work.pending.get_mut(&id) else {
            return;
        };
        let action = std::mem::replace(&mut operation.action, Action::Nothing);
        let (stream, context) = (operation.stream, operation.context);
        let line = format!("runs: {}", operation.words);
        self.record.line(line);
        self.work.time += 1;
        if let Action::Record(event) = action {
            let time = self.work.time;
            if let Some(state) = self.events.live.get_mut(&event) {
                state.ran = Some((id, time));
            }
        } else if let Err(code) = self.perform_or_fail(stream, action) {
            self.record.line(format!("context {context} fails: {code}"));
            if let Some(state) = self.contexts.live.get_mut(&context) {
                state.failed = Some(code);
            }
        }
        self.work.pending.remove(&id);
    }

    fn perform_or_fail(&mut self, stream: u32, action: Action) -> Outcome {
        let is_work = matches!(
            action,
            Action::Copy { .. } | Action::Fill { .. } | Action::Launch(_)
        );
        match is_work.then(|| self.work.failure()).flatten() {
            Some(code) => Err(code),
            None => self.perform(stream, action),
        }
    }

    fn perform(&mut self, stream: u32, action: Action) -> Outcome {
        match action {
            Action::Copy { from, to, staged } => self.copy(from, to, staged.as_deref())?,
            Action::Fill { to, pattern } => self.fill(to, &pattern)?,
            Action::Launch(launch) => self.launch(stream, &launch)?,
            Action::Host(function, data) => {
                // SAFETY: the program queued its function with the data that it takes.
                self.unlocked(|| unsafe { function(data.0) });
            }
            Action::Callback(function, data) => {
                // SAFETY: the program queued its callback with the data that it takes.
                self.unlocked(|| unsafe { function(Stream::of(stream), Code::SUCCESS.0, data.0) });
            }
            Action::Allocate(address) => self.memory.renew(address),
            Action::Release(address) => self.finish_release(address),
            Action::Record(_) | Action::Nothing => {}
        }
        Ok(())
    }

    /// The end of an allocation, at which it is looked over and poisoned.
    pub(crate) fn finish_release(&mut self, address: u64) {
        if !self.memory.fence_holds(address) {
            let mistake = format!(
                "something was written behind the end of {}",
                self.memory.words(address)
            );
            self.record.mistake(mistake);
        }
        self.memory.poison(address);
    }

    fn stands(&self, rows: Rows) -> Outcome {
        if rows.is_empty() || self.memory.stands(rows.start) {
            Ok(())
        } else {
            Err(Code::ERROR_ILLEGAL_ADDRESS)
        }
    }

    fn copy(&mut self, from: Rows, to: Rows, staged: Option<&[u8]>) -> Outcome {
        if from.is_empty() {
            return Ok(());
        }
        self.stands(to)?;
        match staged {
            Some(_) => {}
            None => self.stands(from)?,
        }
        self.memory.open(from.start, false);
        // If both are in one allocation this opens it for both.
        self.memory.open(to.start, true);
        let width = to.width as usize;
        for (row, (from, to)) in from.starts().zip(to.starts()).enumerate() {
            let source = staged.map_or(from as *const u8, |bytes| bytes[row * width..].as_ptr());
            // SAFETY: the ranges were checked against their allocations when the copy was queued,
            // and the pages are open; other addresses are host memory, valid by the contract of
            // the driver's copy functions.
            unsafe { std::ptr::copy(source, to as *mut u8, width) };
        }
        self.memory.close_at(from.start);
        self.memory.close_at(to.start);
        Ok(())
    }

    fn fill(&mut self, to: Rows, pattern: &[u8]) -> Outcome {
        self.stands(to)?;
        self.memory.open(to.start, true);
        for start in to.starts() {
            for at in (0..to.width).step_by(pattern.len()) {
                // SAFETY: the rows were checked against their allocation when the work was queued,
                // `stands` found that it is live, and `open` made its pages writable; a row's width
                // is a multiple of the pattern's length.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        pattern.as_ptr(),
                        (start + at) as *mut u8,
                        pattern.len(),
                    )
                };
            }
        }
        self.memory.close_at(to.start);
        Ok(())
    }

    fn launch(&mut self, stream: u32, launch: &Launch) -> Outcome {
        if !self.modules.live.contains_key(&launch.module) {
            let (name, module) = (&launch.name, launch.module);
            self.record.mistake(format!(
                "the kernel {name} runs after module {module} was unloaded"
            ));
            return Err(Code::ERROR_ILLEGAL_ADDRESS);
        }
        let Some(kernel) = self
            .kernels
            .get(&launch.name)
            .map(|kernel| kernel.callback.clone())
        else {
            return Ok(());
        };
        let touched: Vec<(u64, bool)> = launch.allocations(self).into_iter().collect();
        if touched
            .iter()
            .any(|&(address, _)| !self.memory.stands(address))
        {
            return Err(Code::ERROR_ILLEGAL_ADDRESS);
        }
        for &(address, write) in &touched {
            self.memory.open(address, write);
        }
        let result = self.unlocked(|| kernels::call(&kernel, launch, Stream::of(stream)));
        for &(address, _) in &touched {
            self.memory.close_at(address);
            if !self.memory.fence_holds(address) {
                let words = self.memory.words(address);
                self.record.mistake(format!(
                    "the kernel {} wrote behind the end of {words}",
                    launch.name
                ));
            }
        }
        result
    }

    /// The host waits for a stream.
    pub(crate) fn synchronize(&mut self, stream: u32) -> Outcome {
        let (targets, clock) = self.work_of(stream);
        self.run(&targets);
        self.host.join(&clock);
        let context = self.streams.live.get(&stream).map(|state| state.context);
        context.map_or(Ok(()), |context| self.outcome_of(context))
    }

    /// The host waits for all work of a context.
    pub(crate) fn synchronize_context(&mut self, context: u32) -> Outcome {
        let pending = self
            .work
            .pending
            .iter()
            .filter(|(_, operation)| operation.context == context);
        let targets: Vec<u64> = pending.map(|(&id, _)| id).collect();
        self.run(&targets);
        let driver = &mut **self;
        for state in driver
            .streams
            .live
            .values()
            .filter(|state| state.context == context)
        {
            driver.host.join(&state.clock);
        }
        if let Some(state) = driver.contexts.live.get_mut(&context) {
            driver.host.join(&state.retired.1);
            state.retired.0.clear();
        }
        self.outcome_of(context)
    }

    fn outcome_of(&self, context: u32) -> Outcome {
        self.contexts
            .live
            .get(&context)
            .and_then(|state| state.failed)
            .map_or(Ok(()), Err)
    }
}
