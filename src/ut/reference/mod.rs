//! Naive reference of `store` and `find`, for tests: linear scans over the hits of a plane, one track after another.

mod attach;
mod by_cell;
mod errors;
mod fit;
mod fit_f64;
mod line;
mod pairs;
mod per_track;
mod tracklets;

use super::config::{UtChoice, UtConfig};
use super::find::{UtFindInput, UtHitsIn};
use super::layout::{BUCKET_WIDTH, BUCKETS, LEFT, LOWEST, ROW_STEP, ROWS, UtLayout};
use crate::Status;
use crate::event::{UT_GROUPS, UtBatch, UtCellHits, VeloTracks, VeloUtTracks};
pub(crate) use attach::attach;
pub use by_cell::by_cell;
use fit::Fitted;
pub(crate) use fit::ln;
pub use fit_f64::{UtFit64, UtHit64, VeloEnd64, fit_f64};
use line::{Beside, Line, MIDDLE, SLOPE};
pub use per_track::{Ranges, per_track, ranges};
use std::ops::Range;
use tracklets::{Tracklet, Windows};

/// Largest number of hits of a plane that are tried.
const SLOTS: usize = 16;

/// One event and the parameters of its search.
struct Event<'a> {
    config: &'a UtConfig,
    layout: &'a UtLayout,
    hits: Hits<'a>,
    /// First hits of the event's groups or cells, and the end of the last.
    starts: &'a [u32],
}

/// Columns of hits, in the order of groups or of cells.
#[derive(Clone, Copy)]
struct Hits<'a> {
    x: &'a [f32],
    z: &'a [f32],
    y_begin: &'a [f32],
    y_end: &'a [f32],
    weight: &'a [f32],
    id: &'a [u32],
}

impl<'a> From<&'a UtBatch> for Hits<'a> {
    fn from(hits: &'a UtBatch) -> Self {
        let UtBatch { x, z, y_begin, y_end, weight, id, .. } = hits;
        Self { x, z, y_begin, y_end, weight, id }
    }
}

impl<'a> From<&'a UtCellHits> for Hits<'a> {
    fn from(hits: &'a UtCellHits) -> Self {
        let UtCellHits { x, z, y_begin, y_end, weight, id, .. } = hits;
        Self { x, z, y_begin, y_end, weight, id }
    }
}

/// Reconstructs all events and appends their tracks to `out`.
pub fn reference(config: &UtConfig, layout: &UtLayout, input: UtFindInput<'_>, out: &mut VeloUtTracks) {
    reference_with(false, config, layout, input, out);
}

/// Reconstructs all events like [`reference()`]. If `fault` is true, windows are one per cent too narrow on purpose,
/// which tests must detect.
pub fn reference_with(
    fault: bool,
    config: &UtConfig,
    layout: &UtLayout,
    input: UtFindInput<'_>,
    out: &mut VeloUtTracks,
) {
    let UtFindInput { velo, hits } = input;
    match hits {
        UtHitsIn::Groups(hits) => {
            let fill = |event: &Event<'_>, line: &Line, windows: &mut Windows| {
                for (plane, window) in windows.iter_mut().enumerate() {
                    *window = event.window(fault, line, plane);
                }
            };
            let starts = |number: usize| starts_of(hits, number);
            search((config, layout), (velo, hits.into()), out, starts, fill, |event, line, windows, _| {
                event.best(line, windows)
            });
        }
        UtHitsIn::Cells(hits) => {
            let fill = |event: &Event<'_>, line: &Line, windows: &mut Windows| {
                for (plane, window) in windows.iter_mut().enumerate() {
                    *window = event.cells_window(fault, line, plane);
                }
            };
            let starts = |number: usize| (hits.cells_of(number), hits.status[number]);
            search(
                (config, layout),
                (velo, hits.into()),
                out,
                starts,
                fill,
                |event, line, windows, tried| event.best_pairs(line, windows, tried),
            );
        }
    }
}

/// Returns the first hits of the groups of an event, and its status.
fn starts_of(hits: &UtBatch, number: usize) -> (&[u32], Status) {
    (&hits.group_start[UT_GROUPS * number..=UT_GROUPS * (number + 1)], hits.status[number])
}

