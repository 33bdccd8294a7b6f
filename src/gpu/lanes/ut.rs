//! Finds UT tracklets for Velo tracks on a GPU, one track per thread, with the CPU's code in `src/ut/find/tracklets`.

use crate::simd::Gang;
use crate::ut::grid::{CELLS, Stored};
use crate::ut::tracklets::{Best, Cuts, Doublets, Planes, SLOTS, Search, Tracks};
use crate::ut::tracklets::{choose, complete, doublets, windows};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Planes of the UT.
const PLANES: usize = 4;

/// Arguments: addresses of columns, then values.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(target_arch = "nvptx64"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(crate) struct UtArgs {
    /// Left ends of the groups of sectors; deflection factors: of the detector, `groups` and `factors` values.
    pub(crate) group_x: u64,
    pub(crate) plane_factor: u64,
    /// By event, `events` of them: its first hit, and the end; [`CELLS`] + 1 first hits of buckets.
    pub(crate) first_hit: u64,
    pub(crate) table: u64,
    /// By hit: see [`Stored`].
    pub(crate) hits: u64,
    pub(crate) weight: u64,
    pub(crate) number: u64,
    pub(crate) group: u64,
    /// By track: its event and its line; then the results: slots and their counts, whether the track has hits in three
    /// planes (`rows` is scratch memory), how many hits were left out, and the best tracklet.
    pub(crate) event: u64,
    pub(crate) line: u64,
    pub(crate) slots: u64,
    pub(crate) counts: u64,
    pub(crate) rows: u64,
    pub(crate) kept: u64,
    pub(crate) lost: u64,
    pub(crate) best: u64,
    /// By track and candidate: see [`Doublets`].
    pub(crate) doublet_row: u64,
    pub(crate) backward: u64,
    pub(crate) doublet_hits: [u64; PLANES],
    pub(crate) hit_count: u64,
    pub(crate) chi2: u64,
    pub(crate) kick: u64,
    pub(crate) tracks: u32,
    pub(crate) groups: u32,
    pub(crate) factors: u32,
    pub(crate) events: u32,
    pub(crate) cuts: Cuts,
    pub(crate) z: [f32; PLANES],
    pub(crate) depth: [f32; PLANES],
    pub(crate) velo_z: f32,
    pub(crate) below: f32,
    pub(crate) above: f32,
    pub(crate) first_group: [u32; PLANES + 1],
}

/// `len` values from number `first` on of the column at `address`.
///
/// # Safety
/// The values exist, and nothing writes them while the slice is in use.
#[inline(always)]
unsafe fn read<'a, T>(address: u64, first: usize, len: usize) -> &'a [T] {
    // SAFETY: the caller's promise.
    unsafe { from_raw_parts((address as usize as *const T).add(first), len) }
}

/// The same, to write.
///
/// # Safety
/// The values exist, and nothing else reads or writes them while the slice is in use.
#[inline(always)]
unsafe fn write<'a, T>(address: u64, first: usize, len: usize) -> &'a mut [T] {
    // SAFETY: the caller's promise.
    unsafe { from_raw_parts_mut((address as usize as *mut T).add(first), len) }
}

/// Finds the best tracklet of a track.
///
/// # Safety
/// The columns are as large as [`UtArgs`] says, every track's event is one of those that have hits, first hits do not fall
/// and end with the number of hits, and every thread has a track of its own.
#[inline(always)]
pub(crate) unsafe fn tracklets<G: Gang>(g: G, args: &UtArgs, track: usize) {
    if track >= args.tracks as usize {
        return;
    }
    let a = args;
    let room = a.cuts.candidates as usize;
    // SAFETY: the caller's promise: columns are so large, inputs are not written, and what is written belongs to this track.
    let (store, planes, mut tracks, mut found, out) = unsafe {
        let event = read::<u32>(a.event, track, 1)[0] as usize;
        let ends = read::<u32>(a.first_hit, event, 2);
        let (first, hits) = (ends[0] as usize, (ends[1] - ends[0]) as usize);
        let store = Stored {
            hits: read(a.hits, first, hits),
            weight: read(a.weight, first, hits),
            number: read(a.number, first, hits),
            group: read(a.group, first, hits),
            table: read(a.table, event * (CELLS + 1), CELLS + 1),
            below: a.below,
            above: a.above,
        };
        let planes = Planes {
            z: a.z,
            depth: a.depth,
            velo_z: a.velo_z,
            group_x: read(a.group_x, 0, a.groups as usize),
            first_group: a.first_group,
            plane_factor: read(a.plane_factor, 0, a.factors as usize),
        };
        let tracks = Tracks {
            len: 1,
            line: read(a.line, track, 1),
            slots: write(a.slots, PLANES * SLOTS * track, PLANES * SLOTS),
            counts: write(a.counts, PLANES * track, PLANES),
            rows: write(a.rows, track, 1),
            kept: 0,
        };
        let [first, second, third, fourth] = a.doublet_hits;
        let of_track = |hits| write(hits, room * track, room);
        let found = Doublets {
            row: write(a.doublet_row, room * track, room),
            backward: write(a.backward, room * track, room),
            hits: [of_track(first), of_track(second), of_track(third), of_track(fourth)],
            count: write(a.hit_count, room * track, room),
            chi2: write(a.chi2, room * track, room),
            kick: write(a.kick, room * track, room),
            len: 0,
        };
        let out =
            (write::<Best>(a.best, track, 1), write::<u32>(a.kept, track, 1), write::<u32>(a.lost, track, 1));
        (store, planes, tracks, found, out)
    };
    let search = Search { cuts: a.cuts, planes };
    let (best, kept, lost) = out;
    lost[0] = windows(g, &search, &store, &mut tracks).0;
    doublets(g, &search, &store, &tracks, &mut found);
    complete(g, &search, &store, &tracks, &mut found);
    choose(&a.cuts, &found, best);
    kept[0] = tracks.kept as u32;
}
