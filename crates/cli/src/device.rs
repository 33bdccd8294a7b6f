//! `--device`: where the work runs, the CPU or a GPU.

use peloton::event::{Counters, VeloEvents};
use peloton::pipeline::{Config, SlicedTracks};
use peloton::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// What runs the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Device {
    /// Gangs of the CPU.
    #[default]
    Cpu,
    /// The first NVIDIA GPU.
    Gpu,
    /// The GPU's kernels on the CPU, for tests, with lanes in this order.
    Emulated(Lanes),
}

/// The order of lanes on the emulated device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lanes {
    /// From the first to the last.
    #[default]
    Forward,
    /// From the last to the first.
    Reverse,
    /// In an order by this seed.
    Random(u32),
}

impl FromStr for Device {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let wrong =
            || Error::Config(format!("`{text}` is none of cpu, gpu, emulated[:forward|reverse|SEED]"));
        match text.split_once(':').unwrap_or((text, "forward")) {
            _ if text == "cpu" => Ok(Self::Cpu),
            _ if text == "gpu" => Ok(Self::Gpu),
            ("emulated", "forward") => Ok(Self::Emulated(Lanes::Forward)),
            ("emulated", "reverse") => Ok(Self::Emulated(Lanes::Reverse)),
            ("emulated", seed) => {
                seed.parse().map(|seed| Self::Emulated(Lanes::Random(seed))).map_err(|_| wrong())
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
    /// Its kind, as results name it.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Emulated(_) => "emulated",
        }
    }
}

/// Lanes of a warp.
pub const WARP: usize = 32;

#[cfg(feature = "cuda")]
pub use opened::order;
pub use opened::{Opened, found, open};

#[cfg(feature = "cuda")]
mod opened {
    use super::*;
    use peloton::gpu::velo::Capacity;
    use peloton::gpu::{Cuda, Emulated, GpuPool, Libraries, Order, Runner};

    /// A device with its streams.
    pub struct Opened(Box<dyn Runner>);

    /// Events of a slice unless told otherwise: enough to fill a GPU (the paper's 4096), and little for the emulation.
    fn default_slice(device: Device) -> usize {
        if matches!(device, Device::Emulated(_)) { 16 } else { 4096 }
    }

    /// An order of lanes as the emulated device takes it.
    pub fn order(lanes: Lanes) -> Order {
        match lanes {
            Lanes::Forward => Order::Forward,
            Lanes::Reverse => Order::Reverse,
            Lanes::Random(seed) => Order::Random(seed),
        }
    }

    /// Opens a device; `streams` and `slice` are what is best known unless given.
    pub fn open(
        device: Device,
        config: &Config,
        streams: Option<usize>,
        slice: Option<usize>,
    ) -> Result<Opened> {
        let capacity = Capacity::new(slice.unwrap_or(default_slice(device)), &config.velo);
        Ok(Opened(match device {
            Device::Cpu => return Err(Error::Config("the CPU is no device of this kind".into())),
            // The paper finds three streams enough everywhere (section VI.A).
            Device::Gpu => {
                Box::new(GpuPool::new(&Cuda::new()?, &config.velo, streams.unwrap_or(3), capacity)?)
            }
            Device::Emulated(lanes) => {
                let emulated = Emulated::new(order(lanes))?;
                let streams = streams.unwrap_or_else(|| config.thread_count());
                Box::new(GpuPool::new(&emulated, &config.velo, streams, capacity)?)
            }
        }))
    }

    impl Opened {
        pub fn name(&self) -> &str {
            self.0.name()
        }

        pub fn streams(&self) -> usize {
            self.0.streams()
        }

        pub fn slice_events(&self) -> usize {
            self.0.slice_events()
        }

        pub fn run(&mut self, events: VeloEvents<'_>, tracks: &mut SlicedTracks) -> Result<Counters> {
            self.0.run(events, tracks)
        }

        pub fn take_times(&mut self) -> Vec<(&'static str, u64)> {
            self.0.take_times()
        }
    }

    /// What was found, in words.
    pub fn found() -> String {
        let Libraries { driver, compiler } = Libraries::find();
        let gpu = match Cuda::new() {
            Ok(gpu) => peloton::gpu::Device::name(&gpu),
            Err(error) => error.to_string(),
        };
        let yes = |there| if there { "found" } else { "not found" };
        format!("{gpu} (driver libcuda {}, compiler libnvrtc {})", yes(driver), yes(compiler))
    }
}

#[cfg(not(feature = "cuda"))]
mod opened {
    use super::*;

    /// No device can be opened.
    pub enum Opened {}

    pub fn open(_: Device, _: &Config, _: Option<usize>, _: Option<usize>) -> Result<Opened> {
        Err(Error::Unsupported("gpu: not built in; build with --features cuda".into()))
    }

    impl Opened {
        pub fn name(&self) -> &str {
            match *self {}
        }

        pub fn streams(&self) -> usize {
            match *self {}
        }

        pub fn slice_events(&self) -> usize {
            match *self {}
        }

        pub fn run(&mut self, _: VeloEvents<'_>, _: &mut SlicedTracks) -> Result<Counters> {
            match *self {}
        }

        pub fn take_times(&mut self) -> Vec<(&'static str, u64)> {
            match *self {}
        }
    }

    pub fn found() -> String {
        "not built in (cargo feature cuda)".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_by_name() {
        let device = |text: &str| text.parse::<Device>();
        assert_eq!(device("cpu").unwrap(), Device::Cpu);
        assert_eq!(device("gpu").unwrap(), Device::Gpu);
        assert_eq!(device("emulated").unwrap(), Device::Emulated(Lanes::Forward));
        assert_eq!(device("emulated:reverse").unwrap(), Device::Emulated(Lanes::Reverse));
        assert_eq!(device("emulated:12").unwrap(), Device::Emulated(Lanes::Random(12)));
        for wrong in ["", "tpu", "gpu:1", "emulated:", "emulated:backwards"] {
            assert!(device(wrong).is_err(), "{wrong}");
        }
    }
}
