//! Bounds check of images, as the driver takes a pointer without a length.

use crate::cuda::driver::error::CudaError;

/// The beginning of a fat binary.
const FAT: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
/// The beginning of a struct that leads to a fat binary, by a pointer.
const FAT_WRAPPER: [u8; 4] = 0x4662_43B1_u32.to_le_bytes();
const ELF: [u8; 4] = *b"\x7fELF";

/// The sections of ELF that take no room in the file: those that any machine may have, and NVIDIA's
/// own in code that is to be linked (`-rdc=true`), for global and for shared memory that begins
/// with nothing in particular.
const NO_BITS: [u32; 3] = [8, 0x7000_0007, 0x7000_000a];

/// The size of an entry in the table of segments of ELF of 64 bits.
const SEGMENT: u64 = 56;
/// The same of sections.
const SECTION: u64 = 64;

/// Returns a copy that is aligned, and ends in NUL, as text must for the driver.
pub(super) fn terminated(image: &[u8]) -> Result<Aligned, CudaError> {
    let problem = match image.first_chunk::<4>() {
        Some(&ELF) => (!is_whole_elf(image)).then_some("it is a cubin of which a part is missing"),
        Some(&FAT) => {
            (!is_whole_fat(image)).then_some("it is a fat binary of which a part is missing")
        }
        Some(&FAT_WRAPPER) => Some("it only points to a fat binary"),
        _ => {
            let text = image.strip_suffix(&[0]).unwrap_or(image);
            let is_text =
                !text.is_empty() && !text.contains(&0) && std::str::from_utf8(text).is_ok();
            (!is_text).then_some("it is neither a cubin, nor a fat binary, nor PTX")
        }
    };
    match problem {
        Some(problem) => Err(CudaError::Image {
            problem: problem.to_owned(),
        }),
        None => Ok(Aligned::copy(image)),
    }
}

/// Bytes in memory that is aligned to 16, followed by NULs.
#[derive(Debug)]
pub(super) struct Aligned(Vec<u128>);

impl Aligned {
    fn copy(bytes: &[u8]) -> Self {
        let word = |chunk: &[u8]| {
            let mut bytes = [0; 16];
            bytes[..chunk.len()].copy_from_slice(chunk);
            u128::from_ne_bytes(bytes)
        };
        Self(bytes.chunks(16).map(word).chain([0]).collect())
    }

    pub(super) fn as_ptr(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }
}

/// Reads a number of 2, 4 or 8 bytes.
fn number(image: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let mut number = [0; 8];
    number[..bytes].copy_from_slice(image.get(at..at.checked_add(bytes)?)?);
    Some(u64::from_le_bytes(number))
}

/// Returns whether a range of bytes is inside.
fn holds(image: &[u8], at: u64, bytes: u64) -> bool {
    at.checked_add(bytes)
        .is_some_and(|end| end <= image.len() as u64)
}

/// Returns whether headers, segments and sections of an ELF file of 64 bits are in it.
fn is_whole_elf(image: &[u8]) -> bool {
    let tables = || {
        let segments = (
            number(image, 32, 8)?,
            number(image, 54, 2)?,
            number(image, 56, 2)?,
        );
        let sections = (
            number(image, 40, 8)?,
            number(image, 58, 2)?,
            number(image, 60, 2)?,
        );
        Some((segments, sections))
    };
    let is_64_bit = image.get(4) == Some(&2);
    let Some((segments, mut sections)) = tables().filter(|_| is_64_bit) else {
        return false;
    };
    if sections.0 != 0 && sections.2 == 0 {
        // The count is too large for the header: it is in the first section.
        let Some(count) = number(image, (sections.0 as usize).saturating_add(32), 8) else {
            return false;
        };
        sections.2 = count;
    }
    // Of another size they would be no such entries, and of size 0 any number of them in the file.
    let is_inside = |(at, size, count): (u64, u64, u64), wanted: u64| {
        count == 0
            || size == wanted
                && size
                    .checked_mul(count)
                    .is_some_and(|bytes| holds(image, at, bytes))
    };
    let rows =
        |(at, size, count): (u64, u64, u64)| (0..count).map(move |row| (at + row * size) as usize);
    let segment = |at: usize| {
        Some(holds(
            image,
            number(image, at + 8, 8)?,
            number(image, at + 32, 8)?,
        ))
    };
    let section = |at: usize| {
        let kind = number(image, at + 4, 4)?;
        let has_bits = NO_BITS.iter().all(|without| u64::from(*without) != kind);
        let is_inside = holds(
            image,
            number(image, at + 24, 8)?,
            number(image, at + 32, 8)?,
        );
        Some(!has_bits || is_inside)
    };
    is_inside(segments, SEGMENT)
        && is_inside(sections, SECTION)
        && rows(segments).all(|at| segment(at) == Some(true))
        && rows(sections).all(|at| section(at) == Some(true))
}

