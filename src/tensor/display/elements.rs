//! The numbers that are printed, and the words for them.

use super::digits::FloatType;
use super::floats::{FloatFormat, lone};
use super::nest::Axis;
use crate::dtype::{DType, Scalar, TypeCode};
use crate::tensor::Tensor;

/// What is printed of a tensor.
pub(super) struct Elements {
    /// What is printed of its dimensions; the last one is the lanes, where there are several.
    pub(super) axes: Vec<Axis>,
    /// Whether there are numbers that aren't printed.
    pub(super) summarised: bool,
    numbers: Vec<Scalar>,
    dtype: DType,
}

impl Elements {
    /// What is printed of a tensor that is on the host and not empty.
    pub(super) fn new(tensor: &Tensor) -> Self {
        let dtype = tensor.dtype();
        let mut sizes = tensor.shape().to_vec();
        if dtype.lanes() > 1 {
            sizes.push(dtype.lanes().into());
        }
        let (axes, summarised) = Axis::choose(&sizes);

        let mut offsets = vec![0];
        for (axis, &stride) in axes.iter().zip(tensor.strides()) {
            let inner = |offset| axis.indices().map(move |i| offset + i as isize * stride);
            offsets = offsets.into_iter().flat_map(inner).collect();
        }
        let lanes: Vec<usize> = match axes.get(tensor.rank()) {
            Some(axis) => axis.indices().collect(),
            None => vec![0],
        };
        let numbers = offsets
            .iter()
            .flat_map(|&offset| lanes.iter().map(move |&lane| tensor.lane(offset, lane)))
            .collect();
        Self {
            axes,
            summarised,
            numbers,
            dtype,
        }
    }

    /// What the only number looks like, where the tensor has no dimensions.
    pub(super) fn lone_word(&self) -> Option<String> {
        let ([], [number]) = (&self.axes[..], &self.numbers[..]) else {
            return None;
        };
        let of = FloatType::from_dtype(self.dtype);
        Some(match *number {
            Scalar::Float(number) => lone(number, of, true),
            // As Python has it: no real part where it is 0, but for the sign of a negative one.
            Scalar::Complex(re, im) if re == 0.0 && re.is_sign_positive() => {
                format!("{}j", lone(im, of, false))
            }
            Scalar::Complex(re, im) => {
                let im = lone(im, of, false);
                let plus = if im.starts_with('-') { "" } else { "+" };
                format!("({}{plus}{im}j)", lone(re, of, false))
            }
            other => plain(other),
        })
    }

    /// What the numbers look like, all equally wide; floating-point ones with at most `precision`
    /// digits behind the point.
    pub(super) fn words(&self, precision: usize) -> Vec<String> {
        let of = FloatType::from_dtype(self.dtype);
        let numbers = || self.numbers.iter().copied();
        match self.dtype.code() {
            TypeCode::Int | TypeCode::UInt | TypeCode::Handle => {
                let words: Vec<String> = numbers().map(plain).collect();
                let width = words.iter().map(String::len).max().unwrap_or(0);
                words.iter().map(|word| format!("{word:>width$}")).collect()
            }
            TypeCode::Bool => {
                // Wide enough for both words, even where there is only one of them.
                let width = if self.axes.is_empty() { 0 } else { 5 };
                let words = numbers().map(plain);
                words.map(|word| format!("{word:>width$}")).collect()
            }
            TypeCode::Complex => {
                let (re, im): (Vec<f64>, Vec<f64>) = numbers().map(Scalar::to_complex).unzip();
                let re_format = FloatFormat::new(&re, of, precision, false);
                let im_format = FloatFormat::new(&im, of, precision, true);
                let parts = re.iter().zip(&im);
                parts
                    .map(|(re, im)| {
                        let (re, im) = (re_format.word(*re), im_format.word(*im));
                        let digits = im.trim_end();
                        // The unit goes before the spaces that align what follows.
                        format!("{re}{digits}j{}", &im[digits.len()..])
                    })
                    .collect()
            }
            _ => {
                let numbers: Vec<f64> = numbers().map(|number| number.to_complex().0).collect();
                let format = FloatFormat::new(&numbers, of, precision, false);
                numbers.iter().map(|number| format.word(*number)).collect()
            }
        }
    }
}

/// What a number looks like that has no digits to choose.
fn plain(number: Scalar) -> String {
    match number {
        Scalar::Int(number) => number.to_string(),
        Scalar::Bool(true) => "True".into(),
        Scalar::Bool(false) => "False".into(),
        Scalar::Handle(number) => format!("{number:#x}"),
        Scalar::Float(number) => number.to_string(),
        Scalar::Complex(re, im) => format!("{re}{im:+}j"),
    }
}
