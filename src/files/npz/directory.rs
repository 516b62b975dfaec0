//! The directory of an archive, and the members that it leads to.
//!
//! Everything that two readers could understand differently is refused: members that overlap,
//! headers that say something else than the directory, names that are given twice, and bytes
//! before, between or behind what the directory knows of, as far as they begin or end the archive.

use super::fields::{
    CENTRAL, CENTRAL_SIZE, END, END_64, END_64_SIZE, END_SIZE, EXTRA_64, Fields, LOCAL, LOCAL_SIZE,
    LOCATOR_64, LOCATOR_64_SIZE, UTF_8,
};
use crate::files::error::FileError;
use crate::files::format::Format;
use std::ops::Range;

const FORMAT: Format = Format::Npz;

/// A member of an archive.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) method: Method,
    /// The size that it becomes.
    pub(super) size: usize,
    pub(super) crc: u32,
    /// Where its bytes are in the archive.
    pub(super) range: Range<usize>,
    /// Where its header begins.
    header: usize,
}

/// How a member is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Stored,
    Deflated,
}

/// The flag of encrypted members, and that of sizes behind the bytes.
const ENCRYPTED: u16 = 1;
const SIZES_BEHIND: u16 = 1 << 3;
/// Flags that change nothing here: of how well it is deflated, and of sizes and names.
const KNOWN_FLAGS: u16 = 0b110 | SIZES_BEHIND | UTF_8;

/// Reads the directory.
pub(super) fn read(archive: &[u8]) -> Result<Vec<Member>, FileError> {
    let (count, range) = find_directory(archive)?;
    let mut members = Vec::new();
    let mut at = range.start;
    for _ in 0..count {
        if at + CENTRAL_SIZE > range.end {
            let what = "the directory";
            let needed = (at + CENTRAL_SIZE) as u64;
            return Err(FileError::truncated(FORMAT, what, needed, range.end));
        }
        let (member, size) = read_entry(archive, at, range.start)?;
        members.push(member);
        at += size;
    }
    if at != range.end {
        let expected = format!("{count} members in the directory, up to byte {}", range.end);
        return Err(FileError::malformed(
            FORMAT,
            expected,
            format!("up to byte {at}"),
        ));
    }
    check_overlap(&members)?;
    Ok(members)
}

/// Returns how many members there are, and where the directory is.
fn find_directory(archive: &[u8]) -> Result<(u64, Range<usize>), FileError> {
    let end = find_end(archive)?;
    let mut fields = Fields::at(archive, end, END, "the end of the directory")?;
    let disks = (fields.u16()?, fields.u16()?);
    let (here, total) = (fields.u16()?, fields.u16()?);
    let (size, start) = (fields.u32()?, fields.u32()?);
    let mut numbers = (
        disks,
        u64::from(here),
        u64::from(total),
        size.into(),
        start.into(),
    );
    let mut directory_end = end;
    if let Some(locator) = end.checked_sub(LOCATOR_64_SIZE)
        && archive[locator..].starts_with(&LOCATOR_64.to_le_bytes())
    {
        let mut fields = Fields::at(archive, locator, LOCATOR_64, "the locator of the directory")?;
        fields.u32()?;
        let at = fields.u64()?;
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let mut fields = Fields::at(archive, at, END_64, "the end of the large directory")?;
        fields.slice(8 + 2 + 2)?;
        let disks = (fields.u32()?, fields.u32()?);
        let disks = (disks.0.min(1) as u16, disks.1.min(1) as u16);
        numbers = (
            disks,
            fields.u64()?,
            fields.u64()?,
            fields.u64()?,
            fields.u64()?,
        );
        directory_end = at;
        if at.checked_add(END_64_SIZE) != Some(locator) {
            let expected = format!("the large directory's end before byte {locator}");
            return Err(FileError::malformed(
                FORMAT,
                expected,
                format!("at byte {at}"),
            ));
        }
    }
    let (disks, here, total, size, start) = numbers;
    if disks != (0, 0) || here != total {
        let found = format!("{total} members, {here} of them here");
        return Err(FileError::malformed(
            FORMAT,
            "an archive in one part",
            found,
        ));
    }
    if start.checked_add(size) != Some(directory_end as u64) {
        let expected = format!("a directory up to byte {directory_end}");
        let found = format!("{size} bytes from byte {start} on");
        return Err(FileError::malformed(FORMAT, expected, found));
    }
    Ok((total, start as usize..directory_end))
}

/// Finds the last part of an archive, which ends with a comment of any size.
fn find_end(archive: &[u8]) -> Result<usize, FileError> {
    let needed = END_SIZE as u64;
    let what = "the end of the directory";
    let last = archive
        .len()
        .checked_sub(END_SIZE)
        .ok_or_else(|| FileError::truncated(FORMAT, what, needed, archive.len()))?;
    let first = last.saturating_sub(usize::from(u16::MAX));
    let found = (first..=last).rev().find(|at| {
        let end = &archive[*at..];
        let comment = usize::from(u16::from_le_bytes([end[20], end[21]]));
        end.starts_with(&END.to_le_bytes()) && at + END_SIZE + comment == archive.len()
    });
    found.ok_or_else(|| {
        let expected = "the end of a zip archive";
        FileError::malformed(FORMAT, expected, "none, as of a truncated file")
    })
}

