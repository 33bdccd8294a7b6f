//! Pixel clusters on a device: a block of a stream, hits in the order of the readout, to clusters with features.
//!
//! Sort by time (radix, stable, least digit first: pixel, then time), links within chunks in shared memory, links over
//! the borders of chunks, clusters numbered in the order of their first hits, sort by cluster, features. Local
//! definition only.

mod args;
mod output;
mod plan;
mod slices;

pub(in crate::gpu) use args::definitions;
pub use slices::PixelDevice;

use super::arena::Plan;
use super::device::{Device, settled};
use super::driver::{COPY_IN, COPY_OUT, Queue};
use crate::engine::DeviceMemory;
use crate::event::{PixelClusters, PixelHits};
use crate::timepix::{Calibration, Definition, FindConfig};
use crate::{Error, Result};
use args::PixelArgs;
use output::Layout;
use plan::{CHUNK, DIGITS, TILE};

/// The kernels of the sequence.
pub const KERNELS: [&str; 13] = [
    "pixels_keys",
    "pixels_time_keys",
    "pixels_count",
    "pixels_sums",
    "pixels_scatter",
    "pixels_gather",
    "pixels_link",
    "pixels_join",
    "pixels_roots",
    "pixels_number",
    "pixels_cluster_keys",
    "pixels_write",
    "pixels_features",
];

/// The stage of [`Timepix`](crate::timepix::Timepix) that a kernel belongs to; none for copies. The kernels of the sort by time sort by
/// cluster, too, and count for the former.
fn stage_of(kernel: &str) -> Option<usize> {
    let stage = match kernel {
        COPY_IN | COPY_OUT => return None,
        "pixels_keys" | "pixels_time_keys" | "pixels_count" | "pixels_sums" | "pixels_scatter"
        | "pixels_gather" => 1,
        "pixels_features" => 3,
        _ => 2,
    };
    Some(stage)
}

/// Hits within delta of one another that the search works through at most: its time grows with their number.
const MOST_IN_WINDOW: u32 = 1 << 16;
/// Bits of a digit of the sort.
const DIGIT: u32 = DIGITS.trailing_zeros();
/// Bits of a pixel's key.
const PIXEL_BITS: u32 = 32;

