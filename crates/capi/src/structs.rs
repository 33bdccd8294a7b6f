//! The structs that cross the interface. Every struct that a caller passes directly begins with its size: fields may
//! be added at the end without another PELOTON_ABI. Structs inside other structs never grow.

use crate::pointers::Crossing;
use peloton_core::Status;
use peloton_core::event::{Counters, MAX_STAGES, StageCounter, Truncation};
use std::ffi::{c_char, c_void};

macro_rules! crossing {
    ($($type:ty: [$($size:literal),+]),+ $(,)?) => {
        $(
            // SAFETY: repr(C), begins with `size`, and all fields are numbers, pointers or structs of them.
            unsafe impl Crossing for $type {
                const SIZES: &'static [usize] = &[$($size),+];
            }
            const _: () = assert!(
                matches!(<$type>::SIZES, [.., last] if *last == size_of::<$type>()),
                "a struct with a field more has one more size here"
            );
        )+
    };
}

// The sizes that each one has had, since the first one with this PELOTON_ABI: a field that is added behind adds one.
crossing!(
    peloton_velo_hits: [72],
    peloton_cylinder_hits: [88],
    peloton_pixel_hits: [48],
    peloton_layout: [24],
    peloton_block: [48],
    peloton_counters: [1056],
    peloton_column: [64],
    peloton_velo_tracks: [208],
    peloton_pixel_counts: [56, 80],
);

/// Hits of the Velo, sorted by event and module; borrowed during the call only, without padding.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_velo_hits {
    /// sizeof(peloton_velo_hits).
    pub size: usize,
    /// Number of events.
    pub events: usize,
    /// Number of hits of all events.
    pub hits: usize,
    /// Positions, mm; one value a hit.
    pub x: *const f32,
    /// As x.
    pub y: *const f32,
    /// As x.
    pub z: *const f32,
    /// Identifiers of the hits, by which tracks name them; one value a hit.
    pub id: *const u32,
    /// First hit of each of the 52 modules of each event, counted over all events, and the end: 52 * events + 1 values.
    pub module_start: *const u32,
    /// Status of each event, or NULL: events whose status is not 0 are skipped and keep it.
    pub status_or_null: *const u16,
}

/// Hits of the cylinder detector, sorted by event and layer; copied once.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_cylinder_hits {
    /// sizeof(peloton_cylinder_hits).
    pub size: usize,
    /// Number of events.
    pub events: usize,
    /// Number of hits of all events.
    pub hits: usize,
    /// Positions, cm; one value a hit.
    pub x: *const f32,
    /// As x.
    pub y: *const f32,
    /// As x.
    pub z: *const f32,
    /// Variances along r, r-phi and z, cm^2; one value a hit.
    pub var_r: *const f32,
    /// As var_r.
    pub var_rphi: *const f32,
    /// As var_r.
    pub var_z: *const f32,
    /// First hit of each of the 10 layers of each event, counted over all events, and the end: 10 * events + 1 values.
    pub layer_start: *const u32,
    /// Status of each event, or NULL, as in peloton_velo_hits.
    pub status_or_null: *const u16,
}

/// Pixel hits in order of arrival; copied once.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_pixel_hits {
    /// sizeof(peloton_pixel_hits).
    pub size: usize,
    /// Number of hits.
    pub hits: usize,
    /// Time of arrival, ticks of 1.5625 ns.
    pub time: *const i64,
    /// Column of the pixel on the sensor.
    pub x: *const u16,
    /// Row of the pixel on the sensor.
    pub y: *const u16,
    /// Time over threshold, clocks of 25 ns.
    pub tot: *const u16,
}

/// A sensor of pixels.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_layout {
    /// sizeof(peloton_layout).
    pub size: usize,
    /// Chips that do not see each other, 1 to 256; 0 is a quad, four chips of 256 x 256 side by side as one sensor.
    pub chips: u32,
    /// Pixels of a chip in x; ignored for a quad.
    pub width: u32,
    /// Pixels of a chip in y; ignored for a quad.
    pub height: u32,
    /// Pixels between the chips of a quad.
    pub gap: u32,
}

/// The banks of one source in consecutive events, as event builders hold them.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_block {
    /// sizeof(peloton_block).
    pub size: usize,
    /// Number of the readout board.
    pub source: u16,
    /// Version of the encoding.
    pub version: u8,
    /// Alignment of payloads: payload i begins at the next multiple of 2 to this power of bytes after payload i - 1;
    /// 16 at most.
    pub align_log2: u8,
    /// Type of each event's bank, as in raw bank headers.
    pub types: *const u8,
    /// Bytes of each event's payload.
    pub sizes: *const u16,
    /// The payloads.
    pub payloads: *const u8,
    /// Number of readable bytes from payloads on.
    pub payload_bytes: usize,
}

/// Counts of one stage.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_stage_counter {
    /// Wall-clock time, ns.
    pub ns: u64,
    /// Items taken in.
    pub items_in: u64,
    /// Items handed on.
    pub items_out: u64,
    /// Lanes that did useful work, summed over the gang's steps.
    pub lanes_active: u64,
    /// Lanes there were.
    pub lanes_total: u64,
}

