//! Runs the cylinder sequence on a device (GPU): a stream takes slices of hits and seeds, and returns fitted tracks.

mod args;
mod formulas;
mod growing;
mod output;
mod plan;

pub use growing::GrowingStream;
pub use plan::Capacity;

use super::device::{Device, settled, staged};
use super::driver::{COPY_IN, COPY_OUT, Queue};
use super::pool::DeviceStream;
use crate::cylinder::geometry::SEED_LAYERS;
use crate::cylinder::{Builder, CYLINDER_TRACKS, CylinderConfig, CylinderInput, FitForm, SeedSource};
use crate::engine::{DeviceMemory, Events, Handle};
use crate::event::{CYLINDER_LAYERS, CylinderTracks, Outcome, Truncation};
use crate::{Error, Result, Status};
use args::{CylinderArgs, cells_of_event};
use output::Layout;
use plan::{DIGITS, STRETCH, TILE};
use std::ops::Range;

pub(in crate::gpu) use args::definitions;

/// The kernels of the sequence in the order of their first launch.
pub const KERNELS: [&str; 16] = [
    "cylinder_check",
    "cylinder_polar",
    "cylinder_count",
    "cylinder_stretches",
    "cylinder_sums",
    "cylinder_scatter",
    "cylinder_gather",
    "cylinder_table",
    "cylinder_seed",
    "cylinder_best_hit",
    "cylinder_clone_8",
    "cylinder_clone_16",
    "cylinder_clone_32",
    "cylinder_totals",
    "cylinder_offsets",
    "cylinder_fit",
];

/// The stage of [`Cylinder`] that a kernel belongs to; none for copies.
fn stage_of(kernel: &str) -> Option<usize> {
    let stage = match kernel {
        COPY_IN | COPY_OUT => return None,
        "cylinder_seed" => 1,
        "cylinder_best_hit" | "cylinder_clone_8" | "cylinder_clone_16" | "cylinder_clone_32" => 2,
        "cylinder_totals" | "cylinder_offsets" | "cylinder_fit" => 3,
        _ => 0,
    };
    Some(stage)
}

/// Largest number of hits of a slice: indices in lists have 27 bits.
const MAX_HITS: usize = (1 << 27) - 1;
/// Largest number of seeds of a slice.
const MAX_SEEDS: usize = 1 << 26;

/// One stream: a queue of the device with its arena and its staging memory.
pub struct CylinderStream {
    queue: Queue,
    capacity: Capacity,
    args: CylinderArgs,
    plan: super::arena::Plan,
    /// The kernel that builds tracks, threads of a block, and threads of a seed.
    builder: (&'static str, u32, usize),
}

impl CylinderStream {
    /// Opens a stream on a device.
    ///
    /// # Errors
    /// [`Error::Config`] and [`Error::Unsupported`] for a configuration that the device cannot run, and
    /// [`Error::Device`] when its memory is too small.
    pub fn open(device: &Device, config: &CylinderConfig, capacity: Capacity) -> Result<Self> {
        config.validate()?;
        let cells = cells_of_event(config);
        let Capacity { events, hits, seeds } = capacity;
        if events == 0 || hits > MAX_HITS || seeds > MAX_SEEDS || cells.saturating_mul(events) >= 1 << 31 {
            let message = "a slice has 1 event or more, less than 2^27 hits, 2^26 seeds and 2^31 cells";
            return Err(Error::Config(message.into()));
        }
        Self::with_plan(device, config, capacity, plan::plan(&capacity, cells))
    }

    fn with_plan(
        device: &Device,
        config: &CylinderConfig,
        capacity: Capacity,
        plan: super::arena::Plan,
    ) -> Result<Self> {
        let builder = builder(config)?;
        let output = Layout::new(capacity.events, capacity.seeds).bytes();
        let queue = device.open(plan.bytes(), output.max(inputs(&capacity, &capacity)[8].end) + 64)?;
        let mut args = CylinderArgs::new(config);
        args.point_into(queue.arena(), &plan);
        Ok(Self { queue, capacity, args, plan, builder })
    }

