//! Launches of kernels.

use crate::abi::structures::LaunchConfig;
use crate::abi::{Function, In, Stream};
use crate::access::How;
use crate::api::device::attribute;
use crate::call::api;
use crate::codes::{Code, Outcome};
use crate::driver::{Driver, Locked};
use crate::kernels::{Argument, Launch};
use crate::work::Action;
use std::ffi::c_void;

api! {
    fn cuLaunchKernel(
        driver,
        function: Function,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared: u32,
        stream: Stream,
        arguments: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        launch(driver, function, grid, block, shared, stream, arguments, extra)
    }

    fn cuLaunchCooperativeKernel(
        driver,
        function: Function,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared: u32,
        stream: Stream,
        arguments: *mut *mut c_void,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        launch(driver, function, grid, block, shared, stream, arguments, std::ptr::null_mut())
    }

    fn cuLaunchKernelEx(
        driver,
        config: In<LaunchConfig>,
        function: Function,
        arguments: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        let config = config.read()?;
        launch(driver, function, config.grid, config.block, config.shared, config.stream, arguments, extra)
    }
}

#[allow(
    clippy::too_many_arguments,
    reason = "they are those of the driver's function"
)]
fn launch(
    driver: &mut Locked,
    function: Function,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: Stream,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Outcome {
    let stream = driver.stream_of_current(stream)?;
    let id = driver.known(function)?;
    let state = &driver.functions.live[&id];
    let (name, of) = (state.name.to_string_lossy().into_owned(), state.context);
    let module = state.module;
    let most_shared = state.attributes[&8];
    let registered = driver
        .kernels
        .get(&name)
        .map(|kernel| kernel.arguments.clone());
    let signature = registered
        .or_else(|| state.arguments.clone())
        .unwrap_or_default();
    if of != driver.streams.live[&stream].context {
        driver.record.mistake(format!(
            "{name} is of context {of}, and launched on stream {stream} of another"
        ));
        return Err(Code::ERROR_INVALID_HANDLE);
    }
    check_sizes(grid, block, shared, most_shared)?;
    if !extra.is_null() {
        driver.record.mistake(format!(
            "{name} is launched with packed arguments, which the double doesn't read"
        ));
        return Err(Code::ERROR_NOT_SUPPORTED);
    }
    let arguments = signature.iter().enumerate().map(|(place, argument)| {
        let value = In(In(arguments.cast_const().wrapping_add(place))
            .read()?
            .cast_const()
            .cast::<u8>());
        read_argument(&value, argument).map(|bytes| (*argument, bytes))
    });
    let arguments = arguments.collect::<Outcome<_>>().inspect_err(|_| {
        driver.record.mistake(format!(
            "{name} is launched without all of its {} arguments",
            signature.len()
        ));
    })?;
    let launch = Launch {
        module,
        name,
        grid,
        block,
        shared,
        arguments,
    };
    let device = driver.device_of(of);
    driver.check_peers(&launch, device);
    let words = launch.words(driver);
    driver.submit(stream, Action::Launch(launch), &words)
}

fn check_sizes(grid: [u32; 3], block: [u32; 3], shared: u32, most_shared: i32) -> Outcome {
    let within = |sizes: [u32; 3], first: i32| {
        sizes
            .iter()
            .zip(first..)
            .all(|(&size, number)| size > 0 && i64::from(size) <= i64::from(attribute(number)))
    };
    let threads: u64 = block.iter().map(|&size| u64::from(size)).product();
    let small_enough =
        threads <= attribute(1) as u64 && i64::from(shared) <= i64::from(most_shared);
    if within(block, 2) && within(grid, 5) && small_enough {
        Ok(())
    } else {
        Err(Code::ERROR_INVALID_VALUE)
    }
}

/// The driver takes the arguments' values before it returns.
fn read_argument(value: &In<u8>, argument: &Argument) -> Outcome<Vec<u8>> {
    value.read()?;
    // SAFETY: the caller promises a value of the argument's size behind each pointer.
    Ok(unsafe { std::slice::from_raw_parts(value.0, argument.size) }.to_vec())
}

impl Driver {
    /// A kernel may use another device's memory only if that was allowed.
    fn check_peers(&mut self, launch: &Launch, device: usize) {
        for touch in launch
            .touches(self)
            .iter()
            .filter(|touch| touch.how != How::Allocates)
        {
            let Some(found) = self
                .memory
                .find(touch.rows.start)
                .filter(|found| found.kind.closed())
            else {
                continue;
            };
            let shared = found.pool.and_then(|pool| self.pools.live.get(&pool));
            let allowed = found.device == device
                || shared.map_or(self.peers.contains(&(device, found.device)), |pool| {
                    pool.shared_with.contains(&device)
                });
            if !allowed {
                let (owner, words) = (found.device, self.memory.words(touch.rows.start));
                let name = &launch.name;
                self.record.mistake(format!(
                    "{name} runs on device {device} and uses {words} of device {owner}"
                ));
            }
        }
    }
}
