//! Ops without a kernel for GPUs, called with tensors there. No call reads elements, so addresses
//! are invented.

use dlbridge::device::DeviceKind;
use dlbridge::kernel::{IntoOperandMut, Operand, Reason, Registry};
use dlbridge::layout::Layout;
use dlbridge::{DType, Device, Error};
use std::ptr;

/// A tensor that is written.
struct Written<'a>(Operand<'a>);

impl<'a> IntoOperandMut<'a> for Written<'a> {
    fn into_operand_mut(self) -> Result<Operand<'a>, Error> {
        Ok(self.0)
    }
}

/// A dtype and a shape.
type Sample = (DType, &'static [usize]);

const F32: DType = DType::F32;
const MATRIX: Sample = (F32, &[4, 6]);
const TRUTHS: Sample = (DType::BOOL, &[4, 6]);
const BYTES: Sample = (DType::U8, &[4, 6]);
const ROWS: Sample = (DType::I64, &[4]);

/// Ops: their inputs and outputs.
const CALLS: &[(&[&str], &[Sample], &[Sample])] = &[
    (
        &[
            "negative",
            "abs",
            "exp",
            "log",
            "sqrt",
            "rsqrt",
            "tanh",
            "sigmoid",
            "relu",
            "gelu",
            "silu",
            "log_softmax",
        ],
        &[MATRIX],
        &[MATRIX],
    ),
    (
        &["subtract", "multiply", "divide", "maximum", "minimum"],
        &[MATRIX; 2],
        &[MATRIX],
    ),
    (
        &[
            "equal",
            "not_equal",
            "less",
            "less_equal",
            "greater",
            "greater_equal",
        ],
        &[MATRIX; 2],
        &[TRUTHS],
    ),
    (&["where"], &[TRUTHS, MATRIX, MATRIX], &[MATRIX]),
    (&["fma"], &[MATRIX; 3], &[MATRIX]),
    (&["mean", "var", "std"], &[MATRIX], &[(F32, &[])]),
    (&["argmax", "argmin"], &[MATRIX], &[(DType::I64, &[])]),
    (&["layer_norm"], &[MATRIX], &[MATRIX]),
    (&["take"], &[MATRIX, ROWS], &[MATRIX]),
    (&["concat"], &[MATRIX; 2], &[(F32, &[8, 6])]),
    (
        &["quantize"],
        &[MATRIX, (F32, &[])],
        &[(DType::I8, &[4, 6])],
    ),
    (
        &["dequantize"],
        &[(DType::I8, &[4, 6]), (F32, &[])],
        &[MATRIX],
    ),
    (
        &["nv12_to_rgb"],
        &[BYTES, (DType::U8, &[2, 3, 2])],
        &[(DType::U8, &[4, 6, 3])],
    ),
];

#[test]
fn op_without_a_gpu_kernel_names_the_kernels_that_there_are() {
    let mut refused = 0;
    for (names, inputs, outputs) in CALLS {
        for name in *names {
            let op = Registry::global().op(name).unwrap();
            if op
                .kernels()
                .iter()
                .any(|kernel| kernel.device == DeviceKind::Cuda)
            {
                continue; // A build with kernels for GPUs.
            }
            let samples = [*inputs, *outputs].concat();
            let layouts: Vec<_> = samples
                .iter()
                .map(|(_, shape)| Layout::contiguous(shape).unwrap())
                .collect();
            let mut call = op.call();
            for (at, (layout, (dtype, _))) in layouts.iter().zip(&samples).enumerate() {
                let first = ptr::without_provenance_mut(0x10000 * (at + 1));
                let layout = layout.as_ref();
                // SAFETY: the device isn't the host, so no code reads elements without a kernel
                // for it, and there is none.
                let operand = unsafe {
                    Operand::from_raw(first, layout, *dtype, Device::cuda(0), false, true)
                };
                call = match at < inputs.len() {
                    true if *name == "concat" => call.inputs([operand]),
                    true => call.input(operand),
                    false => call.output(Written(operand)),
                };
            }
            let error = call.run().unwrap_err();
            assert!(
                matches!(*error.reason, Reason::NoKernel { .. }),
                "{name}: {error}"
            );
            let text = error.to_string();
            for part in [
                &format!("{name}: no kernel for ("),
                "on cuda:0",
                "there are:\n",
                &format!("{name} (cpu"),
            ] {
                assert!(text.contains(part), "{text}");
            }
            refused += 1;
        }
    }
    assert!(refused > 0 || cfg!(feature = "cuda"));
}
