//! [`PixelStream`]: processes one stretch of hits at a time in a queue of a device.

use super::args::PixelArgs;
use super::output::Layout;
use super::plan::{self, CHUNK, DIGITS, STRETCH, TILE};
use crate::engine::DeviceMemory;
use crate::event::{PixelClusters, PixelHits};
use crate::gpu::arena::Plan;
use crate::gpu::device::{Device, settled};
use crate::gpu::driver::Queue;
use crate::simd::{Level, copy_past_caches};
use crate::timepix::{Calibration, Definition, Extent, FindConfig, extent_room};
use crate::{Error, Result};
use std::ops::Range;

/// Bits of a digit of the sort.
const DIGIT: u32 = DIGITS.trailing_zeros();

/// One stream: a queue of the device with its arena and its staging memory.
///
/// A stretch consists of hits that waited since the last stretch, and of new hits. New hits may be copied to the device
/// before it is known which hits wait.
pub struct PixelStream {
    queue: Queue,
    plan: Plan,
    level: Level,
    /// Largest number of hits of a stretch.
    capacity: usize,
    /// Index in the input columns at which new hits begin; hits that waited end before it.
    room: usize,
    /// Number of new hits in staging memory; `extent` is their extent.
    new: usize,
    extent: Extent,
    /// Number of hits of the stretch in progress.
    hits: usize,
    args: PixelArgs,
}

/// Numbers of clusters and hits that the kernels found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Number of all clusters, and of their hits.
    pub all: [usize; 2],
    /// Number of clusters before the first cluster that may still grow, and of their hits.
    pub complete: [usize; 2],
}

impl PixelStream {
    /// Opens a stream for stretches of at most `capacity` hits.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a definition of clusters other than the local definition, [`Error::Config`] for
    /// values that cannot be used, and [`Error::Device`] when the device has too little memory.
    pub fn open(
        device: &Device,
        config: &FindConfig,
        calibration: Option<&Calibration>,
        capacity: usize,
    ) -> Result<Self> {
        Self::with_room(device, config, calibration, capacity, 0)
    }

    /// Opens a stream for stretches of at most `capacity` hits, of which up to `room` are hits that waited.
    pub(super) fn with_room(
        device: &Device,
        config: &FindConfig,
        calibration: Option<&Calibration>,
        capacity: usize,
        room: usize,
    ) -> Result<Self> {
        config.validate()?;
        if config.definition != Definition::Local {
            return Err(Error::Unsupported("a device finds clusters of the local definition only".into()));
        }
        if capacity > 1 << 28 {
            return Err(Error::Config("a stretch has at most 2^28 hits".into()));
        }
        let pixels = calibration.map_or(0, |calibration| calibration.table().1.len());
        let plan = plan::plan(capacity, pixels);
        Ok(Self { room, ..Self::with_plan(device, config, calibration, capacity, plan)? })
    }

    fn with_plan(
        device: &Device,
        config: &FindConfig,
        calibration: Option<&Calibration>,
        capacity: usize,
        plan: Plan,
    ) -> Result<Self> {
        let (width, table) = calibration.map_or((0, &[][..]), Calibration::table);
        let table: &[u8] = bytemuck::cast_slice(table);
        let staging = staged_summary(capacity).max(table.len()) + 64;
        let mut queue = device.open(plan.bytes(), staging)?;
        // The calibration stays on the device: no other buffer shares its memory.
        queue.staging()?[..table.len()].copy_from_slice(table);
        queue.copy_in(0..table.len(), plan.start(plan::CALIBRATION))?;
        queue.wait()?;
        let mut args = PixelArgs::new(queue.arena(), &plan);
        args.window = config.window().into();
        (args.width, args.pixels) = (width as u32, (table.len() / 16) as u32);
        let level = Level::choose(None, None)?;
        Ok(Self { queue, plan, level, capacity, room: 0, new: 0, extent: Extent::NOTHING, hits: 0, args })
    }

