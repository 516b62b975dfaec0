//! Standards of a video's colours, and the coefficients that they come to.

use crate::kernel::ArgumentError;
use crate::kernel::Failure;
use std::fmt;

/// The fraction bits of coefficients.
pub(super) const BITS: u32 = 16;

/// What a pixel's y and its colour are multiplied by, in units of `2**-16`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Matrix {
    /// What is subtracted from y.
    pub(super) black: i32,
    pub(super) y: i32,
    pub(super) v_to_red: i32,
    pub(super) u_to_green: i32,
    pub(super) v_to_green: i32,
    pub(super) u_to_blue: i32,
}

impl Matrix {
    pub(super) fn new(standard: YuvStandard, is_full: bool) -> Self {
        let [red, blue] = standard.weights();
        let green = 1.0 - red - blue;
        let [y, colour] = match is_full {
            true => [1.0, 1.0],
            false => [255.0 / 219.0, 255.0 / 224.0],
        };
        let fixed = |factor: f64| (factor * f64::from(1 << BITS)).round() as i32;
        Self {
            black: if is_full { 0 } else { 16 },
            y: fixed(y),
            v_to_red: fixed(colour * 2.0 * (1.0 - red)),
            u_to_green: fixed(-colour * 2.0 * (1.0 - blue) * blue / green),
            v_to_green: fixed(-colour * 2.0 * (1.0 - red) * red / green),
            u_to_blue: fixed(colour * 2.0 * (1.0 - blue)),
        }
    }
}

/// The standard of a video's colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum YuvStandard {
    /// ITU-R BT.601, of standard definition, and of JPEG.
    #[default]
    Bt601,
    /// ITU-R BT.709, of high definition.
    Bt709,
}

impl YuvStandard {
    /// Returns the name, as in the op's attribute.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bt601 => "bt601",
            Self::Bt709 => "bt709",
        }
    }

    pub(super) fn from_name(name: &str) -> Result<Self, Failure> {
        let mut all = [Self::Bt601, Self::Bt709].into_iter();
        all.find(|standard| standard.name() == name).ok_or_else(|| {
            let found = format!("{name:?}");
            ArgumentError::value("standard", found, "\"bt601\" or \"bt709\"").into()
        })
    }

    /// Returns the parts of red and blue in y.
    const fn weights(self) -> [f64; 2] {
        match self {
            Self::Bt601 => [0.299, 0.114],
            Self::Bt709 => [0.2126, 0.0722],
        }
    }
}

impl fmt::Display for YuvStandard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
