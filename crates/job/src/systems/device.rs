//! What runs sequences on a device.

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
    use crate::{Device, LaneOrder};
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
    pub fn velo(request: &Request, config: &Config, sequence: Velo) -> Result<Runs> {
        fn open<D: peloton::gpu::Device>(
            device: &D,
            sequence: &Velo,
            streams: usize,
            capacity: VeloCapacity,
        ) -> Result<Runs>
        where
            D::Queue: 'static,
        {
            let open = || VeloStream::open(device, sequence, capacity);
            Ok(Box::new(StreamPool::<Velo, _>::new(device, streams, open)?))
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
    pub fn cylinder(request: &Request, config: &Config) -> Result<Runs> {
        fn open<D: peloton::gpu::Device + Send + 'static>(
            device: D,
            config: &Config,
            streams: usize,
            capacity: CylinderCapacity,
        ) -> Result<Runs> {
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
    pub fn timepix(request: &Request, config: &Config, detector: &PixelDetector) -> Result<Runs> {
        fn open<D: peloton::gpu::Device + Send + 'static>(
            device: D,
            config: &Config,
            detector: &PixelDetector,
            slice: usize,
        ) -> Result<Runs> {
            let timepix = detector.configuration(config);
            let mut sequence = PixelDevice::new(device, &timepix, &detector.layout, slice)?;
            detector.masked.iter().for_each(|&(x, y)| sequence.mask(x, y));
            Ok(Box::new(Streaming(sequence)))
        }
        let slice = slice(request.device, config, 1 << 20, 1 << 14);
        match request.device {
            Device::Cpu => Err(not_a_device()),
            Device::Gpu => open(Cuda::new()?, config, detector, slice),
            Device::Emulated(order) => open(Emulated::new(order.into())?, config, detector, slice),
        }
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

    /// Streams of a device for the Velo.
    pub fn velo(_: &Request, _: &Config, _: Velo) -> Result<Runs> {
        Err(not_built_in())
    }

    /// A device for pixel hits.
    pub fn timepix(_: &Request, _: &Config, _: &PixelDetector) -> Result<Runs> {
        Err(not_built_in())
    }

    /// Streams of a device for the cylinder detector.
    pub fn cylinder(_: &Request, _: &Config) -> Result<Runs> {
        Err(not_built_in())
    }
}
