//! [`Device`]: where the work runs, the CPU or a GPU.

use crate::system::Runs;
use crate::systems::{CylinderSystem, PixelContext, TimepixSystem, VeloSystem};
use crate::{Config, Request};
use peloton::velo::Velo;
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
    Emulated(LaneOrder),
}

/// The order of lanes on the emulated device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LaneOrder {
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
        let wrong = || {
            let choices = "cpu, gpu, emulated, emulated:forward, emulated:reverse, emulated:SEED";
            Error::Config(format!("unknown device `{text}`: choose one of {choices}"))
        };
        match text.split_once(':').unwrap_or((text, "forward")) {
            _ if text == "cpu" => Ok(Self::Cpu),
            _ if text == "gpu" => Ok(Self::Gpu),
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
    /// Its kind, as results name it.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Emulated(_) => "emulated",
        }
    }
}

impl Request {
    /// Whether the CPU runs it.
    pub(crate) fn is_on_cpu(&self) -> bool {
        self.device == Device::Cpu
    }

    /// # Errors
    /// [`Error::Unsupported`] when a device is to run it.
    pub(crate) fn cpu_only(&self, sequence: &str) -> Result<()> {
        if self.is_on_cpu() {
            return Ok(());
        }
        let message = "a device runs the sequences velo, timepix and cylinder only";
        Err(Error::Unsupported(format!("sequence {sequence}: {message}")))
    }
}

#[cfg(feature = "cuda")]
pub(crate) use opened::{cylinder, timepix, velo};
#[cfg(feature = "cuda")]
mod opened {
    use super::*;
    use peloton::cylinder::Cylinder;
    use peloton::engine::Streaming;
    use peloton::gpu::cylinder::{Capacity as CylinderCapacity, GrowingStream};
    use peloton::gpu::timepix::PixelDevice;
    use peloton::gpu::velo::{Capacity as VeloCapacity, VeloStream};
    use peloton::gpu::{Cuda, Emulated, Order, StreamPool};
    use std::sync::Arc;

    /// Streams of a GPU unless told otherwise: the paper Search by triplet finds three enough everywhere (section VI.A).
    const STREAMS: usize = 3;

    impl From<LaneOrder> for Order {
        fn from(order: LaneOrder) -> Self {
            match order {
                LaneOrder::Forward => Self::Forward,
                LaneOrder::Reverse => Self::Reverse,
                LaneOrder::Random(seed) => Self::Random(seed),
            }
        }
    }

    fn not_a_device() -> Error {
        Error::Internal("the CPU was asked for as a device".into())
    }

    /// Streams of the device.
    fn streams(device: Device, config: &Config) -> usize {
        match device {
            Device::Emulated(_) => config.thread_count(),
            _ => config.threads.unwrap_or(STREAMS),
        }
    }

    /// Events or hits of a slice: those of the configuration, else enough to fill a GPU, and little for the emulation.
    fn slice(device: Device, config: &Config, gpu: usize, emulated: usize) -> usize {
        config.slice_events.unwrap_or(if matches!(device, Device::Emulated(_)) { emulated } else { gpu })
    }

    /// Streams of a device for the Velo.
    pub fn velo(request: &Request, config: &Config, sequence: Velo) -> Result<Runs<VeloSystem>> {
        fn open<D: peloton::gpu::Device>(
            device: &D,
            sequence: &Velo,
            streams: usize,
            capacity: VeloCapacity,
        ) -> Result<Runs<VeloSystem>>
        where
            D::Queue: 'static,
        {
            let open = || VeloStream::open(device, sequence, capacity);
            Ok(Box::new(StreamPool::new(device, streams, open)?))
        }
        // The paper Search by triplet fills a GPU with 4096 events.
        let capacity = VeloCapacity::new(slice(request.device, config, 4096, 16), sequence.config());
        let streams = streams(request.device, config);
        match request.device {
            Device::Cpu => Err(not_a_device()),
            Device::Gpu => open(&Cuda::new()?, &sequence, streams, capacity),
            Device::Emulated(order) => open(&Emulated::new(order.into())?, &sequence, streams, capacity),
        }
    }

