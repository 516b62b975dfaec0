//! Facts of the ABI, from Rust and from a C program, under the same names.

use crate::c_type::CType;
use dlbridge_dlpack::*;
use libtest_mimic::Failed;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

/// The first part of a fact's name. Each group is compared by a trial of its own.
pub(crate) const GROUPS: [&str; 13] = [
    "version",
    "flags",
    "function_types",
    "DLDeviceType",
    "DLDataTypeCode",
    "DLPackVersion",
    "DLDevice",
    "DLDataType",
    "DLTensor",
    "DLManagedTensor",
    "DLManagedTensorVersioned",
    "DLPackExchangeAPIHeader",
    "DLPackExchangeAPI",
];

/// Values under dotted names, such as `DLTensor.shape.offset`.
#[derive(Debug, Default)]
pub(crate) struct Facts(BTreeMap<String, String>);

/// A struct's size and alignment, and the offset, size and type of its fields, each of which has
/// to be named: a field that is left out does not compile.
macro_rules! structure {
    ($facts:ident, $name:ident { $($field:ident),* $(,)? }) => {
        $facts.size_of::<$name>(stringify!($name));
        let _exhaustive = |structure: $name| {
            let $name { $($field: _),* } = structure;
        };
        $($facts.field(
            concat!(stringify!($name), ".", stringify!($field)),
            offset_of!($name, $field),
            |structure: &$name| &structure.$field,
        );)*
    };
}

/// Constants of a newtype, under the names of C's enumeration members.
macro_rules! members {
    ($facts:ident, $name:ident { $($c:ident => $rust:ident),* $(,)? }) => {
        $($facts.add(concat!(stringify!($name), ".", stringify!($c)), $name::$rust.0);)*
    };
}

macro_rules! function_types {
    ($facts:ident, $($name:ident),* $(,)?) => {
        $($facts.add(concat!("function_types.", stringify!($name)), $name::spelling());)*
    };
}

impl Facts {
    /// What Rust says.
    pub(crate) fn of_rust() -> Self {
        let mut facts = Self::default();
        facts.constants();
        facts.structures();
        function_types!(
            facts,
            DLPackManagedTensorAllocator,
            DLPackManagedTensorFromPyObjectNoSync,
            DLPackManagedTensorToPyObjectNoSync,
            DLPackDLTensorFromPyObjectNoSync,
            DLPackCurrentWorkStream,
        );
        facts
    }

