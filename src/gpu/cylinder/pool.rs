//! Streams of one device that share events of the cylinder out among them.

use super::{Capacity, CylinderStream, KERNELS};
use crate::cylinder::{CylinderConfig, CylinderInput};
use crate::event::Counters;
use crate::gpu::device::Device;
use crate::gpu::pool::{Times, share_out};
use crate::pipeline::CylinderSlot;
use crate::{Error, Result};

/// Something that reconstructs batches of events of the cylinder on a device.
pub trait CylinderRunner: Send {
    /// The device in words.
    fn name(&self) -> &str;
    /// Number of streams.
    fn streams(&self) -> usize;
    /// Reconstructs all events; `slots` get one slice of events each, in order.
    ///
    /// # Errors
    /// [`Error::Device`] when the device fails.
    fn run(&mut self, input: CylinderInput<'_>, slots: &mut Vec<CylinderSlot>) -> Result<()>;
    /// Time of each kernel since the last call, summed over streams, ns.
    fn take_times(&mut self) -> Vec<(&'static str, u64)>;
}

/// Streams of one device.
pub struct CylinderGpuPool<D: Device> {
    name: String,
    slice_events: usize,
    streams: Vec<CylinderStream<D::Queue>>,
    times: Times<{ KERNELS.len() }>,
}

impl<D: Device> CylinderGpuPool<D> {
    /// Opens `streams` streams for slices of so many events.
    ///
    /// # Errors
    /// Those of [`CylinderStream::open`].
    pub fn new(device: &D, config: &CylinderConfig, streams: usize, capacity: Capacity) -> Result<Self> {
        if streams == 0 {
            return Err(Error::Config("streams must be at least 1".into()));
        }
        let open = |_| CylinderStream::open(device, config, capacity);
        Ok(Self {
            name: device.name(),
            slice_events: capacity.events,
            streams: (0..streams).map(open).collect::<Result<_>>()?,
            times: Times::new(&KERNELS),
        })
    }
}

impl<D: Device> CylinderRunner for CylinderGpuPool<D> {
    fn name(&self) -> &str {
        &self.name
    }

    fn streams(&self) -> usize {
        self.streams.len()
    }

    fn run(&mut self, input: CylinderInput<'_>, slots: &mut Vec<CylinderSlot>) -> Result<()> {
        let (slice, events) = (self.slice_events, input.hits.len());
        slots.resize_with(events.div_ceil(slice), CylinderSlot::default);
        share_out(&mut self.streams, slots, &mut self.times, |stream, number, slot, count| {
            slot.tracks.clear();
            slot.counters = Counters::default();
            let range = number * slice..events.min((number + 1) * slice);
            stream.run(input, range, &mut slot.tracks, &mut slot.counters, count)
        })
    }

    fn take_times(&mut self) -> Vec<(&'static str, u64)> {
        self.times.take()
    }
}