    fn run_at_once(&mut self, slice: &Slice<'_>, out: &mut Outcome<CylinderTracks>) -> Result<()> {
        self.copy_in(slice)?;
        let Capacity { events, hits, seeds } = slice.size;
        (self.args.events, self.args.hits, self.args.seeds) = (events as u32, hits as u32, seeds as u32);
        self.args.stride = seeds as u32;
        let layout = Layout::new(events, seeds);
        let output = self.plan.start(plan::OUTPUT);
        layout.point_into(self.queue.arena() + output as u64, &mut self.args);
        self.args.start_sort(self.queue.arena(), &self.plan);

        self.launch("cylinder_check", events, 256, 256)?;
        self.launch("cylinder_polar", hits, 256, 256)?;
        let cells = events * self.args.cells_of_event as usize;
        self.sort(hits.div_ceil(TILE), usize::BITS - (cells - 1).leading_zeros())?;
        self.launch("cylinder_gather", hits, 256, 256)?;
        // Cells exist even without hits.
        self.launch("cylinder_table", hits.max(1), 256, 256)?;
        self.launch("cylinder_seed", seeds, 64, 64)?;
        let (kernel, threads, of_seed) = self.builder;
        self.launch(kernel, seeds, threads as usize / of_seed, threads)?;
        // Unused tracks and the padding between columns are copied to the host, too.
        self.queue.clear(output..output + layout.bytes())?;
        self.launch("cylinder_totals", events.max(seeds), STRETCH, 256)?;
        self.launch("cylinder_offsets", events.max(seeds), STRETCH, 256)?;
        self.launch("cylinder_fit", seeds, 64, 64)?;
        self.queue.copy_out(output..output + layout.bytes(), 0)?;
        self.queue.wait()?;
        let tracks = out.results.tracks();
        let lost = layout.append(&self.queue.staging()?[..layout.bytes()], out)?;
        if lost > 0 {
            out.counters.count_truncated(Truncation::CandidatesInWindow, lost);
        }
        let tracks = (out.results.tracks() - tracks) as u64;
        let [bin, seed, build, fit, ..] = &mut out.counters.stages;
        bin.items_in += hits as u64;
        seed.items_out += tracks;
        build.items_in += tracks;
        fit.items_in += tracks;
        Ok(())
    }

    /// Copies each column to the device unchanged.
    fn copy_in(&mut self, slice: &Slice<'_>) -> Result<()> {
        let ranges = inputs(&self.capacity, &slice.size);
        let staging = self.queue.staging()?;
        for (range, column) in ranges.iter().zip(&slice.columns) {
            staging[range.clone()].copy_from_slice(column);
        }
        for (to, status) in staging[ranges[7].clone()].chunks_exact_mut(2).zip(slice.status) {
            to.copy_from_slice(&status.code().to_ne_bytes());
        }
        // Columns of seeds follow one another, in staging memory and on the device.
        let (column, seeds) = (4 * slice.size.seeds, ranges[8].clone());
        for (number, values) in slice.of_seeds.iter().enumerate() {
            staging[seeds.start + number * column..][..column].copy_from_slice(bytemuck::cast_slice(values));
        }
        let buffers = [
            plan::LAYER_START,
            plan::X,
            plan::Y,
            plan::Z,
            plan::VAR_RPHI,
            plan::VAR_Z,
            plan::SEED_START,
            plan::STATUS,
        ];
        for (range, buffer) in ranges.iter().zip(buffers) {
            self.queue.copy_in(range.clone(), self.plan.start(buffer))?;
        }
        let vertices = seeds.start..seeds.start + 6 * column;
        self.queue.copy_in(vertices.clone(), self.plan.start(plan::VERTEX))?;
        self.queue.copy_in(vertices.end..seeds.end, self.plan.start(plan::SEED_HITS))
    }

    /// Runs a kernel on `items` items, with `per_block` items in each block.
    fn launch(&mut self, kernel: &'static str, items: usize, per_block: usize, threads: u32) -> Result<()> {
        self.queue.launch(kernel, items.div_ceil(per_block) as u32, threads, &self.args)
    }

    /// Sorts the hits by the lowest `bits` bits of their keys; hits with equal keys keep their order.
    fn sort(&mut self, tiles: usize, bits: u32) -> Result<()> {
        for shift in (0..bits).step_by(DIGITS.ilog2() as usize) {
            self.args.shift = shift;
            self.args.count = (DIGITS * tiles) as u32;
            self.launch("cylinder_count", tiles, 1, 256)?;
            self.launch("cylinder_stretches", DIGITS * tiles, STRETCH, 256)?;
            self.launch("cylinder_sums", DIGITS * tiles, STRETCH, 256)?;
            self.launch("cylinder_scatter", tiles, 1, 256)?;
            self.args.swap();
        }
        Ok(())
    }
}

/// Events that do not fit together are repeatedly split into halves. An event that does not fit alone gets no
/// tracks and a status.
impl DeviceStream for CylinderStream {
    type Output = CylinderTracks;
    const PRODUCT: Handle = CYLINDER_TRACKS;
    const KERNELS: &'static [&'static str] = &KERNELS;

