//! Modules and their functions. Any image is taken, but for CUDA C++ in the place of PTX; of PTX
//! the kernels' names, arguments and shared memory are read.

use crate::abi::{Address, Function, Handle, Module, Out, Text};
use crate::allocation::{Kind, Release};
use crate::call::api;
use crate::codes::{Code, Outcome};
use crate::driver::Locked;
use crate::kernels::{LoadedFunction, LoadedModule};
use crate::ptx;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// The beginnings of images that aren't text: ELF, and fat binaries with and without their wrapper.
const BINARY: [[u8; 4]; 3] = [
    *b"\x7fELF",
    0xba55_ed50_u32.to_le_bytes(),
    0x4662_43b1_u32.to_le_bytes(),
];
/// The size of every global variable of a module.
const GLOBAL_BYTES: usize = 4096;

api! {
    fn cuModuleLoad(driver, module: Out<Module>, file: Text) {
        load_file(driver, &module, &file)
    }

    fn cuModuleLoadData(driver, module: Out<Module>, image: *const c_void) {
        load(driver, &module, image)
    }

    fn cuModuleLoadDataEx(
        driver,
        module: Out<Module>,
        image: *const c_void,
        count: u32,
        options: *mut c_void,
        values: *mut *mut c_void,
    ) {
        let loaded = load(driver, &module, image);
        if loaded == Err(Code::ERROR_INVALID_PTX) {
            // SAFETY: `options` and `values` have `count` entries, as the driver's documentation
            // requires.
            unsafe { write_log(count as usize, options.cast(), values) };
        }
        loaded
    }

    fn cuModuleLoadFatBinary(driver, module: Out<Module>, image: *const c_void) {
        load(driver, &module, image)
    }

    fn cuModuleUnload(driver, module: Module) {
        unload(driver, module)
    }

    fn cuModuleGetFunction(driver, function: Out<Function>, module: Module, name: Text) {
        get_function(driver, &function, module, &name)
    }

    fn cuModuleGetGlobal_v2(driver, address: Out<Address>, bytes: Out<usize>, module: Module, name: Text) {
        let name = name.read()?;
        let context = driver.get(module)?.context;
        let known = driver.get(module)?.globals.get(&name).copied();
        let start = match known {
            Some(start) => start,
            None => driver.new_memory(Kind::Global, GLOBAL_BYTES, context)?,
        };
        driver.get(module)?.globals.insert(name, start);
        address.give_if_wanted(Address(start));
        bytes.give_if_wanted(GLOBAL_BYTES);
        Ok(())
    }

    fn cuModuleGetLoadingMode(_driver, mode: Out<c_int>) {
        // CU_MODULE_LAZY_LOADING
        mode.give(2)
    }

    fn cuLibraryLoadData(
        driver,
        library: Out<Module>,
        code: *const c_void,
        options: *mut c_void,
        values: *mut *mut c_void,
        count: u32,
        library_options: *mut c_void,
        library_values: *mut *mut c_void,
        library_count: u32,
    ) {
        load(driver, &library, code)
    }

    fn cuLibraryUnload(driver, library: Module) {
        unload(driver, library)
    }

    fn cuLibraryGetKernel(driver, kernel: Out<Function>, library: Module, name: Text) {
        get_function(driver, &kernel, library, &name)
    }

    fn cuLibraryGetModule(driver, module: Out<Module>, library: Module) {
        driver.known(library)?;
        module.give(library)
    }

    fn cuKernelGetFunction(driver, function: Out<Function>, kernel: Function) {
        driver.known(kernel)?;
        function.give(kernel)
    }

    fn cuFuncGetModule(driver, module: Out<Module>, function: Function) {
        module.give(Module::of(driver.get(function)?.module))
    }

    fn cuFuncGetName(driver, name: Out<*const c_char>, function: Function) {
        name.give(driver.get(function)?.name.as_ptr())
    }

    fn cuFuncGetAttribute(driver, value: Out<c_int>, attribute: c_int, function: Function) {
        value.give(*driver.get(function)?.attributes.get(&attribute).ok_or(Code::ERROR_INVALID_VALUE)?)
    }

    fn cuFuncSetAttribute(driver, function: Function, attribute: c_int, value: c_int) {
        // MAX_DYNAMIC_SHARED_SIZE_BYTES, bounded with what the kernel declares by what a block can
        // opt in to; and those that are free to choose
        let most = match attribute {
            8 => crate::api::device::attribute(97) - driver.get(function)?.attributes[&1],
            9.. => c_int::MAX,
            _ => return Err(Code::ERROR_INVALID_VALUE),
        };
        if value > most {
            return Err(Code::ERROR_INVALID_VALUE);
        }
        driver.get(function)?.attributes.insert(attribute, value);
        Ok(())
    }

    fn cuFuncSetCacheConfig(driver, function: Function, config: c_int) {
        driver.known(function).map(|_| ())
    }

    fn cuFuncGetParamInfo(driver, function: Function, index: usize, offset: Out<usize>, size: Out<usize>) {
        let arguments = driver.get(function)?.arguments.as_ref().ok_or(Code::ERROR_NOT_SUPPORTED)?;
        let this = arguments.get(index).ok_or(Code::ERROR_INVALID_VALUE)?;
        let before = arguments[..index].iter();
        let start = before.fold(0_usize, |end, argument| end.next_multiple_of(argument.align) + argument.size);
        offset.give(start.next_multiple_of(this.align))?;
        size.give_if_wanted(this.size);
        Ok(())
    }
}

