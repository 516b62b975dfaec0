//! Values that are attributes, and items of arrays.

use super::{ARRAY, BOOL, DATA_TYPE, FLOAT, INT, LIST, NONE, SHAPE, Value};
use crate::dlpack::DLDataType;
use crate::dtype::DType;
use crate::hosts::tvm_ffi::library::{Object, TvmFfi};
use crate::kernel::{Attribute, AttributeKind};

impl Value {
    /// Returns the items of an array or a list, and what keeps those that are objects.
    ///
    /// # Safety
    ///
    /// The value is a valid array or list.
    pub(in crate::hosts::tvm_ffi) unsafe fn items<'t>(
        &self,
        tvm: &'t TvmFfi,
    ) -> Result<(Vec<Value>, Vec<Object<'t>>), String> {
        let (size, get) = match self.kind {
            LIST => ("ffi.ListSize", "ffi.ListGetItem"),
            _ => ("ffi.ArraySize", "ffi.ArrayGetItem"),
        };
        // SAFETY: the arguments are the container and a number.
        unsafe {
            let count = tvm.call(size, &[*self])?.bits as usize;
            let (mut items, mut objects) = (Vec::new(), Vec::new());
            for at in 0..count {
                let item = tvm.call(get, &[*self, Self::from_int(at)])?;
                objects.extend(item.object().map(|handle| Object { tvm, handle }));
                items.push(item);
            }
            Ok((items, objects))
        }
    }

    /// Returns the value of an attribute.
    ///
    /// # Safety
    ///
    /// The value is valid.
    pub(in crate::hosts::tvm_ffi) unsafe fn attribute(
        &self,
        tvm: &TvmFfi,
        kind: AttributeKind,
    ) -> Result<Attribute, String> {
        // SAFETY: the value is valid, as this function requires.
        let value = unsafe {
            match self.kind {
                NONE => match kind {
                    AttributeKind::OptionalInt => Some(Attribute::OptionalInt(None)),
                    AttributeKind::OptionalInts => Some(Attribute::OptionalInts(None)),
                    AttributeKind::OptionalDType => Some(Attribute::OptionalDType(None)),
                    _ => None,
                },
                BOOL => Some(Attribute::Bool(self.bits != 0)),
                // Relax has no constants of type bool.
                INT if kind == AttributeKind::Bool && self.bits <= 1 => {
                    Some(Attribute::Bool(self.bits == 1))
                }
                INT => Some(Attribute::Int(self.bits as i64)),
                FLOAT => Some(Attribute::Float(f64::from_bits(self.bits))),
                DATA_TYPE => {
                    let raw = (&raw const self.bits).cast::<DLDataType>().read();
                    let dtype = DType::try_from(raw).map_err(|error| error.to_string())?;
                    Some(Attribute::DType(dtype))
                }
                SHAPE => {
                    let (first, count) = self.behind_header::<(*const i64, usize)>().read();
                    let sizes = match count {
                        0 => &[][..],
                        _ => std::slice::from_raw_parts(first, count),
                    };
                    Some(Attribute::Ints(sizes.to_vec()))
                }
                ARRAY | LIST => {
                    let (items, _objects) = self.items(tvm)?;
                    let ints = items.iter().map(|item| (item.kind, item.bits as i64));
                    let ints = ints.map(|(kind, int)| (kind == INT).then_some(int));
                    ints.collect::<Option<Vec<_>>>().map(Attribute::Ints)
                }
                _ => self.text().map(Attribute::Text),
            }
        };
        let value = value.and_then(|value| value.converted(kind));
        value.ok_or_else(|| format!("expected {kind}, got {}", self.kind_name()))
    }
}
