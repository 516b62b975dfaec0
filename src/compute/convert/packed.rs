//! Elements of less than a byte, packed as DLPack packs them, to bytes and back.

use crate::compute::simd::{Routine, Simd, dispatch};
use crate::dtype::{read_small_bits, write_small_bits};
use std::slice;

/// Reads packed elements, each to the lowest bits of a byte.
///
/// The elements begin at bit `bit` of `from`, which may be negative. Bytes that they don't touch
/// aren't read.
///
/// # Safety
///
/// `bits` is 1, 2, 4 or 6. The bytes that the elements touch can be read; one of them, or of those
/// that would precede or follow, begins at a byte. `to` is valid for writes of `count` bytes, and
/// doesn't overlap what is read.
pub(crate) unsafe fn unpack(bits: usize, from: *const u8, bit: isize, to: *mut u8, count: usize) {
    struct Unpack<const BITS: usize>(*const u8, isize, *mut u8, usize);
    impl<const BITS: usize> Routine for Unpack<BITS> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, _: S) {
            let Self(from, bit, to, count) = self;
            // SAFETY: the elements of the caller of `unpack`, of that many bits.
            unsafe { unpack_bits::<BITS>(from, bit, to, count) }
        }
    }
    match bits {
        1 => dispatch(Unpack::<1>(from, bit, to, count)),
        2 => dispatch(Unpack::<2>(from, bit, to, count)),
        4 => dispatch(Unpack::<4>(from, bit, to, count)),
        6 => dispatch(Unpack::<6>(from, bit, to, count)),
        _ => unreachable!("packed elements of {bits} bits"),
    }
}

/// Writes the lowest bits of each byte as packed elements.
///
/// The elements begin at bit `bit` of `to`, which may be negative. Other bits aren't changed, but
/// those that share a byte with an element are read and written.
///
/// # Safety
///
/// The same as for [`unpack`], with the bytes that the elements touch valid for writes, too, and
/// `count` bytes at `from` for reads.
pub(crate) unsafe fn pack(bits: usize, from: *const u8, to: *mut u8, bit: isize, count: usize) {
    struct Pack<const BITS: usize>(*const u8, *mut u8, isize, usize);
    impl<const BITS: usize> Routine for Pack<BITS> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, _: S) {
            let Self(from, to, bit, count) = self;
            // SAFETY: the elements of the caller of `pack`, of that many bits.
            unsafe { pack_bits::<BITS>(from, to, bit, count) }
        }
    }
    match bits {
        1 => dispatch(Pack::<1>(from, to, bit, count)),
        2 => dispatch(Pack::<2>(from, to, bit, count)),
        4 => dispatch(Pack::<4>(from, to, bit, count)),
        6 => dispatch(Pack::<6>(from, to, bit, count)),
        _ => unreachable!("packed elements of {bits} bits"),
    }
}

/// Reads one packed element.
///
/// # Safety
///
/// The same as for [`unpack`], with a count of 1.
#[inline(never)]
unsafe fn unpack_one(bits: usize, from: *const u8, bit: isize, to: *mut u8) {
    let shift = bit.rem_euclid(8) as usize;
    // SAFETY: the bytes that the element touches, and the byte that it is written to.
    unsafe {
        let first = from.offset(bit.div_euclid(8));
        let bytes = slice::from_raw_parts(first, (shift + bits).div_ceil(8));
        to.write(read_small_bits(bytes, shift, bits));
    }
}

/// Writes one packed element.
///
/// # Safety
///
/// The same as for [`pack`], with a count of 1.
#[inline(never)]
unsafe fn pack_one(bits: usize, from: *const u8, to: *mut u8, bit: isize) {
    let shift = bit.rem_euclid(8) as usize;
    // SAFETY: the bytes that the element touches, which the caller may write, and its own byte.
    unsafe {
        let first = to.offset(bit.div_euclid(8));
        let bytes = slice::from_raw_parts_mut(first, (shift + bits).div_ceil(8));
        write_small_bits(bytes, shift, bits, from.read());
    }
}

/// Eight elements of `BITS` bits take as many bytes.
const GROUP: usize = 8;

/// # Safety
///
/// The same as for [`unpack`], with elements of `BITS` bits.
#[inline(always)]
unsafe fn unpack_bits<const BITS: usize>(from: *const u8, bit: isize, to: *mut u8, count: usize) {
    let [head, groups] = split::<BITS>(bit, count);
    // SAFETY: a place of one element, below `count`.
    let one = |at: usize| unsafe { unpack_one(BITS, from, bit + (at * BITS) as isize, to.add(at)) };
    (0..head).for_each(one);
    // SAFETY: the elements behind the head begin at a byte, and eight of them end at one.
    unsafe {
        let from = from.offset((bit + (head * BITS) as isize) >> 3);
        let to = to.add(head).cast::<[u8; GROUP]>();
        for at in 0..groups {
            let mut word = [0; GROUP];
            word[..BITS].copy_from_slice(&from.cast::<[u8; BITS]>().add(at).read());
            to.add(at)
                .write(spread::<BITS>(u64::from_le_bytes(word)).to_le_bytes());
        }
    }
    (head + groups * GROUP..count).for_each(one);
}

