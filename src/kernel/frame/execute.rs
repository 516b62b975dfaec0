//! Execution of a call's kernel.

use super::{CallHost, Frame};
use crate::compute::threads::with_num_threads;
use crate::device::Device;
use crate::kernel::backend::Backend;
use crate::kernel::choose::{Chosen, Registered};
use crate::kernel::error::Reason;
use crate::kernel::observe::{self, Record};
use crate::kernel::op::ShapeContext;
use crate::kernel::operand::Operand;
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

impl Frame<'_> {
    /// Returns whether other threads may run Python while a kernel does this much.
    pub(super) fn releases(&self, operands: &[Operand<'_>], kernel: &Registered) -> bool {
        kernel.releases_from.is_some_and(|least| {
            let op = self.handle.definition();
            let largest = || {
                operands
                    .iter()
                    .map(|operand| operand.layout.len() as u64)
                    .max()
            };
            let (own, more) = operands.split_at(op.parameters.len());
            let context = ShapeContext {
                op,
                operands: own,
                more,
                attributes: self.attributes,
            };
            let work = op.work;
            work.map_or_else(|| largest().unwrap_or(0), |work| work(&context)) >= least
        })
    }

    /// Runs a kernel: what a backend does around it, on a device, is done.
    pub(super) fn execute(
        &self,
        chosen: &Chosen,
        operands: &[Operand<'_>],
        backend: Option<(&Backend, Device)>,
        releases: bool,
        around: &mut impl CallHost,
    ) -> Result<(), Reason> {
        let (op, kernel) = (self.handle.definition(), &chosen.kernel);
        let shared = Shared(operands);
        let mut body = || {
            let shared = &shared;
            let mut compute = || match self.threads {
                0 => (chosen.compute)(shared.0),
                threads => with_num_threads(threads, || (chosen.compute)(shared.0)),
            };
            match backend {
                None => compute(),
                Some((backend, device)) => {
                    let uses = shared.0.iter().enumerate();
                    let uses =
                        uses.filter_map(|(at, operand)| Some((operand.storage?, op.writes(at))));
                    let uses: SmallVec<[_; 4]> = uses.collect();
                    (backend.run)(device, &uses, &mut compute)
                }
            }
        };
        let outcome = if observe::is_observed() {
            let start = Instant::now();
            let mut took = None;
            // Without what the host does around it, such as waiting for Python's lock.
            let mut timed = || {
                let start = Instant::now();
                let outcome = body();
                took = Some(start.elapsed());
                outcome
            };
            // Observers are notified of a panic, too.
            let run = AssertUnwindSafe(|| around.run(releases, &mut timed));
            let outcome = catch_unwind(run);
            let ordered = op.in_order(operands);
            observe::tell(&Record {
                op: &op.name,
                kernel: &kernel.description,
                operands: ordered.as_deref().unwrap_or(operands),
                time: took.unwrap_or_else(|| start.elapsed()),
                failed: !matches!(outcome, Ok(Ok(()))),
            });
            outcome.unwrap_or_else(|panic| resume_unwind(panic))
        } else {
            around.run(releases, &mut body)
        };
        outcome.map_err(|failure| {
            Reason::refused(failure, |failure| Reason::Kernel {
                kernel: kernel.description.clone(),
                failure,
            })
        })
    }
}

/// Operands that a kernel may use on any thread, as long as the call lasts.
struct Shared<'a>(&'a [Operand<'a>]);

// SAFETY: an operand says where memory is; who uses it, and how, the frame has settled, whichever
// thread the kernel runs on.
unsafe impl Send for Shared<'_> {}
// SAFETY: shared references to operands give addresses alone, and the frame has checked that what
// is written is used in no other way.
unsafe impl Sync for Shared<'_> {}
