//! Finds hits in the UT for Velo tracks, with `choice = kick` or `compass`. The host sorts the hits and selects the
//! tracks; a device finds the tracklets with the lane programs of the CPU (`lanes`), one thread per track; the host
//! fits the tracklets. Results equal the results of the CPU bit by bit.

mod places;

use super::device::{Device, settled};
use super::driver::Queue;
use super::lanes::ut::UtArgs;
use super::mirror::Arguments;
use crate::event::{Outcome, UtBatch, VeloTracks, VeloUtTracks};
use crate::ut::grid::CELLS;
use crate::ut::halves::{Found, Halves};
use crate::ut::{UtConfig, UtFindWorkspace, UtLayout};
use crate::{Error, Result};
use places::{Column, Places, Sizes};
use std::ops::Range;

/// The kernels in the order of their launch.
pub const KERNELS: [&str; 1] = super::lanes::KERNELS;

impl Arguments for UtArgs {
    const ADDRESSES: usize = 25;
    const KERNELS: &'static [&'static str] = &KERNELS;
}

/// Threads of a block.
const THREADS: u32 = 64;

/// Events that a device processes at once.
const SLICE_EVENTS: usize = 128;

/// One stream: a queue of the device with its memory, which grows with the largest slice.
pub struct UtStream {
    device: Device,
    config: UtConfig,
    layout: UtLayout,
    queue: Queue,
    /// Sorted hits and selected tracks of each event of a slice.
    workspaces: Vec<UtFindWorkspace>,
}

impl UtStream {
    /// Opens a stream on a device.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for the choice `line`, [`Error::Config`] for values that cannot be used, and [`Error::Device`] when
    /// the device has too little memory.
    pub fn open(device: &Device, config: &UtConfig, layout: &UtLayout) -> Result<Self> {
        config.validate()?;
        if config.reads_cells() {
            return Err(Error::Unsupported(
                "the choice `line` (presets best and fast of the UT) runs on CPUs only: a device runs the choices kick and \
                 compass (presets hlt1, hlt1-unrestricted and paper)"
                    .into(),
            ));
        }
        let queue = device.open_lanes(0, 0)?;
        let (device, config, layout) = (device.clone(), config.clone(), layout.clone());
        Ok(Self { device, config, layout, queue, workspaces: Vec::new() })
    }

    /// Finds the hits in the UT of the Velo tracks of all events, and appends the tracks with hits to `out`, as
    /// [`find`](crate::ut::find) does. The counters of lanes stay 0.
    ///
    /// # Errors
    /// [`Error::Device`] when the device fails.
    ///
    /// # Panics
    /// When `velo` and `hits` differ in the number of events.
    pub fn run(&mut self, velo: &VeloTracks, hits: &UtBatch, out: &mut Outcome<VeloUtTracks>) -> Result<()> {
        assert_eq!(velo.events(), hits.status.len(), "numbers of events of Velo tracks and of hits");
        let (config, layout) = (self.config.clone(), self.layout.clone());
        let halves = Halves { config: &config, layout: &layout, velo, hits };
        for first in (0..velo.events()).step_by(SLICE_EVENTS) {
            let events = first..velo.events().min(first + SLICE_EVENTS);
            let done = self.run_slice(&halves, events, out);
            settled(&mut self.queue, done)?;
        }
        Ok(())
    }

    fn run_slice(
        &mut self,
        halves: &Halves<'_>,
        events: Range<usize>,
        out: &mut Outcome<VeloUtTracks>,
    ) -> Result<()> {
        self.workspaces.resize_with(events.len().max(self.workspaces.len()), Default::default);
        let mut sizes = Sizes::of(halves.layout, halves.config);
        for (event, workspace) in events.clone().zip(&mut self.workspaces) {
            if halves.status(event).is_reconstructed() {
                halves.before(event, workspace);
                let (store, lines) = halves.ready(workspace);
                sizes.add(store.weight.len(), lines.len());
            }
        }
        let places = Places::new(&sizes);
        if places.arena > self.queue.memory_held().arena {
            // Reserves half as much again, so that the queue is rarely reopened.
            let of = |bytes: usize| bytes + bytes / 2;
            self.queue = self.device.open_lanes(of(places.arena), of(places.output.end))?;
        }
        self.copy_in(halves, &events, &places)?;
        let args = places.args(self.queue.arena(), halves, &sizes);
        self.queue.clear(places.output.clone())?;
        self.queue.launch(KERNELS[0], args.tracks.div_ceil(THREADS), THREADS, &args)?;
        self.queue.copy_out(places.output.clone(), places.output.start)?;
        self.queue.wait()?;

        let staged = self.queue.staging()?;
        let mut first = 0;
        for (event, workspace) in events.zip(&mut self.workspaces) {
            if !halves.status(event).is_reconstructed() {
                halves.pass(event, out);
                continue;
            }
            let tracks = first..first + halves.ready(workspace).1.len();
            halves.behind(event, &found(staged, &places, &sizes, tracks.clone()), workspace, out);
            first = tracks.end;
        }
        Ok(())
    }

    /// Writes the inputs of a slice to staging memory, in the layout of the arena, and copies them in one piece.
    fn copy_in(&mut self, halves: &Halves<'_>, events: &Range<usize>, places: &Places) -> Result<()> {
        let staging = self.queue.staging()?;
        let mut writer = places.writer(staging);
        let planes = halves.layout.planes();
        writer.put(Column::GroupX, planes.group_x);
        writer.put(Column::PlaneFactor, planes.plane_factor);
        let (mut hits, mut number) = (0u32, 0u32);
        writer.put(Column::FirstHit, &[0u32]);
        for (event, workspace) in events.clone().zip(&self.workspaces) {
            if !halves.status(event).is_reconstructed() {
                continue;
            }
            let (store, lines) = halves.ready(workspace);
            writer.put(Column::Hits, store.hits);
            writer.put(Column::Weight, store.weight);
            writer.put(Column::Number, store.number);
            writer.put(Column::Group, store.group);
            writer.put(Column::Table, &store.table[..=CELLS]);
            writer.put(Column::Line, lines);
            writer.fill(Column::Event, number, lines.len());
            hits += store.weight.len() as u32;
            number += 1;
            writer.put(Column::FirstHit, &[hits]);
        }
        self.queue.copy_in(places.input.clone(), 0)
    }
}

/// The tracklets that the device found for the tracks of an event.
fn found<'a>(staged: &'a [u8], places: &Places, sizes: &Sizes, tracks: Range<usize>) -> Found<'a> {
    let room = sizes.room;
    let doublets = room * tracks.start..room * tracks.end;
    let column = |column| places.read(staged, column, doublets.clone());
    Found {
        kept: places.read(staged, Column::Kept, tracks.clone()),
        lost: places.read(staged, Column::Lost, tracks.clone()),
        best: places.read(staged, Column::Best, tracks.clone()),
        backward: column(Column::Backward),
        hits: Column::HITS.map(column),
        kick: places.read(staged, Column::Kick, doublets.clone()),
        room,
    }
}
