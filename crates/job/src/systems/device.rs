//! Executors of sequences on a device.

use super::PixelDetector;
use crate::system::Runs;
use crate::{Config, Request};
use peloton::velo::Velo;
use peloton::{Error, Result};

#[cfg(feature = "cuda")]
pub(super) use opened::{cylinder, timepix, velo};
#[cfg(feature = "cuda")]
mod opened {
    use super::*;
    use crate::{Device, Gpus, LaneOrder};
    use peloton::engine::Streaming;
    use peloton::gpu::cylinder::{Capacity as CylinderCapacity, GrowingStream};
    use peloton::gpu::timepix::PixelDevice;
    use peloton::gpu::velo::{Capacity as VeloCapacity, VeloStream};
    use peloton::gpu::{Device as Opened, Order, StreamPool};

    /// Default number of streams of a GPU: sufficient for all GPUs in the paper Search by triplet (section VI.A).
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

    fn open(device: Device) -> Result<Vec<Opened>> {
        match device {
            Device::Cpu => Err(Error::Internal("the CPU was requested as a device".into())),
            Device::Gpu(Gpus::One(number)) => Ok(vec![Opened::gpu(number)?]),
            Device::Gpu(Gpus::All) => Opened::all_gpus(),
            Device::Emulated(order) => Ok(vec![Opened::emulated(order.into())?]),
        }
    }

    /// Returns the number of streams of each device.
    fn streams(device: Device, config: &Config) -> usize {
        match device {
            Device::Emulated(_) => config.thread_count(),
            _ => config.threads.unwrap_or(STREAMS),
        }
    }

    /// Returns the number of events or hits in a slice: the configured number; else `gpu` on a GPU, enough to fill it,
    /// or `emulated`, a small number, on the emulated device.
    fn slice(device: Device, config: &Config, gpu: usize, emulated: usize) -> usize {
        config.slice_events.unwrap_or(if matches!(device, Device::Emulated(_)) { emulated } else { gpu })
    }

    /// Opens the streams of a device for the Velo.
    pub fn velo(request: &Request, config: &Config, sequence: Velo) -> Result<Runs> {
        // The paper Search by triplet fills a GPU with 4096 events.
        let capacity = VeloCapacity::new(slice(request.device, config, 4096, 16), sequence.config());
        let (devices, streams) = (open(request.device)?, streams(request.device, config));
        let open = |device: &Opened| VeloStream::open(device, &sequence, capacity);
        Ok(Box::new(StreamPool::of_all(&devices, streams, open)?))
    }

    /// Opens the streams of a device for the cylinder detector.
    pub fn cylinder(request: &Request, config: &Config) -> Result<Runs> {
        let events = slice(request.device, config, 16, 1);
        // The initial capacity; it grows if events need more.
        let capacity =
            CylinderCapacity { events, hits: events.saturating_mul(1000), seeds: events.saturating_mul(100) };
        let (devices, streams) = (open(request.device)?, streams(request.device, config));
        let open = |device: &Opened| GrowingStream::open(device.clone(), &config.cylinder, capacity);
        Ok(Box::new(StreamPool::of_all(&devices, streams, open)?))
    }

    /// Opens a device for pixel hits.
    pub fn timepix(request: &Request, config: &Config, detector: &PixelDetector) -> Result<Runs> {
        let slice = slice(request.device, config, 1 << 20, 1 << 14);
        let timepix = detector.configuration(config);
        let (device, streams) = (open(request.device)?.swap_remove(0), streams(request.device, config));
        let mut sequence = PixelDevice::new(device, &timepix, &detector.layout, slice, streams)?;
        detector.masked.iter().for_each(|&(x, y)| sequence.mask(x, y));
        Ok(Box::new(Streaming(sequence)))
    }
}

#[cfg(not(feature = "cuda"))]
pub(super) use missing::{cylinder, timepix, velo};
#[cfg(not(feature = "cuda"))]
mod missing {
    use super::*;

    fn not_built_in() -> Error {
        Error::Unsupported("gpu: not part of this program; build with --features peloton-cli/cuda".into())
    }

    /// Opens the streams of a device for the Velo.
    pub fn velo(_: &Request, _: &Config, _: Velo) -> Result<Runs> {
        Err(not_built_in())
    }

    /// Opens a device for pixel hits.
    pub fn timepix(_: &Request, _: &Config, _: &PixelDetector) -> Result<Runs> {
        Err(not_built_in())
    }

    /// Opens the streams of a device for the cylinder detector.
    pub fn cylinder(_: &Request, _: &Config) -> Result<Runs> {
        Err(not_built_in())
    }
}
