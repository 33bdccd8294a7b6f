//! Runs the Velo sequence on a device (GPU), where a stream processes slices of events. The host decodes raw banks.

mod args;
mod banks;
mod output;
mod plan;

pub use plan::Capacity;

use super::device::{Device, settled, staged};
use super::driver::{COPY_IN, COPY_OUT, Queue};
use super::pool::DeviceStream;
use crate::engine::{DeviceMemory, Events, Handle};
use crate::event::{Outcome, StageCounter, Truncation, VeloBatch, VeloEvents, VeloTracks};
use crate::simd::copy_past_caches;
use crate::velo::{DecodeScratch, Preset, VELO_TRACKS, Velo};
use crate::{Error, Result, Status};
use args::VeloArgs;
use output::Layout;
use plan::{Blocks, FIRST_HALF, Launch, SECOND_HALF, SUMMARY_VALUES};
use std::ops::Range;

/// The kernels of the sequence in the order of their first launch.
pub const KERNELS: [&str; 12] = [
    "velo_check",
    "velo_sort",
    "velo_find_first",
    "velo_accept",
    "velo_keep_free",
    "velo_find_second",
    "velo_join",
    "velo_order",
    "velo_totals",
    "velo_offsets",
    "velo_list",
    "velo_fit",
];

/// The stage of [`Velo`] that a kernel belongs to; none for copies.
fn stage_of(kernel: &str) -> Option<usize> {
    let stage = match kernel {
        COPY_IN | COPY_OUT => return None,
        "velo_check" | "velo_sort" => 1,
        "velo_totals" | "velo_offsets" | "velo_list" | "velo_fit" => 3,
        _ => 2,
    };
    Some(stage)
}

pub(in crate::gpu) use args::definitions;

/// One stream: a queue of the device with its arena and its staging memory.
pub struct VeloStream {
    /// The CPU's algorithm, which decodes raw banks.
    velo: Velo,
    scratch: DecodeScratch,
    /// Hits decoded from raw banks.
    hits: Outcome<VeloBatch>,
    /// Numbers of the events of a slice that lack banks.
    partial: Vec<usize>,
    queue: Queue,
    capacity: Capacity,
    args: VeloArgs,
    plan: super::arena::Plan,
    /// Positions of the summary and of the output in staging memory.
    staged_summary: usize,
    staged_output: usize,
}

/// Result of an attempt to reconstruct a slice.
enum Attempt {
    Done,
    /// The slice does not fit; a single event gets this status.
    TooLarge(Status),
}

impl VeloStream {
    /// Opens a stream of a sequence on a device.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a preset that runs on CPUs only, [`Error::Config`] for a capacity that the device
    /// does not support, and [`Error::Device`] when its memory is full.
    pub fn open(device: &Device, velo: &Velo, capacity: Capacity) -> Result<Self> {
        let preset = velo.config().preset;
        if !matches!(preset, Preset::Best | Preset::TwoPass) {
            let message =
                format!("preset {preset} runs on CPUs only: a device runs the presets best and two-pass");
            return Err(Error::Unsupported(message));
        }
        // With these limits, the tracks of all candidates have less than 2^32 hits.
        if capacity.hits.max(capacity.rows) > 1 << 27 || !(1..=1 << 24).contains(&capacity.events) {
            return Err(Error::Config("a slice has 1 to 2^24 events, and at most 2^27 hits".into()));
        }
        Self::with_plan(device, velo, capacity, plan::plan(&capacity))
    }

    fn with_plan(device: &Device, velo: &Velo, capacity: Capacity, plan: super::arena::Plan) -> Result<Self> {
        let staged_summary = inputs(&capacity, capacity.events, capacity.hits)[6].start;
        let staged_output = staged_summary + 256;
        let queue = device.open(plan.bytes(), staged_output + capacity.output)?;
        let mut args = VeloArgs::new(velo.config());
        args.point_into(queue.arena(), &plan);
        let (velo, scratch, hits) = (velo.clone(), DecodeScratch::default(), Outcome::default());
        let partial = Vec::new();
        Ok(Self { velo, scratch, hits, partial, queue, capacity, args, plan, staged_summary, staged_output })
    }

