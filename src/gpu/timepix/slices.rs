//! [`PixelDevice`]: endless streams of pixel hits on a device, slice by slice, in bounded memory.
//!
//! A slice consists of the hits that wait from the previous one and of as many new hits as fit. Clusters come in the
//! order of first hits; all clusters before the first one that may still grow are output, the hits of the others
//! wait. A later hit is at most `disorder` older than the latest one, and links to hits within delta of it: a cluster
//! whose last hit is older than both together is complete. So results do not depend on the ends of slices.

use super::{KERNELS, PixelStream, stage_of};
use crate::engine::{DeviceMemory, Handle, Machine, Stage, StreamSequence};
use crate::event::{Counters, Layout, PixelClusters, PixelHits, StageClock};
use crate::gpu::device::{Device, WARP};
use crate::gpu::pool::Times;
use crate::simd::with_default_float_mode;
use crate::timepix::{
    CalibratedChips, Calibration, ChainCounts, PixelBatch, PixelMask, Reached, TimeWalk, Timepix,
    TimepixConfig,
};
use crate::{Error, Result};

/// Turns pixel hits into clusters on a device, like [`Timepix`] on the CPU.
pub struct PixelDevice {
    stream: PixelStream,
    device: Device,
    machine: Machine,
    config: TimepixConfig,
    disorder: i64,
    calibration: Option<Calibration>,
    /// Finds hits on chips without a calibration, where there can be such.
    calibrated: Option<CalibratedChips>,
    walk: Option<TimeWalk>,
    mask: PixelMask,
    /// Hits of a slice.
    slice: usize,
    /// Hits of a piece that are not masked, moved by time walk.
    moved: PixelHits,
    waiting: PixelHits,
    latest: Reached,
    found: PixelClusters,
    out: PixelClusters,
    counts: ChainCounts,
    /// Time of the stages; everything else follows from `counts`.
    clocks: Counters,
    is_timed: bool,
    times: Times,
}

impl PixelDevice {
    /// For hits on `layout`, in slices of `slice` hits; while more than half of them wait for their clusters to end,
    /// slices become larger, until more than `config.capacity` wait.
    ///
    /// # Errors
    /// Errors of [`PixelStream::open`], of the configuration and of its calibration files.
    pub fn new(device: Device, config: &TimepixConfig, layout: &Layout, slice: usize) -> Result<Self> {
        config.validate()?;
        if slice == 0 {
            return Err(Error::Config("a slice has at least 1 hit".into()));
        }
        let folder = config.calibration.as_deref();
        let calibration = folder.map(|folder| Calibration::from_folder(layout, folder)).transpose()?;
        let machine = Machine {
            isa: device.kind(),
            gang: WARP,
            threads: 1,
            slice,
            device: Some(device.name()),
            memory: DeviceMemory::default(),
        };
        Ok(Self {
            stream: PixelStream::open(&device, &config.find, calibration.as_ref(), slice)?,
            device,
            machine,
            config: config.clone(),
            disorder: with_default_float_mode(|| config.disorder_ticks().max(0)),
            calibration,
            calibrated: CalibratedChips::of(config, layout)?,
            walk: config.time_walk.map(TimeWalk::new).transpose()?,
            mask: PixelMask::new(layout.width()),
            slice,
            moved: PixelHits::default(),
            waiting: PixelHits::default(),
            latest: Reached::NOTHING,
            found: PixelClusters::default(),
            out: PixelClusters::default(),
            counts: ChainCounts::default(),
            clocks: Counters::default(),
            is_timed: false,
            times: Times::new(&KERNELS),
        })
    }

    /// From now on drops the hits of a pixel.
    pub fn mask(&mut self, x: u16, y: u16) {
        self.mask.insert(x, y);
    }

    /// Masks and corrects hits.
    fn take_in(&mut self, hits: &PixelHits) {
        let mut clock = StageClock::start();
        self.counts.hits_in += hits.len() as u64;
        self.counts.masked += self.mask.copy_unmasked(hits, 0..hits.len(), &mut self.moved);
        if let Some((walk, calibration)) = self.walk.as_ref().zip(self.calibration.as_ref()) {
            with_default_float_mode(|| walk.correct(calibration, &mut self.moved));
        }
        clock.lap(&mut self.clocks.stages[0]);
    }

