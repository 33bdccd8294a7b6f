//! A stream of pixel hits on a device: whole sources at a time, as long as they fit into memory.

use crate::Result;
use crate::cli::device::Device;
use crate::event::{PixelClusters, PixelHits};
use crate::pipeline::Config;
use crate::timepix::ChainCounts;

pub use opened::DeviceChain;

#[cfg(feature = "cuda")]
mod opened {
    use super::*;
    use crate::Error;
    use crate::cli::device::Lanes;
    use crate::gpu::timepix::{PixelStream, in_time};
    use crate::gpu::{Cuda, Emulated, Order};
    use crate::timepix::{FindConfig, TimepixConfig};

    /// Room for the first source, hits; a larger one makes room for itself.
    const ROOM: usize = 1 << 16;

    type Run = Box<dyn FnMut(&PixelHits, &mut PixelClusters) -> Result<()>>;

    /// Collects the hits of a source, and clusters them at its end.
    pub struct DeviceChain {
        device: Device,
        config: TimepixConfig,
        run: Run,
        room: usize,
        hits: PixelHits,
        kept: PixelHits,
        clusters: PixelClusters,
        counts: ChainCounts,
    }

    fn open(device: Device, find: &FindConfig, room: usize) -> Result<Run> {
        fn boxed<D: crate::gpu::Device<Queue: 'static>>(
            device: &D,
            find: &FindConfig,
            room: usize,
        ) -> Result<Run> {
            let mut stream = PixelStream::open(device, find, room)?;
            Ok(Box::new(move |hits, clusters| {
                stream.run(hits, clusters)?;
                stream.times(&mut |_, _| ())
            }))
        }
        match device {
            Device::Cpu => Err(Error::Config("the CPU is no device of this kind".into())),
            Device::Gpu => boxed(&Cuda::new()?, find, room),
            Device::Emulated(Lanes::Forward) => boxed(&Emulated::new(Order::Forward)?, find, room),
            Device::Emulated(Lanes::Reverse) => boxed(&Emulated::new(Order::Reverse)?, find, room),
            Device::Emulated(Lanes::Random(seed)) => boxed(&Emulated::new(Order::Random(seed))?, find, room),
        }
    }

    impl DeviceChain {
        pub fn new(device: Device, config: &Config) -> Result<Self> {
            let config = config.timepix.clone();
            if config.calibration.is_some() || config.time_walk.is_some() {
                return Err(Error::Unsupported(
                    "a device knows no calibration: energies are the CPU's".into(),
                ));
            }
            Ok(Self {
                device,
                run: open(device, &config.find, ROOM)?,
                config,
                room: ROOM,
                hits: PixelHits::default(),
                kept: PixelHits::default(),
                clusters: PixelClusters::default(),
                counts: ChainCounts::default(),
            })
        }

        pub fn push(&mut self, hits: &PixelHits, end: bool) -> Result<&PixelClusters> {
            self.hits.extend_from(hits, 0..hits.len(), 0);
            self.clusters.clear();
            if end {
                let late = in_time(self.config.disorder_ticks(), &self.hits, &mut self.kept);
                if self.kept.len() > self.room {
                    self.room = self.kept.len().next_power_of_two();
                    self.run = open(self.device, &self.config.find, self.room)?;
                }
                (self.run)(&self.kept, &mut self.clusters)?;
                self.counts.hits_in += self.hits.len() as u64;
                self.counts.late += late;
                self.counts.count(&self.config.filter, &mut self.clusters);
                self.hits.clear();
            }
            Ok(&self.clusters)
        }

        pub fn counts(&self) -> ChainCounts {
            self.counts
        }
    }
}

#[cfg(not(feature = "cuda"))]
mod opened {
    use super::*;

    /// No device can be opened.
    pub enum DeviceChain {}

    impl DeviceChain {
        pub fn new(device: Device, config: &Config) -> Result<Self> {
            match crate::cli::device::open(device, config, None, None)? {}
        }

        pub fn push(&mut self, _: &PixelHits, _: bool) -> Result<&PixelClusters> {
            match *self {}
        }

        pub fn counts(&self) -> ChainCounts {
            match *self {}
        }
    }
}