    fn slice_events(&self) -> usize {
        self.capacity.events
    }

    fn memory(&self) -> DeviceMemory {
        self.queue.memory_held()
    }

    fn set_timed(&mut self, yes: bool) {
        self.queue.set_timed(yes);
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
        let slice = Slice::new(input, range.clone());
        if slice.size.events == 0 {
            return Ok(());
        }
        let Capacity { events: count, hits, seeds } = slice.size;
        if count <= self.capacity.events && hits <= self.capacity.hits && seeds <= self.capacity.seeds {
            let done = self.run_at_once(&slice, out);
            settled(&mut self.queue, done)?;
            return self.queue.times(&mut |kernel, ns| {
                if let Some(stage) = stage_of(kernel) {
                    out.counters.stages[stage].ns += ns;
                }
                times(kernel, ns);
            });
        }
        if count == 1 {
            let own = input.hits.status[range.start];
            let status = if own == Status::Ok { Status::TooManyHits } else { own };
            out.push_failed(status);
            return Ok(());
        }
        let middle = range.start + slice.size.events / 2;
        self.run(events, range.start..middle, out, times)?;
        self.run(events, middle..range.end, out, times)
    }
}

/// The kernel that builds tracks, threads of a block, and threads of a seed, for a configuration.
fn builder(config: &CylinderConfig) -> Result<(&'static str, u32, usize)> {
    let unsupported = |what: &str| Err(Error::Unsupported(format!("cylinder on a device: {what}")));
    if config.seeds != SeedSource::Truth {
        return unsupported("seeds come from truth; only CPUs make seeds from hits");
    }
    if config.material > 0.0 {
        return unsupported("layers have no material; scattering runs on CPUs only");
    }
    if config.fit.form != FitForm::Cylinder {
        return unsupported("the fit has five parameters; its global form runs on CPUs only");
    }
    match (config.builder, config.build.candidates) {
        (Builder::BestHit, _) => Ok(("cylinder_best_hit", 64, 1)),
        (Builder::CloneEngine, 0..=8) => Ok(("cylinder_clone_8", 128, 8)),
        (Builder::CloneEngine, 9..=16) => Ok(("cylinder_clone_16", 64, 16)),
        (Builder::CloneEngine, _) => Ok(("cylinder_clone_32", 64, 32)),
        (Builder::Standard, _) => unsupported("builders are best-hit and clone-engine; standard is for CPUs"),
    }
}

/// # Errors
/// [`Error::Columns`] when an event has no list of seeds, or lists of the events in `range` overlap: kernels would read
/// outside the columns.
fn check_lists(CylinderInput { hits, seeds }: CylinderInput<'_>, range: Range<usize>) -> Result<()> {
    let wrong = |what: String| Err(Error::Columns(what));
    let lists = seeds.start.len().saturating_sub(1);
    if lists < hits.len() {
        return wrong(format!("there are seeds for {lists} events, but hits for {} events", hits.len()));
    }
    let Some(layers) = hits.layer_start.get(CYLINDER_LAYERS * range.start..=CYLINDER_LAYERS * range.end)
    else {
        return wrong(format!("there are no hits for the events {range:?}"));
    };
    for (name, starts) in [("layer_start", layers), ("seeds.start", &seeds.start[range.start..=range.end])] {
        if starts.windows(2).any(|pair| pair[0] > pair[1]) {
            return wrong(format!("{name} falls"));
        }
    }
    Ok(())
}

