//! Copies of rows and of slices.

use crate::abi::structures::{Copy2d, Copy3d, Side3d};
use crate::abi::{Context, In, MEMORYTYPE_DEVICE, MEMORYTYPE_HOST, MEMORYTYPE_UNIFIED, Stream};
use crate::access::Rows;
use crate::api::copy::{check_owner, copy, copy_within_reach};
use crate::api::device::attribute;
use crate::call::api;
use crate::codes::{Code, Outcome};
use crate::driver::Locked;
use std::ffi::c_int;

/// The attribute of a device that says how many bytes apart rows can be.
const MAX_PITCH: c_int = 11;

api! {
    fn cuMemcpy2D_v2(driver, what: In<Copy2d>) {
        strided(driver, "cuMemcpy2D_v2", in_3d(what.read()?), None)
    }

    fn cuMemcpy2DUnaligned_v2(driver, what: In<Copy2d>) {
        strided(driver, "cuMemcpy2DUnaligned_v2", in_3d(what.read()?), None)
    }

    fn cuMemcpy2DAsync_v2(driver, what: In<Copy2d>, stream: Stream) {
        strided(driver, "cuMemcpy2DAsync_v2", in_3d(what.read()?), Some(stream))
    }

    fn cuMemcpy3D_v2(driver, what: In<Copy3d>) {
        strided(driver, "cuMemcpy3D_v2", what.read()?, None)
    }

    fn cuMemcpy3DAsync_v2(driver, what: In<Copy3d>, stream: Stream) {
        strided(driver, "cuMemcpy3DAsync_v2", what.read()?, Some(stream))
    }

    fn cuMemcpy3DPeer(driver, what: In<Copy3d>) {
        peer(driver, "cuMemcpy3DPeer", what.read()?, None)
    }

    fn cuMemcpy3DPeerAsync(driver, what: In<Copy3d>, stream: Stream) {
        peer(driver, "cuMemcpy3DPeerAsync", what.read()?, Some(stream))
    }
}

fn in_3d(what: Copy2d) -> Copy3d {
    let side = |x, y, memory_type, host, device, array, pitch| Side3d {
        x,
        y,
        z: 0,
        lod: 0,
        memory_type,
        host,
        device,
        array,
        context: Context(0),
        pitch,
        height: 0,
    };
    let host = what.src_host.cast_mut();
    Copy3d {
        src: side(
            what.src_x,
            what.src_y,
            what.src_type,
            host,
            what.src_device,
            what.src_array,
            what.src_pitch,
        ),
        dst: side(
            what.dst_x,
            what.dst_y,
            what.dst_type,
            what.dst_host,
            what.dst_device,
            what.dst_array,
            what.dst_pitch,
        ),
        width: what.width,
        height: what.height,
        depth: 1,
    }
}

fn strided(driver: &mut Locked, function: &str, what: Copy3d, stream: Option<Stream>) -> Outcome {
    let (to, from) = sides(driver, function, &what)?;
    copy_within_reach(driver, function, to, from, stream)
}

/// A copy between two contexts, which reaches the memory of both.
fn peer(driver: &mut Locked, function: &str, what: Copy3d, stream: Option<Stream>) -> Outcome {
    for side in [&what.dst, &what.src] {
        if side.memory_type != MEMORYTYPE_HOST {
            check_owner(driver, function, side.device, side.context)?;
        }
    }
    let (to, from) = sides(driver, function, &what)?;
    copy(driver, function, to, from, stream)
}

/// The rows of both sides, the target's first.
fn sides(driver: &mut Locked, function: &str, what: &Copy3d) -> Outcome<(Rows, Rows)> {
    let (from, from_device) = rows(driver, function, what.src, what)?;
    let (to, to_device) = rows(driver, function, what.dst, what)?;
    driver.check_range(function, from, from_device)?;
    driver.check_range(function, to, to_device)?;
    Ok((to, from))
}

/// The rows of one side, and whether they must be the driver's memory.
fn rows(driver: &mut Locked, function: &str, side: Side3d, what: &Copy3d) -> Outcome<(Rows, bool)> {
    let base = match side.memory_type {
        MEMORYTYPE_HOST => side.host as u64,
        MEMORYTYPE_DEVICE | MEMORYTYPE_UNIFIED => side.device.0,
        // Arrays, which textures use.
        _ => return Err(Code::ERROR_NOT_SUPPORTED),
    };
    // A pitch of 0 stands for rows without gaps, a height of 0 for slices without.
    let pitch = if side.pitch == 0 {
        what.width
    } else {
        side.pitch
    };
    let height = if side.height == 0 {
        what.height
    } else {
        side.height
    };
    let most = attribute(MAX_PITCH);
    if pitch > most as usize {
        driver.record.mistake(format!(
            "{function} is given a pitch of {pitch} bytes, and the largest is {most}"
        ));
        return Err(Code::ERROR_INVALID_VALUE);
    }
    let too_small = side.x + what.width > pitch && what.height > 1;
    if too_small || (what.depth > 1 && side.y + what.height > height) {
        return Err(Code::ERROR_INVALID_VALUE);
    }
    let slice = pitch * height;
    let rows = Rows {
        start: base + (side.z * slice + side.y * pitch + side.x) as u64,
        width: what.width as u64,
        pitch: pitch as u64,
        height: what.height as u64,
        slice: slice as u64,
        depth: what.depth as u64,
    };
    Ok((rows, side.memory_type == MEMORYTYPE_DEVICE))
}
