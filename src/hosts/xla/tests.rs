mod repeats;

use super::abi::{
    Api, Attributes, BUFFER, Buffer, Buffers, Bytes, CallFrame, EXECUTE, Extension, METADATA,
    Metadata, MetadataExtension, NewError, SCALAR, Scalar, Version,
};
use super::{Handler, handler};
use crate::kernel::{AttributeKind, Kernel, Op, Registry, Source, Target};
use crate::view::{View, ViewMut};
use std::ffi::{CStr, CString, c_void};
use std::ptr;

const F32: i32 = 11;
const BOOL: i32 = 1;
const F64: i32 = 12;
const S4: i32 = 21;

/// Returns the text of an error, as XLA's function copies it.
unsafe extern "C" fn new_error(error: *mut NewError) -> *mut c_void {
    // SAFETY: handlers call with an error whose text ends with a zero.
    let text = unsafe { CStr::from_ptr((*error).message) };
    CString::into_raw(text.to_owned()).cast()
}

const fn version() -> Version {
    Version {
        struct_size: size_of::<Version>(),
        extensions: ptr::null_mut(),
        major: 0,
        minor: 5,
    }
}

/// Calls with tensors of a dtype.
fn run(
    handler: Handler,
    dtype: i32,
    tensors: &mut [(&[i64], *mut f32)],
    inputs: usize,
    factor: Option<f64>,
) -> Result<(), String> {
    let buffers: Vec<_> = tensors
        .iter()
        .map(|(shape, data)| Buffer {
            struct_size: size_of::<Buffer>(),
            extensions: ptr::null_mut(),
            dtype,
            data: data.cast(),
            rank: shape.len() as i64,
            sizes: shape.as_ptr(),
        })
        .collect();
    run_buffers(handler, &buffers, inputs, factor)
}

/// Calls with buffers, of which the first are inputs.
fn run_buffers(
    handler: Handler,
    buffers: &[Buffer],
    inputs: usize,
    factor: Option<f64>,
) -> Result<(), String> {
    let pointers: Vec<*const Buffer> = buffers.iter().map(ptr::from_ref).collect();
    let kinds = vec![BUFFER; buffers.len()];
    let list = |buffers: &[*const Buffer]| Buffers {
        struct_size: size_of::<Buffers>(),
        extensions: ptr::null_mut(),
        count: buffers.len() as i64,
        kinds: kinds.as_ptr(),
        buffers: buffers.as_ptr(),
    };
    let value = factor.unwrap_or_default();
    let scalar = Scalar {
        dtype: F64,
        value: ptr::from_ref(&value).cast(),
    };
    let name = Bytes {
        first: b"factor".as_ptr(),
        count: 6,
    };
    let (kinds, names, values) = (
        [SCALAR],
        [ptr::from_ref(&name)],
        [ptr::from_ref(&scalar).cast::<c_void>()],
    );
    let api = Api {
        struct_size: size_of::<Api>(),
        extensions: ptr::null_mut(),
        version: version(),
        internal: ptr::null(),
        error_create: new_error,
    };
    let mut frame = CallFrame {
        struct_size: size_of::<CallFrame>(),
        extensions: ptr::null_mut(),
        api: &api,
        context: ptr::null_mut(),
        stage: EXECUTE,
        arguments: list(&pointers[..inputs]),
        results: list(&pointers[inputs..]),
        attributes: Attributes {
            struct_size: size_of::<Attributes>(),
            extensions: ptr::null_mut(),
            count: i64::from(factor.is_some()),
            kinds: kinds.as_ptr(),
            names: names.as_ptr(),
            values: values.as_ptr(),
        },
    };
    // SAFETY: the frame is as XLA makes them.
    let error = unsafe { handler(ptr::from_mut(&mut frame).cast()) };
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: errors are texts of `new_error`.
    let text = unsafe { CString::from_raw(error.cast()) };
    Err(text.into_string().unwrap())
}

fn scale() -> Handler {
    let registry = Registry::new();
    let op = Op::new("scale").input("x", "T").output("y", "T");
    let op = op.attribute("factor", AttributeKind::Float, Some(2.0.into()));
    registry.define(op).unwrap();
    let kernel = Kernel::new("scale").factory(|context: &crate::kernel::KernelContext<'_>| {
        let factor = context.attribute::<f32>("factor")?;
        Ok(move |x: Source<'_, f32>, y: Target<'_, f32>| {
            assert!(factor >= 0.0, "{factor} is negative");
            y.map(&x, |x| x * factor);
        })
    });
    registry.register(kernel).unwrap();
    handler(&registry.op("scale").unwrap()).unwrap()
}