    /// Finds the clusters of one stretch of hits, which may be in any order; `out` is emptied first. Clusters and their
    /// hits are in the order of the CPU's chain.
    ///
    /// # Errors
    /// [`Error::Device`] when the stretch is larger than the stream's capacity, and when the device fails.
    pub fn run(&mut self, hits: &PixelHits, out: &mut PixelClusters) -> Result<()> {
        if hits.len() > self.left() {
            let (count, room) = (hits.len(), self.left());
            return Err(Error::Device(format!("{count} hits in one stretch, but the capacity is {room}")));
        }
        let done = self.run_at_once(hits, out);
        self.new = 0;
        settled(&mut self.queue, done)
    }

    fn run_at_once(&mut self, hits: &PixelHits, out: &mut PixelClusters) -> Result<()> {
        self.stage(hits, 0..hits.len())?;
        self.send()?;
        self.begin(None, i64::MAX)?;
        let found = self.found()?;
        self.fetch(found.all)?;
        self.read(found.all, out)
    }

    /// Number of new hits that still fit.
    pub(super) fn left(&self) -> usize {
        self.capacity - self.room - self.new
    }

    /// Appends hits to the new hits in staging memory.
    pub(super) fn stage(&mut self, hits: &PixelHits, part: Range<usize>) -> Result<()> {
        let level = self.level;
        let extent = crate::dispatch_isa!(level, g => extent_room(g, hits, part.clone()));
        self.extent = self.extent.with(extent);
        let first = self.room + self.new;
        self.new += part.len();
        self.put(hits, part, first)
    }

    /// Takes over the new hits of another stream, which has not yet processed them.
    pub(super) fn take_over(&mut self, from: &mut Self) -> Result<()> {
        from.queue.wait()?;
        let ranges = [&*from, self].map(|of| inputs(of.capacity, of.room..of.room + from.new));
        let (staged, to) = (from.queue.staging()?, self.queue.staging()?);
        ranges[0].iter().zip(&ranges[1]).for_each(|(source, range)| {
            to[range.clone()].copy_from_slice(&staged[source.clone()]);
        });
        (self.new, self.extent) = (from.new, from.extent);
        self.send()
    }

    /// Copies the columns of some hits to the input columns in staging memory, from index `first` on.
    fn put(&mut self, hits: &PixelHits, part: Range<usize>, first: usize) -> Result<()> {
        let ranges = inputs(self.capacity, first..first + part.len());
        let staging = self.queue.staging()?;
        let columns: [&[u8]; 4] = [
            bytemuck::cast_slice(&hits.time[part.clone()]),
            bytemuck::cast_slice(&hits.x[part.clone()]),
            bytemuck::cast_slice(&hits.y[part.clone()]),
            bytemuck::cast_slice(&hits.tot[part]),
        ];
        // The device reads the columns, and this core does not.
        ranges.into_iter().zip(columns).for_each(|(range, column)| {
            copy_past_caches(column, &mut staging[range]);
        });
        Ok(())
    }

    /// Starts the copy of a part of the input columns to the device.
    fn copy_in(&mut self, part: Range<usize>) -> Result<()> {
        let starts = inputs(self.capacity, 0..0).map(|range| range.start);
        for ((range, start), buffer) in inputs(self.capacity, part).into_iter().zip(starts).zip(plan::INPUTS)
        {
            let to = self.plan.start(buffer) + range.start - start;
            self.queue.copy_in(range, to)?;
        }
        Ok(())
    }

    /// Starts the copy of the new hits to the device.
    pub(super) fn send(&mut self) -> Result<()> {
        self.copy_in(self.room..self.room + self.new)
    }

