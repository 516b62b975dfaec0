//! Any bytes as TensorFlow's messages: tensors that can be read and written again, or an error.

#![no_main]

use dlbridge::files::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| dlbridge_fuzz::read_and_write(Format::TfProto, data));
