//! Writing: stored members, as `numpy.savez` writes them.

use super::fields::{
    CENTRAL, CENTRAL_SIZE, END, END_64, END_64_SIZE, END_SIZE, EXTRA_64, IN_EXTRA, LOCAL,
    LOCAL_SIZE, LOCATOR_64, LOCATOR_64_SIZE, SUFFIX, UTF_8,
};
use crate::files::error::FileError;
use crate::files::format::Format;
use crate::files::npy;
use crate::files::writer::{Writer, with_bytes};
use crate::tensor::Tensor;
use crc32fast::Hasher;
use std::io::{Seek, Write};

const FORMAT: Format = Format::Npz;

/// The version of the format that has sizes of 64 bits, and the one that hasn't.
const VERSION_64: u8 = 45;
/// The system whose permissions the attributes are: Unix.
const SYSTEM: u8 = 3;
/// 1980-01-01 0:00, the first time that the format has.
const TIME: u32 = 0x21 << 16;
/// The permission to read and write for the owner.
const ATTRIBUTES: u32 = 0o600 << 16;
/// From this size on, Python's zip archives have sizes of 64 bits.
const LIMIT: u64 = i32::MAX as u64;
/// The extra field that pads a header, as Android's zipalign has it.
const PADDING: u16 = 0xd935;

/// A member that was written.
struct Written {
    name: String,
    crc: u32,
    size: u64,
    header: u64,
}

/// Writes the archive.
pub(in crate::files) fn write<W: Write + Seek>(
    align: usize,
    to: &mut Writer<W>,
    tensors: &[(&str, &Tensor)],
) -> Result<(), FileError> {
    let mut members = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        members.push(write_member(align, to, name, tensor)?);
    }
    let start = to.position();
    for member in &members {
        to.bytes(&entry(member))?;
    }
    to.bytes(&end(members.len() as u64, start, to.position()))
}

fn write_member<W: Write + Seek>(
    align: usize,
    to: &mut Writer<W>,
    name: &str,
    tensor: &Tensor,
) -> Result<Written, FileError> {
    let (npy_header, elements) = npy::parts(FORMAT, align, name, tensor)?;
    let mut member = Written {
        name: format!("{name}{SUFFIX}"),
        crc: 0,
        size: npy_header.len().saturating_add(elements.nbytes()) as u64,
        header: to.position(),
    };
    if u16::try_from(member.name.len()).is_err() {
        return Err(FileError::Unsupported {
            format: FORMAT,
            what: format!("a name of {} bytes", name.len()),
            remedy: "rename it: names have at most 65531 bytes",
        });
    }
    to.bytes(&header(&member, align))?;
    to.bytes(&npy_header)?;
    let mut hasher = Hasher::new();
    hasher.update(&npy_header);
    with_bytes(&elements, |bytes| {
        // In parts, so that the checksum is of what the cache still has.
        bytes.chunks(1 << 20).try_for_each(|part| {
            hasher.update(part);
            to.bytes(part)
        })
    })?;
    member.crc = hasher.finalize();
    to.replace(member.header, &header(&member, align))?;
    Ok(member)
}

fn header(member: &Written, align: usize) -> Vec<u8> {
    let mut extra = extra_64(&[member.size, member.size]);
    let size = LOCAL_SIZE + member.name.len() + extra.len();
    let start = member.header as usize + size;
    if !start.is_multiple_of(align) {
        // The field has a head of four bytes itself.
        let padding = (start + 4).next_multiple_of(align) - start - 4;
        extra.extend(PADDING.to_le_bytes());
        extra.extend((padding as u16).to_le_bytes());
        extra.resize(extra.len() + padding, 0);
    }
    let mut bytes = Vec::with_capacity(size + align);
    bytes.extend(LOCAL.to_le_bytes());
    bytes.extend([VERSION_64, 0]);
    bytes.extend(common(member, IN_EXTRA, IN_EXTRA));
    bytes.extend((extra.len() as u16).to_le_bytes());
    bytes.extend(member.name.bytes());
    bytes.extend(extra);
    bytes
}

/// Returns what headers and entries of the directory have in common: from the flags to the size of
/// the name.
fn common(member: &Written, packed: u32, size: u32) -> Vec<u8> {
    let flags = if member.name.is_ascii() { 0 } else { UTF_8 };
    let mut bytes = Vec::new();
    bytes.extend(flags.to_le_bytes());
    bytes.extend(0_u16.to_le_bytes()); // stored
    bytes.extend(TIME.to_le_bytes());
    for number in [member.crc, packed, size] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend((member.name.len() as u16).to_le_bytes());
    bytes
}

fn extra_64(sizes: &[u64]) -> Vec<u8> {
    let mut extra = Vec::new();
    extra.extend(EXTRA_64.to_le_bytes());
    extra.extend((8 * sizes.len() as u16).to_le_bytes());
    extra.extend(sizes.iter().flat_map(|size| size.to_le_bytes()));
    extra
}

fn entry(member: &Written) -> Vec<u8> {
    let is_large = member.size > LIMIT;
    let mut in_extra = if is_large {
        vec![member.size; 2]
    } else {
        Vec::new()
    };
    let size = if is_large {
        IN_EXTRA
    } else {
        member.size as u32
    };
    let mut header = member.header as u32;
    if member.header > LIMIT {
        in_extra.push(member.header);
        header = IN_EXTRA;
    }
    let extra = match in_extra.is_empty() {
        true => Vec::new(),
        false => extra_64(&in_extra),
    };
    let mut bytes = Vec::with_capacity(CENTRAL_SIZE + member.name.len() + extra.len());
    bytes.extend(CENTRAL.to_le_bytes());
    bytes.extend([VERSION_64, SYSTEM, VERSION_64, 0]);
    bytes.extend(common(member, size, size));
    bytes.extend((extra.len() as u16).to_le_bytes());
    bytes.extend([0; 6]); // comment, part and kind
    bytes.extend(ATTRIBUTES.to_le_bytes());
    bytes.extend(header.to_le_bytes());
    bytes.extend(member.name.bytes());
    bytes.extend(extra);
    bytes
}

/// Returns the end of the directory.
fn end(count: u64, start: u64, end: u64) -> Vec<u8> {
    let size = end - start;
    let mut bytes = Vec::with_capacity(END_64_SIZE + LOCATOR_64_SIZE + END_SIZE);
    if count > u16::MAX.into() || start > LIMIT || size > LIMIT {
        bytes.extend(END_64.to_le_bytes());
        bytes.extend(44_u64.to_le_bytes()); // the size of the rest
        bytes.extend([VERSION_64, 0, VERSION_64, 0]);
        bytes.extend([0; 8]); // parts
        for number in [count, count, size, start] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(LOCATOR_64.to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(end.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
    }
    let small = u16::try_from(count).unwrap_or(u16::MAX);
    bytes.extend(END.to_le_bytes());
    bytes.extend([0; 4]); // parts
    bytes.extend(small.to_le_bytes());
    bytes.extend(small.to_le_bytes());
    for number in [size, start] {
        bytes.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    }
    bytes.extend(0_u16.to_le_bytes()); // comment
    bytes
}