/// Reconstructs all events. `starts_of` returns the first hits of the groups or cells of an event and its status,
/// `fill` fills the windows of a track, and `best` chooses the best tracklet and counts the tracklets of the event.
/// This function and its calls for each track are always inlined, so that with a level's instructions a fused
/// multiply-add is no call.
#[inline(always)]
fn search<'a>(
    (config, layout): (&'a UtConfig, &'a UtLayout),
    (velo, hits): (&VeloTracks, Hits<'a>),
    out: &mut VeloUtTracks,
    starts_of: impl Fn(usize) -> (&'a [u32], Status),
    fill: impl Fn(&Event<'_>, &Line, &mut Windows),
    best: impl Fn(&Event<'_>, &Line, &Windows, &mut usize) -> Option<Tracklet>,
) {
    let (mut windows, mut found) = (Windows::default(), Vec::new());
    for number in 0..velo.events() {
        let (starts, of_hits) = starts_of(number);
        let status = if velo.status[number] == Status::Ok { of_hits } else { velo.status[number] };
        let event = Event { config, layout, hits, starts };
        let tracks = if status == Status::Ok { velo.of_event(number) } else { 0..0 };
        let (first, mut tried) = (tracks.start, 0);
        for track in tracks {
            let is_forward = velo.backward[track] == 0;
            if is_forward && is_accepted(&Line::of(&velo.beam, track)) {
                let line = Line::of(&velo.end, track);
                fill(&event, &line, &mut windows);
                if windows.iter().filter(|window| !window.is_empty()).count() > 2 {
                    found.extend(best(&event, &line, &windows, &mut tried).map(|best| (track, line, best)));
                }
            }
        }
        if config.choice == UtChoice::Line {
            tracklets::remove_clones(config, &mut found);
        }
        for (track, line, best) in found.drain(..) {
            let fitted = fit::fit(config, layout, &line, best);
            if fit::is_good(config, layout, &line, &fitted) {
                push(layout, velo, hits.id, (track, track - first), &fitted, out);
            }
        }
        out.track_start.push(out.tracks() as u32);
        out.status.push(status);
    }
}

/// Tolerances for the hits of a track in a plane.
struct Tolerances {
    /// Largest distance in x, mm.
    x: f32,
    /// Ratio of the deflection at the plane to the deflection in the middle of the UT.
    factor: f32,
    /// Group of sectors that the track points at; left of all groups of the plane, the first group minus 1.
    own_group: i32,
}

/// Returns whether a track flies into the UT.
#[inline(always)]
fn is_accepted(beam: &Line) -> bool {
    let [x, y] = beam.at(MIDDLE);
    x.mul_add(x, y * y) > 33.0 * 33.0 && beam.tx.abs() <= 0.35 && beam.ty.abs() <= 0.30
}

impl Event<'_> {
    /// Returns the best tracklet of a Velo track.
    #[inline(always)]
    fn best(&self, line: &Line, windows: &Windows) -> Option<Tracklet> {
        tracklets::best(self.config, line, windows)
    }

    /// Returns the tolerances of a window.
    #[inline(always)]
    fn tolerances(&self, line: &Line, plane: usize) -> Tolerances {
        let Self { config, layout, .. } = self;
        let inverse_angle = (1.0 / line.tx.mul_add(line.tx, line.ty * line.ty).sqrt()).min(500.0);
        let momentum = (config.min_pt * inverse_angle).max(config.min_momentum);
        let bin = (line.ty.abs().mul_add(100.0, 0.5) as usize).min(29);
        let factor = 1.0 / layout.tables.plane_factor[4 * bin + plane];
        let groups = layout.plane_groups[plane]..layout.plane_groups[plane + 1];
        let [x, _] = line.at(layout.z[plane]);
        let left = layout.group_x[groups.clone()].iter().filter(|&&left| left < x).count();
        let own_group = groups.start as i32 + left as i32 - 1;
        Tolerances { x: factor / (4.0212e-5 * momentum), factor, own_group }
    }

    /// Returns a hit relative to the track, if it may belong to the track.
    #[inline(always)]
    fn beside(&self, line: &Line, plane: usize, of: &Tolerances, hit: usize) -> Option<Beside> {
        let Self { config, hits, .. } = self;
        let z = hits.z[hit];
        let [x, y] = line.at(z);
        let d = y.mul_add(SLOPE[plane], hits.x[hit]) - x;
        let t = (d * of.factor).abs().mul_add(config.y_tolerance_slope, config.y_tolerance);
        let is_near = d.abs() <= of.x && hits.y_begin[hit] - t <= y && y <= hits.y_end[hit] + t;
        is_near.then_some(Beside { d, z, weight: hits.weight[hit], plane, hit })
    }

    /// Returns the possible hits of a track in a plane, in the order of the store, or, if groups matter, by distance of
    /// the group from the track.
    fn window(&self, fault: bool, line: &Line, plane: usize) -> Vec<Beside> {
        let Self { config, layout, hits, starts } = self;
        let mut tolerances = self.tolerances(line, plane);
        tolerances.x *= if fault { 0.99 } else { 1.0 };
        let groups = layout.plane_groups[plane]..layout.plane_groups[plane + 1];
        let mut found = Vec::new();
        for group in groups.clone() {
            let away = group as i32 - tolerances.own_group;
            let ring = if away < 0 { -2 * away - 1 } else { 2 * away };
            let is_inside = group > groups.start && group < groups.end - 1 && ring < config.sectors as i32;
            for hit in starts[group] as usize..starts[group + 1] as usize {
                let beside = self.beside(line, plane, &tolerances, hit);
                if let Some(beside) = beside.filter(|_| is_inside || config.sectors == 0) {
                    let middle = (hits.y_begin[hit] + hits.y_end[hit]) * 0.5;
                    let row = cell(middle - LOWEST, ROW_STEP, ROWS);
                    let bucket = cell(hits.x[hit] - LEFT, BUCKET_WIDTH, BUCKETS);
                    found.push(((row, bucket, hit), ring, beside));
                }
            }
        }
        found.sort_by_key(|(place, ..)| *place);
        found.truncate(SLOTS);
        if config.sectors > 0 {
            found.sort_by_key(|(_, ring, hit)| (*ring, hit.hit));
        }
        found.into_iter().map(|(.., hit)| hit).collect()
    }
}

/// Returns the numbers in the batch of an event's hits in a plane.
fn hits_of_plane(layout: &UtLayout, hits: &UtBatch, event: usize, plane: usize) -> Range<usize> {
    let [first, end] = [plane, plane + 1]
        .map(|plane| hits.group_start[UT_GROUPS * event + layout.plane_groups[plane]] as usize);
    first..end
}

/// Returns the cell of a distance, one of `cells`.
fn cell(distance: f32, width: f32, cells: usize) -> usize {
    ((distance * (1.0 / width)) as i32).clamp(0, cells as i32 - 1) as usize
}

/// Appends a track.
fn push(
    layout: &UtLayout,
    velo: &VeloTracks,
    ids: &[u32],
    (track, number): (usize, usize),
    fitted: &Fitted,
    out: &mut VeloUtTracks,
) {
    out.velo_track.push(number as u32);
    out.ut_hits.push(fitted.hits.len() as u8);
    fitted.hits.iter().for_each(|hit| out.hits.push(ids[hit.hit]));
    velo.hits_of(track).iter().for_each(|&hit| out.hits.push(hit));
    out.hit_start.push(out.hits.len() as u32);
    let Fitted { qop, chi2, x, y, tx, ty, ref errors, .. } = *fitted;
    let gev = 1000.0 / fitted.scale;
    let qop = qop * gev;
    let end = &velo.end;
    let cov = [end.cov_xx[track], end.cov_xtx[track], end.cov_txtx[track]];
    let ([[xx, xt, tt], [yy, ys, ss]], angle) = errors.with(layout, cov, qop);
    let per_angle = errors.change * fitted.per_kick * gev;
    let values = [qop, per_angle * per_angle * angle, chi2, x, y, tx, ty, xx, xt, tt, yy, ys, ss];
    for (value, column) in values.into_iter().zip(out.floats_mut()) {
        column.push(value);
    }
}