    /// Reconstructs all events and appends them to `out`. Events that do not fit together are repeatedly split into
    /// halves; an event that does not fit alone gets a status and no tracks.
    ///
    /// # Errors
    /// [`Error::Device`] when the device fails.
    pub fn run_hits(
        &mut self,
        events: VeloEvents<'_>,
        out: &mut Outcome<VeloTracks>,
        times: &mut dyn FnMut(&'static str, u64),
    ) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        let done = self.run_at_once(events, out);
        let status = match settled(&mut self.queue, done)? {
            Attempt::Done => None,
            Attempt::TooLarge(status) => Some(status),
        };
        self.take_times(out, times)?;
        let Some(status) = status else { return Ok(()) };
        if let [one] = events.columns().2 {
            let status = if *one == Status::Ok { status } else { *one };
            out.push_failed(status);
            return Ok(());
        }
        let half = events.len() / 2;
        self.run_hits(events.range(0..half), out, times)?;
        self.run_hits(events.range(half..events.len()), out, times)
    }

    fn run_at_once(&mut self, events: VeloEvents<'_>, out: &mut Outcome<VeloTracks>) -> Result<Attempt> {
        if !self.has_room(events.len(), events.hits()) {
            return Ok(Attempt::TooLarge(Status::TooManyHits));
        }
        self.stage(events, 0, 0)?;
        self.run_staged(events.len(), events.hits(), out)
    }

    fn has_room(&self, events: usize, hits: usize) -> bool {
        events <= self.capacity.events && hits <= self.capacity.hits
    }