/// Counts of events. The library adds to it and never clears it: one for each thread.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_counters {
    /// sizeof(peloton_counters).
    pub size: usize,
    /// Events with any status.
    pub events: u64,
    /// Tracks.
    pub tracks: u64,
    /// Hits on tracks, in clusters, or hits of sequences that end at hits.
    pub hits: u64,
    /// Events by status: peloton_status_name.
    pub status: [u64; 32],
    /// Items that were cut off, by reason: peloton_truncation_name.
    pub truncated: [u64; 16],
    /// Counts of each stage: peloton_engine_stage.
    pub stage: [peloton_stage_counter; 16],
}

const _: () = assert!(Status::ALL.len() <= 32, "status[32] has no place for every status");
const _: () = assert!(Truncation::ALL.len() <= 16, "truncated[16] has no place for every reason");
const _: () = assert!(MAX_STAGES <= 16, "stage[16] has no place for every stage");

impl peloton_counters {
    /// Adds the counts of a run.
    pub fn add(&mut self, counters: &Counters, tracks: usize, hits: usize) {
        self.events += counters.events();
        self.tracks += tracks as u64;
        self.hits += hits as u64;
        let mut lost = 0;
        for (reason, count) in counters.dropped() {
            if let Some(status) = Status::ALL.iter().find(|status| status.name() == reason) {
                self.status[usize::from(status.code())] += count;
                lost += count;
            } else if let Some(what) = crate::names::truncation(reason) {
                self.truncated[what] += count;
            }
        }
        self.status[0] += counters.events() - lost;
        for (sum, stage) in self.stage.iter_mut().zip(&counters.stages) {
            // Parts of stages are for tables of the program alone.
            let StageCounter { ns, parts: _, items_in, items_out, lanes_active, lanes_total } = stage;
            sum.ns += ns;
            sum.items_in += items_in;
            sum.items_out += items_out;
            sum.lanes_active += lanes_active;
            sum.lanes_total += lanes_total;
        }
    }
}

/// A column of results: its values are in the result's memory, 64-byte aligned (except statuses), with 64 readable
/// values after the end.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_column {
    /// sizeof(peloton_column).
    pub size: usize,
    /// The values.
    pub values: *const c_void,
    /// Number of values.
    pub count: usize,
    /// The type of the values: PELOTON_TYPE_F32 and so on.
    pub r#type: i32,
    /// Items with one value each: 0 events (or clusters), 1 tracks (or hits where there are no tracks), 2 hits.
    /// Starts at depth d divide the items of depth d + 1 into lists.
    pub depth: u32,
    /// Number of lists that starts have for each item of their depth; 1 for all other columns.
    pub lists: u32,
    /// Always 0.
    pub reserved: u32,
    /// Name of the column; it and the next two texts live as long as the result.
    pub name: *const c_char,
    /// Unit of the values, "1" for none.
    pub unit: *const c_char,
    /// Meaning of the values.
    pub meaning: *const c_char,
}

/// States of tracks of the Velo: a line and its covariance, one value a track.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_velo_states {
    /// x, mm.
    pub x: *const f32,
    /// y, mm.
    pub y: *const f32,
    /// z, mm.
    pub z: *const f32,
    /// dx/dz.
    pub tx: *const f32,
    /// dy/dz.
    pub ty: *const f32,
    /// Variance of x and y, mm^2.
    pub cov_xx: *const f32,
    /// Covariance of x and tx, of y and ty, mm.
    pub cov_xtx: *const f32,
    /// Variance of tx and ty.
    pub cov_txtx: *const f32,
}

/// Tracks of the sequence velo: the columns themselves, with the guarantees of peloton_column.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_velo_tracks {
    /// sizeof(peloton_velo_tracks).
    pub size: usize,
    /// Number of events.
    pub events: usize,
    /// Number of tracks of all events.
    pub tracks: usize,
    /// Number of hits of all tracks.
    pub entries: usize,
    /// First track of each event, and the end: events + 1 values.
    pub track_start: *const u32,
    /// First hit of each track, and the end: tracks + 1 values.
    pub hit_start: *const u32,
    /// Identifiers of the hits: entries values.
    pub hits: *const u32,
    /// Status of each event.
    pub status: *const u16,
    /// chi2 of the fit; one value a track.
    pub chi2: *const f32,
    /// 1 for tracks that fly against z; one value a track.
    pub backward: *const u8,
    /// States at the beam line.
    pub beam: peloton_velo_states,
    /// States at the end of the Velo.
    pub end: peloton_velo_states,
}

/// Counts of the input of a stream of pixel hits so far.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_pixel_counts {
    /// sizeof(peloton_pixel_counts).
    pub size: usize,
    /// Hits given to the search for clusters.
    pub hits: u64,
    /// Hits on chips or pixels that the sensor does not have: dropped.
    pub outside: u64,
    /// Edges of trigger inputs.
    pub triggers: u64,
    /// Words that are not hits by their kind.
    pub control: u64,
    /// Words of unknown kinds, or outside every chunk.
    pub unknown: u64,
    /// Words or chunks that contradict their format, or are truncated.
    pub malformed: u64,
    /// Hits, triggers and heartbeats that were dropped because their time contradicts their neighbours.
    pub implausible: u64,
    /// Words that were dropped because their chunk is damaged.
    pub damaged: u64,
    /// Number of restarts of the clock; the time continues after a restart.
    pub restarts: u64,
}
