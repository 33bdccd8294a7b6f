//! Endless streams of pixel hits on a device: slice by slice, in bounded memory.
//!
//! A slice is what waits from the one before and as many new hits as there is room for. What its search finds is in the
//! order of first hits; up to the first cluster that may still grow everything leaves, the hits of the others wait. A hit
//! that is still to come is at most `disorder` older than the latest one, and links to hits within delta of it: a
//! cluster whose last hit is older than both together is complete. So it does not matter where slices end.

use super::PixelStream;
use crate::Result;
use crate::event::{PixelClusters, PixelHits};
use crate::gpu::device::{Device, Kernel};
use crate::timepix::{Calibration, TimeWalk, TimepixConfig};
use std::sync::Arc;

/// Something that clusters a stream of hits on a device.
pub trait PixelRunner {
    /// Takes the next hits of the stream in, in the order in which they came; appends clusters that are complete to
    /// `out`, as the CPU's chain does before it filters. With `end` the stream ends here, and another one may begin.
    ///
    /// # Errors
    /// Those of [`PixelStream::run`].
    fn push(&mut self, hits: &PixelHits, end: bool, out: &mut PixelClusters) -> Result<()>;
    /// Hits that came later than the promised order allows, and how often too many waited and clusters were cut.
    fn dropped(&self) -> [u64; 2];
    /// Time of each kernel since the last call.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) when the device fails.
    fn times(&mut self, visit: &mut dyn FnMut(Kernel, u64)) -> Result<()>;
}

/// A stream of a device with what waits between slices.
pub struct PixelSlices<D: Device> {
    stream: PixelStream<D::Queue>,
    device: D,
    config: TimepixConfig,
    calibration: Option<Arc<Calibration>>,
    walk: Option<TimeWalk>,
    /// Hits of a slice.
    room: usize,
    /// Hits moved by time walk.
    moved: PixelHits,
    waiting: PixelHits,
    /// How many wait from the last slice.
    carried: usize,
    latest: Option<i64>,
    found: PixelClusters,
    late: u64,
    forced: u64,
}

impl<D: Device> PixelSlices<D> {
    /// Slices of `room` hits; while more than half of them wait for their clusters to end, slices become larger, until
    /// more than `config.capacity` wait.
    ///
    /// # Errors
    /// Those of [`PixelStream::open`] and of the configuration.
    pub fn new(
        device: D,
        config: &TimepixConfig,
        calibration: Option<Arc<Calibration>>,
        room: usize,
    ) -> Result<Self> {
        config.validate()?;
        Ok(Self {
            stream: PixelStream::open(&device, &config.find, calibration.as_deref(), room)?,
            device,
            config: config.clone(),
            calibration,
            walk: config.time_walk.map(TimeWalk::new).transpose()?,
            room,
            moved: PixelHits::default(),
            waiting: PixelHits::default(),
            carried: 0,
            latest: None,
            found: PixelClusters::default(),
            late: 0,
            forced: 0,
        })
    }

    /// Clusters what waits, and lets out what is complete, or everything.
    fn run(&mut self, all: bool, out: &mut PixelClusters) -> Result<()> {
        self.stream.run(&self.waiting, &mut self.found)?;
        let clusters = self.found.len();
        let mut open = if all { clusters } else { self.first_open() };
        let first_kept = |open: usize| self.found.hit_start[open] as usize;
        if self.waiting.len() - first_kept(open) > self.config.capacity {
            self.forced += 1;
            open = clusters;
        }
        let kept = first_kept(open);
        out.extend_from(&self.found, 0..open);
        let hits = self.found.hits.len();
        self.waiting.clear();
        self.waiting.extend_from(&self.found.hits, kept..hits, 0);
        self.carried = self.waiting.len();
        if 2 * self.carried > self.room {
            self.room *= 2;
            self.stream =
                PixelStream::open(&self.device, &self.config.find, self.calibration.as_deref(), self.room)?;
        }
        Ok(())
    }

    /// The first cluster that may still grow.
    fn first_open(&self) -> usize {
        let Some(latest) = self.latest else { return self.found.len() };
        let to_come = latest.saturating_sub(self.config.disorder_ticks().max(0));
        let reach = to_come.saturating_sub(i64::from(self.config.find.window()));
        let ends = &self.found.hit_start[1..];
        let grows = |end: &u32| self.found.hits.time[*end as usize - 1] >= reach;
        ends.iter().position(grows).unwrap_or(self.found.len())
    }
}

impl<D: Device> PixelRunner for PixelSlices<D> {
    fn push(&mut self, hits: &PixelHits, end: bool, out: &mut PixelClusters) -> Result<()> {
        self.moved.clear();
        self.moved.extend_from(hits, 0..hits.len(), 0);
        if let Some((walk, calibration)) = self.walk.as_ref().zip(self.calibration.as_deref()) {
            walk.correct(calibration, &mut self.moved);
        }
        let disorder = self.config.disorder_ticks().max(0);
        for i in 0..self.moved.len() {
            let (time, x, y, tot) = self.moved.get(i);
            let latest = self.latest.unwrap_or(time);
            if time < latest.saturating_sub(disorder) {
                self.late += 1;
                continue;
            }
            self.latest = Some(latest.max(time));
            self.waiting.push(time, x, y, tot);
            if self.waiting.len() == self.room {
                self.run(false, out)?;
            }
        }
        if end {
            self.run(true, out)?;
            self.latest = None;
        }
        Ok(())
    }

    fn dropped(&self) -> [u64; 2] {
        [self.late, self.forced]
    }

    fn times(&mut self, visit: &mut dyn FnMut(Kernel, u64)) -> Result<()> {
        self.stream.times(visit)
    }
}