    /// Adds the time of each kernel and copy since the last call to its stage, and passes it to `times`.
    fn take_times(
        &mut self,
        out: &mut Outcome<VeloTracks>,
        times: &mut dyn FnMut(&'static str, u64),
    ) -> Result<()> {
        self.queue.times(&mut |kernel, ns| {
            if let Some(stage) = stage_of(kernel) {
                out.counters.stages[stage].ns += ns;
            }
            times(kernel, ns);
        })
    }

    /// Reconstructs `events` events with `hits` hits, which are in staging memory.
    fn run_staged(&mut self, events: usize, hits: usize, out: &mut Outcome<VeloTracks>) -> Result<Attempt> {
        self.send(events, hits)?;
        self.args.events = events as u32;
        self.args.hits_in_all = hits as u32;
        self.args.rows = self.capacity.rows as u32;
        for launch in &FIRST_HALF {
            self.launch(launch, 0)?;
        }
        let summary = self.plan.start(plan::SUMMARY);
        self.queue.copy_out(summary..summary + 4 * SUMMARY_VALUES, self.staged_summary)?;
        self.queue.wait()?;
        let staged = &self.queue.staging()?[self.staged_summary..][..4 * SUMMARY_VALUES];
        let [tracks, track_hits, given_up, cut @ ..] = *bytemuck::from_bytes::<[u32; SUMMARY_VALUES]>(staged);
        if given_up > 0 && events > 1 {
            return Ok(Attempt::TooLarge(Status::TooManyTracks));
        }
        let layout = Layout::new(events, tracks as usize, track_hits as usize);
        if layout.bytes() > self.capacity.output || tracks as usize > self.capacity.rows {
            return Ok(Attempt::TooLarge(Status::TooManyTracks));
        }
        let start = self.plan.start(plan::OUTPUT_COLUMNS);
        layout.point_into(self.queue.arena() + start as u64, &mut self.args);
        // The padding between columns is copied to the host, too.
        self.queue.clear(start..start + layout.bytes())?;
        for launch in &SECOND_HALF {
            self.launch(launch, tracks as usize)?;
        }
        self.queue.copy_out(start..start + layout.bytes(), self.staged_output)?;
        self.queue.wait()?;
        let staged = &self.queue.staging()?[self.staged_output..][..layout.bytes()];
        layout.append(staged, out)?;

        let cut = u64::from(cut[0]) + (u64::from(cut[1]) << 16);
        if cut > 0 {
            out.counters.count_truncated(Truncation::CandidatesInWindow, cut);
        }
        let [_, sort, find, fit, ..] = &mut out.counters.stages;
        flow(sort, hits, hits);
        flow(find, hits, tracks as usize);
        flow(fit, tracks as usize, tracks as usize);
        Ok(Attempt::Done)
    }

    /// Copies events to staging memory, after `before` events with `hits_before` hits.
    fn stage(&mut self, events: VeloEvents<'_>, before: usize, hits_before: usize) -> Result<()> {
        let ([x, y, z], [id, module_start], status) = events.columns();
        let starts = inputs(&self.capacity, 0, 0).map(|range| range.start);
        let staging = self.queue.staging()?;
        let hits: [&[u8]; 4] = [
            bytemuck::cast_slice(x),
            bytemuck::cast_slice(y),
            bytemuck::cast_slice(z),
            bytemuck::cast_slice(id),
        ];
        for (start, column) in starts.into_iter().zip(hits) {
            // The device reads the columns, and this core does not.
            copy_past_caches(column, &mut staging[start + 4 * hits_before..][..column.len()]);
        }
        let modules = staging[starts[4] + 4 * crate::event::VELO_MODULES * before..].chunks_exact_mut(4);
        for (to, start) in modules.zip(module_start) {
            to.copy_from_slice(&(hits_before as u32 + start).to_ne_bytes());
        }
        for (to, status) in staging[starts[5] + 2 * before..].chunks_exact_mut(2).zip(status) {
            to.copy_from_slice(&status.code().to_ne_bytes());
        }
        Ok(())
    }

    /// Copies the columns of `events` events with `hits` hits to the device.
    fn send(&mut self, events: usize, hits: usize) -> Result<()> {
        let ranges = inputs(&self.capacity, events, hits);
        let buffers = [plan::X, plan::Y, plan::Z, plan::ID, plan::MODULE_START, plan::STATUS];
        for (range, buffer) in ranges.into_iter().zip(buffers) {
            self.queue.copy_in(range, self.plan.start(buffer))?;
        }
        Ok(())
    }

    fn launch(&mut self, launch: &Launch, tracks: usize) -> Result<()> {
        let events = self.args.events;
        let blocks = match launch.blocks {
            Blocks::Events => events,
            Blocks::Stretches => events.div_ceil(plan::STRETCH as u32),
            Blocks::Pairs => events * crate::velo::geometry::PAIRS as u32,
            Blocks::Tracks(per) => tracks.div_ceil(per) as u32,
        };
        self.args.pass = launch.pass;
        self.queue.launch(launch.kernel, blocks, launch.threads, &self.args)
    }
}

impl DeviceStream for VeloStream {
    type Output = VeloTracks;
    const PRODUCT: Handle = VELO_TRACKS;
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
        out: &mut Outcome<VeloTracks>,
        times: &mut dyn FnMut(&'static str, u64),
    ) -> Result<()> {
        match events {
            Events::VeloHits(events) => self.run_hits(events.range(range), out, times),
            events => self.run_banks(events.banks()?, range, out, times),
        }
    }
}

fn flow(stage: &mut StageCounter, items_in: usize, items_out: usize) {
    stage.items_in += items_in as u64;
    stage.items_out += items_out as u64;
}

/// Positions of the input columns in staging memory, for these numbers of events and hits; the last range begins at their end.
fn inputs(capacity: &Capacity, events: usize, hits: usize) -> [Range<usize>; 7] {
    let sizes = |events: usize, hits: usize| {
        let column = 4 * hits;
        [column, column, column, column, 4 * (crate::event::VELO_MODULES * events + 1), 2 * events, 0]
    };
    staged(sizes(capacity.events, capacity.hits), sizes(events, hits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Order;
    use crate::gpu::arena::Plan;
    use crate::gpu::driver::GARBAGE;
    use crate::simd::Level;
    use crate::velo::VeloConfig;
    use peloton_sim::{SimSpec, simulate_velo};

    /// Simulated events. The simulation uses another instance of this crate, so columns are copied.
    fn simulated(events: u64) -> VeloBatch {
        let mut from = Default::default();
        (0..events).for_each(|number| drop(simulate_velo(&SimSpec::default(), number, &mut from)));
        let mut batch = VeloBatch::default();
        for (to, from) in [(&mut batch.x, &from.x), (&mut batch.y, &from.y), (&mut batch.z, &from.z)] {
            to.extend_from_slice(from);
        }
        batch.id.extend_from_slice(&from.id);
        batch.event_id.extend_from_slice(&from.event_id);
        batch.module_start.extend_from_slice(&from.module_start[1..]);
        batch.status.resize(events as usize, Status::Ok);
        batch
    }

    /// With buffers as small as these events allow and far from one another, nothing between them changes.
    #[test]
    fn kernels_write_to_their_buffers_alone() {
        let batch = simulated(5);
        let velo = Velo::new(Level::choose(None, None).unwrap(), VeloConfig::default()).unwrap();
        let hits = batch.x.len();
        let capacity = Capacity { events: 5, hits, rows: hits / 2, output: 24 * hits };
        let plan = Plan::spread(&plan::bytes(&capacity));
        let device = Device::emulated(Order::Forward).unwrap();
        let mut stream = VeloStream::with_plan(&device, &velo, capacity, plan).unwrap();
        let mut out = Outcome::default();
        stream.run_hits(batch.view(), &mut out, &mut |_, _| ()).unwrap();
        assert!(out.results.tracks() > 500, "{} tracks", out.results.tracks());
        assert_eq!(stream.plan.trespass(stream.queue.memory(), GARBAGE), None);
    }
}
