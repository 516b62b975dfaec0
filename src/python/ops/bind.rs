//! Binding of a Python call's arguments to an op's parameters.

mod refuse;
mod variadic;

use super::attribute::{attribute, is_plain, of_kind};
use super::threads::number_of_threads;
use crate::kernel::{Attribute, AttributeKind, OpHandle, Reason};
use crate::python::error::{of_call, wrong_argument, wrong_value};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use pyo3::{Borrowed, ffi};
use smallvec::SmallVec;

/// Argument names of an op, interned like keywords in calls, so that comparing pointers usually
/// suffices.
pub(super) struct Names {
    tensors: Vec<Py<PyString>>,
    attributes: Vec<(Py<PyString>, AttributeKind)>,
    /// The place of a variadic input, which is the last of the inputs.
    variadic: Option<usize>,
    /// How many of the tensors are inputs.
    pub(super) given: usize,
    /// The places of what a call returns: tensors that are written.
    pub(super) results: Vec<usize>,
    out: Py<PyString>,
    like: Py<PyString>,
    label: Py<PyString>,
    memory: Py<PyString>,
    threads: Py<PyString>,
}

/// Meaning of an argument's name.
enum Place {
    Tensor(usize),
    Attribute(usize),
    Out,
    Like,
    Label,
    Memory,
    Threads,
}

impl Names {
    pub(super) fn of(py: Python<'_>, handle: &OpHandle) -> Self {
        let op = handle.definition();
        let name = |name: &str| PyString::intern(py, name).unbind();
        Self {
            tensors: op.parameters().map(|(tensor, _, _)| name(tensor)).collect(),
            attributes: op
                .attributes()
                .map(|(attribute, kind, _)| (name(attribute), kind))
                .collect(),
            variadic: op.variadic(),
            given: op.given(),
            results: (0..op.parameters().count())
                .filter(|at| op.writes(*at))
                .collect(),
            out: name("out"),
            like: name("like"),
            label: name("label"),
            memory: name("memory"),
            threads: name("threads"),
        }
    }

    /// Returns how many tensors are parameters.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.tensors.len()
    }

    fn place(&self, keyword: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Place>> {
        let is = |name: &Py<PyString>| name.as_ptr() == keyword.as_ptr();
        if let Some(place) = self.place_by(is) {
            return Ok(Some(place));
        }
        let (py, text) = (keyword.py(), keyword.cast::<PyString>()?);
        let text = text.to_string_lossy();
        Ok(self.place_by(|name| name.bind(py).to_string_lossy() == text))
    }

    #[inline]
    fn place_by(&self, is: impl Fn(&Py<PyString>) -> bool) -> Option<Place> {
        // Most are attributes.
        if let Some(at) = self.attributes.iter().position(|(name, _)| is(name)) {
            return Some(Place::Attribute(at));
        }
        if is(&self.out) {
            return Some(Place::Out);
        }
        if let Some(at) = self.tensors.iter().position(&is)
            && self.variadic != Some(at)
        {
            return Some(Place::Tensor(at));
        }
        let rest = [
            (&self.like, Place::Like),
            (&self.label, Place::Label),
            (&self.memory, Place::Memory),
            (&self.threads, Place::Threads),
        ];
        rest.into_iter()
            .find(|(name, _)| is(name))
            .map(|(_, place)| place)
    }
}

/// What a Python function was called with.
#[derive(Clone, Copy)]
pub(super) struct Given<'a, 'py> {
    positional: &'a [*mut ffi::PyObject],
    named: &'a [*mut ffi::PyObject],
    keywords: Option<Borrowed<'a, 'py, PyTuple>>,
    py: Python<'py>,
}

