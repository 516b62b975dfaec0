//! `.npz`: archives as NumPy writes them, and archives that mean harm.

use super::{bytes_of, numbered, refused, written};
use dlbridge::files::{Copied, Format, SaveOptions, TensorFile};
use dlbridge::{DType, Tensor};

const FORMAT: Format = Format::Npz;

/// A member of an archive that is put together by hand.
struct Member {
    name: &'static str,
    method: u16,
    flags: u16,
    bytes: Vec<u8>,
    size: usize,
    crc: u32,
}

fn member(name: &'static str, tensor: &Tensor) -> Member {
    let bytes = written(Format::Npy, tensor).unwrap();
    Member {
        name,
        method: 0,
        flags: 0,
        size: bytes.len(),
        crc: crc32fast::hash(&bytes),
        bytes,
    }
}

fn deflated(member: Member) -> Member {
    Member {
        method: 8,
        bytes: miniz_oxide::deflate::compress_to_vec(&member.bytes, 6),
        ..member
    }
}

/// Returns an archive with headers of the older kind, and where its directory begins.
fn archive(members: &[Member]) -> (Vec<u8>, usize) {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let mut common = Vec::new();
        common.extend(member.flags.to_le_bytes());
        common.extend(member.method.to_le_bytes());
        common.extend([0; 4]);
        common.extend(member.crc.to_le_bytes());
        common.extend((member.bytes.len() as u32).to_le_bytes());
        common.extend((member.size as u32).to_le_bytes());
        common.extend((member.name.len() as u16).to_le_bytes());
        common.extend([0; 2]);
        directory.extend(b"PK\x01\x02\x14\x03\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend((bytes.len() as u32).to_le_bytes());
        directory.extend(member.name.bytes());
        bytes.extend(b"PK\x03\x04\x14\x00");
        bytes.extend(&common);
        bytes.extend(member.name.bytes());
        bytes.extend(&member.bytes);
    }
    let start = bytes.len();
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend((members.len() as u16).to_le_bytes());
    bytes.extend((members.len() as u16).to_le_bytes());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend((start as u32).to_le_bytes());
    bytes.extend([0; 2]);
    (bytes, start)
}

/// Returns an archive with a member "a.npy" that begins with these bytes, and of which it says that
/// it becomes a number of bytes: no more than deflate can make of the zeros behind it.
pub(super) fn claiming(start: &[u8], size: usize) -> Vec<u8> {
    let mut bytes = miniz_oxide::deflate::compress_to_vec(start, 6);
    bytes.resize(size / 1032 + 10, 0);
    let member = Member {
        name: "a.npy",
        method: 8,
        flags: 0,
        bytes,
        size,
        crc: 0,
    };
    archive(&[member]).0
}

fn open(bytes: Vec<u8>) -> Result<TensorFile, dlbridge::files::FileError> {
    TensorFile::from_bytes(bytes, FORMAT)
}

#[test]
fn stored_members_are_shared_and_deflated_ones_copied() {
    let (a, b) = (numbered(&[3, 4], DType::U8), numbered(&[2000], DType::I64));
    let (bytes, _) = archive(&[member("a.npy", &a), deflated(member("b/c.npy", &b))]);
    let file = open(bytes).unwrap();
    assert_eq!(file.get("a").unwrap().copy_reason(1), None);
    let copied = file.load(1).unwrap().copied;
    assert_eq!(copied, [("b/c".to_owned(), Copied::Compressed)]);
    assert_eq!(copied[0].1.to_string(), "compressed in the file");
    assert!(file.tensor("a").unwrap().equals(&a).unwrap());
    assert!(file.tensor("b/c").unwrap().equals(&b).unwrap());
}

#[test]
fn deflated_columns_and_large_headers_are_read() {
    let tensor = numbered(&[3, 4], DType::F32).transpose();
    let plain = member("x.npy", &tensor);
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    let header = format!(
        "{{'descr': '<f4', 'fortran_order': True, 'shape': (4, 3), }}{}\n",
        " ".repeat(5000)
    );
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(&plain.bytes[plain.bytes.len() - 48..]);
    let large = Member {
        size: bytes.len(),
        crc: crc32fast::hash(&bytes),
        bytes,
        ..plain
    };
    let file = open(archive(&[deflated(large)]).0).unwrap();
    let back = file.tensor("x").unwrap();
    assert_eq!(back.strides(), [1, 4]);
    assert!(back.equals(&tensor).unwrap());
}

#[test]
fn headers_of_members_that_claim_too_much_are_refused() {
    for size in [1_000_001_u32, 3 << 30] {
        let start = [b"\x93NUMPY\x02\x00", &size.to_le_bytes()[..]].concat();
        refused(
            open(claiming(&start, size as usize + start.len())),
            &format!("invalid npy: expected a header of at most 1000000 bytes, found {size}"),
        );
    }
}

