//! Bytes of several channels: interleaved pixels to planes, and back.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::simd::Level;
use super::simd::{Routine, Simd, dispatch};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_or_si128, _mm_shuffle_epi8};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::arch::x86_64::{_mm_setzero_si128, _mm_storeu_si128};

/// Copies interleaved pixels to one plane for each channel. Planes follow each other: the plane of
/// a channel has the length of `planes` divided by the number of channels, and its first bytes are
/// written.
///
/// # Panics
///
/// When a plane has less room than there are pixels.
pub(crate) fn deinterleave(pixels: &[u8], planes: &mut [u8], channels: usize) {
    let count = pixels.len() / channels;
    let room = planes.len() / channels;
    assert!(count <= room, "{count} pixels in planes of {room}");
    if count == 0 {
        return;
    }
    match channels {
        1 => planes[..count].copy_from_slice(pixels),
        2 => dispatch(Apart::<2>(pixels, planes)),
        3 => dispatch(Apart::<3>(pixels, planes)),
        4 => dispatch(Apart::<4>(pixels, planes)),
        _ => {
            for (channel, plane) in planes.chunks_exact_mut(room).enumerate() {
                let own = pixels[channel..].iter().step_by(channels);
                plane.iter_mut().zip(own).for_each(|(to, from)| *to = *from);
            }
        }
    }
}

/// Copies three planes of bytes to interleaved pixels.
///
/// # Panics
///
/// When a plane is shorter than the number of pixels.
pub(crate) fn interleave(planes: [&[u8]; 3], pixels: &mut [u8]) {
    let count = pixels.len() / 3;
    dispatch(Together(planes.map(|plane| &plane[..count]), pixels));
}

struct Apart<'a, const C: usize>(&'a [u8], &'a mut [u8]);

impl<const C: usize> Routine for Apart<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self(pixels, planes) = self;
        let (count, room) = (pixels.len() / C, planes.len() / C);
        // SAFETY: `S` is the level of the CPU; `deinterleave` checked that planes have room.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        let first = unsafe { apart_by_shuffles::<S, C>(pixels, planes) };
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let first = 0;
        let rest = &pixels[first * C..count * C];
        for (channel, plane) in planes.chunks_exact_mut(room).enumerate() {
            let plane = &mut plane[first..count];
            for (to, pixel) in plane.iter_mut().zip(rest.chunks_exact(C)) {
                *to = pixel[channel];
            }
        }
    }
}

struct Together<'a>([&'a [u8]; 3], &'a mut [u8]);

impl Routine for Together<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self([a, b, c], pixels) = self;
        // SAFETY: `S` is the level of the CPU, and the planes are as long as there are pixels.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        let first = unsafe { together_by_shuffles::<S>([a, b, c], pixels) };
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let first = 0;
        let rest = pixels[first * 3..].chunks_exact_mut(3);
        let planes = a[first..].iter().zip(&b[first..]).zip(&c[first..]);
        for (pixel, ((a, b), c)) in rest.zip(planes) {
            pixel.copy_from_slice(&[*a, *b, *c]);
        }
    }
}

/// How many pixels are moved at once, by shuffles of as many bytes.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const PIXELS: usize = 16;

/// The index of a byte that a shuffle sets to 0.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const NONE: u8 = 0x80;

/// Returns the shuffles that pick a channel's bytes from each vector of interleaved pixels.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const fn picks<const C: usize>() -> [[[u8; PIXELS]; C]; C] {
    let mut picks = [[[NONE; PIXELS]; C]; C];
    let mut at = 0;
    while at < PIXELS * C {
        picks[at % C][at / PIXELS][at / C] = (at % PIXELS) as u8;
        at += 1;
    }
    picks
}

/// Returns the shuffles that put each channel's bytes in their places in a vector of interleaved
/// pixels.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const fn puts<const C: usize>() -> [[[u8; PIXELS]; C]; C] {
    let mut puts = [[[NONE; PIXELS]; C]; C];
    let mut at = 0;
    while at < PIXELS * C {
        puts[at / PIXELS][at % C][at % PIXELS] = (at / C) as u8;
        at += 1;
    }
    puts
}

