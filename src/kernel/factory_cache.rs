//! Cache of the functions that factories made, by device and attributes.

use super::call_key::CallKey;
use super::definition::{Factory, KernelContext};
use super::error::Failure;
use super::function::Compute;
use std::collections::HashMap;
use std::mem;
use std::sync::{Mutex, PoisonError};

/// Maximal number of entries; a full cache is emptied.
const MOST: usize = 1024;

/// Functions made by a kernel's factory, by device and attributes, which are all that it gets.
#[derive(Default)]
pub(super) struct FactoryCache(Mutex<HashMap<CallKey, Compute>>);

impl FactoryCache {
    /// Returns the cached function, or calls the factory. No lock is held meanwhile, as a factory
    /// may call ops and register kernels itself.
    pub(super) fn get_or_make(
        &self,
        context: &KernelContext<'_>,
        factory: &Factory,
    ) -> Result<Compute, Failure> {
        let mut key = CallKey::new();
        let device = context.device();
        key.extend([device.kind() as u64, device.id() as u64]);
        for attribute in context.attributes {
            attribute.key(&mut key);
        }
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return Ok(known.clone());
        }
        let made = factory(context)?;
        let mut states = lock();
        let forgotten = match states.len() < MOST {
            true => HashMap::new(),
            false => mem::take(&mut *states),
        };
        let kept = states.entry(key).or_insert_with(|| made.clone()).clone();
        // Not under the lock: a state may call the op when it goes.
        drop(states);
        drop(forgotten);
        Ok(kept)
    }
}
