//! [`Device`]: the device of a job, the CPU or a GPU.

use peloton::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The device that runs the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Device {
    /// The CPU, with gangs of SIMD lanes.
    #[default]
    Cpu,
    /// NVIDIA GPUs.
    Gpu(Gpus),
    /// Emulation of the GPU for tests: the GPU's kernels run on the CPU, and their lanes run in this order.
    Emulated(LaneOrder),
}

/// The GPUs that run the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gpus {
    /// The GPU with this number, counted from 0.
    One(usize),
    /// All GPUs of the machine.
    All,
}

/// The order in which the emulated device runs its lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LaneOrder {
    /// From the first lane to the last.
    #[default]
    Forward,
    /// From the last lane to the first.
    Reverse,
    /// In a random order, which this seed determines.
    Random(u32),
}

impl FromStr for Device {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let choices =
                "cpu, gpu, gpu:NUMBER, gpu:all, emulated, emulated:forward, emulated:reverse, emulated:SEED";
            Error::Config(format!("unknown device `{text}`: choose one of {choices}"))
        };
        match text.split_once(':').unwrap_or((text, "forward")) {
            _ if text == "cpu" => Ok(Self::Cpu),
            _ if text == "gpu" => Ok(Self::Gpu(Gpus::One(0))),
            ("gpu", "all") => Ok(Self::Gpu(Gpus::All)),
            ("gpu", number) => number.parse().map(|number| Self::Gpu(Gpus::One(number))).map_err(|_| wrong()),
            ("emulated", "forward") => Ok(Self::Emulated(LaneOrder::Forward)),
            ("emulated", "reverse") => Ok(Self::Emulated(LaneOrder::Reverse)),
            ("emulated", seed) => {
                seed.parse().map(|seed| Self::Emulated(LaneOrder::Random(seed))).map_err(|_| wrong())
            }
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}

impl Device {
    /// Returns the kind of the device, as results name it.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu(_) => "gpu",
            Self::Emulated(_) => "emulated",
        }
    }
}

/// Returns a description of the GPUs that were found.
pub fn devices_found() -> String {
    if cfg!(feature = "cuda") { found() } else { "not built in (cargo feature cuda)".into() }
}

#[cfg(not(feature = "cuda"))]
fn found() -> String {
    String::new()
}

#[cfg(feature = "cuda")]
fn found() -> String {
    use peloton::gpu::Libraries;
    let Libraries { driver, compiler } = Libraries::find();
    let gpu = match peloton::gpu::Device::all_gpus() {
        Ok(gpus) => gpus.iter().map(peloton::gpu::Device::name).collect::<Vec<_>>().join("; "),
        Err(error) => error.to_string(),
    };
    let yes = |there| if there { "found" } else { "not found" };
    format!("{gpu} (driver libcuda {}, compiler libnvrtc {})", yes(driver), yes(compiler))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_by_name() {
        let device = |text: &str| text.parse::<Device>();
        assert_eq!(device("cpu").unwrap(), Device::Cpu);
        assert_eq!(device("gpu").unwrap(), Device::Gpu(Gpus::One(0)));
        assert_eq!(device("gpu:1").unwrap(), Device::Gpu(Gpus::One(1)));
        assert_eq!(device("gpu:all").unwrap(), Device::Gpu(Gpus::All));
        assert_eq!(device("emulated").unwrap(), Device::Emulated(LaneOrder::Forward));
        assert_eq!(device("emulated:reverse").unwrap(), Device::Emulated(LaneOrder::Reverse));
        assert_eq!(device("emulated:12").unwrap(), Device::Emulated(LaneOrder::Random(12)));
        for wrong in ["", "tpu", "cpu:1", "gpu:", "gpu:-1", "gpu:some", "emulated:", "emulated:backwards"] {
            assert!(device(wrong).is_err(), "{wrong}");
        }
    }
}