    /// Starts the kernels on the new hits, which were sent, and the hits that waited, which must fit into the reserved space.
    /// Clusters whose last hit is not before `reach` may still grow.
    pub(super) fn begin(&mut self, waiting: Option<&PixelHits>, reach: i64) -> Result<()> {
        let mut extent = std::mem::replace(&mut self.extent, Extent::NOTHING);
        let new = std::mem::take(&mut self.new);
        let waited = waiting.map_or(0, PixelHits::len);
        let first = self.room - waited;
        if let Some(waiting) = waiting.filter(|_| waited > 0) {
            let level = self.level;
            extent = extent.with(crate::dispatch_isa!(level, g => extent_room(g, waiting, 0..waited)));
            self.queue.wait()?;
            self.put(waiting, 0..waited, first)?;
            self.copy_in(first..self.room)?;
        }
        self.hits = waited + new;
        if self.hits == 0 {
            return Ok(());
        }
        self.args.point_to_input(self.queue.arena(), &self.plan, first);
        self.args.hits = self.hits as u32;
        self.args.reach = reach;
        let start = self.plan.start(plan::OUTPUT);
        Layout::new(self.hits).point_into(self.queue.arena() + start as u64, &mut self.args);
        self.launch_all(extent)?;
        let summary = self.plan.start(plan::SUMMARY);
        self.queue.copy_out(summary..summary + 16, staged_summary(self.capacity))
    }

    fn launch_all(&mut self, extent: Extent) -> Result<()> {
        let [first, last] = extent.times;
        let bits = |value: u16| u16::BITS - value.leading_zeros();
        self.args.first_time = first as u64;
        self.args.y_bits = bits(extent.y);
        self.per_hit("pixels_keys")?;
        self.sort(bits(extent.x) + bits(extent.y))?;
        self.per_hit("pixels_time_keys")?;
        self.sort(u64::BITS - last.abs_diff(first).leading_zeros())?;
        self.per_hit("pixels_gather")?;
        let (tiles, chunks) = (self.hits.div_ceil(TILE), self.hits.div_ceil(CHUNK));
        self.launch("pixels_link", chunks, 256)?;
        self.launch("pixels_join", chunks - 1, 128)?;
        self.launch("pixels_roots", tiles, 256)?;
        self.sums(tiles)?;
        self.launch("pixels_number", tiles, 256)?;
        self.per_hit("pixels_cluster_keys")?;
        // The number of clusters is at most the number of hits.
        self.sort(usize::BITS - (self.hits - 1).leading_zeros())?;
        self.per_hit("pixels_write")?;
        self.launch("pixels_features", self.hits.div_ceil(64), 64)
    }

    /// Waits for the kernels, and returns the numbers of clusters and hits that they found.
    pub(super) fn found(&mut self) -> Result<Found> {
        self.queue.wait()?;
        if self.hits == 0 {
            return Ok(Found::default());
        }
        let summary = &self.queue.staging()?[staged_summary(self.capacity)..][..16];
        let [clusters, open] = *bytemuck::from_bytes::<[u64; 2]>(summary);
        let all = [clusters as usize, self.hits];
        let complete = if open == u64::MAX { all } else { [(open >> 32) as usize, open as u32 as usize] };
        Ok(Found { all, complete })
    }

    /// Copies the hits from index `first` on to the host; they wait for the next stretch.
    pub(super) fn fetch_waiting(&mut self, first: usize, to: &mut PixelHits) -> Result<()> {
        to.clear();
        if first == self.hits {
            return Ok(());
        }
        let layout = Layout::new(self.hits);
        self.copy_out(&layout.hits(first..self.hits))?;
        self.queue.wait()?;
        layout.read_hits(self.queue.staging()?, first..self.hits, to);
        Ok(())
    }

    /// Starts the copy of the first clusters and their hits to the host.
    pub(super) fn fetch(&mut self, [clusters, hits]: [usize; 2]) -> Result<()> {
        let has_energies = self.has_energies();
        self.copy_out(&Layout::new(self.hits).first(clusters, hits, has_energies))
    }

    /// Whether energies are copied to the host: without a calibration they are all 0.
    fn has_energies(&self) -> bool {
        self.args.pixels > 0
    }

    /// Waits for the copies of `fetch`, and reads the clusters; `out` is emptied first.
    pub(super) fn read(&mut self, [clusters, hits]: [usize; 2], out: &mut PixelClusters) -> Result<()> {
        self.queue.wait()?;
        let has_energies = self.has_energies();
        Layout::new(self.hits).read(self.queue.staging()?, [clusters, hits], has_energies, out);
        Ok(())
    }

