//! The CPU that a thread runs on, and those that it doesn't.
//!
//! Linux may queue a thread that is woken behind the one that wakes it, though another CPU is idle:
//! in virtual machines, of whose idle CPUs it thinks that the host has given them to others. There
//! it waits for milliseconds, at each call.

#[cfg(all(target_os = "linux", not(miri)))]
pub(super) use linux::{Away, current, leave};
#[cfg(all(test, target_os = "linux", not(miri)))]
pub(super) use linux::{THIS, allowed};

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) use others::{Away, current, leave};

#[cfg(not(all(target_os = "linux", not(miri))))]
mod others {
    /// Returns the CPU that this thread runs on, if the system says.
    pub(in super::super) fn current() -> Option<usize> {
        None
    }

    /// Moves this thread away from a CPU, if it may run on another one.
    pub(in super::super) fn leave(_: usize) {}

    /// A restriction of this thread.
    pub(in super::super) struct Away;

    impl Away {
        pub(in super::super) fn from(_: usize) -> Option<Self> {
            None
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod linux {
    use std::ffi::{c_int, c_ulong};

    const BITS: usize = c_ulong::BITS as usize;

    /// A set of CPUs, as Linux has it: systems with more than 1,024 don't tell theirs in it.
    pub(in super::super) type Cpus = [c_ulong; 1024 / BITS];

    /// What calls of the system take for the thread that calls.
    pub(in super::super) const THIS: c_int = 0;

    unsafe extern "C" {
        fn prctl(option: c_int, ...) -> c_int;
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

    /// Moves this thread away from a CPU, if it may run on another one.
    pub(in super::super) fn leave(cpu: usize) {
        drop(Away::from(cpu));
    }

    /// A restriction of this thread, which keeps it away from a CPU until this is dropped.
    #[derive(Debug)]
    pub(in super::super) struct Away {
        all: Cpus,
        others: Cpus,
        /// Where the process's first thread may run.
        of_process: Option<Cpus>,
    }

    impl Away {
        /// Moves this thread away from a CPU. Returns `None` if it may run on no other one, or not
        /// on this one anyway, or if the process's calls of the system are filtered: a filter that
        /// forbids this one may end the process.
        pub(in super::super) fn from(cpu: usize) -> Option<Self> {
            if is_filtered() {
                return None;
            }
            let all = allowed(THIS)?;
            let mut others = all;
            *others.get_mut(cpu / BITS)? &= !(1 << (cpu % BITS));
            if others == all || others == [0; 1024 / BITS] {
                return None;
            }
            let of_process = allowed(first_thread());
            allow(&others).then(|| Self {
                all,
                others,
                of_process,
            })
        }
    }

    impl Drop for Away {
        fn drop(&mut self) {
            // Who has given all threads of the process these CPUs meanwhile has the last word.
            let of_process = allowed(first_thread());
            let is_wanted = of_process != self.of_process && of_process == Some(self.others);
            if !is_wanted && allowed(THIS) == Some(self.others) {
                allow(&self.all);
            }
        }
    }

    /// Returns the process's first thread: its number is that of the process.
    fn first_thread() -> c_int {
        std::process::id().cast_signed()
    }

    /// Returns the CPUs that a thread may run on, if the system says.
    pub(in super::super) fn allowed(thread: c_int) -> Option<Cpus> {
        let mut cpus = [0; 1024 / BITS];
        // SAFETY: `cpus` has room for `size_of::<Cpus>()` bytes. A thread that isn't there is an
        // error.
        let outcome = unsafe { sched_getaffinity(thread, size_of::<Cpus>(), &raw mut cpus) };
        (outcome >= 0).then_some(cpus)
    }

    pub(super) fn allow(cpus: &Cpus) -> bool {
        // SAFETY: `cpus` has `size_of::<Cpus>()` bytes that can be read.
        unsafe { sched_setaffinity(THIS, size_of::<Cpus>(), cpus) == 0 }
    }

    /// Returns whether a filter (seccomp) decides about calls of the system, or may.
    pub(super) fn is_filtered() -> bool {
        const GET_SECCOMP: c_int = 21;
        // SAFETY: the option takes no argument and changes nothing. Threads that have a name, as
        // helpers do, have made the same call for it.
        unsafe { prctl(GET_SECCOMP) != 0 }
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::linux::{Away, Cpus, THIS, allow, allowed, current, is_filtered};
    use std::thread;

    /// Returns a set of one CPU.
    fn only(cpu: usize) -> Cpus {
        let mut cpus = allowed(THIS).unwrap().map(|_| 0);
        let bits = 8 * size_of_val(&cpus[0]);
        cpus[cpu / bits] = 1 << (cpu % bits);
        cpus
    }

    /// Calls a function on a thread of its own, with a CPU that it may run on and all of these, if
    /// there are several and nothing forbids to choose.
    fn with_cpu(function: impl FnOnce(usize, Cpus) + Send + 'static) {
        let (Some(all), false) = (allowed(THIS), is_filtered()) else {
            return;
        };
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
            assert!(allow(&only(cpu)));
            drop(away);
            assert_eq!(allowed(THIS), Some(only(cpu)));
            assert!(Away::from(cpu).is_none(), "it may run on no other one");
            assert_eq!(allowed(THIS), Some(only(cpu)));
        });
    }

    #[test]
    fn away_is_none_for_a_cpu_that_is_not_there() {
        let before = allowed(THIS);
        assert!(Away::from(usize::MAX).is_none());
        assert_eq!(allowed(THIS), before);
    }
}
