//! Calls of TensorFlow's C functions without any check, which abort the process.

use dlbridge::Tensor;
use dlbridge::dlpack::Legacy;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::Write;
use std::path::Path;
use std::ptr;

type Pointer = *mut c_void;

/// TensorFlow's functions, with pointers for all of its types.
struct Bare {
    library: Library,
    status: Pointer,
    context: Pointer,
}

impl Bare {
    fn load(path: &Path) -> Self {
        // SAFETY: the path is that of TensorFlow's library, whose functions have these types.
        unsafe {
            let library = Library::new(path).unwrap();
            let new_status = *library
                .get::<unsafe extern "C" fn() -> Pointer>("TF_NewStatus")
                .unwrap();
            let options = *library
                .get::<unsafe extern "C" fn() -> Pointer>("TFE_NewContextOptions")
                .unwrap();
            let new_context = *library
                .get::<unsafe extern "C" fn(Pointer, Pointer) -> Pointer>("TFE_NewContext")
                .unwrap();
            let status = new_status();
            let context = new_context(options(), status);
            Self {
                library,
                status,
                context,
            }
        }
    }

    /// Shares a tensor through TensorFlow's DLPack, which checks no alignment.
    fn import(&self, tensor: &Tensor) -> Pointer {
        let name = "_ZN10tensorflow20TFE_HandleFromDLPackEPvP10TSL_StatusP11TFE_Context";
        let managed = tensor.to_dlpack_as::<Legacy>().unwrap().into_raw();
        // SAFETY: the function has this type, and the managed tensor is valid.
        unsafe {
            type Import = unsafe extern "C" fn(Pointer, Pointer, Pointer) -> Pointer;
            let import = self.library.get::<Import>(name).unwrap();
            let handle = import(managed.as_ptr().cast(), self.status, self.context);
            assert!(!handle.is_null());
            handle
        }
    }

    /// Executes an op on an input, which it takes as often as it is given.
    fn execute(&self, name: &CStr, inputs: &[Pointer]) -> Pointer {
        // SAFETY: the functions have these types, and the handles are valid.
        unsafe {
            type New = unsafe extern "C" fn(Pointer, *const c_char, Pointer) -> Pointer;
            type Add = unsafe extern "C" fn(Pointer, Pointer, Pointer);
            type Execute = unsafe extern "C" fn(Pointer, *mut Pointer, *mut c_int, Pointer);
            let op = self.library.get::<New>("TFE_NewOp").unwrap();
            let op = op(self.context, name.as_ptr(), self.status);
            let add = self.library.get::<Add>("TFE_OpAddInput").unwrap();
            inputs.iter().for_each(|input| add(op, *input, self.status));
            let (mut result, mut count) = (ptr::null_mut(), 1);
            let execute = self.library.get::<Execute>("TFE_Execute").unwrap();
            execute(op, &mut result, &mut count, self.status);
            result
        }
    }
}

/// What is printed here is there though the process ends at once.
fn announce() {
    println!("about to abort");
    std::io::stdout().flush().unwrap();
}

pub(super) fn run_op_on_misaligned_memory(path: &Path) {
    let bare = Bare::load(path);
    let aligned = Tensor::from_slice(&[0.0_f32; 64], &[64]).unwrap();
    let misaligned = aligned.slice(0, 1..41).unwrap();
    let handle = bare.import(&misaligned);
    announce();
    bare.execute(c"AddV2", &[handle, handle]);
}

pub(super) fn export_strings(path: &Path) {
    let bare = Bare::load(path);
    let numbers = bare.import(&Tensor::from_slice(&[1.0_f32; 16], &[16]).unwrap());
    let text = bare.execute(c"AsString", &[numbers]);
    assert!(!text.is_null());
    let name = "_ZN10tensorflow18TFE_HandleToDLPackEP16TFE_TensorHandleP10TSL_Status";
    // SAFETY: the function has this type, and the handle is valid.
    unsafe {
        type Export = unsafe extern "C" fn(Pointer, Pointer) -> Pointer;
        let export = bare.library.get::<Export>(name).unwrap();
        announce();
        export(text, bare.status);
    }
}