/// The columns of a range of events.
struct Slice<'a> {
    size: Capacity,
    /// Starts of the layers, x, y, z, variances, starts of the seeds.
    columns: [&'a [u8]; 7],
    status: &'a [Status],
    /// Six columns of vertices, then columns of the hits on the first layers.
    of_seeds: [&'a [u32]; 6 + SEED_LAYERS],
}

impl<'a> Slice<'a> {
    fn new(CylinderInput { hits, seeds }: CylinderInput<'a>, range: Range<usize>) -> Self {
        let layers = &hits.layer_start[CYLINDER_LAYERS * range.start..=CYLINDER_LAYERS * range.end];
        let starts = &seeds.start[range.start..=range.end];
        let of_hits = layers[0] as usize..layers[layers.len() - 1] as usize;
        let of_seeds = starts[0] as usize..starts[starts.len() - 1] as usize;
        let floats = |column: &'a [f32]| bytemuck::cast_slice::<f32, u8>(&column[of_hits.clone()]);
        Self {
            size: Capacity { events: range.len(), hits: of_hits.len(), seeds: of_seeds.len() },
            columns: [
                bytemuck::cast_slice(layers),
                floats(&hits.x),
                floats(&hits.y),
                floats(&hits.z),
                floats(&hits.var_rphi),
                floats(&hits.var_z),
                bytemuck::cast_slice(starts),
            ],
            status: &hits.status[range],
            of_seeds: std::array::from_fn(|i| match seeds.vertex.get(i) {
                Some(column) => bytemuck::cast_slice(&column[of_seeds.clone()]),
                None => &seeds.hits[i - seeds.vertex.len()][of_seeds.clone()],
            }),
        }
    }
}

/// Positions of the input columns in staging memory: [`Slice::columns`], the status, and all columns of seeds as one.
fn inputs(capacity: &Capacity, size: &Capacity) -> [Range<usize>; 9] {
    let sizes = |Capacity { events, hits, seeds }: &Capacity| {
        let column = 4 * hits;
        let [layers, seeds_of] = [CYLINDER_LAYERS * events + 1, events + 1].map(|count| 4 * count);
        let of_seeds = 4 * (6 + SEED_LAYERS) * seeds;
        [layers, column, column, column, column, column, seeds_of, 2 * events, of_seeds]
    };
    staged(sizes(capacity), sizes(size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CylinderBatch, CylinderSeeds};
    use crate::gpu::Order;
    use crate::gpu::arena::Plan;
    use crate::gpu::driver::GARBAGE;

    /// Two simulated events. The simulation uses another instance of this crate, so columns are copied.
    fn simulated(spec: &str) -> (CylinderBatch, CylinderSeeds) {
        let (mut from, mut truth) = Default::default();
        peloton_sim::CylinderSim::new(spec.parse().unwrap(), 0, None).read(2, &mut from, &mut truth);
        let mut hits = CylinderBatch::default();
        hits.layer_start.extend_from_slice(&from.layer_start[1..]);
        let columns = from.columns_mut();
        hits.columns_mut().into_iter().zip(columns).for_each(|(to, from)| to.extend_from_slice(from));
        hits.status.resize(2, Status::Ok);
        let (mut seeds, particles) = (CylinderSeeds::default(), truth.particles);
        seeds.start.extend_from_slice(&particles.start[1..]);
        seeds.vertex.iter_mut().zip(&particles.vertex).for_each(|(to, from)| to.extend_from_slice(from));
        seeds.hits.iter_mut().zip(&particles.hits).for_each(|(to, from)| to.extend_from_slice(from));
        (hits, seeds)
    }

    /// With buffers as small as these events allow and far from one another, nothing between them changes.
    #[test]
    fn kernels_write_to_their_buffers_alone() {
        let (hits, seeds) = simulated("sim:cylinder,events=2,tracks=101,seed=1,noise=333,inefficiency=0.1");
        let capacity = Capacity { events: 2, hits: hits.x.len(), seeds: seeds.len() };
        let device = Device::emulated(Order::Forward).unwrap();
        for builder in [Builder::BestHit, Builder::CloneEngine] {
            let config = CylinderConfig { builder, ..CylinderConfig::best() };
            let plan = Plan::spread(&plan::bytes(&capacity, cells_of_event(&config)));
            let mut stream = CylinderStream::with_plan(&device, &config, capacity, plan).unwrap();
            let mut out = Outcome::default();
            let input = CylinderInput { hits: &hits, seeds: &seeds };
            stream.run(input.into(), 0..2, &mut out, &mut |_, _| ()).unwrap();
            assert_eq!(out.results.tracks(), 202);
            assert_eq!(stream.plan.trespass(stream.queue.memory(), GARBAGE), None, "{builder}");
        }
    }
}