    /// What a program says that prints a name and a value on each line.
    pub(crate) fn of_program(program: &Path) -> Result<Self, String> {
        let output = Command::new(program)
            .output()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        if !output.status.success() {
            return Err(format!("{}: {}", program.display(), output.status));
        }
        let text = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
        let mut facts = Self::default();
        for line in text.lines() {
            let (name, value) = line
                .split_once(' ')
                .ok_or_else(|| format!("not a name and a value: {line:?}"))?;
            if facts.0.insert(name.to_owned(), value.to_owned()).is_some() {
                return Err(format!("{name} is reported twice"));
            }
        }
        Ok(facts)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    fn constants(&mut self) {
        self.add("version.DLPACK_MAJOR_VERSION", VERSION.major);
        self.add("version.DLPACK_MINOR_VERSION", VERSION.minor);
        // Through the flags' names, so that one that Rust alone knows shows up too.
        for (name, flag) in Flags::all().iter_names() {
            self.add(format!("flags.DLPACK_FLAG_BITMASK_{name}"), flag.bits());
        }
        self.size_of::<DLDeviceType>("DLDeviceType");
        members!(self, DLDeviceType {
            kDLCPU => CPU,
            kDLCUDA => CUDA,
            kDLCUDAHost => CUDAHOST,
            kDLOpenCL => OPENCL,
            kDLVulkan => VULKAN,
            kDLMetal => METAL,
            kDLVPI => VPI,
            kDLROCM => ROCM,
            kDLROCMHost => ROCMHOST,
            kDLExtDev => EXTDEV,
            kDLCUDAManaged => CUDAMANAGED,
            kDLOneAPI => ONEAPI,
            kDLWebGPU => WEBGPU,
            kDLHexagon => HEXAGON,
            kDLMAIA => MAIA,
            kDLTrn => TRN,
        });
        members!(self, DLDataTypeCode {
            kDLInt => INT,
            kDLUInt => UINT,
            kDLFloat => FLOAT,
            kDLOpaqueHandle => OPAQUEHANDLE,
            kDLBfloat => BFLOAT,
            kDLComplex => COMPLEX,
            kDLBool => BOOL,
            kDLFloat8_e3m4 => FLOAT8_E3M4,
            kDLFloat8_e4m3 => FLOAT8_E4M3,
            kDLFloat8_e4m3b11fnuz => FLOAT8_E4M3B11FNUZ,
            kDLFloat8_e4m3fn => FLOAT8_E4M3FN,
            kDLFloat8_e4m3fnuz => FLOAT8_E4M3FNUZ,
            kDLFloat8_e5m2 => FLOAT8_E5M2,
            kDLFloat8_e5m2fnuz => FLOAT8_E5M2FNUZ,
            kDLFloat8_e8m0fnu => FLOAT8_E8M0FNU,
            kDLFloat6_e2m3fn => FLOAT6_E2M3FN,
            kDLFloat6_e3m2fn => FLOAT6_E3M2FN,
            kDLFloat4_e2m1fn => FLOAT4_E2M1FN,
        });
    }

    fn structures(&mut self) {
        structure!(self, DLPackVersion { major, minor });
        structure!(
            self,
            DLDevice {
                device_type,
                device_id
            }
        );
        structure!(self, DLDataType { code, bits, lanes });
        structure!(
            self,
            DLTensor {
                data,
                device,
                ndim,
                dtype,
                shape,
                strides,
                byte_offset,
            }
        );
        structure!(
            self,
            DLManagedTensor {
                dl_tensor,
                manager_ctx,
                deleter
            }
        );
        structure!(
            self,
            DLManagedTensorVersioned {
                version,
                manager_ctx,
                deleter,
                flags,
                dl_tensor,
            }
        );
        structure!(self, DLPackExchangeAPIHeader { version, prev_api });
        structure!(
            self,
            DLPackExchangeAPI {
                header,
                managed_tensor_allocator,
                managed_tensor_from_py_object_no_sync,
                managed_tensor_to_py_object_no_sync,
                dltensor_from_py_object_no_sync,
                current_work_stream,
            }
        );
    }

    fn add(&mut self, name: impl Into<String>, value: impl Display) {
        self.0.insert(name.into(), value.to_string());
    }

    fn size_of<T>(&mut self, name: &str) {
        self.add(format!("{name}.size"), size_of::<T>());
        self.add(format!("{name}.align"), align_of::<T>());
    }

    /// The function is only there to say what type the field has.
    fn field<S, F: CType>(&mut self, name: &str, offset: usize, _type: fn(&S) -> &F) {
        self.add(format!("{name}.offset"), offset);
        self.add(format!("{name}.size"), size_of::<F>());
        self.add(format!("{name}.type"), F::spelling());
    }

    fn group(&self, group: &str) -> BTreeMap<&str, &str> {
        self.0
            .iter()
            .filter(|(name, _)| group_of(name) == group)
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }
}

/// The first part of a fact's name.
pub(crate) fn group_of(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// Fails with every fact of a group that the two sides don't agree on.
pub(crate) fn compare(group: &str, c: &Facts, rust: &Facts) -> Result<(), Failed> {
    let (c, rust) = (c.group(group), rust.group(group));
    if c.is_empty() && rust.is_empty() {
        return Err(format!("neither side says anything of {group}").into());
    }
    let mut complaints = Vec::new();
    for (name, in_c) in &c {
        match rust.get(name) {
            Some(in_rust) if in_rust == in_c => {}
            Some(in_rust) => complaints.push(format!("{name}: {in_c} in C, {in_rust} in Rust")),
            None => complaints.push(format!("{name}: {in_c} in C, nothing in Rust")),
        }
    }
    for (name, in_rust) in rust.iter().filter(|(name, _)| !c.contains_key(*name)) {
        complaints.push(format!("{name}: nothing in C, {in_rust} in Rust"));
    }
    crate::none_of(complaints)
}