/// Reads an entry of the directory, and the header that it leads to. Returns the entry's size too.
fn read_entry(archive: &[u8], at: usize, end: usize) -> Result<(Member, usize), FileError> {
    let mut fields = Fields::at(archive, at, CENTRAL, "an entry of the directory")?;
    fields.u32()?; // versions
    let (flags, method) = (fields.u16()?, fields.u16()?);
    fields.u32()?; // time
    let (crc, packed, size) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (name_len, extra_len, comment_len) = (fields.u16()?, fields.u16()?, fields.u16()?);
    let disk = fields.u16()?;
    fields.slice(2 + 4)?; // attributes
    let header = fields.u32()?;
    let raw_name = fields.slice(name_len.into())?;
    let mut extra = Fields::extra(fields.slice(extra_len.into())?, EXTRA_64)?;
    fields.slice(comment_len.into())?;
    let size = Fields::wide(&mut extra, size)?;
    let packed = Fields::wide(&mut extra, packed)?;
    let header = Fields::wide(&mut extra, header)?;
    let name = check_name(raw_name)?;
    let method = check_method(&name, flags, method)?;
    if disk != 0 {
        return Err(FileError::malformed(
            FORMAT,
            "an archive in one part",
            "several",
        ));
    }
    let what = format!("the member {name:?}");
    let number = |number: u64| {
        usize::try_from(number)
            .ok()
            .filter(|number| *number <= isize::MAX as usize)
            .ok_or_else(|| FileError::truncated(FORMAT, &what, number, archive.len()))
    };
    let (size, packed, header) = (number(size)?, number(packed)?, number(header)?);
    let data = check_header(
        archive,
        header,
        raw_name,
        (flags, crc, packed, size),
        method,
    )?;
    let range = data..data + packed;
    if range.end > end {
        return Err(FileError::truncated(FORMAT, &what, range.end as u64, end));
    }
    if method == Method::Stored && packed != size {
        let expected = format!("{size} stored bytes in {name:?}");
        return Err(FileError::malformed(FORMAT, expected, format!("{packed}")));
    }
    let member = Member {
        name,
        method,
        size,
        crc,
        range,
        header,
    };
    let lens = [name_len, extra_len, comment_len].map(usize::from);
    Ok((member, CENTRAL_SIZE + lens.iter().sum::<usize>()))
}

/// Checks the header before a member's bytes, which must say what the directory says. Returns where
/// the bytes begin.
fn check_header(
    archive: &[u8],
    at: usize,
    expected_name: &[u8],
    (expected_flags, expected_crc, expected_packed, expected_size): (u16, u32, usize, usize),
    expected_method: Method,
) -> Result<usize, FileError> {
    let mut fields = Fields::at(archive, at, LOCAL, "the header of a member")?;
    fields.u16()?; // version
    let (flags, method) = (fields.u16()?, fields.u16()?);
    fields.u32()?; // time
    let (crc, packed, size) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (name_len, extra_len) = (fields.u16()?, fields.u16()?);
    let name = fields.slice(name_len.into())?;
    let mut extra = Fields::extra(fields.slice(extra_len.into())?, EXTRA_64)?;
    let size = Fields::wide(&mut extra, size)?;
    let packed = Fields::wide(&mut extra, packed)?;
    let name_text = String::from_utf8_lossy(name);
    let same_sizes = (crc, packed, size)
        == (expected_crc, expected_packed as u64, expected_size as u64)
        // Written before they were known: then they are behind the bytes.
        || flags & SIZES_BEHIND != 0 && (crc, packed, size) == (0, 0, 0);
    let same = name == expected_name
        && flags == expected_flags
        && check_method(&name_text, flags, method)? == expected_method
        && same_sizes;
    if !same {
        let expected_name = String::from_utf8_lossy(expected_name);
        let expected = format!("a header of {expected_name:?} that says what the directory says");
        let found = format!("{name_text:?}, {packed} bytes that become {size}, {crc:08x}");
        return Err(FileError::malformed(FORMAT, expected, found));
    }
    Ok(at + LOCAL_SIZE + usize::from(name_len) + usize::from(extra_len))
}

fn check_name(name: &[u8]) -> Result<String, FileError> {
    let name = str::from_utf8(name).map_err(|error| {
        FileError::malformed(FORMAT, "names in ASCII or UTF-8", error.to_string())
    })?;
    if name.contains('\0') {
        let found = format!("{name:?}");
        return Err(FileError::malformed(FORMAT, "a name without zeros", found));
    }
    Ok(name.to_owned())
}

fn check_method(name: &str, flags: u16, method: u16) -> Result<Method, FileError> {
    let unsupported = |what: String| FileError::Unsupported {
        format: FORMAT,
        what,
        remedy: "write it with numpy.savez or numpy.savez_compressed",
    };
    if flags & ENCRYPTED != 0 {
        return Err(unsupported(format!("the member {name:?} is encrypted")));
    }
    if flags & !KNOWN_FLAGS != 0 {
        return Err(unsupported(format!(
            "the member {name:?} has the flags {flags:#06x}"
        )));
    }
    match method {
        0 => Ok(Method::Stored),
        8 => Ok(Method::Deflated),
        _ => Err(unsupported(format!(
            "the member {name:?} is compressed by method {method}"
        ))),
    }
}

fn check_overlap(members: &[Member]) -> Result<(), FileError> {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by_key(|member| member.header);
    for pair in sorted.windows(2) {
        if pair[0].range.end > pair[1].header {
            return Err(FileError::Overlap {
                format: FORMAT,
                first: pair[0].name.clone(),
                second: pair[1].name.clone(),
            });
        }
    }
    Ok(())
}
