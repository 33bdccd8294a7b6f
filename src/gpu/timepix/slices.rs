//! [`PixelDevice`]: endless streams of pixel hits on a device, slice by slice, in bounded memory.
//!
//! A slice consists of the hits that waited since the previous slice, and as many new hits as fit. Clusters are in the
//! order of their first hits. All clusters before the first cluster that may still grow are output; the hits of the
//! other clusters wait. A new hit is at most `disorder` older than the latest hit, and links to hits within delta: a
//! cluster whose last hit is older than `disorder` + delta is complete. So results do not depend on the ends of slices.
//!
//! Each stream of the device processes its own slice. While the kernels of one slice run, the host fills the next slice with new
//! hits, and the clusters of the previous slice are copied to the host. The copy of a slice to the device begins as soon as the
//! slice is full. The host checks hits in blocks, and copies whole columns.

use super::stream::{Found, PixelStream};
use super::{KERNELS, stage_of};
use crate::engine::{DeviceMemory, Handle, Machine, Stage, StreamSequence};
use crate::event::{Counters, Layout, PixelClusters, PixelHits, StageClock};
use crate::gpu::device::{Device, WARP};
use crate::gpu::pool::Times;
use crate::simd::{Level, with_default_float_mode};
use crate::timepix::{
    CalibratedChips, Calibration, ChainCounts, PixelBatch, PixelMask, Reached, TimeWalk, Timepix,
    TimepixConfig, is_in_time_room,
};
use crate::{Error, Result};
use std::ops::Range;

/// Number of hits that the host checks at once: few enough to stay in the first-level cache until they are copied.
const BLOCK: usize = 1024;
/// One in this many hits of a slice is reserved for hits that waited.
const WAITING: usize = 4;

/// A stream of the device, and its slice.
struct Slot {
    stream: PixelStream,
    /// Numbers of clusters and hits that are copied to the host but not yet passed on.
    unread: Option<[usize; 2]>,
}

/// Turns pixel hits into clusters on a device, like [`Timepix`] on the CPU.
pub struct PixelDevice {
    slots: Vec<Slot>,
    /// The slot that takes new hits.
    filling: usize,
    /// The slot whose kernels run.
    working: Option<usize>,
    device: Device,
    machine: Machine,
    level: Level,
    config: TimepixConfig,
    disorder: i64,
    calibration: Option<Calibration>,
    /// Check for hits on chips without a calibration; none if no hit can be on such a chip.
    calibrated: Option<CalibratedChips>,
    walk: Option<TimeWalk>,
    mask: PixelMask,
    /// Largest number of hits of a slice.
    slice: usize,
    /// Hits of a piece that are not masked, with the time walk corrected.
    moved: PixelHits,
    waiting: PixelHits,
    latest: Reached,
    out: PixelClusters,
    counts: ChainCounts,
    /// Time of the stages; everything else follows from `counts`.
    clocks: Counters,
    is_timed: bool,
    times: Times,
}

impl PixelDevice {
    /// Opens `streams` streams for hits on `layout`, with slices of `slice` hits. When the hits that wait exceed a quarter of a
    /// slice, slices become larger, until more than `config.capacity` hits wait.
    ///
    /// # Errors
    /// Errors of [`PixelStream::open`], of the configuration and of its calibration files.
    pub fn new(
        device: Device,
        config: &TimepixConfig,
        layout: &Layout,
        slice: usize,
        streams: usize,
    ) -> Result<Self> {
        config.validate()?;
        if slice == 0 || streams == 0 {
            return Err(Error::Config("a slice has at least 1 hit, and a device at least 1 stream".into()));
        }
        let folder = config.calibration.as_deref();
        let calibration = folder.map(|folder| Calibration::from_folder(layout, folder)).transpose()?;
        let machine = Machine {
            isa: device.kind(),
            gang: WARP,
            threads: streams,
            slice,
            device: Some(device.name()),
            memory: DeviceMemory::default(),
        };
        let mut new = Self {
            slots: Vec::new(),
            filling: 0,
            working: None,
            device,
            machine,
            level: Level::choose(None, None)?,
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
            out: PixelClusters::default(),
            counts: ChainCounts::default(),
            clocks: Counters::default(),
            is_timed: false,
            times: Times::new(&KERNELS),
        };
        new.slots = new.open(slice)?;
        Ok(new)
    }

