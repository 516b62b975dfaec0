//! Attributes of descriptors.

use crate::product::Element;
use std::ffi::c_int;
use std::fmt;

/// One of the library's objects.
#[derive(Debug)]
pub(crate) enum Object {
    Library,
    Operation(Operation),
    Layout(Layout),
    Preference(Preference),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) compute: c_int,
    pub(crate) scale: c_int,
    /// Of A and B: 0 or 1.
    pub(crate) transposes: [c_int; 2],
}

/// A matrix by columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) element: Element,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    pub(crate) leading: i64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Preference {
    pub(crate) workspace: u64,
    schemes: u32,
    pub(crate) alignments: [u32; 4],
}

impl Default for Preference {
    fn default() -> Self {
        Self {
            workspace: 0,
            schemes: 7,
            alignments: [256; 4],
        }
    }
}

impl fmt::Display for Preference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            workspace,
            schemes,
            alignments,
        } = self;
        write!(
            f,
            "{workspace} bytes, schemes {schemes}, alignments {alignments:?}"
        )
    }
}

impl Layout {
    pub(crate) fn new(
        element: c_int,
        rows: u64,
        columns: u64,
        leading: i64,
    ) -> Result<Self, String> {
        let element =
            Element::of(element).ok_or_else(|| format!("no type has the number {element}"))?;
        // Algorithms count in 32 bits.
        let is_counted = [rows, columns, leading as u64]
            .iter()
            .all(|size| *size <= i32::MAX as u64);
        if rows == 0 || columns == 0 || leading < rows as i64 || !is_counted {
            return Err(format!(
                "no matrix has {rows} rows, {columns} columns, and the leading dimension {leading}"
            ));
        }
        Ok(Self {
            element,
            rows,
            columns,
            leading,
        })
    }
}

fn number<const BYTES: usize>(value: &[u8]) -> Result<[u8; BYTES], String> {
    let found = value.len();
    value
        .try_into()
        .map_err(|_| format!("an attribute of {BYTES} bytes is set to one of {found}"))
}

impl Object {
    /// Sets an attribute: those that are known here.
    pub(crate) fn set(&mut self, attribute: c_int, value: &[u8]) -> Result<(), String> {
        match (self, attribute) {
            (Self::Operation(operation), 3 | 4) => {
                let transpose = c_int::from_ne_bytes(number(value)?);
                if !(0..=1).contains(&transpose) {
                    return Err(format!("a matrix is transposed by {transpose}"));
                }
                operation.transposes[attribute as usize - 3] = transpose;
            }
            (Self::Preference(preference), 1) => {
                preference.workspace = u64::from_ne_bytes(number(value)?);
            }
            (Self::Preference(preference), 3) => {
                preference.schemes = u32::from_ne_bytes(number(value)?);
            }
            (Self::Preference(preference), 5..=8) => {
                let alignment = u32::from_ne_bytes(number(value)?);
                if !alignment.is_power_of_two() {
                    return Err(format!("an alignment is {alignment}"));
                }
                preference.alignments[attribute as usize - 5] = alignment;
            }
            (object, attribute) => {
                return Err(format!("there is no attribute {attribute} of {object:?}"));
            }
        }
        Ok(())
    }
}
