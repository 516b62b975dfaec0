//! `tests/c/peer.c`, loaded.

use dlbridge::DType;
use dlbridge::dlpack::{Abi, DLDataType, DLTensor, Managed};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::{self, NonNull};

/// A trial: it panics when it fails.
pub(crate) type Body = fn(&Library);

/// Two trials, one for each ABI, of every function named.
macro_rules! trials {
    ($($body:ident),* $(,)?) => {
        pub(crate) const TRIALS: &[(&str, $crate::library::Body)] = &[$(
            (
                concat!(stringify!($body), "::versioned"),
                $body::<dlbridge::dlpack::Versioned>,
            ),
            (
                concat!(stringify!($body), "::legacy"),
                $body::<dlbridge::dlpack::Legacy>,
            ),
        )*];
    };
}
pub(crate) use trials;

macro_rules! functions {
    ($(fn $name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of `tests/c/peer.h`, and the library that they are in.
        #[derive(Debug)]
        pub(crate) struct Library {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            _code: libloading::Library,
        }

        impl Library {
            pub(crate) fn load(file: &Path) -> Result<Self, String> {
                let refused = |error| format!("{}: {error}", file.display());
                // SAFETY: the library is C without initialisers, and made by this test.
                let code = unsafe { libloading::Library::new(file) }.map_err(refused)?;
                Ok(Self {
                    // SAFETY: the types are those of the header.
                    $($name: *unsafe { code.get(stringify!($name)) }.map_err(refused)?,)*
                    _code: code,
                })
            }
        }
    };
}

functions! {
    fn peer_counts_new() -> *mut c_void;
    fn peer_counts_free(*mut c_void);
    fn peer_counts_deletions(*mut c_void) -> c_int;
    fn peer_counts_live(*mut c_void) -> c_int;
    fn peer_make(bool, *const RawRecipe, *mut c_void) -> *mut c_void;
    fn peer_make_malformed(c_int, bool, *mut c_void) -> *mut c_void;
    fn peer_malformed_name(c_int) -> *const c_char;
    fn peer_get(*const DLTensor, *const i64) -> f64;
    fn peer_set(*const DLTensor, *const i64, f64);
    fn peer_complaint(*mut c_void, bool) -> *const c_char;
    fn peer_sum(*const DLTensor) -> f64;
    fn peer_scale(*const DLTensor, f64);
    fn peer_delete(*mut c_void, bool);
    fn peer_start_sum(*mut c_void, bool) -> *mut c_void;
    fn peer_finish_sum(*mut c_void) -> f64;
}

/// `struct peer_recipe`.
#[repr(C)]
struct RawRecipe {
    dtype: DLDataType,
    ndim: i32,
    shape: *const i64,
    strides: *const i64,
    elements: i64,
    first: i64,
    byte_offset: u64,
    flags: u64,
}

/// What C is to make. In memory, element i has the value i.
#[derive(Clone, Copy)]
pub(crate) struct Recipe<'a> {
    pub(crate) dtype: DType,
    pub(crate) shape: &'a [i64],
    /// `None` is NULL.
    pub(crate) strides: Option<&'a [i64]>,
    pub(crate) elements: i64,
    /// Which of them the element of index 0 is.
    pub(crate) first: i64,
    /// The data pointer is so much in front of it.
    pub(crate) byte_offset: u64,
    pub(crate) flags: u64,
}

/// Two rows of three, without strides.
pub(crate) const TWO_ROWS: Recipe = Recipe {
    dtype: DType::F64,
    shape: &[2, 3],
    strides: None,
    elements: 6,
    first: 0,
    byte_offset: 0,
    flags: 0,
};

/// Counts C's tensors. Those that it is given to must not outlive it.
pub(crate) struct Counts<'a> {
    library: &'a Library,
    raw: *mut c_void,
}

impl Counts<'_> {
    /// How often C's deleters were called, and how many tensors they were not called for.
    pub(crate) fn deletions_and_live(&self) -> (c_int, c_int) {
        // SAFETY: the counts are there until `self` is dropped.
        unsafe {
            (
                (self.library.peer_counts_deletions)(self.raw),
                (self.library.peer_counts_live)(self.raw),
            )
        }
    }
}

impl Drop for Counts<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `Library::counts`, and freed only here.
        unsafe { (self.library.peer_counts_free)(self.raw) }
    }
}