    /// Streams of a device for the cylinder detector.
    pub fn cylinder(request: &Request, config: &Config) -> Result<Runs<CylinderSystem>> {
        fn open<D: peloton::gpu::Device + Send + 'static>(
            device: D,
            config: &Config,
            streams: usize,
            capacity: CylinderCapacity,
        ) -> Result<Runs<CylinderSystem>> {
            let device = Arc::new(device);
            let open = || GrowingStream::open(device.clone(), &config.cylinder, capacity);
            Ok(Box::new(StreamPool::<Cylinder, _>::new(&*device, streams, open)?))
        }
        let events = slice(request.device, config, 16, 1);
        // For a start: it grows with the events.
        let capacity =
            CylinderCapacity { events, hits: events.saturating_mul(1000), seeds: events.saturating_mul(100) };
        let streams = streams(request.device, config);
        match request.device {
            Device::Cpu => Err(not_a_device()),
            Device::Gpu => open(Cuda::new()?, config, streams, capacity),
            Device::Emulated(order) => open(Emulated::new(order.into())?, config, streams, capacity),
        }
    }

    /// A device for pixel hits.
    pub fn timepix(
        request: &Request,
        config: &Config,
        context: &PixelContext,
    ) -> Result<Runs<TimepixSystem>> {
        fn open<D: peloton::gpu::Device + Send + 'static>(
            device: D,
            config: &Config,
            context: &PixelContext,
            slice: usize,
        ) -> Result<Runs<TimepixSystem>> {
            let timepix = context.configuration(config);
            let mut sequence = PixelDevice::new(device, &timepix, &context.layout, slice)?;
            context.masked.iter().for_each(|&(x, y)| sequence.mask(x, y));
            Ok(Box::new(Streaming(sequence)))
        }
        let slice = slice(request.device, config, 1 << 20, 1 << 14);
        match request.device {
            Device::Cpu => Err(not_a_device()),
            Device::Gpu => open(Cuda::new()?, config, context, slice),
            Device::Emulated(order) => open(Emulated::new(order.into())?, config, context, slice),
        }
    }
}

#[cfg(not(feature = "cuda"))]
pub(crate) use missing::{cylinder, timepix, velo};
#[cfg(not(feature = "cuda"))]
mod missing {
    use super::*;

    fn not_built_in() -> Error {
        Error::Unsupported("gpu: not part of this program; build with --features peloton-cli/cuda".into())
    }

    /// Streams of a device for the Velo.
    pub fn velo(_: &Request, _: &Config, _: Velo) -> Result<Runs<VeloSystem>> {
        Err(not_built_in())
    }

    /// A device for pixel hits.
    pub fn timepix(_: &Request, _: &Config, _: &PixelContext) -> Result<Runs<TimepixSystem>> {
        Err(not_built_in())
    }

    /// Streams of a device for the cylinder detector.
    pub fn cylinder(_: &Request, _: &Config) -> Result<Runs<CylinderSystem>> {
        Err(not_built_in())
    }
}

/// What was found of a GPU, in words.
pub fn devices_found() -> String {
    if cfg!(feature = "cuda") { found() } else { "not built in (cargo feature cuda)".into() }
}

#[cfg(not(feature = "cuda"))]
fn found() -> String {
    String::new()
}

#[cfg(feature = "cuda")]
fn found() -> String {
    use peloton::gpu::{Cuda, Libraries};
    let Libraries { driver, compiler } = Libraries::find();
    let gpu = match Cuda::new() {
        Ok(gpu) => peloton::gpu::Device::name(&gpu),
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
        assert_eq!(device("gpu").unwrap(), Device::Gpu);
        assert_eq!(device("emulated").unwrap(), Device::Emulated(LaneOrder::Forward));
        assert_eq!(device("emulated:reverse").unwrap(), Device::Emulated(LaneOrder::Reverse));
        assert_eq!(device("emulated:12").unwrap(), Device::Emulated(LaneOrder::Random(12)));
        for wrong in ["", "tpu", "gpu:1", "emulated:", "emulated:backwards"] {
            assert!(device(wrong).is_err(), "{wrong}");
        }
    }
}
