//! A pool of threads that help others with work that can be split.
//!
//! A job lies on the stack of the thread that has it. That thread leaves an invitation for each
//! helper, works itself, withdraws the invitations that weren't taken, and waits for the helpers
//! that came: one that wakes too late costs nothing. Threads look for invitations for a while
//! before they sleep, as one loop is often followed by another one.
//!
//! Where the threads of another library's pool look for work, too, a helper finds no idle CPU. To
//! be there when it is needed it avoids that of the owner, and sleeps at once rather than giving
//! way: who gives way waits for milliseconds, and who is woken doesn't.

mod cpu;
#[cfg(all(unix, not(miri)))]
mod fork;
mod wait;

#[cfg(test)]
mod tests;

use self::wait::{Waited, wait};
use super::simd;
use std::any::Any;
use std::cell::Cell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long a thread looks for the next invitation before it sleeps, or for helpers to leave at
/// least.
const AWAKE: Duration = Duration::from_micros(100);

/// The waits that a helper spends asleep after another thread had its CPU twice in turn.
const ASLEEP: usize = 500;

/// The longest time that a thread looks for helpers to leave.
const LONG: Duration = Duration::from_millis(10);

/// The pool of this process, once it has one.
static POOL: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());

/// Work that is being split.
struct Job {
    function: *const (dyn Fn(usize) + Sync),
    parts: usize,
    /// The next part to be done.
    next: AtomicUsize,
    /// Helpers at work.
    helpers: AtomicUsize,
    owner: Thread,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    level: Option<simd::Level>,
}

/// An invitation to help with a job. A thread that took one is counted in the job's `helpers`.
struct Invitation(*const Job);

// SAFETY: the job is shared, by atomics and a mutex, and stays where it is until there is no
// invitation to it and no helper is counted.
unsafe impl Send for Invitation {}

/// The threads of one process.
struct Pool {
    process: u32,
    shared: Mutex<Shared>,
    wake: Condvar,
    /// The number of invitations, to be read without the lock.
    invitations: AtomicUsize,
    /// Threads that have a job of their own at the moment.
    owners: AtomicUsize,
    /// The CPU of the thread that left the last invitations, if the system said.
    owners_cpu: AtomicUsize,
}

#[derive(Default)]
struct Shared {
    invitations: Vec<Invitation>,
    threads: usize,
    asleep: usize,
}

thread_local! {
    /// Whether this thread is at work on a part of a job; a loop inside it isn't split.
    static IN_PART: Cell<bool> = const { Cell::new(false) };
}

