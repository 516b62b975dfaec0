//! Many threads with the same tensors: sharing, cloning, exporting, importing, upgrading, writing,
//! dropping. Nothing is dropped twice, nothing is left over, no thread sees released memory.
//!
//! Miri runs this with few rounds. So does ThreadSanitizer, with all of them:
//! `RUSTFLAGS=-Zsanitizer=thread cargo +nightly test -Zbuild-std --target <host> --test threads`.

#[path = "support/at_once.rs"]
mod at_once;
#[path = "interchange/foreign.rs"]
mod foreign;
#[path = "threads/handle.rs"]
mod handle;
#[path = "threads/kinds.rs"]
mod kinds;
#[cfg(all(feature = "kernels", not(miri)))]
#[path = "threads/registering.rs"]
mod registering;

use at_once::{THREADS, on_all_threads};
use dlbridge::dlpack::{Legacy, Managed, Versioned};
use dlbridge::{DType, Tensor, WeakStorage};
use foreign::Counter;
use handle::{Handle, handed_on};
use kinds::{KINDS, NUMBERS, assert_numbers, imported, owned};
use std::sync::{Barrier, mpsc};
use std::thread;

/// How often each thread does what a test is about.
const ROUNDS: usize = if cfg!(miri) { 6 } else { 3000 };

/// One way to use a shared tensor and leave nothing behind. `step` chooses which.
fn use_and_let_go(tensor: &Tensor, weak: &WeakStorage, step: usize) {
    match step % 7 {
        0 => assert_numbers(&tensor.clone()),
        1 => assert_numbers(&Tensor::from_dlpack(tensor.to_dlpack()).unwrap()),
        2 => {
            let managed = handed_on(tensor.to_dlpack_as::<Legacy>().unwrap());
            assert_numbers(&Tensor::from_dlpack(managed).unwrap().clone());
        }
        3 => {
            let row = tensor.select(0, 1).unwrap().into_dlpack();
            let row = Tensor::from_dlpack(row).unwrap();
            assert_eq!(row.to_vec::<f32>().unwrap(), NUMBERS[3..]);
        }
        4 => {
            let storage = weak.upgrade().expect("the test holds a handle");
            let again = storage.downgrade();
            drop(storage);
            assert!(again.clone().upgrade().is_some());
        }
        5 => {
            let storage = tensor.storage().slice(4..12);
            let part = Tensor::from_storage(storage, &[2], DType::F32).unwrap();
            assert_eq!(part.to_vec::<f32>().unwrap(), NUMBERS[1..3]);
        }
        _ => {
            let both = (tensor.to_dlpack(), tensor.to_dlpack());
            assert_eq!(both.0.descriptor().data, both.1.descriptor().data);
        }
    }
}

#[test]
fn shared_tensors_stay_valid_under_concurrent_use() {
    let drops = KINDS.map(|_| Counter::default());
    let tensors: Vec<Tensor> = KINDS
        .iter()
        .zip(&drops)
        .map(|(make, drops)| make(drops))
        .collect();
    let weak: Vec<_> = tensors
        .iter()
        .map(|tensor| tensor.storage().downgrade())
        .collect();
    on_all_threads(|thread| {
        for round in 0..ROUNDS {
            let which = (thread + round) % KINDS.len();
            use_and_let_go(&tensors[which], &weak[which], thread * 3 + round);
        }
    });
    for tensor in &tensors {
        assert_numbers(tensor);
        // What the threads had is gone again.
        assert_eq!(tensor.storage().handles(), 1);
    }
    assert!(drops.iter().all(|drops| drops.count() == 0));
    drop(tensors);
    assert!(drops.iter().all(|drops| drops.count() == 1));
    assert!(weak.iter().all(|weak| weak.upgrade().is_none()));
}

#[test]
fn concurrent_first_clones_share_one_refcount() {
    // What was just imported has one handle and no counts yet: the threads make them.
    for round in 0..ROUNDS / THREADS + 2 {
        let drops = Counter::default();
        let tensor = KINDS[round % KINDS.len()](&drops);
        on_all_threads(|thread| match (thread + round) % 4 {
            0 => drop(tensor.clone()),
            1 => drop(tensor.to_dlpack()),
            2 => drop(tensor.storage().downgrade()),
            _ => drop(tensor.storage().clone()),
        });
        assert_eq!((tensor.storage().handles(), drops.count()), (1, 0));
        drop(tensor);
        assert_eq!(drops.count(), 1);
    }
}

