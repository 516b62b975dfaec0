//! [`Node`]: an op in a graph, with its attributes.

use super::definition::{NO_INT, count_name, is_of_output};
use super::functions::{Handle, Status, TensorFlow};
use super::published::Published;
use crate::dtype::DType;
use crate::hosts::problem::{Class, Problem};
use crate::kernel::{Attribute, AttributeKind, ElementType};
use crate::tensorflow_types::dtype_of;
use smallvec::SmallVec;
use std::ffi::{CString, c_int};
use std::sync::OnceLock;

/// A node of a graph, or an eager call of certain attributes.
pub(super) struct Node {
    pub(super) published: &'static Published,
    pub(super) attributes: SmallVec<[Attribute; 4]>,
    /// How many tensors each input has.
    pub(super) counts: SmallVec<[usize; 4]>,
    /// Whether calls may be made as one before: each input is a tensor, and none is written.
    pub(super) can_repeat: bool,
    /// TensorFlow's codes of the inputs' dtypes, which a node has for all of its calls; from the
    /// first call on, if it can be repeated.
    pub(super) dtypes: OnceLock<SmallVec<[u32; 4]>>,
}

impl Node {
    /// Reads a node's attributes.
    ///
    /// # Safety
    ///
    /// The construction is that of a node of the op.
    pub(super) unsafe fn read(
        published: &'static Published,
        construction: Handle,
    ) -> Result<Self, Problem> {
        let op = published.op.definition();
        let wrong = |text: String| Problem::new(Class::Value, format!("{}: {text}", op.name()));
        let reader = Reader {
            tensorflow: published.tensorflow,
            construction,
            status: Status::new(published.tensorflow),
        };
        let (mut attributes, mut counts) = (SmallVec::new(), SmallVec::<[usize; 4]>::new());
        let mut can_repeat = true;
        for (at, (name, reads, _)) in op.parameters().enumerate() {
            if !reads {
                break;
            }
            can_repeat &= !op.writes(at);
            if op.variadic() != Some(at) && !op.is_optional(at) {
                counts.push(1);
                continue;
            }
            // SAFETY: the construction is that of a node with these attributes.
            let count = unsafe {
                match op.element_type(at) {
                    ElementType::Any => reader.size(&format!("T_{name}")).map(|(count, _)| count),
                    _ => reader.int(&count_name(name)).map(|count| count as usize),
                }
            };
            let count = count.map_err(wrong)?;
            if count > 1 && op.variadic() != Some(at) {
                let text = format!("argument {name:?} takes 1 tensor but {count} were given");
                return Err(wrong(text));
            }
            counts.push(count);
        }
        for (name, kind, _) in op.attributes() {
            // SAFETY: the construction is that of a node with these attributes.
            let value = unsafe { reader.attribute(name, kind, is_of_output(op, name)) };
            let value = value.map_err(|text| wrong(format!("argument {name:?}: {text}")))?;
            attributes.push(value);
        }
        Ok(Self {
            published,
            attributes,
            can_repeat: can_repeat && counts.iter().all(|count| *count == 1),
            counts,
            dtypes: OnceLock::new(),
        })
    }
}

/// Reads attributes of a node.
struct Reader {
    tensorflow: &'static TensorFlow,
    construction: Handle,
    status: Status,
}

/// Returns the dtype of a number of TensorFlow's.
fn dtype(code: c_int) -> Result<DType, String> {
    dtype_of(code).ok_or_else(|| format!("there is no dtype for TensorFlow's {code}"))
}

// Each function requires that the construction is that of a node with such an attribute.
impl Reader {
    /// Returns an attribute.
    ///
    /// # Safety
    ///
    /// The node has an attribute of this name and kind.
    unsafe fn attribute(
        &self,
        name: &str,
        kind: AttributeKind,
        is_of_output: bool,
    ) -> Result<Attribute, String> {
        // SAFETY: the attribute has this kind, as this function requires.
        Ok(unsafe {
            match kind {
                AttributeKind::Bool => Attribute::Bool(self.bool(name)?),
                AttributeKind::Int => Attribute::Int(self.int(name)?),
                AttributeKind::Float => {
                    let text = self.text(name)?;
                    let value = text
                        .parse()
                        .map_err(|_| format!("expected a number, got {text:?}"));
                    Attribute::Float(value?)
                }
                AttributeKind::Text => Attribute::Text(self.text(name)?),
                AttributeKind::DType => Attribute::DType(self.dtype(name)?),
                AttributeKind::Ints => Attribute::Ints(self.ints(name)?),
                AttributeKind::OptionalInt => {
                    let value = self.int(name)?;
                    Attribute::OptionalInt((value != NO_INT).then_some(value))
                }
                AttributeKind::OptionalInts => {
                    let values = self.ints(name)?;
                    Attribute::OptionalInts((values != [NO_INT]).then_some(values))
                }
                AttributeKind::OptionalDType if is_of_output => {
                    Attribute::OptionalDType(Some(self.dtype(name)?))
                }
                AttributeKind::OptionalDType => {
                    Attribute::OptionalDType(self.optional_dtype(name)?)
                }
            }
        })
    }

