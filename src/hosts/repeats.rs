//! Calls that are made again and again, as those of a graph: what was checked once isn't checked
//! again.
//!
//! Each thread keeps the latest calls, found by words that tell all of a call but its addresses.

use crate::device::Device;
use crate::dtype::DType;
use crate::kernel::{Attribute, CallError, CallHost, Failure, Made, Operand, Settled};
use crate::kernel::{Hash, Latest, Place};
use crate::layout::{LayoutRef, MAX_RANK, slice_eq};
use crate::storage::Contents;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::{ptr, slice};

/// A call, as its host describes it.
pub(super) struct Description {
    /// Equal for calls of one op whose arguments have the same shapes, strides and dtypes, and
    /// whose attributes are equal.
    words: SmallVec<[u64; 24]>,
    /// Of the words so far. A loop over all of them would be made one of vectors, which takes
    /// longer for as few as there are.
    hash: Hash,
    /// Where the arguments are: inputs, then outputs if they are given.
    firsts: SmallVec<[*mut u8; 6]>,
}

struct Kept {
    words: Box<[u64]>,
    settled: Settled,
}

thread_local! {
    static CALLS: RefCell<Latest<Box<Kept>>> = const { RefCell::new(Latest::new()) };
}

/// What became of a call.
pub(super) enum Repeated {
    /// It was made, as one before.
    Made(Result<(), CallError>),
    /// It is to be made, and to be kept if this is true.
    Not(bool),
}

/// A host of a call that is kept if `keeps` is true.
pub(super) struct Keeping<'h, H> {
    host: &'h mut H,
    keeps: bool,
    settled: Option<Settled>,
}

impl<'h, H: CallHost> Keeping<'h, H> {
    #[inline]
    pub(super) fn new(host: &'h mut H, keeps: bool) -> Self {
        Self {
            host,
            keeps,
            settled: None,
        }
    }
}

// SAFETY: all results are the host's.
unsafe impl<H: CallHost> CallHost for Keeping<'_, H> {
    #[inline]
    fn make<'a>(
        &mut self,
        shape: &[usize],
        dtype: DType,
        device: Device,
        contents: Contents,
    ) -> Result<Operand<'a>, Failure> {
        self.host.make(shape, dtype, device, contents)
    }

    #[inline]
    fn allocate(
        &mut self,
        layout: LayoutRef<'_>,
        dtype: DType,
        contents: Contents,
        replaceable: u32,
    ) -> Result<*mut u8, Failure> {
        self.host.allocate(layout, dtype, contents, replaceable)
    }

    #[inline]
    fn run(
        &mut self,
        releases: bool,
        body: &mut (dyn FnMut() -> Result<(), Failure> + Send),
    ) -> Result<(), Failure> {
        self.host.run(releases, body)
    }

    #[inline]
    fn keep(&mut self, made: Made<'_>) {
        if self.keeps {
            self.settled = Settled::of(made);
        }
    }
}

impl Description {
    /// Begins the description of a call of what a host has published, which is never freed.
    #[inline]
    pub(super) fn of<T>(published: &'static T) -> Self {
        let mut description = Self {
            words: SmallVec::new(),
            hash: Hash::new(),
            firsts: SmallVec::new(),
        };
        description.add_number(ptr::from_ref(published).addr() as u64);
        description
    }

    /// Adds an attribute's value.
    #[inline]
    pub(super) fn add_attribute(&mut self, attribute: &Attribute) {
        attribute.for_each_word(|word| self.add_number(word));
    }

    /// Adds a number, such as how many arguments are inputs.
    #[inline]
    pub(super) fn add_number(&mut self, number: u64) {
        self.words.push(number);
        self.hash.add(number);
    }

    /// Adds an argument of a dtype, as the host numbers it; without strides it is row-major.
    #[inline]
    pub(super) fn add_tensor(
        &mut self,
        first: *mut u8,
        dtype: u32,
        sizes: &[i64],
        strides: Option<&[i64]>,
    ) {
        // No rank is as high as this bit.
        let is_strided = u32::from(strides.is_some()) << 31;
        self.begin_tensor(first, dtype, is_strided | sizes.len() as u32);
        let numbers = sizes.iter().chain(strides.unwrap_or_default());
        numbers.for_each(|number| self.add_number(*number as u64));
    }

    /// Begins an argument that is row-major; its sizes are added as numbers.
    #[inline]
    pub(super) fn begin_tensor(&mut self, first: *mut u8, dtype: u32, rank: u32) {
        self.firsts.push(first);
        self.add_number(u64::from(dtype) << 32 | u64::from(rank));
    }

    /// Makes the call, if this thread has kept one like it.
    ///
    /// # Safety
    ///
    /// Calls whose words are equal differ in nothing but addresses. At these, until the call is
    /// over, are elements of the arguments that the words describe; what the op doesn't write is
    /// written by no other code meanwhile, and what it writes is used by no other code.
    #[inline]
    pub(super) unsafe fn repeat(&self, host: &mut impl CallHost) -> Repeated {
        let hash = self.hash.number();
        let repeated = CALLS.try_with(|calls| {
            // Taken, as the kernel may make calls itself.
            let (place, mut kept) = match take(&mut calls.borrow_mut(), hash, &self.words) {
                Ok(taken) => taken,
                Err(came_before) => return Repeated::Not(came_before),
            };
            // SAFETY: elements and other code's accesses are as this function requires.
            match unsafe { kept.settled.run(&self.firsts, host) } {
                Some(outcome) => {
                    let other = calls.borrow_mut().put_back(place, hash, kept);
                    // A kernel that is dropped may make calls.
                    drop(other);
                    Repeated::Made(outcome)
                }
                None => Repeated::Not(true),
            }
        });
        // A thread that ends keeps nothing.
        repeated.unwrap_or(Repeated::Not(false))
    }

    /// Keeps the call that a host has made, if it is to be kept and can be repeated.
    #[inline]
    pub(super) fn keep<H>(&self, made: Keeping<'_, H>) {
        if let Some(settled) = made.settled {
            self.keep_settled(settled);
        }
    }

    #[cold]
    fn keep_settled(&self, settled: Settled) {
        if settled.takes(self.firsts.len()) {
            let words = self.words.as_slice().into();
            let kept = Box::new(Kept { words, settled });
            let _ = CALLS.try_with(|calls| {
                let other = calls.borrow_mut().keep(self.hash.number(), kept);
                // A kernel that is dropped may make calls.
                drop(other);
            });
        }
    }
}

/// Returns a tensor's sizes or strides; `None` if there are none, or too many.
///
/// # Safety
///
/// The pointer is NULL or that of as many numbers as the rank says.
#[inline]
pub(super) unsafe fn numbers<'a>(first: *const i64, rank: i64) -> Option<&'a [i64]> {
    match usize::try_from(rank) {
        Ok(0) => Some(&[]),
        Ok(rank) if rank <= MAX_RANK && !first.is_null() => {
            // SAFETY: there are as many numbers, as this function requires.
            Some(unsafe { slice::from_raw_parts(first, rank) })
        }
        _ => None,
    }
}

/// Takes a call out of its place, or returns whether one of its hash was made before.
#[inline]
fn take(
    calls: &mut Latest<Box<Kept>>,
    hash: u32,
    words: &[u64],
) -> Result<(Place, Box<Kept>), bool> {
    let place = calls.find(hash, |kept| slice_eq(&kept.words, words));
    let taken = place.and_then(|place| Some((place, calls.take(place)?)));
    taken.ok_or_else(|| calls.came_before(hash))
}