#[test]
fn handler_runs_the_kernel_in_the_buffers() {
    let handler = scale();
    let (mut x, mut y) = ([1.0, 2.0, 3.0, 4.0], [f32::NAN; 4]);
    let shape = [2, 2];
    let mut run = |factor| {
        let mut tensors = [(&shape[..], x.as_mut_ptr()), (&shape[..], y.as_mut_ptr())];
        run(handler, F32, &mut tensors, 1, factor).map(|()| y)
    };
    assert_eq!(run(None).unwrap(), [2.0, 4.0, 6.0, 8.0]);
    assert_eq!(run(Some(0.5)).unwrap(), [0.5, 1.0, 1.5, 2.0]);
    assert_eq!(run(Some(-1.0)).unwrap_err(), "scale: -1 is negative");
}

#[test]
fn handler_refuses_other_buffers() {
    let handler = scale();
    let (mut x, mut y) = ([1.0; 4], [0.0; 4]);
    let (two, four, small) = ([2, 2], [4], [3]);
    let (x, y) = (x.as_mut_ptr(), y.as_mut_ptr());
    let refused = |dtype, tensors: &mut [(&[i64], *mut f32)], inputs| {
        run(handler, dtype, tensors, inputs, None).unwrap_err()
    };
    let error = refused(F32, &mut [(&two, x), (&four, y)], 1);
    assert!(error.contains("XLA's result is float32 [4]"), "{error}");
    let error = refused(F32, &mut [(&two, x), (&two, x), (&two, y)], 2);
    assert_eq!(error, "scale: expected 1 tensors, got 2");
    let error = refused(F32, &mut [(&two, x)], 1);
    assert_eq!(error, "scale: expected 1 results, got 0");
    let error = refused(S4, &mut [(&small, x), (&small, y)], 1);
    assert!(error.contains("whole bytes, got int4"), "{error}");
}

#[test]
fn written_input_is_the_result() {
    let registry = Registry::new();
    let op = Op::new("accumulate").input("x", "T").in_out("y", "T");
    registry.define(op).unwrap();
    let add = |x: View<'_, f32>, mut y: ViewMut<'_, f32>| {
        y.iter_mut().zip(&x).for_each(|(y, x)| *y += x);
    };
    let kernel = Kernel::new("accumulate").function(add);
    registry.register(kernel).unwrap();
    let handler = handler(&registry.op("accumulate").unwrap()).unwrap();
    let (mut x, mut y, mut z) = ([1.0, 2.0], [10.0, 20.0], [0.0; 2]);
    let shape = [2];
    let (at_x, at_y, at_z) = (x.as_mut_ptr(), y.as_mut_ptr(), z.as_mut_ptr());
    let mut apart = [(&shape[..], at_x), (&shape[..], at_y), (&shape[..], at_z)];
    run(handler, F32, &mut apart, 2, None).unwrap();
    assert_eq!((y, z), ([10.0, 20.0], [11.0, 22.0]));
    let mut one = [(&shape[..], at_x), (&shape[..], at_y), (&shape[..], at_y)];
    run(handler, F32, &mut one, 2, None).unwrap();
    assert_eq!(y, [11.0, 22.0]);
}

#[test]
fn handler_answers_the_question_for_its_version() {
    let mut metadata = Metadata {
        struct_size: size_of::<Metadata>(),
        version: Version {
            major: -1,
            minor: -1,
            ..version()
        },
        traits: 7,
    };
    let mut question = MetadataExtension {
        base: Extension {
            struct_size: size_of::<MetadataExtension>(),
            kind: METADATA,
            next: ptr::null_mut(),
        },
        metadata: &mut metadata,
    };
    // SAFETY: zeros are null pointers and counts of zero.
    let mut frame: CallFrame = unsafe { std::mem::zeroed() };
    frame.struct_size = size_of::<CallFrame>();
    frame.extensions = ptr::from_mut(&mut question).cast();
    // SAFETY: the frame is as XLA makes it at registration.
    let error = unsafe { scale()(ptr::from_mut(&mut frame).cast()) };
    assert!(error.is_null());
    assert_eq!((metadata.version.major, metadata.version.minor), (0, 1));
    assert_eq!(metadata.traits, 0);
}