    fn name(name: &str) -> CString {
        CString::new(name).unwrap_or_default()
    }

    /// Returns the length of a list, and that of a text.
    ///
    /// # Safety
    ///
    /// The node has such an attribute.
    unsafe fn size(&self, name: &str) -> Result<(usize, usize), String> {
        let (mut count, mut total) = (-1, -1);
        // SAFETY: the name ends with a zero, and there is room for two numbers.
        unsafe {
            (self
                .tensorflow
                .functions
                .TF_OpKernelConstruction_GetAttrSize)(
                self.construction,
                Self::name(name).as_ptr(),
                &mut count,
                &mut total,
                self.status.handle,
            );
        }
        self.status.check()?;
        let size = |size: i32| usize::try_from(size).unwrap_or(0);
        Ok((size(count), size(total)))
    }

    /// # Safety
    ///
    /// As of [`size`](Self::size).
    unsafe fn bool(&self, name: &str) -> Result<bool, String> {
        let mut value = 0;
        // SAFETY: the name ends with a zero, and there is room for a value.
        unsafe {
            (self
                .tensorflow
                .functions
                .TF_OpKernelConstruction_GetAttrBool)(
                self.construction,
                Self::name(name).as_ptr(),
                &mut value,
                self.status.handle,
            );
        }
        self.status.check().map(|()| value != 0)
    }

    /// # Safety
    ///
    /// As of [`size`](Self::size).
    unsafe fn int(&self, name: &str) -> Result<i64, String> {
        let mut value = 0;
        // SAFETY: the name ends with a zero, and there is room for a value.
        unsafe {
            (self
                .tensorflow
                .functions
                .TF_OpKernelConstruction_GetAttrInt64)(
                self.construction,
                Self::name(name).as_ptr(),
                &mut value,
                self.status.handle,
            );
        }
        self.status.check().map(|()| value)
    }

    /// # Safety
    ///
    /// As of [`size`](Self::size).
    unsafe fn ints(&self, name: &str) -> Result<Vec<i64>, String> {
        // SAFETY: the node has such an attribute.
        let (count, _) = unsafe { self.size(name) }?;
        let mut values = vec![0; count];
        // SAFETY: the name ends with a zero, and there is room for all values.
        unsafe {
            (self
                .tensorflow
                .functions
                .TF_OpKernelConstruction_GetAttrInt64List)(
                self.construction,
                Self::name(name).as_ptr(),
                values.as_mut_ptr(),
                count as c_int,
                self.status.handle,
            );
        }
        self.status.check().map(|()| values)
    }

    /// # Safety
    ///
    /// As of [`size`](Self::size).
    unsafe fn text(&self, name: &str) -> Result<String, String> {
        // SAFETY: the node has such an attribute.
        let (_, nbytes) = unsafe { self.size(name) }?;
        let mut bytes = vec![0_u8; nbytes + 1];
        // SAFETY: the name ends with a zero, and there is room for the text.
        unsafe {
            (self
                .tensorflow
                .functions
                .TF_OpKernelConstruction_GetAttrString)(
                self.construction,
                Self::name(name).as_ptr(),
                bytes.as_mut_ptr().cast(),
                nbytes,
                self.status.handle,
            );
        }
        self.status.check()?;
        bytes.truncate(nbytes);
        String::from_utf8(bytes).map_err(|_| "expected a text in UTF-8".to_owned())
    }

    /// # Safety
    ///
    /// As of [`size`](Self::size).
    unsafe fn dtype(&self, name: &str) -> Result<DType, String> {
        let mut code = 0;
        // SAFETY: the name ends with a zero, and there is room for a value.
        unsafe {
            (self
                .tensorflow
                .functions
                .TF_OpKernelConstruction_GetAttrType)(
                self.construction,
                Self::name(name).as_ptr(),
                &mut code,
                self.status.handle,
            );
        }
        self.status.check()?;
        dtype(code)
    }

    /// # Safety
    ///
    /// As of [`size`](Self::size).
    unsafe fn optional_dtype(&self, name: &str) -> Result<Option<DType>, String> {
        // SAFETY: the node has such an attribute.
        let (count, _) = unsafe { self.size(name) }?;
        let mut codes = vec![0; count];
        // SAFETY: the name ends with a zero, and there is room for all values.
        unsafe {
            (self
                .tensorflow
                .functions
                .TF_OpKernelConstruction_GetAttrTypeList)(
                self.construction,
                Self::name(name).as_ptr(),
                codes.as_mut_ptr(),
                count as c_int,
                self.status.handle,
            );
        }
        self.status.check()?;
        codes.first().map(|code| dtype(*code)).transpose()
    }
}
