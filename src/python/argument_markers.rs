//! Type parameters of arguments: their requirements for dtype, layout and device.

mod one_of;

use crate::device::{Device, DeviceKind};
use crate::dtype::{DType, Element};
pub use crate::view::{Arrangement, ColumnMajor, ContiguousRows, Dense, RowMajor, Strided};

pub(super) use one_of::Nth;
pub use one_of::{ElementList, OneOf};

/// For arguments of any rank.
pub const ANY_RANK: usize = usize::MAX;

/// The element type that an argument asks for: an [`Element`], [`OneOf`] several, or [`Any`].
pub trait Kind: sealed::Sealed + 'static {
    /// The element types that are accepted; none for any.
    const WANTED: &'static [DType];
    /// The largest of the alignments that the data pointer needs, if the elements are accessed.
    const MOST_ALIGNED: usize;
    /// Whether every bit pattern is a valid element.
    const ANY_BITS: bool;
    /// Where elements of this kind are expected, unless an argument says otherwise.
    type Home: Place;

    /// Returns the alignment that the data pointer of elements of a dtype needs; `None` for a dtype
    /// that isn't accepted.
    fn alignment_of(dtype: DType) -> Option<usize>;
}

impl<T: Element> Kind for T {
    const WANTED: &'static [DType] = &[T::DTYPE];
    const MOST_ALIGNED: usize = align_of::<T>();
    const ANY_BITS: bool = T::ANY_BITS;
    type Home = Host;

    #[inline]
    fn alignment_of(dtype: DType) -> Option<usize> {
        (dtype == T::DTYPE).then_some(align_of::<T>())
    }
}

/// Any element type, anywhere.
#[derive(Debug, Clone, Copy)]
pub enum Any {}

impl Kind for Any {
    const WANTED: &'static [DType] = &[];
    const MOST_ALIGNED: usize = 1;
    const ANY_BITS: bool = true;
    type Home = AnyDevice;

    #[inline]
    fn alignment_of(_: DType) -> Option<usize> {
        Some(1)
    }
}

/// Required device.
pub trait Place: sealed::Sealed + 'static {
    /// The requirement in words; empty if there is none.
    const WANTED: &'static str;
    /// Whether ordinary host memory meets it.
    const TAKES_USUAL: bool;
    /// Returns whether a device meets the requirement.
    fn accepts(device: Device) -> bool;
}

macro_rules! markers {
    ($Trait:ident of $of:ty: $($(#[$doc:meta])* $Name:ident = $wanted:literal, $usual:literal, $accepts:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub enum $Name {}

        impl sealed::Sealed for $Name {}

        impl $Trait for $Name {
            const WANTED: &'static str = $wanted;
            const TAKES_USUAL: bool = $usual;

            #[inline]
            fn accepts(it: $of) -> bool {
                let accepts: fn($of) -> bool = $accepts;
                accepts(it)
            }
        }
    )*};
}

markers! { Place of Device:
    /// On any device.
    AnyDevice = "", true, |_| true;
    /// In memory that the CPU reaches.
    Host = "in memory that the CPU reaches", true, |device| device.is_host_accessible();
    /// On an NVIDIA GPU.
    Cuda = "on a CUDA device", false, |device| {
        matches!(device.kind(), DeviceKind::Cuda | DeviceKind::CudaManaged)
    };
}

mod sealed {
    pub trait Sealed {}
    impl<T: crate::dtype::Element> Sealed for T {}
    impl Sealed for super::Any {}
}
