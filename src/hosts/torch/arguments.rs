//! Arguments of a call by the dispatcher, which are the callee's to release.

use super::library::{Handle, Status, Torch};
use crate::dtype::DType;
use crate::hosts::repeats::Description;
use crate::kernel::{Attribute, AttributeKind, Op};
use crate::layout::Layout;
use smallvec::SmallVec;
use std::ptr;

/// A tensor of PyTorch's, released when it is dropped.
pub(super) struct Tensor {
    pub(super) torch: &'static Torch,
    pub(super) handle: Handle,
}

impl Drop for Tensor {
    fn drop(&mut self) {
        // SAFETY: the handle is this one's alone, and not used any more.
        unsafe { (self.torch.functions.aoti_torch_delete_tensor_object)(self.handle) };
    }
}

/// What an operand is made of.
pub(super) struct Described {
    pub(super) first: *mut u8,
    pub(super) layout: Layout,
    pub(super) dtype: DType,
}

/// What PyTorch says of a tensor on the CPU.
struct Answers<'a> {
    first: *mut u8,
    dtype: i32,
    sizes: &'a [i64],
    strides: &'a [i64],
}

impl Tensor {
    /// Asks PyTorch.
    #[inline]
    fn ask(&self, writes: bool) -> Result<Answers<'_>, String> {
        let functions = &self.torch.functions;
        let (mut first, mut rank, mut dtype, mut device) = (ptr::null_mut(), 0, 0, 0);
        let (mut sizes, mut strides) = (ptr::null(), ptr::null());
        // SAFETY: the handle is a tensor's, and each function writes one value of its type.
        let failed = unsafe {
            let handle = self.handle;
            let data = match functions.torch_get_const_data_ptr {
                // The other function copies what is copied on writing.
                Some(get) if !writes => {
                    let mut address: *const u8 = ptr::null();
                    let status = get(handle, &mut address);
                    first = address.cast_mut();
                    status
                }
                _ => (functions.aoti_torch_get_data_ptr)(handle, &mut first),
            };
            data != 0
                || (functions.aoti_torch_get_dim)(handle, &mut rank) != 0
                || (functions.aoti_torch_get_sizes)(handle, &mut sizes) != 0
                || (functions.aoti_torch_get_strides)(handle, &mut strides) != 0
                || (functions.aoti_torch_get_dtype)(handle, &mut dtype) != 0
                || (functions.aoti_torch_get_device_type)(handle, &mut device) != 0
        };
        if failed {
            return Err("a tensor has no memory, or no strides".to_owned());
        }
        if device != self.torch.cpu {
            return Err("expected tensors on the CPU".to_owned());
        }
        let list = |from: *const i64| match rank {
            0 => &[][..],
            // SAFETY: a tensor has as many sizes and strides as dimensions, and keeps them while
            // it isn't resized.
            _ => unsafe { std::slice::from_raw_parts(from, rank as usize) },
        };
        let (sizes, strides) = (list(sizes), list(strides));
        if first.is_null() && !sizes.contains(&0) {
            // Its storage was resized, such as to free the memory.
            let count: i64 = sizes.iter().product();
            return Err(format!(
                "the data pointer is NULL, though there are {count} elements"
            ));
        }
        Ok(Answers {
            first,
            dtype,
            sizes,
            strides,
        })
    }

    /// Appends what tells a tensor that is read apart from others. Returns whether it is one that
    /// can be read; [`describe`](Self::describe) says what is wrong.
    #[inline]
    pub(super) fn tell_apart(&self, call: &mut Description) -> bool {
        let Ok(answers) = self.ask(false) else {
            return false;
        };
        let Answers {
            first,
            dtype,
            sizes,
            strides,
        } = answers;
        call.add_tensor(first, dtype as u32, sizes, Some(strides));
        true
    }

    /// Returns memory, layout and dtype of a tensor on the CPU.
    pub(super) fn describe(&self, writes: bool) -> Result<Described, String> {
        let Answers {
            first,
            dtype,
            sizes,
            strides,
        } = self.ask(writes)?;
        let known = self.torch.dtype(dtype);
        let dtype = known.ok_or_else(|| format!("there is no dtype for PyTorch's {dtype}"))?;
        let sizes: SmallVec<[usize; 8]> = sizes.iter().map(|size| *size as usize).collect();
        let strides: SmallVec<[isize; 8]> = strides.iter().map(|stride| *stride as isize).collect();
        let layout = Layout::strided(&sizes, &strides).map_err(|error| error.to_string())?;
        Ok(Described {
            first,
            layout,
            dtype,
        })
    }
}

/// The arguments of a call, all of which are released when it is dropped.
#[derive(Default)]
pub(super) struct Arguments {
    /// By place among the inputs: none for one that is left out, several for a variadic one.
    pub(super) inputs: SmallVec<[SmallVec<[Tensor; 1]>; 4]>,
    pub(super) attributes: SmallVec<[Attribute; 4]>,
    /// The first problem with an argument.
    pub(super) problem: Option<String>,
}