/// One stream: a queue of the device with its arena and its staging memory.
pub struct PixelStream {
    queue: Queue,
    plan: Plan,
    capacity: usize,
    args: PixelArgs,
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
        config.validate()?;
        if config.definition != Definition::Local {
            return Err(Error::Unsupported("a device finds clusters of the local definition only".into()));
        }
        if capacity > 1 << 28 {
            return Err(Error::Config("a stretch has at most 2^28 hits".into()));
        }
        let pixels = calibration.map_or(0, |calibration| calibration.table().1.len());
        Self::with_plan(device, config, calibration, capacity, plan::plan(capacity, pixels))
    }

    fn with_plan(
        device: &Device,
        config: &FindConfig,
        calibration: Option<&Calibration>,
        capacity: usize,
        plan: Plan,
    ) -> Result<Self> {
        let output = Layout::new(capacity, capacity).bytes();
        let (width, table) = calibration.map_or((0, &[][..]), Calibration::table);
        let table: &[u8] = bytemuck::cast_slice(table);
        let mut queue = device.open(plan.bytes(), output.max(inputs(capacity)[4]).max(table.len()) + 64)?;
        // It stays there: no other buffer shares its memory.
        queue.staging()?[..table.len()].copy_from_slice(table);
        queue.copy_in(0..table.len(), plan.start(plan::CALIBRATION))?;
        queue.wait()?;
        let mut args = PixelArgs::new(queue.arena(), &plan);
        args.window = config.window().into();
        (args.width, args.pixels) = (width as u32, (table.len() / 16) as u32);
        args.most_in_window = MOST_IN_WINDOW;
        Ok(Self { queue, plan, capacity, args })
    }

    /// Finds the clusters of a block, whose hits may be in any order; `out` is emptied first. Clusters and their hits
    /// are in the order of the CPU's chain.
    ///
    /// # Errors
    /// [`Error::Device`] when the block is larger than the stream's capacity, when more hits lie within delta of one
    /// another than the search supports, and when the device fails.
    pub fn run(&mut self, hits: &PixelHits, out: &mut PixelClusters) -> Result<()> {
        let done = self.run_at_once(hits, out);
        settled(&mut self.queue, done)
    }

    fn run_at_once(&mut self, hits: &PixelHits, out: &mut PixelClusters) -> Result<()> {
        let count = hits.len();
        if count > self.capacity {
            let room = self.capacity;
            return Err(Error::Device(format!("{count} hits in one stretch, but the capacity is {room}")));
        }
        out.clear();
        let (Some(&first), Some(&last)) = (hits.time.iter().min(), hits.time.iter().max()) else {
            return Ok(());
        };
        self.copy_in(hits)?;
        self.args.hits = count as u32;
        self.args.first_time = first as u64;
        self.per_hit("pixels_keys")?;
        self.sort(PIXEL_BITS)?;
        self.per_hit("pixels_time_keys")?;
        self.sort(u64::BITS - last.abs_diff(first).leading_zeros())?;
        self.per_hit("pixels_gather")?;
        let (tiles, chunks) = (count.div_ceil(TILE), count.div_ceil(CHUNK));
        self.launch("pixels_link", chunks, 256)?;
        self.launch("pixels_join", chunks - 1, 64)?;
        self.launch("pixels_roots", tiles, 256)?;
        self.sums(tiles)?;
        self.launch("pixels_number", tiles, 256)?;
        let summary = self.plan.start(plan::SUMMARY);
        self.queue.copy_out(summary..summary + 8, 0)?;
        self.queue.wait()?;
        let [clusters, too_many] = *bytemuck::from_bytes::<[u32; 2]>(&self.queue.staging()?[..8]);
        if too_many != 0 {
            let max = self.args.most_in_window;
            return Err(Error::Device(format!("more than {max} hits within delta of another: use the CPU")));
        }
        let layout = Layout::new(count, clusters as usize);
        let start = self.plan.start(plan::OUTPUT);
        layout.point_into(self.queue.arena() + start as u64, &mut self.args);
        self.per_hit("pixels_cluster_keys")?;
        self.sort(u32::BITS - (clusters - 1).leading_zeros())?;
        // Padding between columns goes home, too.
        self.queue.clear(start..start + layout.bytes())?;
        self.per_hit("pixels_write")?;
        self.launch("pixels_features", (clusters as usize).div_ceil(64), 64)?;
        self.queue.copy_out(start..start + layout.bytes(), 0)?;
        self.queue.wait()?;
        layout.read(&self.queue.staging()?[..layout.bytes()], out);
        Ok(())
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

    /// One copy per column, as it is.
    fn copy_in(&mut self, hits: &PixelHits) -> Result<()> {
        let starts = inputs(self.capacity);
        let columns: [&[u8]; 4] = [
            bytemuck::cast_slice(&hits.time),
            bytemuck::cast_slice(&hits.x),
            bytemuck::cast_slice(&hits.y),
            bytemuck::cast_slice(&hits.tot),
        ];
        for (&start, column) in starts.iter().zip(columns) {
            self.queue.staging()?[start..start + column.len()].copy_from_slice(column);
        }
        for ((start, column), to) in
            starts.into_iter().zip(columns).zip([plan::TIME, plan::X, plan::Y, plan::TOT])
        {
            self.queue.copy_in(start..start + column.len(), self.plan.start(to))?;
        }
        Ok(())
    }

    fn launch(&mut self, kernel: &'static str, blocks: usize, threads: u32) -> Result<()> {
        self.queue.launch(kernel, blocks as u32, threads, &self.args)
    }

    fn per_hit(&mut self, kernel: &'static str) -> Result<()> {
        self.launch(kernel, (self.args.hits as usize).div_ceil(256), 256)
    }

    fn sums(&mut self, count: usize) -> Result<()> {
        self.args.count = count as u32;
        self.launch("pixels_sums", 1, 1024)
    }

    /// Sorts by the lowest bits of the keys; equal ones keep their order.
    fn sort(&mut self, bits: u32) -> Result<()> {
        let tiles = (self.args.hits as usize).div_ceil(TILE);
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

/// Where the input columns begin in staging memory, and where the last one ends.
fn inputs(capacity: usize) -> [usize; 5] {
    let [long, short] = [8 * capacity, 2 * capacity].map(|size| size.next_multiple_of(256));
    [0, long, long + short, long + 2 * short, long + 3 * short]
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