/// Writes a vector of bytes of `C` vectors, each shuffled.
///
/// # Safety
///
/// The CPU has SSSE3, and 16 bytes can be written at `to`.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn put_shuffled<const C: usize>(
    vectors: [__m128i; C],
    shuffles: &[[u8; PIXELS]; C],
    to: *mut u8,
) {
    // SAFETY: the shuffles are 16 bytes each, and the rest is what this function requires.
    unsafe {
        let mut all = _mm_setzero_si128();
        for at in 0..C {
            let shuffle = _mm_loadu_si128(shuffles[at].as_ptr().cast());
            all = _mm_or_si128(all, _mm_shuffle_epi8(vectors[at], shuffle));
        }
        _mm_storeu_si128(to.cast(), all);
    }
}

/// Moves as many pixels as shuffles move at once, and returns how many.
///
/// # Safety
///
/// The CPU has the level `S`, and each of the `C` planes has room for the pixels.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn apart_by_shuffles<S: Simd, const C: usize>(pixels: &[u8], planes: &mut [u8]) -> usize {
    if S::LEVEL < Level::Avx2 {
        return 0;
    }
    let (count, room) = (pixels.len() / C, planes.len() / C);
    let whole = count / PIXELS * PIXELS;
    let shuffles = const { picks::<C>() };
    for first in (0..whole).step_by(PIXELS) {
        // SAFETY: 16 pixels from `first` on are among the pixels, and in each plane; every CPU of
        // the level has SSSE3.
        unsafe {
            let from = pixels.as_ptr().add(first * C);
            let vectors: [__m128i; C] =
                std::array::from_fn(|at| _mm_loadu_si128(from.add(at * PIXELS).cast()));
            for (channel, shuffles) in shuffles.iter().enumerate() {
                let to = planes.as_mut_ptr().add(channel * room + first);
                put_shuffled(vectors, shuffles, to);
            }
        }
    }
    whole
}

/// Moves as many pixels as shuffles move at once, and returns how many.
///
/// # Safety
///
/// The CPU has the level `S`, and the planes are as long as there are pixels.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn together_by_shuffles<S: Simd>(planes: [&[u8]; 3], pixels: &mut [u8]) -> usize {
    if S::LEVEL < Level::Avx2 {
        return 0;
    }
    let whole = pixels.len() / 3 / PIXELS * PIXELS;
    let shuffles = const { puts::<3>() };
    for first in (0..whole).step_by(PIXELS) {
        // SAFETY: 16 pixels from `first` on are in each plane, and among the pixels; every CPU of
        // the level has SSSE3.
        unsafe {
            let vectors = planes.map(|plane| _mm_loadu_si128(plane.as_ptr().add(first).cast()));
            for (part, shuffles) in shuffles.iter().enumerate() {
                let to = pixels.as_mut_ptr().add(first * 3 + part * PIXELS);
                put_shuffled(vectors, shuffles, to);
            }
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compute::{Level, with_level};

    fn for_each_level(test: impl Fn()) {
        for level in Level::loops() {
            with_level(level, &test);
        }
    }

    #[test]
    fn deinterleave_moves_each_byte_to_its_plane() {
        for_each_level(|| {
            for channels in 1..=6 {
                for count in [0, 1, 15, 16, 17, 33, 70] {
                    let pixels: Vec<u8> = (0..count * channels).map(|at| at as u8).collect();
                    let room = count + 3;
                    let mut planes = vec![0xee; room * channels];
                    deinterleave(&pixels, &mut planes, channels);
                    for (at, found) in planes.iter().enumerate() {
                        let (channel, pixel) = (at / room, at % room);
                        let expected = match pixel < count {
                            true => (pixel * channels + channel) as u8,
                            false => 0xee,
                        };
                        assert_eq!(*found, expected, "{channels} channels, {count}, {at}");
                    }
                }
            }
        });
    }

    #[test]
    fn interleave_is_the_inverse_of_deinterleave() {
        for_each_level(|| {
            for count in [0, 1, 15, 16, 17, 33, 70] {
                let pixels: Vec<u8> = (0..count * 3).map(|at| (at * 7) as u8).collect();
                let mut planes = vec![0; count * 3];
                deinterleave(&pixels, &mut planes, 3);
                let (a, rest) = planes.split_at(count);
                let (b, c) = rest.split_at(count);
                let mut found = vec![0; count * 3];
                interleave([a, b, c], &mut found);
                assert_eq!(found, pixels);
            }
        });
    }
}
