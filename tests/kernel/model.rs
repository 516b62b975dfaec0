//! A naive model of dispatch, written from the documentation.

use dlbridge::DType;
use dlbridge::device::DeviceKind;

/// What a kernel asks of one argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    /// Which function's argument it is.
    pub(crate) form: usize,
    pub(crate) dtype: Option<DType>,
    pub(crate) rank: Option<usize>,
    pub(crate) row_major: bool,
    /// Whether the function looks at the elements.
    pub(crate) looks: bool,
    pub(crate) host_memory: bool,
    /// What the type variable may be, where the function doesn't say it.
    pub(crate) types: Option<Vec<DType>>,
}

#[derive(Debug, Clone)]
pub(crate) struct KernelModel {
    pub(crate) device: DeviceKind,
    pub(crate) label: &'static str,
    pub(crate) priority: i32,
    pub(crate) arguments: [Asked; 2],
    pub(crate) values: Option<Vec<i64>>,
}

/// What a call is made with.
#[derive(Debug, Clone)]
pub(crate) struct Argument {
    pub(crate) device: DeviceKind,
    pub(crate) dtype: DType,
    pub(crate) rank: usize,
    pub(crate) row_major: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct CallModel {
    pub(crate) arguments: [Argument; 2],
    pub(crate) value: i64,
    pub(crate) label: &'static str,
}

/// The memory that a processor reaches.
fn is_of_host(memory: DeviceKind) -> bool {
    use DeviceKind::{Cpu, CudaHost, CudaManaged, RocmHost};
    [Cpu, CudaHost, CudaManaged, RocmHost].contains(&memory)
}

fn reaches(device: DeviceKind, memory: DeviceKind) -> bool {
    match device {
        DeviceKind::Cpu => is_of_host(memory),
        DeviceKind::Cuda => [DeviceKind::Cuda, DeviceKind::CudaManaged].contains(&memory),
        _ => device == memory,
    }
}

impl KernelModel {
    /// Whether it can be a kernel at all.
    pub(crate) fn is_sound(&self) -> bool {
        let all_on_host = self.arguments.iter().all(|asked| asked.host_memory);
        let sees = |asked: &Asked| !asked.looks || asked.host_memory || is_of_host(self.device);
        (self.device == DeviceKind::Cpu || !all_on_host) && self.arguments.iter().all(sees)
    }

    fn is_for(&self, call: &CallModel) -> bool {
        let fits = |asked: &Asked, given: &Argument| {
            let device = if asked.host_memory {
                DeviceKind::Cpu
            } else {
                self.device
            };
            reaches(device, given.device)
                && asked.dtype.is_none_or(|dtype| dtype == given.dtype)
                && asked
                    .types
                    .as_ref()
                    .is_none_or(|types| types.contains(&given.dtype))
                && asked.rank.is_none_or(|rank| rank == given.rank)
                && (given.row_major || !asked.row_major)
        };
        self.label == call.label
            && (self.values.as_ref()).is_none_or(|values| values.contains(&call.value))
            && self
                .arguments
                .iter()
                .zip(&call.arguments)
                .all(|(asked, given)| fits(asked, given))
    }

    /// What decides between those that are for a call, the most important first.
    fn rank(&self) -> (i32, u32, [usize; 4]) {
        let count = |asks: fn(&Asked) -> usize| self.arguments.iter().map(asks).sum::<usize>();
        // A typed argument constrains the type variable, and says how it is looked at.
        let types = |asked: &Asked| match (asked.dtype, &asked.types) {
            (Some(_), _) => 2,
            (None, Some(_)) => 1,
            (None, None) => 0,
        };
        let device = match self.device {
            DeviceKind::Cpu => 0,
            DeviceKind::Cuda => 1,
            particular => particular as u32,
        };
        (
            self.priority,
            device,
            [
                count(|asked| asked.row_major.into()),
                count(|asked| asked.rank.is_some().into()),
                usize::from(self.values.is_some()),
                count(types),
            ],
        )
    }

    /// Whether there is a call, of these, that both are for equally well.
    pub(crate) fn clashes_with(&self, other: &Self, calls: &[CallModel]) -> bool {
        self.label == other.label
            && self.rank() == other.rank()
            && calls
                .iter()
                .any(|call| self.is_for(call) && other.is_for(call))
    }
}

/// The number of the kernel that a call gets.
pub(crate) fn chosen(kernels: &[(usize, KernelModel)], call: &CallModel) -> Option<usize> {
    let fitting = kernels.iter().filter(|(_, kernel)| kernel.is_for(call));
    let best = fitting.max_by_key(|(_, kernel)| kernel.rank());
    best.map(|(number, _)| *number)
}