#[test]
fn last_handle_on_any_thread_releases() {
    for round in 0..ROUNDS / THREADS + 2 {
        let drops = Counter::default();
        let tensor = KINDS[round % KINDS.len()](&drops);
        let start = Barrier::new(THREADS);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (handle, start) = (Handle::to(&tensor, thread + round), &start);
                scope.spawn(move || {
                    start.wait();
                    handle.finish();
                });
            }
            drop(tensor);
        });
        assert_eq!(drops.count(), 1);
    }
}

#[test]
fn exports_can_be_released_on_other_threads() {
    let drops = Counter::default();
    let tensors = [owned(&drops), imported::<Versioned>(&drops)];
    let rounds = ROUNDS / 2;
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..THREADS).map(|_| mpsc::channel()).unzip();
    thread::scope(|scope| {
        for (thread, receiver) in receivers.into_iter().enumerate() {
            let neighbour = senders[(thread + 1) % THREADS].clone();
            let tensors = &tensors;
            scope.spawn(move || {
                for round in 0..rounds {
                    let handle = Handle::to(&tensors[round % 2], thread + round);
                    neighbour.send(handle).unwrap();
                    // Some are waited for, so that others pile up.
                    if round % 3 > 0 {
                        receiver.recv().unwrap().finish();
                    }
                }
                drop(neighbour);
                receiver.iter().for_each(Handle::finish);
            });
        }
        drop(senders);
    });
    assert_eq!(drops.count(), 0);
    assert!(tensors.iter().all(|tensor| tensor.storage().handles() == 1));
    drop(tensors);
    assert_eq!(drops.count(), 2);
}

#[test]
fn writes_follow_all_reads() {
    let drops = Counter::default();
    for _ in 0..ROUNDS / THREADS + 2 {
        let mut tensor = owned(&drops).copy().unwrap();
        thread::scope(|scope| {
            let readers: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let handle = Handle::to(&tensor, thread);
                    scope.spawn(move || handle.finish())
                })
                .collect();
            // As soon as the last reader's handle is gone there may be a view to write through;
            // were its reads not over by then, Miri and ThreadSanitizer would see a race.
            while !readers.iter().all(|reader| reader.is_finished()) {
                if let Ok(mut view) = tensor.view_mut::<f32>() {
                    view.fill(-1.0);
                }
                thread::yield_now();
            }
            // Seeing that threads are finished is not yet knowing all that they did.
            readers
                .into_iter()
                .for_each(|reader| reader.join().unwrap());
            tensor.view_mut::<f32>().unwrap().fill(-1.0);
        });
        assert_eq!(tensor.to_vec::<f32>().unwrap(), [-1.0; 6]);
    }
}

#[test]
fn copy_moved_between_threads_is_writable() {
    fn import_and_add_one(managed: Managed<Versioned>) -> Tensor {
        let mut tensor = Tensor::from_dlpack(managed).unwrap();
        let mut view = tensor
            .view_mut::<f32>()
            .expect("a copy that no other code has");
        view.iter_mut().for_each(|x| *x += 1.0);
        tensor
    }
    let (there, from_here) = mpsc::channel();
    let (back, from_there) = mpsc::channel();
    let worker = thread::spawn(move || {
        for managed in from_here {
            back.send(import_and_add_one(managed).into_dlpack())
                .unwrap();
        }
    });
    let mut tensor = Tensor::from([[0.0_f32; 3]; 2]).copy().unwrap();
    // Every trip adds a deleter that calls the next one.
    let trips = ROUNDS / 10 + 1;
    for _ in 0..trips {
        there.send(tensor.into_dlpack()).unwrap();
        tensor = import_and_add_one(from_there.recv().unwrap());
    }
    drop(there);
    worker.join().unwrap();
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [2.0 * trips as f32; 6]);
}
