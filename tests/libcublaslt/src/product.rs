//! [`Product`]: two matrices that are multiplied, as the kernel gets them.

use crate::objects::{Layout, Operation};
use half::{bf16, f16};
use std::ffi::{c_int, c_void};
use std::fmt;

/// The element types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) enum Element {
    F32,
    F64,
    F16,
    BF16,
}

impl Element {
    /// By its `cudaDataType`.
    pub(crate) fn of(code: c_int) -> Option<Self> {
        match code {
            0 => Some(Self::F32),
            1 => Some(Self::F64),
            2 => Some(Self::F16),
            14 => Some(Self::BF16),
            _ => None,
        }
    }

    /// # Safety
    ///
    /// There is one at the place.
    unsafe fn read(self, base: *const c_void, at: usize) -> f64 {
        // SAFETY: `base` has an element at `at`, by this function's contract.
        unsafe {
            match self {
                Self::F32 => f64::from(base.cast::<f32>().add(at).read()),
                Self::F64 => base.cast::<f64>().add(at).read(),
                Self::F16 => base.cast::<f16>().add(at).read().to_f64(),
                Self::BF16 => base.cast::<bf16>().add(at).read().to_f64(),
            }
        }
    }

    /// # Safety
    ///
    /// There is room for one at the place.
    unsafe fn write(self, base: *mut c_void, at: usize, value: f64) {
        // SAFETY: `base` has room for an element at `at`, by this function's contract.
        unsafe {
            match self {
                Self::F32 => base.cast::<f32>().add(at).write(value as f32),
                Self::F64 => base.cast::<f64>().add(at).write(value),
                Self::F16 => base.cast::<f16>().add(at).write(f16::from_f64(value)),
                Self::BF16 => base.cast::<bf16>().add(at).write(bf16::from_f64(value)),
            }
        }
    }
}

/// D = op(A) * op(B), of matrices by columns.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Product {
    element: Element,
    transposes: [c_int; 2],
    compute: c_int,
    sizes: [u64; 3],
    leading: [i64; 3],
}

/// How many bytes that are, as a parameter of a kernel.
pub(crate) const BYTES: usize = size_of::<Product>();

impl Product {
    pub(crate) fn new(operation: Operation, [a, b, c, d]: [Layout; 4]) -> Result<Self, String> {
        let turned = |layout: Layout, transpose: c_int| match transpose {
            0 => (layout.rows, layout.columns),
            _ => (layout.columns, layout.rows),
        };
        let (rows, inner) = turned(a, operation.transposes[0]);
        let (other, columns) = turned(b, operation.transposes[1]);
        let element = a.element;
        let fits = inner == other && (d.rows, d.columns) == (rows, columns) && c == d;
        let is_one_type = [b, d].iter().all(|layout| layout.element == element);
        // 32F and its factors, or 64F and its.
        let calculated = match element {
            Element::F64 => (70, 1),
            _ => (68, 0),
        };
        if !fits || !is_one_type || (operation.compute, operation.scale) != calculated {
            return Err(format!(
                "{operation:?} of {a:?} and {b:?} doesn't make {d:?} from {c:?}"
            ));
        }
        Ok(Self {
            element,
            transposes: operation.transposes,
            compute: operation.compute,
            sizes: [rows, columns, inner],
            leading: [a.leading, b.leading, d.leading],
        })
    }

    /// A factor.
    ///
    /// # Safety
    ///
    /// It is of the type that the operation says.
    pub(crate) unsafe fn factor(&self, at: *const c_void) -> f64 {
        let element = match self.element {
            Element::F64 => Element::F64,
            _ => Element::F32,
        };
        // SAFETY: `at` points to a factor of this type, by this function's contract.
        unsafe { element.read(at, 0) }
    }

    /// # Safety
    ///
    /// The matrices are there.
    pub(crate) unsafe fn run(&self, a: *const c_void, b: *const c_void, d: *mut c_void) {
        let [rows, columns, inner] = self.sizes.map(|size| size as usize);
        let [of_a, of_b, of_d] = self.leading.map(|leading| leading as usize);
        let place = |row: usize, column: usize, leading: usize, transpose: c_int| match transpose {
            0 => row + column * leading,
            _ => column + row * leading,
        };
        for row in 0..rows {
            for column in 0..columns {
                let mut sum = 0.0;
                for k in 0..inner {
                    // SAFETY: the indices are within the matrices' sizes, and the matrices are
                    // valid by this function's contract.
                    unsafe {
                        let at_a = place(row, k, of_a, self.transposes[0]);
                        let at_b = place(k, column, of_b, self.transposes[1]);
                        sum += self.element.read(a, at_a) * self.element.read(b, at_b);
                    }
                }
                // SAFETY: `row` and `column` are within the sizes of `d`, which is writable by this
                // function's contract.
                unsafe { self.element.write(d, row + column * of_d, sum) };
            }
        }
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = self
            .transposes
            .map(|transpose| if transpose == 0 { 'N' } else { 'T' });
        let [rows, columns, inner] = self.sizes;
        write!(
            f,
            "{:?} in {} {}{} {rows}x{columns}x{inner} {:?}",
            self.element, self.compute, letters[0], letters[1], self.leading
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(rows: u64, columns: u64, leading: i64) -> Layout {
        Layout::new(0, rows, columns, leading).unwrap()
    }

    fn product(transposes: [c_int; 2], layouts: [Layout; 3]) -> Result<Product, String> {
        let operation = Operation {
            compute: 68,
            scale: 0,
            transposes,
        };
        let [a, b, d] = layouts;
        Product::new(operation, [a, b, d, d])
    }

    #[test]
    fn matrices_are_multiplied_by_columns() {
        // | 1 3 |   | 5 |   with room behind each column of the first one
        // | 2 4 | * | 6 |
        let (a, b) = ([1.0_f32, 2.0, 9.0, 3.0, 4.0, 9.0], [5.0_f32, 6.0]);
        for (transpose, expected) in [(0, [23.0, 34.0]), (1, [17.0, 39.0])] {
            let layouts = [layout(2, 2, 3), layout(2, 1, 2), layout(2, 1, 2)];
            let product = product([transpose, 0], layouts).unwrap();
            let mut d = [0.0_f32; 2];
            let at = d.as_mut_ptr().cast();
            // SAFETY: matrices of these sizes.
            unsafe { product.run(a.as_ptr().cast(), b.as_ptr().cast(), at) };
            assert_eq!(d, expected);
        }
    }

    #[test]
    fn mismatched_matrices_are_refused() {
        let fitting = [layout(2, 3, 2), layout(3, 4, 3), layout(2, 4, 2)];
        let told = product([0, 0], fitting).unwrap().to_string();
        assert_eq!(told, "F32 in 68 NN 2x4x3 [2, 3, 2]");
        assert!(product([1, 0], fitting).is_err());
        assert!(product([0, 0], [fitting[1], fitting[0], fitting[2]]).is_err());
        assert!(Layout::new(0, 3, 1, 2).is_err() && Layout::new(0, 0, 1, 2).is_err());
        assert!(Layout::new(0, 3, 1, 1 << 31).is_err());
        assert!(Layout::new(3, 1, 1, 1).is_err(), "of no known type");
    }
}