/// Returns whether the header of a fat binary and all that it announces is there.
fn is_whole_fat(image: &[u8]) -> bool {
    let sizes = number(image, 6, 2).zip(number(image, 8, 8));
    sizes.is_some_and(|(header, rest)| header >= 16 && holds(image, header, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(image: &[u8]) -> String {
        terminated(image).unwrap_err().to_string()
    }

    /// Returns an ELF file of a header, a segment, two sections (one of which takes no room), and
    /// four bytes.
    fn elf() -> Vec<u8> {
        let mut image = vec![0; 64 + 56 + 2 * 64 + 4];
        let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, b"\x7fELF\x02");
        put(32, &64_u64.to_le_bytes());
        put(40, &120_u64.to_le_bytes());
        put(54, &56_u16.to_le_bytes());
        put(56, &1_u16.to_le_bytes());
        put(58, &64_u16.to_le_bytes());
        put(60, &2_u16.to_le_bytes());
        // The segment, and the first section, are the four bytes at the end; the second one is
        // large.
        for (offset, size) in [(64 + 8, 64 + 32), (120 + 24, 120 + 32)] {
            put(offset, &248_u64.to_le_bytes());
            put(size, &4_u64.to_le_bytes());
        }
        put(184 + 4, &NO_BITS[0].to_le_bytes());
        put(184 + 32, &(1_u64 << 40).to_le_bytes());
        image
    }

    #[test]
    fn truncated_cubin_is_refused() {
        let whole = elf();
        assert!(terminated(&whole).is_ok());
        for len in 4..whole.len() {
            assert!(
                problem(&whole[..len]).contains("a part is missing"),
                "{len} bytes"
            );
        }
        let mut narrow = whole.clone();
        narrow[4] = 1;
        assert!(problem(&narrow).contains("a part is missing"));
        for field in [32, 40, 64 + 8, 64 + 32, 120 + 24, 120 + 32] {
            let mut huge = whole.clone();
            huge[field..field + 8].copy_from_slice(&u64::MAX.to_le_bytes());
            assert!(
                problem(&huge).contains("a part is missing"),
                "field {field}"
            );
        }
    }

    #[test]
    fn entries_of_another_size_are_refused() {
        for (field, size) in [(54, 0_u16), (54, 57), (58, 0), (58, 63)] {
            let mut image = elf();
            image[field..field + 2].copy_from_slice(&size.to_le_bytes());
            assert!(problem(&image).contains("a part is missing"), "{size}");
            // As many as can't be walked through, all at one place.
            image[60..62].copy_from_slice(&0_u16.to_le_bytes());
            image[120 + 32..120 + 40].copy_from_slice(&(1_u64 << 60).to_le_bytes());
            assert!(problem(&image).contains("a part is missing"), "{size}");
        }
        let mut without = elf();
        without[54..58].fill(0);
        assert!(terminated(&without).is_ok(), "no segments, of no size");
    }

    #[test]
    fn sections_without_contents_are_accepted() {
        let mut image = elf();
        let mut is_taken = |kind: u32| {
            image[184 + 4..184 + 8].copy_from_slice(&kind.to_le_bytes());
            terminated(&image).is_ok()
        };
        for kind in [8, 0x7000_0007, 0x7000_000a] {
            assert!(is_taken(kind), "{kind:#x}");
        }
        // Values that variables begin with are in the file.
        for kind in [1, 7, 9, 0x7000_0000, 0x7000_0008] {
            assert!(!is_taken(kind), "{kind:#x}");
        }
    }

    #[test]
    fn truncated_fat_binary_is_refused() {
        let mut whole = [&FAT[..], &[1, 0, 16, 0], &8_u64.to_le_bytes(), &[7; 8]].concat();
        assert!(terminated(&whole).is_ok());
        for len in 4..whole.len() {
            assert!(
                problem(&whole[..len]).contains("a part is missing"),
                "{len} bytes"
            );
        }
        whole[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(problem(&whole).contains("a part is missing"));
        assert!(problem(&[&FAT_WRAPPER[..], &[0; 20]].concat()).contains("only points"));
    }

    #[test]
    fn text_is_nul_terminated() {
        for text in [&b".version 8.0"[..], b".version 8.0\0", b"0123456789abcdef"] {
            let copy = terminated(text).unwrap();
            assert!(copy.as_ptr().addr().is_multiple_of(16));
            // SAFETY: it is as long as the text, and has a NUL behind it.
            let read = unsafe { std::ffi::CStr::from_ptr(copy.as_ptr().cast()) };
            assert_eq!(read.to_bytes(), text.strip_suffix(&[0]).unwrap_or(text));
        }
        for other in [&b""[..], b"\0", b"a\0b", b"\xff\xfe"] {
            assert!(problem(other).contains("neither a cubin"), "{other:?}");
        }
    }
}