fn load_file(driver: &mut Locked, module: &Out<Module>, file: &Text) -> Outcome {
    let mut image = std::fs::read(file.read()?).map_err(|_| Code::ERROR_FILE_NOT_FOUND)?;
    // Text must end, and a binary must have a beginning to look at.
    image.extend([0; 4]);
    load(driver, module, image.as_ptr().cast())
}

fn load(driver: &mut Locked, module: &Out<Module>, image: *const c_void) -> Outcome {
    module.check()?;
    let context = driver.current_context()?;
    driver.not_while_capturing()?;
    if image.is_null() {
        return Err(Code::ERROR_INVALID_VALUE);
    }
    // SAFETY: an image is at least as long as the beginning that says what it is, or is a text that
    // ends in NUL; the bytes are compared one by one, so nothing is read behind a NUL.
    let is_binary = BINARY
        .iter()
        .any(|magic| unsafe { begins_with(image.cast(), magic) });
    let entries = if is_binary {
        None
    } else {
        // SAFETY: what isn't binary is text that ends in NUL, as the driver's documentation asks.
        let text = unsafe { CStr::from_ptr(image.cast()) }.to_string_lossy();
        let entries = ptx::parse(&text);
        if text.contains("__global__") {
            return Err(Code::ERROR_INVALID_PTX);
        }
        Some(entries).filter(|entries| !entries.is_empty())
    };
    let (functions, globals) = (BTreeMap::new(), BTreeMap::new());
    module.give(Module::of(driver.modules.add(LoadedModule {
        context,
        entries,
        functions,
        globals,
    })))
}

/// What the driver's compiler says of CUDA C++.
const LOG: &CStr =
    c"ptxas application ptx input, line 1; fatal : Missing .version directive at start of file";

/// Writes the log where the options say, cut off where there is no more room.
///
/// # Safety
///
/// There are as many options and values, and room for as much as they say.
unsafe fn write_log(count: usize, options: *const c_int, values: *const *mut c_void) {
    let option = |wanted: c_int| {
        // SAFETY: `place < count`, and there are `count` options, by this function's contract.
        let find = |place: &usize| unsafe { options.add(*place).read() } == wanted;
        // SAFETY: `place < count`, and there are `count` values, by this function's contract.
        (0..count)
            .find(find)
            .map(|place| unsafe { values.add(place).read() })
    };
    // CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
    if let (Some(to), Some(room)) = (option(5), option(6)) {
        let bytes = LOG.to_bytes_with_nul();
        // SAFETY: there is as much room.
        unsafe { std::ptr::copy(bytes.as_ptr(), to.cast(), bytes.len().min(room as usize)) };
    }
}

/// # Safety
///
/// The bytes must be readable up to the first that differs from the magic number's.
unsafe fn begins_with(image: *const u8, magic: &[u8; 4]) -> bool {
    // SAFETY: the bytes are readable up to the first difference, by this function's contract; `all`
    // stops there.
    magic
        .iter()
        .enumerate()
        .all(|(place, byte)| unsafe { image.add(place).read() } == *byte)
}

fn unload(driver: &mut Locked, module: Module) -> Outcome {
    let id = driver.known(module)?;
    driver.not_while_capturing()?;
    let state = driver.take(module)?;
    driver
        .functions
        .live
        .retain(|_, function| function.module != id);
    for start in state.globals.into_values() {
        driver.memory.end(
            start,
            Release {
                when: None,
                words: "cuModuleUnload".to_owned(),
            },
        );
        driver.memory.poison(start);
    }
    Ok(())
}

fn get_function(
    driver: &mut Locked,
    function: &Out<Function>,
    module: Module,
    name: &Text,
) -> Outcome {
    function.check()?;
    let name = name.read()?;
    let id = driver.known(module)?;
    let state = driver.get(module)?;
    if let Some(&known) = state.functions.get(&name) {
        return function.give(Function::of(known));
    }
    let entry = match &state.entries {
        Some(entries) => Some(entries.get(&name).cloned().ok_or(Code::ERROR_NOT_FOUND)?),
        None => None,
    };
    let declared = entry.as_ref().map_or(0, |entry| entry.shared) as c_int;
    // Threads, static shared, constant and local memory, registers, PTX and binary versions,
    // caching, dynamic shared memory, carveout: the numbers of a small kernel.
    let dynamic = crate::api::device::attribute(8) - declared;
    let values = [1024, declared, 0, 0, 32, 90, 90, 0, dynamic, -1];
    let attributes = (0..).zip(values).collect();
    let text = CString::new(name.as_str()).map_err(|_| Code::ERROR_INVALID_VALUE)?;
    let new = LoadedFunction {
        module: id,
        context: state.context,
        name: text,
        arguments: entry.map(|entry| entry.arguments),
        attributes,
    };
    let added = driver.functions.add(new);
    driver.get(module)?.functions.insert(name, added);
    function.give(Function::of(added))
}