impl Arguments {
    /// Takes all arguments from the stack.
    ///
    /// # Safety
    ///
    /// The stack has the arguments of the schema of this op, which are given up.
    pub(super) unsafe fn take(torch: &'static Torch, op: &Op, stack: *const u64) -> Self {
        let mut all = Self::default();
        let mut next = stack;
        // SAFETY: there is a value for each argument.
        let mut read = || unsafe {
            let value = *next;
            next = next.add(1);
            value
        };
        for (at, (_, reads, _)) in op.parameters().enumerate() {
            if !reads {
                break;
            }
            let value = read();
            let owned = |value: u64| Tensor {
                torch,
                handle: ptr::with_exposed_provenance_mut(value as usize),
            };
            let mut tensors = SmallVec::new();
            if op.variadic() == Some(at) {
                // SAFETY: the value is a list, which is given up.
                match unsafe { list(torch, value) } {
                    Ok(values) => tensors.extend(values.into_iter().map(owned)),
                    Err(problem) => all.problem = Some(problem),
                }
            } else if op.is_optional(at) {
                // SAFETY: the value is an optional one, which is given up.
                tensors.extend(unsafe { optional(torch, value) }.map(owned));
            } else {
                tensors.push(owned(value));
            }
            all.inputs.push(tensors);
        }
        for (name, kind, _) in op.attributes() {
            // SAFETY: the value is of this kind, and given up.
            match unsafe { attribute(torch, kind, read()) } {
                Ok(value) => all.attributes.push(value),
                Err(problem) => all.problem = Some(format!("argument {name:?}: {problem}")),
            }
        }
        all
    }
}

/// Returns an attribute's value.
///
/// # Safety
///
/// The value is of this kind, and given up.
unsafe fn attribute(
    torch: &'static Torch,
    kind: AttributeKind,
    value: u64,
) -> Result<Attribute, String> {
    let dtype = |value: u64| {
        let number = value as i32;
        let dtype = torch.dtype(number);
        dtype.ok_or_else(|| format!("there is no dtype for PyTorch's {number}"))
    };
    let ints = |values: Vec<u64>| {
        values
            .into_iter()
            .map(|value| value as i64)
            .collect::<Vec<_>>()
    };
    // SAFETY: the value is of the kind, as the schema has it.
    Ok(unsafe {
        match kind {
            AttributeKind::Bool => Attribute::Bool(value as u8 != 0),
            AttributeKind::Int => Attribute::Int(value as i64),
            AttributeKind::Float => Attribute::Float(f64::from_bits(value)),
            AttributeKind::Text => Attribute::Text(text(torch, value)?),
            AttributeKind::DType => Attribute::DType(dtype(value)?),
            AttributeKind::Ints => Attribute::Ints(ints(list(torch, value)?)),
            AttributeKind::OptionalInt => {
                Attribute::OptionalInt(optional(torch, value).map(|value| value as i64))
            }
            AttributeKind::OptionalInts => Attribute::OptionalInts(
                optional(torch, value)
                    .map(|value| list(torch, value).map(ints))
                    .transpose()?,
            ),
            AttributeKind::OptionalDType => {
                Attribute::OptionalDType(optional(torch, value).map(dtype).transpose()?)
            }
        }
    })
}

/// Returns the value in an optional one's cell.
///
/// # Safety
///
/// The value is 0, or the address of a cell that is given up.
unsafe fn optional(torch: &'static Torch, value: u64) -> Option<u64> {
    let cell: *mut u64 = ptr::with_exposed_provenance_mut(value as usize);
    if cell.is_null() {
        return None;
    }
    // SAFETY: the cell was made by `new`, and is freed once.
    unsafe {
        let value = *cell;
        match torch.functions.torch_delete_stable_ivalue {
            Some(delete) => {
                delete(cell);
            }
            None => torch.exceptions.delete(cell.cast()),
        }
        Some(value)
    }
}

/// Returns the values of a list.
///
/// # Safety
///
/// The value is a list, which is given up.
unsafe fn list(torch: &'static Torch, value: u64) -> Result<Vec<u64>, String> {
    let functions = &torch.functions;
    let (Some(size), Some(get), Some(delete)) = (
        functions.torch_list_size,
        functions.torch_list_get_item,
        functions.torch_delete_list,
    ) else {
        return Err("lists are known from PyTorch 2.10 on".to_owned());
    };
    let handle: Handle = ptr::with_exposed_provenance_mut(value as usize);
    let mut values = Vec::new();
    let mut status: Status;
    // SAFETY: the handle is a list's, which is deleted once, after its items were read.
    unsafe {
        let mut count = 0;
        status = size(handle, &mut count);
        for at in 0..count {
            let mut item = 0;
            status |= get(handle, at, &mut item);
            values.push(item);
        }
        status |= delete(handle);
    }
    match status {
        0 => Ok(values),
        _ => Err("a list can't be read".to_owned()),
    }
}

/// Returns a text.
///
/// # Safety
///
/// The value is a text, which is given up.
unsafe fn text(torch: &'static Torch, value: u64) -> Result<String, String> {
    let functions = &torch.functions;
    let (Some(length), Some(get), Some(delete)) = (
        functions.torch_string_length,
        functions.torch_string_c_str,
        functions.torch_delete_string,
    ) else {
        return Err("texts are known from PyTorch 2.10 on".to_owned());
    };
    let handle: Handle = ptr::with_exposed_provenance_mut(value as usize);
    // SAFETY: the handle is a text's, which is deleted once, after its bytes were copied.
    unsafe {
        let (mut count, mut bytes) = (0, ptr::null());
        let failed = length(handle, &mut count) != 0 || get(handle, &mut bytes) != 0;
        let text = match failed || bytes.is_null() {
            true => Err("a text can't be read".to_owned()),
            false => {
                let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), count);
                Ok(String::from_utf8_lossy(bytes).into_owned())
            }
        };
        delete(handle);
        text
    }
}