    /// Opens streams for slices of `slice` hits.
    fn open(&self, slice: usize) -> Result<Vec<Slot>> {
        let Self { device, config, calibration, .. } = self;
        let open = |_| {
            let room = slice / WAITING;
            let mut stream = PixelStream::with_room(device, &config.find, calibration.as_ref(), slice, room)?;
            stream.set_timed(self.is_timed);
            Ok(Slot { stream, unread: None })
        };
        (0..self.machine.threads).map(open).collect()
    }

    /// Drops all further hits of a pixel.
    pub fn mask(&mut self, x: u16, y: u16) {
        self.mask.insert(x, y);
    }

    fn push_at_once(&mut self, piece: &PixelBatch, visit: &mut dyn FnMut(&mut PixelClusters)) -> Result<()> {
        let hits = &piece.block.hits;
        self.calibrated.as_mut().map_or(Ok(()), |chips| chips.check(hits))?;
        self.counts.hits_in += hits.len() as u64;
        if self.mask.is_empty() && self.walk.is_none() {
            self.take_in(hits, visit)?;
        } else {
            let mut moved = std::mem::take(&mut self.moved);
            self.correct(hits, &mut moved);
            let done = self.take_in(&moved, visit);
            self.moved = moved;
            done?;
        }
        if piece.end {
            self.submit(true, visit)?;
            self.read_all(visit)?;
            self.latest = Reached::NOTHING;
        }
        Ok(())
    }

    /// Removes masked hits and corrects the time walk.
    fn correct(&mut self, hits: &PixelHits, moved: &mut PixelHits) {
        let mut clock = StageClock::start();
        self.counts.masked += self.mask.copy_unmasked(hits, 0..hits.len(), moved);
        if let Some((walk, calibration)) = self.walk.as_ref().zip(self.calibration.as_ref()) {
            with_default_float_mode(|| walk.correct(calibration, moved));
        }
        clock.lap(&mut self.clocks.stages[0]);
    }

    /// Adds the hits that are not late to slices.
    fn take_in(&mut self, hits: &PixelHits, visit: &mut dyn FnMut(&mut PixelClusters)) -> Result<()> {
        let mut from = 0;
        while from < hits.len() {
            let part = from..hits.len().min(from + self.slots[self.filling].stream.left().min(BLOCK));
            from = part.end;
            let (times, bounds) = (&hits.time[part.clone()], [self.disorder, i64::MIN]);
            let mut latest = self.latest;
            let level = self.level;
            if crate::dispatch_isa!(level, g => is_in_time_room(g, times, &mut latest, bounds)) {
                self.latest = latest;
                self.slots[self.filling].stream.stage(hits, part)?;
            } else {
                self.take_those_in_time(hits, part)?;
            }
            if self.slots[self.filling].stream.left() == 0 {
                self.submit(false, visit)?;
                self.make_room(visit)?;
            }
        }
        Ok(())
    }

    /// Adds the hits of a part in which some are late, without the late ones.
    fn take_those_in_time(&mut self, hits: &PixelHits, part: Range<usize>) -> Result<()> {
        let mut from = part.start;
        for i in part.clone() {
            let is_late = hits.time[i] < self.latest.time.saturating_sub(self.disorder);
            self.latest.take(hits.time[i]);
            if is_late {
                self.counts.late += 1;
                self.slots[self.filling].stream.stage(hits, from..i)?;
                from = i + 1;
            }
        }
        self.slots[self.filling].stream.stage(hits, from..part.end)
    }

    /// Submits the filled slice to the device, after the slice in progress. At the end of the stream (`all`), all its clusters
    /// are complete.
    fn submit(&mut self, all: bool, visit: &mut dyn FnMut(&mut PixelClusters)) -> Result<()> {
        self.slots[self.filling].stream.send()?;
        self.complete(false, visit)?;
        let to_come = self.latest.time.saturating_sub(self.disorder);
        let reach = to_come.saturating_sub(i64::from(self.config.find.window()));
        self.slots[self.filling].stream.begin(Some(&self.waiting), reach)?;
        self.working = Some(self.filling);
        if all { self.complete(true, visit) } else { Ok(()) }
    }