#[test]
fn many_members_have_a_large_directory() {
    let tensor = Tensor::from([7_u8]);
    let names: Vec<_> = (0..70_000).map(|i| format!("{i}")).collect();
    let named: Vec<_> = names.iter().map(|name| (name.as_str(), &tensor)).collect();
    let file = open(SaveOptions::new(FORMAT).to_bytes(&named).unwrap()).unwrap();
    assert_eq!(file.len(), 70_000);
    assert_eq!(bytes_of(&file.tensor("69999").unwrap()), [7]);
}

#[test]
fn archives_that_readers_could_understand_differently_are_refused() {
    let tensor = numbered(&[3], DType::U8);
    let plain = || member("a.npy", &tensor);
    let (bytes, start) = archive(&[plain()]);
    let changed = |at: usize, to: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = to;
        open(bytes)
    };
    let crc = plain().crc;
    // The name in the header, and in the directory.
    refused(
        changed(30, b'b'),
        &format!(
            "invalid npz: expected a header of \"a.npy\" that says what the directory says, \
             found \"b.npy\", 131 bytes that become 131, {crc:08x}"
        ),
    );
    refused(
        changed(start + 46 + 4, b'z'),
        &format!(
            "invalid npz: expected a header of \"a.npz\" that says what the directory says, \
             found \"a.npy\", 131 bytes that become 131, {crc:08x}"
        ),
    );
    // Bytes before the archive.
    refused(
        open([vec![0], bytes.clone()].concat()),
        "invalid npz: expected a directory up to byte 218, found 51 bytes from byte 166 on",
    );
    refused(
        open([bytes.clone(), vec![0]].concat()),
        "invalid npz: expected the end of a zip archive, found none, as of a truncated file",
    );
    let end = bytes.len() - 22;
    refused(
        changed(end + 8, 2),
        "invalid npz: expected an archive in one part, found 1 members, 2 of them here",
    );
    let (twice, _) = archive(&[plain(), plain()]);
    refused(
        open(twice),
        "invalid npz: two tensors are called \"a\"; names must differ",
    );
}

#[test]
fn members_that_overlap_are_refused() {
    // The entry of the second member leads to the header of the first one, which is given its name
    // there.
    let tensor = numbered(&[3], DType::U8);
    let (mut bytes, start) = archive(&[member("a.npy", &tensor), member("a.npy", &tensor)]);
    let second = start + 51;
    bytes[second + 42..second + 46].fill(0);
    refused(
        open(bytes),
        "invalid npz: the bytes of \"a.npy\" and \"a.npy\" overlap",
    );
}

#[test]
fn members_of_other_kinds_are_refused() {
    let tensor = numbered(&[3], DType::U8);
    let plain = || member("a.npy", &tensor);
    let with = |change: fn(&mut Member)| {
        let mut member = plain();
        change(&mut member);
        open(archive(&[member]).0)
    };
    let remedy = "write it with numpy.savez or numpy.savez_compressed";
    refused(
        with(|member| member.flags = 1),
        &format!("npz: the member \"a.npy\" is encrypted; {remedy}"),
    );
    refused(
        with(|member| member.flags = 1 << 6),
        &format!("npz: the member \"a.npy\" has the flags 0x0040; {remedy}"),
    );
    refused(
        with(|member| member.method = 12),
        &format!("npz: the member \"a.npy\" is compressed by method 12; {remedy}"),
    );
    refused(
        with(|member| member.name = "a.txt"),
        "npz: the member \"a.txt\" isn't a .npy file; remove it from the archive",
    );
    refused(
        with(|member| member.size += 1),
        "invalid npz: expected 132 stored bytes in \"a.npy\", found 131",
    );
}

#[test]
fn deflated_bytes_that_lie_are_refused() {
    let tensor = numbered(&[1000], DType::U8);
    let plain = || deflated(member("a.npy", &tensor));
    let with = |change: fn(&mut Member)| {
        let mut member = plain();
        change(&mut member);
        open(archive(&[member]).0).and_then(|file| file.tensor("a"))
    };
    // A bomb is refused before memory is allocated for it.
    let packed = plain().bytes.len();
    refused(
        with(|member| member.size = 0xf000_0000),
        &format!(
            "invalid npz: expected at most {} bytes from {packed} deflated ones in \"a\", \
             found a size of 4026531840 bytes",
            packed * 1032
        ),
    );
    let crc = plain().crc;
    refused(
        with(|member| member.crc ^= 1),
        &format!(
            "tensor \"a\": expected the checksum {:08x}, found {crc:08x}",
            crc ^ 1
        ),
    );
    refused(
        with(|member| member.size -= 1),
        "tensor \"a\": uint8 elements of shape [1000] need 1000 bytes, found 999",
    );
    let error = with(|member| {
        member.bytes.truncate(member.bytes.len() - 8);
    });
    refused(
        error,
        "invalid npz: expected 1128 bytes of deflated data in \"a\", found deflated data that \
         ends early",
    );
    let error = with(|member| member.bytes.fill(0xff))
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("truncated npy"), "{error}");
}
