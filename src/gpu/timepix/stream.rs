//! [`PixelStream`]: one stretch of hits at a time through a queue of a device.

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
/// A stretch consists of hits that waited and of new ones, which may be brought to the device before it is known which hits wait.
pub struct PixelStream {
    queue: Queue,
    plan: Plan,
    level: Level,
    /// Hits of a stretch at most.
    capacity: usize,
    /// Hits that waited come before this place, new ones from there on.
    room: usize,
    /// New hits in staging memory, and their extent.
    new: usize,
    extent: Extent,
    /// Hits of the stretch that the device works on.
    hits: usize,
    args: PixelArgs,
}

/// What the kernels found, and how much of it is complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// All clusters, and their hits.
    pub all: [usize; 2],
    /// Clusters before the first one that may still grow, and their hits.
    pub complete: [usize; 2],
}

impl PixelStream {
    /// Opens a stream for blocks of at most `capacity` hits.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for another than the local definition, [`Error::Config`], and [`Error::Device`] when
    /// its memory is too small.
    pub fn open(
        device: &Device,
        config: &FindConfig,
        calibration: Option<&Calibration>,
        capacity: usize,
    ) -> Result<Self> {
        Self::with_room(device, config, calibration, capacity, 0)
    }

    /// The same, with room for that many hits that waited among them.
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
        // It stays there: no other buffer shares its memory.
        queue.staging()?[..table.len()].copy_from_slice(table);
        queue.copy_in(0..table.len(), plan.start(plan::CALIBRATION))?;
        queue.wait()?;
        let mut args = PixelArgs::new(queue.arena(), &plan);
        args.window = config.window().into();
        (args.width, args.pixels) = (width as u32, (table.len() / 16) as u32);
        let level = Level::choose(None, None)?;
        Ok(Self { queue, plan, level, capacity, room: 0, new: 0, extent: Extent::NOTHING, hits: 0, args })
    }

    /// Finds the clusters of a block, whose hits may be in any order; `out` is emptied first. Clusters and their hits
    /// are in the order of the CPU's chain.
    ///
    /// # Errors
    /// [`Error::Device`] when the block is larger than the stream's capacity, and when the device fails.
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

    /// New hits that still fit.
    pub(super) fn left(&self) -> usize {
        self.capacity - self.room - self.new
    }

    /// Appends hits to the new ones in staging memory.
    pub(super) fn stage(&mut self, hits: &PixelHits, part: Range<usize>) -> Result<()> {
        let level = self.level;
        let extent = crate::dispatch_isa!(level, g => extent_room(g, hits, part.clone()));
        self.extent = self.extent.with(extent);
        let first = self.room + self.new;
        self.new += part.len();
        self.put(hits, part, first)
    }

    /// Takes over the new hits of another stream, which has not begun with them.
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

    /// Copies the columns of some hits to the input columns in staging memory, from number `first` on.
    fn put(&mut self, hits: &PixelHits, part: Range<usize>, first: usize) -> Result<()> {
        let ranges = inputs(self.capacity, first..first + part.len());
        let staging = self.queue.staging()?;
        let columns: [&[u8]; 4] = [
            bytemuck::cast_slice(&hits.time[part.clone()]),
            bytemuck::cast_slice(&hits.x[part.clone()]),
            bytemuck::cast_slice(&hits.y[part.clone()]),
            bytemuck::cast_slice(&hits.tot[part]),
        ];
        // The device reads them, and not this core.
        ranges.into_iter().zip(columns).for_each(|(range, column)| {
            copy_past_caches(column, &mut staging[range]);
        });
        Ok(())
    }

    /// Has some places of the input columns copied to the device.
    fn copy_in(&mut self, part: Range<usize>) -> Result<()> {
        let starts = inputs(self.capacity, 0..0).map(|range| range.start);
        for ((range, start), buffer) in inputs(self.capacity, part).into_iter().zip(starts).zip(plan::INPUTS)
        {
            let to = self.plan.start(buffer) + range.start - start;
            self.queue.copy_in(range, to)?;
        }
        Ok(())
    }

    /// Has the new hits copied to the device.
    pub(super) fn send(&mut self) -> Result<()> {
        self.copy_in(self.room..self.room + self.new)
    }

    /// Begins with the new hits, which were sent, and those that waited, for which there is room. Clusters whose last hit is not
    /// before `reach` may still grow.
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
        // There are no more clusters than hits.
        self.sort(usize::BITS - (self.hits - 1).leading_zeros())?;
        self.per_hit("pixels_write")?;
        self.launch("pixels_features", self.hits.div_ceil(64), 64)
    }

    /// Waits for the kernels; says what they found.
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

    /// Brings the hits from one on home, which wait for the next stretch.
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

    /// Has the first clusters, which have the first hits, copied home.
    pub(super) fn fetch(&mut self, [clusters, hits]: [usize; 2]) -> Result<()> {
        let has_energies = self.has_energies();
        self.copy_out(&Layout::new(self.hits).first(clusters, hits, has_energies))
    }

    /// Without a calibration all energies are 0: the column stays on the device.
    fn has_energies(&self) -> bool {
        self.args.pixels > 0
    }

    /// Waits for what was fetched and reads it; `out` is emptied first.
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

    /// Gives up what is under way.
    pub(super) fn give_up(&mut self) {
        (self.new, self.hits, self.extent) = (0, 0, Extent::NOTHING);
        // What failed before is what counts.
        let _ = self.queue.wait();
        let _ = self.queue.times(&mut |_, _| ());
    }

    /// Its memory.
    pub fn memory(&self) -> DeviceMemory {
        self.queue.memory_held()
    }

    /// Whether the time of each kernel and copy is measured from now on; off at first.
    pub fn set_timed(&mut self, yes: bool) {
        self.queue.set_timed(yes);
    }

    /// Time of each kernel and copy since the last call, ns.
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

    /// Replaces counts by the sums of those before them.
    fn sums(&mut self, count: usize) -> Result<()> {
        self.args.count = count as u32;
        self.launch("pixels_stretches", count.div_ceil(STRETCH), 256)?;
        self.launch("pixels_sums", count.div_ceil(STRETCH), 256)
    }

    /// Sorts by the lowest bits of the keys; equal ones keep their order.
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

/// Where some places of the input columns are in staging memory.
fn inputs(capacity: usize, part: Range<usize>) -> [Range<usize>; 4] {
    let [long, short] = [8 * capacity, 2 * capacity].map(|size| size.next_multiple_of(256));
    let of = |start: usize, size: usize| start + size * part.start..start + size * part.end;
    [of(0, 8), of(long, 2), of(long + short, 2), of(long + 2 * short, 2)]
}

/// Where the summary begins in staging memory: behind the output columns. Input and output columns share one place.
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