impl Library {
    pub(crate) fn counts(&self) -> Counts<'_> {
        Counts {
            library: self,
            // SAFETY: C has no conditions.
            raw: unsafe { (self.peer_counts_new)() },
        }
    }

    /// A tensor that C made and gave away.
    pub(crate) fn make<A: Abi>(&self, recipe: &Recipe<'_>, counts: &Counts<'_>) -> Managed<A> {
        let rank = recipe.shape.len();
        assert!(recipe.strides.is_none_or(|strides| strides.len() == rank));
        let raw = RawRecipe {
            dtype: recipe.dtype.into(),
            ndim: i32::try_from(rank).unwrap(),
            shape: recipe.shape.as_ptr(),
            strides: recipe
                .strides
                .map_or(ptr::null(), |strides| strides.as_ptr()),
            elements: recipe.elements,
            first: recipe.first,
            byte_offset: recipe.byte_offset,
            flags: recipe.flags,
        };
        // SAFETY: the recipe is complete, and C only reads it.
        let made = unsafe { (self.peer_make)(A::HAS_FLAGS, &raw, counts.raw) };
        // SAFETY: C made a struct of this ABI, and gives it away; its deleter can be called on
        // every thread. It uses the elements only when the tests call it.
        unsafe { Managed::from_raw(made.cast()) }.unwrap()
    }

    /// Malformed tensors by number, as C gives them away; `None` where the ABI has none of that
    /// kind.
    pub(crate) fn make_malformed<A: Abi>(
        &self,
        which: c_int,
        counts: &Counts<'_>,
    ) -> Option<NonNull<A>> {
        // SAFETY: the number is one that has a name.
        let made = unsafe { (self.peer_make_malformed)(which, A::HAS_FLAGS, counts.raw) };
        NonNull::new(made.cast())
    }

    /// The kinds of malformed tensors, in the order of their numbers.
    pub(crate) fn malformed_names(&self) -> Vec<String> {
        // SAFETY: names are read one after another, up to the first NULL; each is a literal.
        (0..)
            .map(|which| unsafe { (self.peer_malformed_name)(which) })
            .take_while(|name| !name.is_null())
            .map(|name| unsafe { CStr::from_ptr(name) }.to_str().unwrap().to_owned())
            .collect()
    }

    /// What C reads at an index.
    ///
    /// # Safety
    ///
    /// The descriptor is true and of host memory, and no code writes that meanwhile.
    pub(crate) unsafe fn get(&self, tensor: &DLTensor, index: &[i64]) -> f64 {
        assert_eq!(index.len(), tensor.ndim as usize);
        // SAFETY: the descriptor is valid, of host memory and unwritten meanwhile, by this
        // function's contract.
        unsafe { (self.peer_get)(tensor, index.as_ptr()) }
    }

    /// Has C write at an index.
    ///
    /// # Safety
    ///
    /// The descriptor is true and of host memory, and no code uses that meanwhile.
    pub(crate) unsafe fn set(&self, tensor: &DLTensor, index: &[i64], value: f64) {
        assert_eq!(index.len(), tensor.ndim as usize);
        // SAFETY: the descriptor is valid, of host memory and unused meanwhile, by this function's
        // contract.
        unsafe { (self.peer_set)(tensor, index.as_ptr(), value) }
    }

    /// The sum that C calculates.
    pub(crate) fn sum<A: Abi>(&self, managed: &Managed<A>) -> f64 {
        // SAFETY: a managed tensor's descriptor is true, and the tests use host memory only.
        unsafe { (self.peer_sum)(managed.descriptor()) }
    }

    /// Has C multiply all elements.
    ///
    /// # Safety
    ///
    /// No code uses the memory meanwhile, and it isn't read-only.
    pub(crate) unsafe fn scale<A: Abi>(&self, managed: &Managed<A>, factor: f64) {
        // SAFETY: C reads the descriptor that `managed` owns; no other code uses the memory, by
        // this function's contract.
        unsafe { (self.peer_scale)(managed.descriptor(), factor) }
    }

    /// What C finds wrong with an export.
    pub(crate) fn complaint<A: Abi>(&self, managed: &Managed<A>) -> Option<String> {
        // SAFETY: the struct is owned by `managed`, and C only reads it.
        let text = unsafe { (self.peer_complaint)(managed.as_ptr().cast(), A::HAS_FLAGS) };
        if text.is_null() {
            return None;
        }
        // SAFETY: C returns NULL or a literal.
        let text = unsafe { CStr::from_ptr(text) };
        Some(text.to_string_lossy().into_owned())
    }

    /// C takes the tensor over and calls its deleter.
    pub(crate) fn delete<A: Abi>(&self, managed: Managed<A>) {
        // SAFETY: ownership goes to C, which calls the deleter once.
        unsafe { (self.peer_delete)(managed.into_raw().as_ptr().cast(), A::HAS_FLAGS) }
    }

    /// C takes the tensor over, sums it and calls its deleter, on a thread of its own.
    pub(crate) fn start_sum<A: Abi>(&self, managed: Managed<A>) -> Task<'_> {
        Task {
            library: self,
            // SAFETY: ownership goes to C, which calls the deleter once.
            raw: unsafe { (self.peer_start_sum)(managed.into_raw().as_ptr().cast(), A::HAS_FLAGS) },
        }
    }
}

/// A thread of C's.
#[must_use]
pub(crate) struct Task<'a> {
    library: &'a Library,
    raw: *mut c_void,
}

impl Task<'_> {
    /// Waits for the sum and the deletion.
    pub(crate) fn finish(self) -> f64 {
        // SAFETY: made by `Library::start_sum`, and finished only here.
        unsafe { (self.library.peer_finish_sum)(self.raw) }
    }
}
