//! A pool of threads that help others with work that can be split.
//!
//! A job lies on the stack of the thread that has it. That thread leaves an invitation for each
//! helper, works itself, withdraws the invitations that weren't taken, and waits for the helpers
//! that came: one that wakes too late costs nothing. Threads look for invitations for a while
//! before they sleep, as one loop is often followed by another one.

use super::simd;
use std::any::Any;
use std::cell::Cell;
use std::hint;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How often a thread looks before it gives way to others.
const SPINS: usize = 64;

/// How long a thread looks for the next invitation, or for helpers to leave, before it sleeps.
const AWAKE: Duration = Duration::from_micros(100);

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
    pool.invite(&job, helpers, threads - 1);
    let retire = OnDrop(|| pool.retire(&job));
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
        fork::forget_in_children();
        let new = Box::into_raw(Box::new(Self {
            process,
            shared: Mutex::default(),
            wake: Condvar::new(),
            invitations: AtomicUsize::new(0),
            owners: AtomicUsize::new(0),
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

    /// Withdraws a job's invitations and waits for its helpers.
    fn retire(&self, job: &Job) {
        // The lock also makes sure that helpers that took an invitation are counted from here on.
        let mut shared = lock(&self.shared);
        shared
            .invitations
            .retain(|Invitation(other)| !ptr::eq(*other, job));
        self.invitations
            .store(shared.invitations.len(), Ordering::Release);
        drop(shared);
        if wait(AWAKE, || job.helpers.load(Ordering::Acquire) == 0) {
            return;
        }
        while job.helpers.load(Ordering::Acquire) > 0 {
            thread::park_timeout(Duration::from_millis(10));
        }
    }

    /// Helps with one job after the other.
    fn help(&'static self) {
        loop {
            let Invitation(job) = self.next_invitation();
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
    fn next_invitation(&self) -> Invitation {
        wait(AWAKE, || self.invitations.load(Ordering::Relaxed) > 0);
        let mut shared = lock(&self.shared);
        loop {
            if let Some(invitation) = shared.invitations.pop() {
                self.invitations
                    .store(shared.invitations.len(), Ordering::Release);
                // SAFETY: a job is retired only after its invitations were withdrawn, which needs
                // the lock that this thread has.
                unsafe { (*invitation.0).helpers.fetch_add(1, Ordering::Relaxed) };
                return invitation;
            }
            shared.asleep += 1;
            shared = self
                .wake
                .wait(shared)
                .unwrap_or_else(PoisonError::into_inner);
            shared.asleep -= 1;
        }
    }
}

/// Looks for a while whether something has happened, and returns whether it has. It gives way to
/// other threads, of which one may be what it waits for, and have no other CPU.
fn wait(time: Duration, has_happened: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    loop {
        for _ in 0..SPINS {
            if has_happened() {
                return true;
            }
            hint::spin_loop();
        }
        if begin.elapsed() >= time {
            return false;
        }
        thread::yield_now();
    }
}

/// Threads aren't forked: the child of a fork begins without a pool.
#[cfg(all(unix, not(miri)))]
mod fork {
    use super::POOL;
    use std::ffi::c_int;
    use std::ptr;
    use std::sync::atomic::{AtomicBool, Ordering};

    type Handler = Option<extern "C" fn()>;

    unsafe extern "C" {
        fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
    }

    extern "C" fn forget() {
        POOL.store(ptr::null_mut(), Ordering::Release);
    }

    /// Has children of later forks forget the pool.
    pub(super) fn forget_in_children() {
        // No lock that the child of a fork could find locked: registering twice does no harm.
        static REGISTERED: AtomicBool = AtomicBool::new(false);
        if !REGISTERED.load(Ordering::Acquire) {
            // SAFETY: the handler writes an atomic and does nothing else, which is allowed in the
            // child of a fork. Without memory for it a child has the parent's pool, but no helpers.
            unsafe { pthread_atfork(None, None, Some(forget)) };
            REGISTERED.store(true, Ordering::Release);
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn run_returns_after_every_part_of_many_jobs() {
        let rounds = if cfg!(miri) { 20 } else { 5_000 };
        for round in 0..rounds {
            let parts = round % 7 + 1;
            let done: Vec<_> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
            run(parts, 3, &|part| {
                done[part].fetch_add(1, Ordering::Relaxed);
            });
            assert!(done.iter().all(|done| done.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn run_from_many_threads_does_every_part() {
        let rounds = if cfg!(miri) { 3 } else { 500 };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..rounds {
                        let sum = AtomicUsize::new(0);
                        run(10, 4, &|part| {
                            sum.fetch_add(part, Ordering::Relaxed);
                        });
                        assert_eq!(sum.into_inner(), 45);
                    }
                });
            }
        });
    }

    #[test]
    fn run_passes_a_panic_on_and_can_be_used_again() {
        for _ in 0..20 {
            let panics = || run(8, 3, &|part| assert_ne!(part, 5, "on purpose"));
            assert!(catch_unwind(panics).is_err());
            run(8, 3, &|_| {});
        }
    }

    #[test]
    fn run_inside_a_part_stays_on_its_thread() {
        let moved = AtomicBool::new(false);
        run(4, 3, &|_| {
            let outer = thread::current().id();
            run(4, 3, &|_| {
                if thread::current().id() != outer {
                    moved.store(true, Ordering::Relaxed);
                }
            });
        });
        assert!(!moved.into_inner());
    }
}
