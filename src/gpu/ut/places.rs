//! Positions of the columns of a slice: inputs, then outputs, then memory that only the device uses. Inputs and outputs have
//! the same positions in staging memory, so that one copy transfers each of them.

use crate::event::UT_PLANES;
use crate::gpu::arena::ALIGNMENT;
use crate::gpu::lanes::ut::UtArgs;
use crate::ut::grid::CELLS;
use crate::ut::halves::Halves;
use crate::ut::tracklets::{Best, SLOTS};
use crate::ut::{UtConfig, UtLayout};
use bytemuck::Pod;
use std::ops::Range;

/// The columns, in the order of their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    GroupX,
    PlaneFactor,
    FirstHit,
    Table,
    Hits,
    Weight,
    Number,
    Group,
    Event,
    Line,
    Kept,
    Lost,
    Best,
    Backward,
    Hit0,
    Hit1,
    Hit2,
    Hit3,
    Kick,
    Slots,
    Counts,
    Rows,
    Row,
    HitCount,
    Chi2,
}

/// Number of columns; then the indices at which the inputs and the outputs end.
const COLUMNS: usize = Column::Chi2 as usize + 1;
const INPUTS: usize = Column::Kept as usize;
const OUTPUTS: usize = Column::Slots as usize;

impl Column {
    /// Columns of the hits of doublets, by role.
    pub(super) const HITS: [Self; UT_PLANES] = [Self::Hit0, Self::Hit1, Self::Hit2, Self::Hit3];
}

/// Numbers of groups, factors, events, hits and tracks in a slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    groups: usize,
    factors: usize,
    events: usize,
    hits: usize,
    tracks: usize,
    /// Largest number of doublets of a track.
    pub(super) room: usize,
}

impl Sizes {
    /// The sizes of a slice without events.
    pub(super) fn of(layout: &UtLayout, config: &UtConfig) -> Self {
        let planes = layout.planes();
        let (groups, factors) = (planes.group_x.len(), planes.plane_factor.len());
        Self { groups, factors, events: 0, hits: 0, tracks: 0, room: config.candidates as usize }
    }

    /// Adds an event.
    pub(super) fn add(&mut self, hits: usize, tracks: usize) {
        self.events += 1;
        self.hits += hits;
        self.tracks += tracks;
    }

    /// Bytes of each column.
    fn bytes(&self) -> [usize; COLUMNS] {
        let Self { groups, factors, events, hits, tracks, room } = *self;
        let (hit, track, doublet) = (4 * hits, 4 * tracks, 4 * room * tracks);
        let inputs = [4 * groups, 4 * factors, 4 * (events + 1), 4 * events * (CELLS + 1)];
        let of_hits = [4 * hit, hit, hit, hit];
        let of_tracks = [track, 4 * track, track, track, size_of::<Best>() * tracks];
        let out = [doublet; 6];
        let scratch = [UT_PLANES * SLOTS * track, UT_PLANES * track, track, doublet, doublet, doublet];
        let all = [&inputs[..], &of_hits, &of_tracks, &out, &scratch].concat();
        all.try_into().expect("each column has a size")
    }
}

/// Positions of all columns, bytes from the beginning of the arena.
#[derive(Debug)]
pub(super) struct Places {
    start: [usize; COLUMNS],
    /// Range of the inputs; `output` is the range of the outputs, `arena` the size of all columns.
    pub(super) input: Range<usize>,
    pub(super) output: Range<usize>,
    pub(super) arena: usize,
}

impl Places {
    pub(super) fn new(sizes: &Sizes) -> Self {
        let (mut start, mut end) = ([0; COLUMNS], 0);
        for (start, bytes) in start.iter_mut().zip(sizes.bytes()) {
            *start = end;
            end += bytes.next_multiple_of(ALIGNMENT);
        }
        Self { input: 0..start[INPUTS], output: start[INPUTS]..start[OUTPUTS], start, arena: end }
    }

    /// Returns a writer that fills columns in staging memory from their beginnings.
    pub(super) fn writer<'a>(&self, staging: &'a mut [u8]) -> Writer<'a> {
        Writer { staging, next: self.start }
    }

    /// Entries of a column in staging memory.
    pub(super) fn read<'a, T: Pod>(&self, staging: &'a [u8], column: Column, range: Range<usize>) -> &'a [T] {
        let start = self.start[column as usize];
        bytemuck::cast_slice(
            &staging[start + size_of::<T>() * range.start..start + size_of::<T>() * range.end],
        )
    }

    /// The arguments of the kernel.
    pub(super) fn args(&self, arena: u64, halves: &Halves<'_>, sizes: &Sizes) -> UtArgs {
        let at = |column: Column| arena + self.start[column as usize] as u64;
        let planes = halves.layout.planes();
        let [below, above] = halves.layout.strip_reach();
        UtArgs {
            group_x: at(Column::GroupX),
            plane_factor: at(Column::PlaneFactor),
            first_hit: at(Column::FirstHit),
            table: at(Column::Table),
            hits: at(Column::Hits),
            weight: at(Column::Weight),
            number: at(Column::Number),
            group: at(Column::Group),
            event: at(Column::Event),
            line: at(Column::Line),
            slots: at(Column::Slots),
            counts: at(Column::Counts),
            rows: at(Column::Rows),
            kept: at(Column::Kept),
            lost: at(Column::Lost),
            best: at(Column::Best),
            doublet_row: at(Column::Row),
            backward: at(Column::Backward),
            doublet_hits: Column::HITS.map(at),
            hit_count: at(Column::HitCount),
            chi2: at(Column::Chi2),
            kick: at(Column::Kick),
            tracks: sizes.tracks as u32,
            groups: sizes.groups as u32,
            factors: sizes.factors as u32,
            events: sizes.events as u32,
            cuts: halves.config.cuts(),
            z: planes.z,
            depth: planes.depth,
            velo_z: planes.velo_z,
            below,
            above,
            first_group: planes.first_group,
        }
    }
}

/// Appends to columns in staging memory.
pub(super) struct Writer<'a> {
    staging: &'a mut [u8],
    next: [usize; COLUMNS],
}

impl Writer<'_> {
    /// Appends values.
    pub(super) fn put<T: Pod>(&mut self, column: Column, values: &[T]) {
        let bytes = bytemuck::cast_slice(values);
        self.room(column, bytes.len()).copy_from_slice(bytes);
    }

    /// Appends a value several times.
    pub(super) fn fill(&mut self, column: Column, value: u32, count: usize) {
        let room = self.room(column, 4 * count).chunks_exact_mut(4);
        room.for_each(|place| place.copy_from_slice(&value.to_ne_bytes()));
    }

    fn room(&mut self, column: Column, bytes: usize) -> &mut [u8] {
        let next = &mut self.next[column as usize];
        let start = *next;
        *next += bytes;
        &mut self.staging[start..start + bytes]
    }
}
