//! The CPU that a thread runs on, and those that it doesn't.
//!
//! Linux may queue a thread that is woken behind the one that wakes it, though another CPU is idle:
//! in virtual machines, of whose idle CPUs it thinks that the host has given them to others. There it
//! waits for milliseconds, at each call.

#[cfg(all(target_os = "linux", not(miri)))]
pub(super) use linux::{Away, current};

/// Returns the CPU that this thread runs on, if the system says.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn current() -> Option<usize> {
    None
}

/// A restriction of this thread, on other systems.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) struct Away;

#[cfg(not(all(target_os = "linux", not(miri))))]
impl Away {
    pub(super) fn from(_: usize) -> Option<Self> {
        None
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod linux {
    use std::ffi::c_int;

    /// A set of CPUs, as Linux has it: those of systems with more aren't told.
    type Cpus = [u64; 16];

    /// What calls of the system take for the thread that calls.
    pub(super) const THIS: c_int = 0;

    unsafe extern "C" {
        fn sched_getcpu() -> c_int;
        fn sched_getaffinity(thread: c_int, nbytes: usize, cpus: *mut Cpus) -> c_int;
        fn sched_setaffinity(thread: c_int, nbytes: usize, cpus: *const Cpus) -> c_int;
    }

    /// Returns the CPU that this thread runs on, if the system says.
    #[inline]
    pub(in super::super) fn current() -> Option<usize> {
        // SAFETY: it has no precondition.
        usize::try_from(unsafe { sched_getcpu() }).ok()
    }

    /// A restriction of this thread, which keeps it away from a CPU until this is dropped.
    #[derive(Debug)]
    pub(in super::super) struct Away {
        all: Cpus,
        others: Cpus,
        /// Where the process's first thread may run: who changes that of all threads meanwhile has
        /// the last word.
        of_process: Option<Cpus>,
    }

    impl Away {
        /// Moves this thread away from a CPU. Returns `None` if it may run on no other one, or not
        /// on this one anyway.
        pub(in super::super) fn from(cpu: usize) -> Option<Self> {
            let all = allowed(THIS)?;
            let mut others = all;
            *others.get_mut(cpu / 64)? &= !(1 << (cpu % 64));
            let of_process = allowed(first_thread());
            let away = Self {
                all,
                others,
                of_process,
            };
            (others != all && others != [0; 16] && allow(&others)).then_some(away)
        }
    }

    impl Drop for Away {
        fn drop(&mut self) {
            let is_as_before = allowed(first_thread()) == self.of_process;
            if is_as_before && allowed(THIS) == Some(self.others) {
                allow(&self.all);
            }
        }
    }

    /// Returns the process's first thread, if it still runs: its number is that of the process.
    fn first_thread() -> c_int {
        std::process::id().cast_signed()
    }

    /// Returns the CPUs that a thread may run on, if the system says.
    pub(super) fn allowed(thread: c_int) -> Option<Cpus> {
        let mut cpus = [0; 16];
        // SAFETY: there is room for as many bytes. A thread that isn't there is an error.
        let outcome = unsafe { sched_getaffinity(thread, size_of::<Cpus>(), &raw mut cpus) };
        (outcome >= 0).then_some(cpus)
    }

    pub(super) fn allow(cpus: &Cpus) -> bool {
        // SAFETY: as many bytes can be read.
        unsafe { sched_setaffinity(THIS, size_of::<Cpus>(), cpus) == 0 }
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::linux::{Away, THIS, allow, allowed, current};
    use std::thread;

    /// Calls a function on a thread of its own, with one of the CPUs that this one may run on, and
    /// with all of them.
    fn with_cpu(function: impl FnOnce(usize, [u64; 16]) + Send + 'static) {
        let all = allowed(THIS).unwrap();
        if all.iter().map(|word| word.count_ones()).sum::<u32>() < 2 {
            return;
        }
        let ended = thread::spawn(move || function(current().unwrap(), all)).join();
        ended.unwrap();
    }

    #[test]
    fn away_keeps_a_thread_from_a_cpu_for_a_while() {
        with_cpu(|cpu, all| {
            let away = Away::from(cpu).unwrap();
            for _ in 0..100 {
                assert_ne!(current(), Some(cpu));
                thread::yield_now();
            }
            assert_ne!(allowed(THIS), Some(all));
            assert!(Away::from(cpu).is_none(), "it is away already");
            drop(away);
            assert_eq!(allowed(THIS), Some(all));
        });
    }

    #[test]
    fn away_leaves_what_others_set_meanwhile() {
        with_cpu(|cpu, _| {
            let away = Away::from(cpu).unwrap();
            let mut this = [0; 16];
            this[cpu / 64] = 1 << (cpu % 64);
            assert!(allow(&this));
            drop(away);
            assert_eq!(allowed(THIS), Some(this));
            assert!(Away::from(cpu).is_none(), "it may run on no other one");
            assert_eq!(allowed(THIS), Some(this));
        });
    }

    #[test]
    fn away_is_none_for_cpus_that_are_not_there() {
        let before = allowed(THIS);
        assert!(Away::from(1023).is_none());
        assert!(Away::from(usize::MAX).is_none());
        assert_eq!(allowed(THIS), before);
    }
}