    /// Clusters what waits, and lets out what is complete, or everything.
    fn run(&mut self, all: bool, visit: &mut dyn FnMut(&mut PixelClusters)) -> Result<()> {
        let Self { stream, waiting, found, .. } = self;
        with_default_float_mode(|| stream.run(waiting, found))?;
        let Self { stream, times, clocks, .. } = self;
        stream.times(&mut |kernel, ns| {
            if let Some(stage) = stage_of(kernel) {
                clocks.stages[stage].ns += ns;
            }
            times.add(kernel, ns);
        })?;
        let clusters = self.found.len();
        let mut open = if all { clusters } else { self.first_open() };
        let first_kept = |open: usize| self.found.hit_start[open] as usize;
        if self.waiting.len() - first_kept(open) > self.config.capacity {
            self.counts.forced += 1;
            open = clusters;
        }
        let kept = first_kept(open);
        self.out.clear();
        self.out.extend_from(&self.found, 0..open);
        with_default_float_mode(|| self.counts.count(&self.config.filter, &mut self.out));
        let hits = self.found.hits.len();
        self.waiting.clear();
        self.waiting.extend_from(&self.found.hits, kept..hits, 0);
        if 2 * self.waiting.len() > self.slice {
            self.slice *= 2;
            self.stream =
                PixelStream::open(&self.device, &self.config.find, self.calibration.as_ref(), self.slice)?;
            self.stream.set_timed(self.is_timed);
        }
        visit(&mut self.out);
        Ok(())
    }

    /// The first cluster that may still grow.
    fn first_open(&self) -> usize {
        let to_come = self.latest.time.saturating_sub(self.disorder);
        let reach = to_come.saturating_sub(i64::from(self.config.find.window()));
        let ends = &self.found.hit_start[1..];
        let grows = |end: &u32| self.found.hits.time[*end as usize - 1] >= reach;
        ends.iter().position(grows).unwrap_or(self.found.len())
    }
}

impl StreamSequence for PixelDevice {
    const NAME: &'static str = Timepix::NAME;
    const STAGES: &'static [Stage] = Timepix::STAGES;

    const PRODUCT: Handle = Timepix::PRODUCT;

    type Piece = PixelBatch;
    type Output = PixelClusters;

    fn push(&mut self, piece: &PixelBatch, visit: &mut dyn FnMut(&mut PixelClusters)) -> Result<()> {
        self.calibrated.as_mut().map_or(Ok(()), |chips| chips.check(&piece.block.hits))?;
        self.take_in(&piece.block.hits);
        for i in 0..self.moved.len() {
            let (time, x, y, tot) = self.moved.get(i);
            let is_late = time < self.latest.time.saturating_sub(self.disorder);
            self.latest.take(time);
            if is_late {
                self.counts.late += 1;
                continue;
            }
            self.waiting.push(time, x, y, tot);
            if self.waiting.len() == self.slice {
                self.run(false, visit)?;
            }
        }
        if piece.end {
            self.run(true, visit)?;
            self.latest = Reached::NOTHING;
        }
        Ok(())
    }

    fn counters(&self) -> Counters {
        let (mut counters, counts) = (self.clocks, &self.counts);
        let [calibrate, sort, find, features, ..] = &mut counters.stages;
        (calibrate.items_in, calibrate.items_out) = (counts.hits_in, counts.hits_in - counts.masked);
        (sort.items_in, sort.items_out) = (calibrate.items_out, calibrate.items_out - counts.late);
        (find.items_in, find.items_out) = (sort.items_out, counts.clusters + counts.filtered_clusters);
        (features.items_in, features.items_out) = (find.items_out, counts.clusters);
        counts.add_dropped(&mut counters);
        counters
    }

    fn machine(&self) -> Machine {
        Machine { memory: self.stream.memory(), ..self.machine.clone() }
    }

    fn time_kernels(&mut self, yes: bool) {
        self.is_timed = yes;
        self.stream.set_timed(yes);
    }

    fn take_kernel_times(&mut self) -> Vec<(&'static str, u64)> {
        self.times.take()
    }
}