    /// Waits for the slice in progress, keeps the hits that wait for the next slice, and starts the copy of complete
    /// clusters (with `all`, of all clusters) to the host.
    fn complete(&mut self, all: bool, visit: &mut dyn FnMut(&mut PixelClusters)) -> Result<()> {
        let Some(number) = self.working.take() else { return Ok(()) };
        let stream = &mut self.slots[number].stream;
        let Found { all: everything, mut complete } = stream.found()?;
        if all {
            complete = everything;
        }
        if everything[1] - complete[1] > self.config.capacity {
            self.counts.forced += 1;
            complete = everything;
        }
        stream.fetch_waiting(complete[1], &mut self.waiting)?;
        stream.fetch(complete)?;
        self.slots[number].unread = Some(complete);
        if self.waiting.len() > self.slice / WAITING { self.grow(visit) } else { Ok(()) }
    }

    /// Reopens the streams for larger slices, because more hits wait than fit.
    fn grow(&mut self, visit: &mut dyn FnMut(&mut PixelClusters)) -> Result<()> {
        self.read_all(visit)?;
        let mut slice = self.slice;
        while self.waiting.len() > slice / WAITING {
            slice *= 2;
        }
        let mut slots = self.open(slice)?;
        slots[self.filling].stream.take_over(&mut self.slots[self.filling].stream)?;
        (self.slots, self.slice) = (slots, slice);
        Ok(())
    }

    /// Moves on to the slot that was filled longest ago, and frees it.
    fn make_room(&mut self, visit: &mut dyn FnMut(&mut PixelClusters)) -> Result<()> {
        self.filling = (self.filling + 1) % self.slots.len();
        if self.working == Some(self.filling) {
            self.complete(false, visit)?;
        }
        self.read(self.filling, visit)
    }

    /// Passes on all clusters that were copied to the host, the oldest first.
    fn read_all(&mut self, visit: &mut dyn FnMut(&mut PixelClusters)) -> Result<()> {
        let slots = self.slots.len();
        (1..=slots).try_for_each(|after| self.read((self.filling + after) % slots, visit))
    }

    /// Passes on the clusters of a slot that were copied to the host, if any.
    fn read(&mut self, number: usize, visit: &mut dyn FnMut(&mut PixelClusters)) -> Result<()> {
        let Self { slots, out, times, clocks, .. } = self;
        let Slot { stream, unread } = &mut slots[number];
        let Some(complete) = unread.take() else { return Ok(()) };
        stream.read(complete, out)?;
        stream.times(&mut |kernel, ns| {
            if let Some(stage) = stage_of(kernel) {
                clocks.stages[stage].ns += ns;
            }
            times.add(kernel, ns);
        })?;
        with_default_float_mode(|| self.counts.count(&self.config.filter, &mut self.out));
        visit(&mut self.out);
        Ok(())
    }

    /// Drops all work in progress after an error, so that another stream may begin.
    fn give_up(&mut self) {
        self.slots.iter_mut().for_each(|slot| {
            slot.unread = None;
            slot.stream.give_up();
        });
        self.waiting.clear();
        (self.filling, self.working, self.latest) = (0, None, Reached::NOTHING);
    }
}

impl StreamSequence for PixelDevice {
    const NAME: &'static str = Timepix::NAME;
    const STAGES: &'static [Stage] = Timepix::STAGES;

    const PRODUCT: Handle = Timepix::PRODUCT;

    type Piece = PixelBatch;
    type Output = PixelClusters;

    fn push(&mut self, piece: &PixelBatch, visit: &mut dyn FnMut(&mut PixelClusters)) -> Result<()> {
        let done = self.push_at_once(piece, visit);
        if done.is_err() {
            self.give_up();
        }
        done
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
        let memory = self.slots.iter().map(|slot| slot.stream.memory()).sum();
        Machine { memory, ..self.machine.clone() }
    }

    fn time_kernels(&mut self, yes: bool) {
        self.is_timed = yes;
        self.slots.iter_mut().for_each(|slot| slot.stream.set_timed(yes));
    }

    fn take_kernel_times(&mut self) -> Vec<(&'static str, u64)> {
        self.times.take()
    }
}