/// # Safety
///
/// The same as for [`pack`], with elements of `BITS` bits.
#[inline(always)]
unsafe fn pack_bits<const BITS: usize>(from: *const u8, to: *mut u8, bit: isize, count: usize) {
    let [head, groups] = split::<BITS>(bit, count);
    // SAFETY: a place of one element, below `count`.
    let one = |at: usize| unsafe { pack_one(BITS, from.add(at), to, bit + (at * BITS) as isize) };
    (0..head).for_each(one);
    // SAFETY: the elements behind the head begin at a byte, and eight of them end at one.
    unsafe {
        let from = from.add(head).cast::<[u8; GROUP]>();
        let to = to.offset((bit + (head * BITS) as isize) >> 3);
        for at in 0..groups {
            let word = gather::<BITS>(u64::from_le_bytes(from.add(at).read())).to_le_bytes();
            let word = word.first_chunk::<BITS>().expect("fewer than eight");
            to.cast::<[u8; BITS]>().add(at).write(*word);
        }
    }
    (head + groups * GROUP..count).for_each(one);
}

/// Returns how many elements precede the first one that begins at a byte, and how many groups of
/// eight follow.
#[inline(always)]
fn split<const BITS: usize>(bit: isize, count: usize) -> [usize; 2] {
    let is_aligned = |at: &usize| (bit + (at * BITS) as isize) & 7 == 0;
    let head = (0..GROUP).find(is_aligned).unwrap_or(count).min(count);
    [head, (count - head) / GROUP]
}

/// Moves eight elements of `BITS` bits, one after another, to a byte each: two halves of them apart
/// first, then the halves of those, in parallel.
#[inline(always)]
fn spread<const BITS: usize>(word: u64) -> u64 {
    let word = apart::<BITS>(word, 32);
    let word = apart::<BITS>(word, 16);
    apart::<BITS>(word, 8)
}

/// Moves the upper half of each `2 * width` bits up, of the elements that are in `width / 8` places
/// each.
#[inline(always)]
fn apart<const BITS: usize>(word: u64, width: usize) -> u64 {
    let [low, high] = halves::<BITS>(width);
    word & low | word << (width - width / 8 * BITS) & high
}

/// The counterpart of [`spread`], of the lowest bits of each byte.
#[inline(always)]
fn gather<const BITS: usize>(word: u64) -> u64 {
    let word = together::<BITS>(word, 8);
    let word = together::<BITS>(word, 16);
    together::<BITS>(word, 32)
}

/// The counterpart of [`apart`].
#[inline(always)]
fn together<const BITS: usize>(word: u64, width: usize) -> u64 {
    let [low, high] = halves::<BITS>(width);
    word & low | (word & high) >> (width - width / 8 * BITS)
}

/// Returns the bits that elements take in the lower and in the upper half of each `2 * width` bits.
const fn halves<const BITS: usize>(width: usize) -> [u64; 2] {
    let mut low = 0;
    let mut at = 0;
    while at < 64 {
        low |= ((1 << (width / 8 * BITS)) - 1) << at;
        at += 2 * width;
    }
    [low, low << width]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpack_and_pack_equal_reading_and_writing_bit_by_bit() {
        let bytes: Vec<u8> = (0..64_u32).map(|at| (at * 0x9d + 7) as u8).collect();
        let (every, most) = if cfg!(miri) { (5, 9) } else { (1, 47) };
        for bits in [1, 2, 4, 6] {
            for first in (0..12).step_by(every) {
                for count in [0, 1, 2, 7, 8, 9, 30, 47]
                    .into_iter()
                    .filter(|n| *n <= most)
                {
                    let at = |i: usize| (first + i) * bits;
                    let expected: Vec<u8> = (0..count)
                        .map(|i| (0..bits).map(|k| bit(&bytes, at(i) + k) << k).sum())
                        .collect();
                    let mut found = vec![0xee; count];
                    let from = bytes.as_ptr().wrapping_add(4);
                    let from_bit = (first * bits) as isize - 32;
                    // SAFETY: the elements are within the bytes, and the target has room for them.
                    unsafe { unpack(bits, from, from_bit, found.as_mut_ptr(), count) };
                    assert_eq!(found, expected, "{bits} bits, {first}, {count}");

                    let mut target = vec![0xa5; 64];
                    // Bits above the element's own are ignored.
                    let noisy: Vec<u8> =
                        expected.iter().map(|x| x | (0xff << bits) as u8).collect();
                    // SAFETY: the elements are within both vectors.
                    unsafe {
                        pack(
                            bits,
                            noisy.as_ptr(),
                            target.as_mut_ptr().wrapping_add(4),
                            from_bit,
                            count,
                        );
                    }
                    for place in 0..64 * 8 {
                        let is_written = (at(0)..at(count)).contains(&place);
                        let source = if is_written { &bytes } else { &vec![0xa5; 64] };
                        assert_eq!(bit(&target, place), bit(source, place));
                    }
                }
            }
        }
    }

    fn bit(bytes: &[u8], at: usize) -> u8 {
        bytes[at / 8] >> (at % 8) & 1
    }
}
