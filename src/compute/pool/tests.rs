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

#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn helpers_that_slept_may_run_on_every_cpu_again() {
    let all = cpu::allowed(cpu::THIS);
    for _ in 0..20 {
        // Long enough for helpers to fall asleep, and for those that are woken to take parts.
        thread::sleep(Duration::from_millis(1));
        run(6, 3, &|_| {
            assert_eq!(cpu::allowed(cpu::THIS), all);
            thread::sleep(Duration::from_millis(1));
        });
    }
}