impl<'a, 'py> Given<'a, 'py> {
    /// # Safety
    ///
    /// As of `METH_FASTCALL | METH_KEYWORDS`, while `'a` lasts.
    #[inline]
    pub(super) unsafe fn new(
        py: Python<'py>,
        arguments: *const *mut ffi::PyObject,
        count: usize,
        keywords: *mut ffi::PyObject,
    ) -> Self {
        // SAFETY: `METH_FASTCALL | METH_KEYWORDS`: there are `count` arguments, the values of the
        // keywords behind them, and a tuple of names.
        unsafe {
            let keywords = Borrowed::from_ptr_or_opt(py, keywords)
                .map(|keywords| keywords.cast_unchecked::<PyTuple>());
            let named =
                keywords.map_or(0, |keywords| ffi::PyTuple_Size(keywords.as_ptr()) as usize);
            let slice = |from: usize, len: usize| match len {
                0 => &[][..],
                _ => std::slice::from_raw_parts(arguments.add(from), len),
            };
            Self {
                positional: slice(0, count),
                named: slice(count, named),
                keywords,
                py,
            }
        }
    }

    #[inline]
    fn object(&self, pointer: *mut ffi::PyObject) -> Borrowed<'a, 'py, PyAny> {
        // SAFETY: arguments are objects that the caller keeps.
        unsafe { Borrowed::from_ptr(self.py, pointer) }
    }
}

/// The arguments, sorted.
pub(super) struct Bindings<'a, 'py> {
    /// By their [places](crate::kernel::Op::parameter_of); `None` for results that are to be made,
    /// and inputs that are left out.
    pub(super) tensors: SmallVec<[Option<Borrowed<'a, 'py, PyAny>>; 4]>,
    pub(super) attributes: SmallVec<[(usize, Attribute); 2]>,
    /// Whether nothing was dropped where they were read.
    pub(super) attributes_are_plain: bool,
    pub(super) like: Option<Borrowed<'a, 'py, PyAny>>,
    pub(super) label: Option<Borrowed<'a, 'py, PyString>>,
    /// Whether results are in memory from the caller's framework.
    pub(super) in_callers_memory: bool,
    /// The number of threads; 0 for the process's.
    pub(super) threads: usize,
    /// The tensors of a list, which may change during the call.
    pub(super) listed: Option<Bound<'py, PyTuple>>,
}

impl Bindings<'_, '_> {
    /// Returns the bindings of no arguments.
    #[inline]
    pub(super) fn new() -> Self {
        Self {
            tensors: SmallVec::new(),
            attributes: SmallVec::new(),
            attributes_are_plain: true,
            like: None,
            label: None,
            in_callers_memory: false,
            threads: 0,
            listed: None,
        }
    }
}

impl Names {
    /// Binds the arguments of a call to the op's parameters, in place: moving what was just written
    /// would stall on it.
    #[inline]
    pub(super) fn bind<'a, 'py>(
        &self,
        op: &str,
        given: &Given<'a, 'py>,
        all: &mut Bindings<'a, 'py>,
    ) -> PyResult<()> {
        all.tensors.resize(self.tensors.len(), None);
        if let Some(variadic) = self.variadic {
            self.bind_variadic(variadic, given, all)?;
        } else if given.positional.len() > self.given {
            // Results are named: `out=`.
            let (most, found) = (self.given, given.positional.len());
            let reason = Reason::TooMany {
                wanted: most,
                given: found,
            };
            return Err(of_call(reason.of(op)));
        }
        let single = self.variadic.unwrap_or(self.given);
        for (to, object) in all.tensors[..single].iter_mut().zip(given.positional) {
            *to = not_none(given.object(*object));
        }
        let Some(keywords) = given.keywords else {
            return Ok(());
        };
        for (at, value) in given.named.iter().enumerate() {
            let value = given.object(*value);
            // SAFETY: there are as many keywords as values.
            let keyword = unsafe { ffi::PyTuple_GetItem(keywords.as_ptr(), at as ffi::Py_ssize_t) };
            let keyword = given.object(keyword);
            if keyword.as_ptr() == self.out.as_ptr() {
                self.put_out(op, all, value)?;
            } else {
                self.bind_keyword(op, all, keyword, value)?;
            }
        }
        Ok(())
    }