/// Calls a function with each number below `parts`, on this thread and others: as many as
/// `threads` in all, fewer where other threads have work to split as well.
pub(super) fn run(parts: usize, threads: usize, function: &(dyn Fn(usize) + Sync)) {
    if IN_PART.get() {
        return (0..parts).for_each(function);
    }
    let pool = Pool::of_process();
    let owners = pool.owners.fetch_add(1, Ordering::Relaxed) + 1;
    let _leave = OnDrop(|| {
        pool.owners.fetch_sub(1, Ordering::Relaxed);
    });
    let helpers = threads.saturating_sub(owners);
    if helpers == 0 {
        return (0..parts).for_each(function);
    }
    let function: *const (dyn Fn(usize) + Sync + '_) = function;
    let job = Job {
        // SAFETY: this only extends the lifetime in the pointer's type. The function is called by
        // helpers that are counted, and `Retire` waits for these before this function returns.
        function: unsafe {
            mem::transmute::<
                *const (dyn Fn(usize) + Sync + '_),
                *const (dyn Fn(usize) + Sync + 'static),
            >(function)
        },
        parts,
        next: AtomicUsize::new(0),
        helpers: AtomicUsize::new(0),
        owner: thread::current(),
        panic: Mutex::new(None),
        level: simd::forced(),
    };
    let begin = Instant::now();
    pool.invite(&job, helpers, threads - 1);
    let retire = OnDrop(|| pool.retire(&job, begin));
    job.work();
    drop(retire);
    let panic = lock(&job.panic).take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

impl Job {
    /// Does parts until none is left. After a panic the others aren't begun.
    fn work(&self) {
        IN_PART.set(true);
        let _leave = OnDrop(|| IN_PART.set(false));
        // SAFETY: the function lives until the job's owner has seen every helper leave, and this
        // is the owner or a helper.
        let function = unsafe { &*self.function };
        let parts = || loop {
            let part = self.next.fetch_add(1, Ordering::Relaxed);
            if part >= self.parts {
                break;
            }
            function(part);
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(parts)) {
            // `parts` is less than `usize::MAX / 2`, so that later additions don't wrap around.
            self.next.fetch_max(self.parts, Ordering::Relaxed);
            let mut first = lock(&self.panic);
            if first.is_none() {
                *first = Some(panic);
            } else {
                // Its destructor could panic, too.
                mem::forget(panic);
            }
        }
    }
}

impl Pool {
    /// Returns the pool of this process.
    #[inline]
    fn of_process() -> &'static Self {
        let known = POOL.load(Ordering::Acquire);
        let process = std::process::id();
        // SAFETY: the pointer is null or that of a pool that is never freed.
        match unsafe { known.as_ref() } {
            // Another thread may have made one while this process was being forked, too late to
            // be forgotten in the child.
            Some(pool) if pool.process == process => pool,
            _ => Self::new_of_process(known, process),
        }
    }

    #[cold]
    fn new_of_process(known: *mut Self, process: u32) -> &'static Self {
        // First, so that no process has a pool that its children would take for theirs.
        #[cfg(all(unix, not(miri)))]
        fork::call_in_children(forget);
        let new = Box::into_raw(Box::new(Self {
            process,
            shared: Mutex::default(),
            wake: Condvar::new(),
            invitations: AtomicUsize::new(0),
            owners: AtomicUsize::new(0),
            owners_cpu: AtomicUsize::new(usize::MAX),
        }));
        match POOL.compare_exchange(known, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: it was just made, and is never freed: its threads use it until the process
            // ends.
            Ok(_) => unsafe { &*new },
            Err(other) => {
                // SAFETY: no other thread has seen the new one. The one that another thread of
                // this process was faster with is never freed.
                unsafe {
                    drop(Box::from_raw(new));
                    &*other
                }
            }
        }
    }

    /// Leaves invitations to a job. Afterwards there are threads for them, if the system has any,
    /// but not more than `most`, however many jobs there are.
    fn invite(&'static self, job: &Job, helpers: usize, most: usize) {
        let mut shared = lock(&self.shared);
        shared
            .invitations
            .extend((0..helpers).map(|_| Invitation(job)));
        let cpu = cpu::current().unwrap_or(usize::MAX);
        self.owners_cpu.store(cpu, Ordering::Relaxed);
        self.invitations
            .store(shared.invitations.len(), Ordering::Release);
        while shared.threads < shared.invitations.len().min(most) {
            let name = "dlbridge".to_owned();
            let spawned = thread::Builder::new().name(name).spawn(|| self.help());
            if spawned.is_err() {
                break;
            }
            shared.threads += 1;
        }
        let asleep = shared.asleep;
        drop(shared);
        for _ in 0..asleep.min(helpers) {
            self.wake.notify_one();
        }
    }

    /// Withdraws a job's invitations and waits for its helpers: awake for as long as it worked on
    /// the job, as the system often puts a thread that was asleep on the CPU of the one that wakes
    /// it.
    fn retire(&self, job: &Job, begin: Instant) {
        // The lock also makes sure that helpers that took an invitation are counted from here on.
        let mut shared = lock(&self.shared);
        shared
            .invitations
            .retain(|Invitation(other)| !ptr::eq(*other, job));
        self.invitations
            .store(shared.invitations.len(), Ordering::Release);
        drop(shared);
        let done = || job.helpers.load(Ordering::Acquire) == 0;
        let time = begin.elapsed().clamp(AWAKE, LONG);
        if done() || matches!(wait(time, done), Waited::Happened) {
            return;
        }
        while job.helpers.load(Ordering::Acquire) > 0 {
            thread::park_timeout(Duration::from_millis(10));
        }
    }

    /// Helps with one job after the other.
    fn help(&'static self) {
        let mut place = Place::new();
        loop {
            let Invitation(job) = self.next_invitation(&mut place);
            // SAFETY: its owner waits for this helper, which `next_invitation` counted.
            let owner = unsafe {
                let job = &*job;
                simd::with_forced(job.level, || job.work());
                job.owner.clone()
            };
            // SAFETY: until here this helper is counted. Afterwards the job may be gone.
            let helpers = unsafe { (*job).helpers.fetch_sub(1, Ordering::Release) };
            if helpers == 1 {
                owner.unpark();
            }
        }
    }

    /// Takes an invitation, and counts this thread among the job's helpers.
    fn next_invitation(&self, place: &mut Place) -> Invitation {
        loop {
            let is_invited = || self.invitations.load(Ordering::Relaxed) > 0;
            place.wait(is_invited);
            let taken = {
                let _away = (place.is_behind && !is_invited())
                    .then(|| cpu::Away::from(self.owners_cpu.load(Ordering::Relaxed)));
                let mut shared = lock(&self.shared);
                if let Some(invitation) = self.take(&mut shared) {
                    return invitation;
                }
                shared.asleep += 1;
                shared = self
                    .wake
                    .wait(shared)
                    .unwrap_or_else(PoisonError::into_inner);
                shared.asleep -= 1;
                self.take(&mut shared)
            };
            if let Some(cpu) = cpu::current()
                && cpu == self.owners_cpu.load(Ordering::Relaxed)
            {
                place.is_behind = true;
                cpu::leave(cpu);
            }
            if let Some(invitation) = taken {
                return invitation;
            }
        }
    }

    /// Takes an invitation, if there is one.
    fn take(&self, shared: &mut Shared) -> Option<Invitation> {
        let invitation = shared.invitations.pop()?;
        self.invitations
            .store(shared.invitations.len(), Ordering::Release);
        // SAFETY: a job is retired only after its invitations were withdrawn, which needs the lock
        // that the caller has.
        unsafe { (*invitation.0).helpers.fetch_add(1, Ordering::Relaxed) };
        Some(invitation)
    }
}

/// What a helper has learned about the CPUs that it is put on.
struct Place {
    /// Whether it was woken on the CPU of the owner that woke it, behind which it comes too late.
    /// Where that happens once, it happens each time.
    is_behind: bool,
    /// Whether other threads had its CPU when it last waited awake.
    was_late: bool,
    /// The waits from now on that it spends asleep, as other threads want its CPU.
    asleep: usize,
}

impl Place {
    fn new() -> Self {
        Self {
            // Builds with debug assertions, as tests are, always take it for behind.
            is_behind: cfg!(debug_assertions),
            was_late: false,
            asleep: 0,
        }
    }

    /// Looks for a while whether something has happened, unless other threads want the CPU.
    fn wait(&mut self, has_happened: impl Fn() -> bool) {
        if self.asleep > 0 {
            self.asleep -= 1;
            return;
        }
        let is_late = matches!(wait(AWAKE, has_happened), Waited::Late);
        if is_late && self.was_late {
            self.asleep = ASLEEP;
        }
        self.was_late = is_late && !self.was_late;
    }
}

/// Threads aren't forked: the child of a fork begins without a pool.
#[cfg(all(unix, not(miri)))]
extern "C" fn forget() {
    POOL.store(ptr::null_mut(), Ordering::Release);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}
