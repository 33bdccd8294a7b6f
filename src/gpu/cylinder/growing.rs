//! [`GrowingStream`]: a stream whose memory grows with its events.

use super::{Capacity, CylinderStream, KERNELS, MAX_HITS, MAX_SEEDS, check_lists};
use crate::Result;
use crate::cylinder::{CYLINDER_TRACKS, CylinderConfig, CylinderInput};
use crate::engine::{DeviceMemory, Events, Handle};
use crate::event::{CYLINDER_LAYERS, CylinderTracks, Outcome};
use crate::gpu::device::Device;
use crate::gpu::pool::DeviceStream;
use std::ops::Range;

/// A stream that is reopened with more memory when events do not fit. The size of events of the cylinder is known
/// only when they arrive.
pub struct GrowingStream {
    device: Device,
    config: CylinderConfig,
    capacity: Capacity,
    /// None only after it could not be opened with the current capacity.
    stream: Option<CylinderStream>,
    is_timed: bool,
}

impl GrowingStream {
    /// Opens a stream with this capacity. The capacity grows until a slice can hold events that are all as large as the
    /// largest event so far, but not above the largest slice of a stream.
    ///
    /// # Errors
    /// Errors of [`CylinderStream::open`].
    pub fn open(device: Device, config: &CylinderConfig, capacity: Capacity) -> Result<Self> {
        let stream = Some(CylinderStream::open(&device, config, capacity)?);
        Ok(Self { device, config: config.clone(), capacity, stream, is_timed: false })
    }

    /// Returns the stream, and reopens it if these events do not fit.
    fn with_room_for(
        &mut self,
        input: CylinderInput<'_>,
        range: Range<usize>,
    ) -> Result<&mut CylinderStream> {
        let Capacity { events, hits, seeds } = self.capacity;
        let [max_hits, max_seeds] = largest(input, range);
        let needed = Capacity {
            events,
            hits: max_hits.saturating_mul(events).min(MAX_HITS).max(hits),
            seeds: max_seeds.saturating_mul(events).min(MAX_SEEDS).max(seeds),
        };
        if needed != self.capacity {
            // Frees the memory before more is allocated.
            self.stream = None;
            self.capacity = needed;
        }
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let mut stream = CylinderStream::open(&self.device, &self.config, self.capacity)?;
                stream.set_timed(self.is_timed);
                stream
            }
        };
        Ok(self.stream.insert(stream))
    }
}

/// Hits and seeds of the largest event.
fn largest(CylinderInput { hits, seeds }: CylinderInput<'_>, range: Range<usize>) -> [usize; 2] {
    range.fold([0, 0], |[max_hits, max_seeds], event| {
        let layers = &hits.layer_start[CYLINDER_LAYERS * event..];
        let of_hits = (layers[CYLINDER_LAYERS] - layers[0]) as usize;
        let of_seeds = (seeds.start[event + 1] - seeds.start[event]) as usize;
        [max_hits.max(of_hits), max_seeds.max(of_seeds)]
    })
}

impl DeviceStream for GrowingStream {
    type Output = CylinderTracks;
    const PRODUCT: Handle = CYLINDER_TRACKS;
    const KERNELS: &'static [&'static str] = &KERNELS;

    fn slice_events(&self) -> usize {
        self.capacity.events
    }

    fn memory(&self) -> DeviceMemory {
        self.stream.as_ref().map(DeviceStream::memory).unwrap_or_default()
    }

    fn set_timed(&mut self, yes: bool) {
        self.is_timed = yes;
        self.stream.iter_mut().for_each(|stream| stream.set_timed(yes));
    }

    fn run(
        &mut self,
        events: Events<'_>,
        range: Range<usize>,
        out: &mut Outcome<CylinderTracks>,
        times: &mut dyn FnMut(&'static str, u64),
    ) -> Result<()> {
        let input = events.cylinder_hits()?;
        check_lists(input, range.clone())?;
        self.with_room_for(input, range.clone())?.run(events, range, out, times)
    }
}