    fn copy_out(&mut self, ranges: &[Range<usize>]) -> Result<()> {
        let start = self.plan.start(plan::OUTPUT);
        for range in ranges {
            self.queue.copy_out(start + range.start..start + range.end, range.start)?;
        }
        Ok(())
    }

    /// Drops all work in progress.
    pub(super) fn give_up(&mut self) {
        (self.new, self.hits, self.extent) = (0, 0, Extent::NOTHING);
        // The earlier error is reported, not these.
        let _ = self.queue.wait();
        let _ = self.queue.times(&mut |_, _| ());
    }

    /// Memory of the stream.
    pub fn memory(&self) -> DeviceMemory {
        self.queue.memory_held()
    }

    /// Switches the timing of each kernel and copy on or off; at first it is off.
    pub fn set_timed(&mut self, yes: bool) {
        self.queue.set_timed(yes);
    }

    /// Calls `visit` with the name and the time, ns, of each kernel and copy since the last call.
    ///
    /// # Errors
    /// [`Error::Device`] when the device fails.
    pub fn times(&mut self, visit: &mut dyn FnMut(&'static str, u64)) -> Result<()> {
        self.queue.times(visit)
    }

    fn launch(&mut self, kernel: &'static str, blocks: usize, threads: u32) -> Result<()> {
        self.queue.launch(kernel, blocks as u32, threads, &self.args)
    }

    fn per_hit(&mut self, kernel: &'static str) -> Result<()> {
        self.launch(kernel, self.hits.div_ceil(256), 256)
    }

    /// Replaces each count by the sum of all counts before it.
    fn sums(&mut self, count: usize) -> Result<()> {
        self.args.count = count as u32;
        self.launch("pixels_stretches", count.div_ceil(STRETCH), 256)?;
        self.launch("pixels_sums", count.div_ceil(STRETCH), 256)
    }

    /// Sorts the hits by the lowest `bits` bits of their keys; hits with equal keys keep their order.
    fn sort(&mut self, bits: u32) -> Result<()> {
        let tiles = self.hits.div_ceil(TILE);
        for shift in (0..bits).step_by(DIGIT as usize) {
            self.args.shift = shift;
            self.launch("pixels_count", tiles, 256)?;
            self.sums(DIGITS * tiles)?;
            self.launch("pixels_scatter", tiles, 256)?;
            self.args.swap();
        }
        Ok(())
    }
}

/// Positions in staging memory of a part of each input column.
fn inputs(capacity: usize, part: Range<usize>) -> [Range<usize>; 4] {
    let [long, short] = [8 * capacity, 2 * capacity].map(|size| size.next_multiple_of(256));
    let of = |start: usize, size: usize| start + size * part.start..start + size * part.end;
    [of(0, 8), of(long, 2), of(long + short, 2), of(long + 2 * short, 2)]
}

/// Position of the summary in staging memory: after the output columns, which share memory with the input columns.
fn staged_summary(capacity: usize) -> usize {
    let input = inputs(capacity, 0..capacity)[3].end;
    Layout::new(capacity).bytes().max(input).next_multiple_of(64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Order;
    use crate::gpu::driver::GARBAGE;

    /// With buffers as small as these hits allow and far from one another, nothing between them changes.
    #[test]
    fn kernels_write_to_their_buffers_alone() {
        for count in [1u32, 1025, 4097] {
            let mut hits = PixelHits::default();
            for i in 0..count {
                let mixed = i.wrapping_mul(2_654_435_761);
                hits.push(i64::from(mixed >> 12), (mixed >> 4) as u16 % 50, mixed as u16 % 50, 1);
            }
            let room = count as usize;
            let device = Device::emulated(Order::Forward).unwrap();
            let plan = Plan::spread(&plan::bytes(room, 0));
            let mut stream =
                PixelStream::with_plan(&device, &FindConfig::default(), None, room, plan).unwrap();
            let mut clusters = PixelClusters::default();
            stream.run(&hits, &mut clusters).unwrap();
            assert_eq!(clusters.hits.len(), room);
            assert_eq!(stream.plan.trespass(stream.queue.memory(), GARBAGE), None, "{count} hits");
        }
    }
}