    /// Binds an argument that was given by name, in a function of its own: most calls have none but
    /// `out`.
    #[inline(never)]
    fn bind_keyword<'a, 'py>(
        &self,
        op: &str,
        all: &mut Bindings<'a, 'py>,
        keyword: Borrowed<'a, 'py, PyAny>,
        value: Borrowed<'a, 'py, PyAny>,
    ) -> PyResult<()> {
        match self.place(keyword)? {
            Some(Place::Tensor(place)) => self.put(op, all, place, value)?,
            Some(Place::Out) => self.put_out(op, all, value)?,
            Some(Place::Attribute(place)) => {
                let (name, kind) = &self.attributes[place];
                let knows_none = matches!(
                    kind,
                    AttributeKind::OptionalInt | AttributeKind::OptionalInts
                );
                if value.is_none() && !knows_none {
                    return Ok(()); // The default applies.
                }
                all.attributes_are_plain &= is_plain(value);
                let known = attribute(value, *kind)?;
                let known = known.ok_or_else(|| {
                    let name = name.bind(value.py()).to_string_lossy();
                    of_kind(op, &name, *kind, value)
                })?;
                all.attributes.push((place, known));
            }
            Some(Place::Like) => all.like = not_none(value),
            Some(Place::Label) => {
                let label = value.cast::<PyString>();
                all.label = Some(label.map_err(|_| Self::not_str(op, value))?);
            }
            Some(Place::Memory) => {
                all.in_callers_memory = match value.extract::<&str>() {
                    Ok("own") => false,
                    Ok("caller") => true,
                    _ => {
                        let (found, wanted) = (value.to_string(), "\"own\" or \"caller\"");
                        let reason = format!("{op}: expected {wanted} for memory, got {found}");
                        return Err(wrong_value(found, wanted, reason));
                    }
                };
            }
            Some(Place::Threads) => all.threads = number_of_threads(op, value)?,
            None => return Err(self.no_such(op, keyword)),
        }
        Ok(())
    }

    fn put<'a, 'py>(
        &self,
        op: &str,
        all: &mut Bindings<'a, 'py>,
        place: usize,
        value: Borrowed<'a, 'py, PyAny>,
    ) -> PyResult<()> {
        let to = &mut all.tensors[place];
        if to.is_some() {
            let argument = self.argument(value.py(), place);
            return Err(of_call(Reason::GivenTwice { argument }.of(op)));
        }
        *to = not_none(value);
        Ok(())
    }

    /// Binds `out`: one tensor, or a tuple of all results.
    #[inline]
    fn put_out<'a, 'py>(
        &self,
        op: &str,
        all: &mut Bindings<'a, 'py>,
        value: Borrowed<'a, 'py, PyAny>,
    ) -> PyResult<()> {
        let outputs = self.tensors.len() - self.given;
        if value.is_none() {
            return Ok(());
        }
        if outputs == 1 {
            return self.put(op, all, self.given, value);
        }
        let several = value.cast::<PyTuple>().ok();
        let several = several.filter(|tuple| tuple.len() == outputs);
        let Some(tuple) = several else {
            let wanted = match outputs {
                0 => "no out, as there is no result".to_owned(),
                _ => format!("a tuple of {outputs} tensors for out"),
            };
            let found = value.get_type().qualname()?.to_string();
            let reason = format!("{op}: expected {wanted}, got {found}");
            return Err(wrong_argument(found, wanted, reason));
        };
        for place in 0..outputs {
            // SAFETY: the tuple has that many items, and keeps them; the caller keeps the tuple.
            let item = unsafe {
                let item = ffi::PyTuple_GetItem(tuple.as_ptr(), place as ffi::Py_ssize_t);
                Borrowed::from_ptr(value.py(), item)
            };
            self.put(op, all, self.given + place, item)?;
        }
        Ok(())
    }
}

#[inline]
fn not_none<'a, 'py>(object: Borrowed<'a, 'py, PyAny>) -> Option<Borrowed<'a, 'py, PyAny>> {
    (!object.is_none()).then_some(object)
}
