//! The structs that cross the interface. Every struct that a caller passes directly begins with its size: a later
//! version may add fields at the end and keep PELOTON_ABI. Structs inside other structs never grow.

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
                "the last size is not the size of the struct"
            );
        )+
    };
}

// All sizes of each struct with this PELOTON_ABI; a field that is added at the end adds a size.
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

/// Hits of the Velo, sorted by event and module. Columns need no padding, and are borrowed only during the call.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_velo_hits {
    /// sizeof(peloton_velo_hits).
    pub size: usize,
    /// Number of events.
    pub events: usize,
    /// Number of hits of all events.
    pub hits: usize,
    /// x of the hits, mm; one value a hit.
    pub x: *const f32,
    /// As x.
    pub y: *const f32,
    /// As x.
    pub z: *const f32,
    /// Identifiers of the hits, with which tracks list their hits; one value a hit.
    pub id: *const u32,
    /// Index of the first hit of each of the 52 modules of each event, and the number of hits: 52 * events + 1 values.
    pub module_start: *const u32,
    /// Status of each event, or NULL: events whose status is not 0 are skipped and keep this status.
    pub status_or_null: *const u16,
}

/// Hits of the cylinder detector, sorted by event and layer; the library copies them once.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_cylinder_hits {
    /// sizeof(peloton_cylinder_hits).
    pub size: usize,
    /// Number of events.
    pub events: usize,
    /// Number of hits of all events.
    pub hits: usize,
    /// x of the hits, cm; one value a hit.
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
    /// Index of the first hit of each of the 10 layers of each event, and the number of hits: 10 * events + 1 values.
    pub layer_start: *const u32,
    /// Status of each event, or NULL, as in peloton_velo_hits.
    pub status_or_null: *const u16,
}

/// Pixel hits in order of arrival; the library copies them once.
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

/// The chips and pixels of a sensor.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_layout {
    /// sizeof(peloton_layout).
    pub size: usize,
    /// Number of independent chips, 1 to 256; 0 means a quad: one sensor of 2 x 2 chips with 256 x 256 pixels each.
    pub chips: u32,
    /// Pixels of a chip in x; ignored for a quad.
    pub width: u32,
    /// Pixels of a chip in y; ignored for a quad.
    pub height: u32,
    /// Width of the gap between the chips of a quad, pixels.
    pub gap: u32,
}

/// The banks of one source in consecutive events, in the layout of event builders.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_block {
    /// sizeof(peloton_block).
    pub size: usize,
    /// Number of the source, a readout board.
    pub source: u16,
    /// Version of the encoding of the banks.
    pub version: u8,
    /// Alignment of payloads: payload i begins at the next multiple of 2^align_log2 bytes after payload i - 1;
    /// align_log2 is at most 16.
    pub align_log2: u8,
    /// Type of each event's bank, as in raw bank headers.
    pub types: *const u8,
    /// Bytes of each event's payload.
    pub sizes: *const u16,
    /// The payloads, one after the other.
    pub payloads: *const u8,
    /// Number of readable bytes at the address `payloads`.
    pub payload_bytes: usize,
}

/// Counts of one stage.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_stage_counter {
    /// Wall-clock time, ns.
    pub ns: u64,
    /// Number of items that entered the stage.
    pub items_in: u64,
    /// Number of items that left the stage.
    pub items_out: u64,
    /// Number of SIMD lanes that did useful work, summed over the gang's steps.
    pub lanes_active: u64,
    /// Number of all SIMD lanes, summed over the gang's steps.
    pub lanes_total: u64,
}

/// Counts over events. The library adds to these counts and never clears them; each thread needs its own struct.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_counters {
    /// sizeof(peloton_counters).
    pub size: usize,
    /// Number of events, with any status.
    pub events: u64,
    /// Number of tracks.
    pub tracks: u64,
    /// Number of hits: on tracks, in clusters, or in the results of sequences that end at hits.
    pub hits: u64,
    /// Number of events with each status; peloton_status_name gives the names.
    pub status: [u64; 32],
    /// Number of items that were truncated for each reason; peloton_truncation_name gives the names.
    pub truncated: [u64; 16],
    /// Counts of each stage; peloton_engine_stage gives the names.
    pub stage: [peloton_stage_counter; 16],
}

const _: () = assert!(Status::ALL.len() <= 32, "status[32] is too short for all statuses");
const _: () = assert!(Truncation::ALL.len() <= 16, "truncated[16] is too short for all reasons");
const _: () = assert!(MAX_STAGES <= 16, "stage[16] is too short for all stages");

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
            // Only the tables of the program show parts of stages.
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
    /// The type of the values, a PELOTON_TYPE_ constant such as PELOTON_TYPE_F32.
    pub r#type: i32,
    /// The depth of the items that have one value each: 0 events (or clusters), 1 tracks (or hits where there are no
    /// tracks), 2 hits. A column of starts at depth d divides the items of depth d + 1 into lists.
    pub depth: u32,
    /// Number of lists for each item of this depth if the column contains starts; 1 for all other columns.
    pub lists: u32,
    /// Always 0.
    pub reserved: u32,
    /// Name of the column; the texts name, unit and meaning live as long as the result.
    pub name: *const c_char,
    /// Unit of the values, "1" for none.
    pub unit: *const c_char,
    /// Meaning of the values.
    pub meaning: *const c_char,
}

/// States of Velo tracks: straight lines and their covariances, one value a track in each column.
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
    /// Variance of x, equal to the variance of y, mm^2.
    pub cov_xx: *const f32,
    /// Covariance of x and tx, equal to the covariance of y and ty, mm.
    pub cov_xtx: *const f32,
    /// Variance of tx, equal to the variance of ty.
    pub cov_txtx: *const f32,
}

/// Tracks of the sequence velo: pointers to all columns, with the same alignment and lifetime as in peloton_column.
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
    /// Index of the first track of each event, and the number of tracks: events + 1 values.
    pub track_start: *const u32,
    /// Index of the first hit of each track, and the number of hits: tracks + 1 values.
    pub hit_start: *const u32,
    /// Identifiers of the hits of all tracks: `entries` values.
    pub hits: *const u32,
    /// Status of each event.
    pub status: *const u16,
    /// chi2 of the fit; one value a track.
    pub chi2: *const f32,
    /// 1 for tracks that go towards negative z, 0 for others; one value a track.
    pub backward: *const u8,
    /// States at the beam line.
    pub beam: peloton_velo_states,
    /// States at the end of the Velo.
    pub end: peloton_velo_states,
}

/// Counts of the input of a stream of pixel hits since its beginning.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct peloton_pixel_counts {
    /// sizeof(peloton_pixel_counts).
    pub size: usize,
    /// Number of hits that were passed to the search for clusters.
    pub hits: u64,
    /// Number of hits that were dropped because the sensor does not have their chip or pixel.
    pub outside: u64,
    /// Number of edges of trigger inputs.
    pub triggers: u64,
    /// Number of words of known kinds other than hits.
    pub control: u64,
    /// Number of words of unknown kinds, or outside of all chunks.
    pub unknown: u64,
    /// Number of words or chunks that contradict their format, or are truncated.
    pub malformed: u64,
    /// Hits, triggers and heartbeats that were dropped because their time contradicts their neighbours.
    pub implausible: u64,
    /// Words that were dropped because their chunk is damaged.
    pub damaged: u64,
    /// Number of restarts of the clock; the time continues after a restart.
    pub restarts: u64,
}
