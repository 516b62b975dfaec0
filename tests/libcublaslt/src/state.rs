//! [`State`]: the library's objects, and what was done with them.

use crate::Handle;
use crate::objects::{Layout, Object, Operation, Preference};
use crate::product::Product;
use crate::status;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The code of an error.
pub(crate) type Outcome = Result<(), c_int>;

#[derive(Debug)]
pub(crate) struct State {
    objects: BTreeMap<usize, Object>,
    given_out: usize,
    journal: Vec<String>,
    mistakes: Vec<String>,
    pub(crate) failing: Option<(String, c_int)>,
    pub(crate) workspace: u64,
    pub(crate) refusal: c_int,
}

static STATE: Mutex<State> = Mutex::new(State {
    objects: BTreeMap::new(),
    given_out: 0,
    journal: Vec::new(),
    mistakes: Vec::new(),
    failing: None,
    workspace: 0,
    refusal: 0,
});

impl State {
    pub(crate) fn lock() -> MutexGuard<'static, Self> {
        STATE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails where this function is to.
    pub(crate) fn enter(&mut self, function: &str) -> Outcome {
        match self.failing.take_if(|(name, _)| name == function) {
            Some((_, code)) => Err(code),
            None => Ok(()),
        }
    }

    pub(crate) fn journal(&mut self, line: String) {
        self.journal.push(line);
    }

    pub(crate) fn mistake(&mut self, line: String) {
        self.mistakes.push(line);
    }

    pub(crate) fn lines(&self, of_mistakes: bool) -> String {
        let lines = match of_mistakes {
            true => &self.mistakes,
            false => &self.journal,
        };
        lines.join("\n")
    }

    /// What isn't good is a mistake.
    pub(crate) fn noted<T>(&mut self, found: Result<T, String>) -> Result<T, c_int> {
        found.map_err(|mistake| {
            self.mistake(mistake);
            status::INVALID_VALUE
        })
    }

    pub(crate) fn add(&mut self, object: Object) -> Handle {
        self.given_out += 16;
        self.objects.insert(self.given_out, object);
        ptr::without_provenance_mut(self.given_out)
    }

    pub(crate) fn remove(&mut self, handle: Handle) {
        self.objects.remove(&handle.addr());
    }

    /// An object that was just found.
    pub(crate) fn change(&mut self, handle: Handle) -> &mut Object {
        self.objects
            .get_mut(&handle.addr())
            .expect("it was just found")
    }

    /// How many descriptors there are.
    pub(crate) fn live(&self) -> usize {
        let is_descriptor = |object: &&Object| !matches!(object, Object::Library);
        self.objects.values().filter(is_descriptor).count()
    }

    fn find<T>(
        &mut self,
        handle: Handle,
        kind: &str,
        pick: impl Fn(&Object) -> Option<T>,
    ) -> Result<T, c_int> {
        let found = self.objects.get(&handle.addr()).and_then(pick);
        self.noted(found.ok_or_else(|| format!("{handle:?} is no {kind}, or no more")))
    }

    pub(crate) fn library(&mut self, handle: Handle) -> Outcome {
        self.find(handle, "handle", |object| {
            matches!(object, Object::Library).then_some(())
        })
    }

    pub(crate) fn operation(&mut self, handle: Handle) -> Result<Operation, c_int> {
        self.find(handle, "operation", |object| match object {
            Object::Operation(operation) => Some(*operation),
            _ => None,
        })
    }

    pub(crate) fn layout(&mut self, handle: Handle) -> Result<Layout, c_int> {
        self.find(handle, "layout", |object| match object {
            Object::Layout(layout) => Some(*layout),
            _ => None,
        })
    }

    pub(crate) fn preference(&mut self, handle: Handle) -> Result<Preference, c_int> {
        self.find(handle, "preference", |object| match object {
            Object::Preference(preference) => Some(*preference),
            _ => None,
        })
    }

    /// What these describe together.
    pub(crate) fn product(
        &mut self,
        operation: Handle,
        layouts: [Handle; 4],
    ) -> Result<Product, c_int> {
        let operation = self.operation(operation)?;
        let [a, b, c, d] = layouts.map(|layout| self.layout(layout));
        let product = Product::new(operation, [a?, b?, c?, d?]);
        self.noted(product)
    }
}
