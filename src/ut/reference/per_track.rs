//! Compass UT as its paper describes it for CPUs (section V.C): windows, then tracklets, one track after another.
//!
//! Windows are ranges of hits in groups of sectors, as in the paper (section V.A, figure 7). The hits of a group are
//! sorted by y; two binary searches find the range of y near the track, and hits at both ends of the range that are too
//! far away are left out. The remaining hits are tested again when tracklets are formed.

use super::line::Beside;
use super::{Event, Line, Tolerances, search, starts_of};
use crate::event::{UT_PLANES, UtBatch, VeloTracks, VeloUtTracks};
use crate::ut::config::UtConfig;
use crate::ut::layout::{ROW_STEP, UtLayout};

/// Largest number of groups of sectors that are searched for a track.
const MOST_GROUPS: usize = 5;

/// The windows of a track, stored as in the paper: a range of hits for each plane and each group of sectors, in the
/// order in which the groups are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ranges {
    /// First hit of each range, counted from the first hit of the plane.
    pub first: [[i16; MOST_GROUPS]; UT_PLANES],
    /// Number of hits of each range; 0 for a group without hits in the window.
    pub size: [[i16; MOST_GROUPS]; UT_PLANES],
}

/// Reconstructs all events, one track at a time, and appends their tracks to `out`. Finds the same tracks as
/// [`find`](crate::ut::find) if no window has more hits than the limit. The function is always inlined, so that a
/// caller compiled for fused multiply-adds uses this instruction instead of a function call.
///
/// # Panics
/// Panics if the parameter `sectors` is 0.
#[inline(always)]
pub fn per_track(
    config: &UtConfig,
    layout: &UtLayout,
    velo: &VeloTracks,
    hits: &UtBatch,
    out: &mut VeloUtTracks,
) {
    assert!(config.sectors > 0, "ut.sectors = 0: windows by group of sectors need 1, 3 or 5");
    search(
        (config, layout),
        (velo, hits.into()),
        out,
        #[inline(always)]
        |number| starts_of(hits, number),
        #[inline(always)]
        |event, line, windows| {
            for (plane, window) in windows.iter_mut().enumerate() {
                event.fill(line, plane, window);
            }
        },
        #[inline(always)]
        |event, line, windows, _| event.best(line, windows),
    );
}

/// Returns the windows of one Velo track of an event, even if it does not point at the UT.
pub fn ranges(
    config: &UtConfig,
    layout: &UtLayout,
    (velo, hits): (&VeloTracks, &UtBatch),
    event: usize,
    track: usize,
) -> Ranges {
    let (starts, _) = starts_of(hits, event);
    let of = Event { config, layout, hits: hits.into(), starts };
    let line = Line::of(&velo.end, velo.of_event(event).start + track);
    let mut ranges = Ranges::default();
    for plane in 0..UT_PLANES {
        let begin = starts[layout.plane_groups[plane]] as usize;
        let tolerances = of.tolerances(&line, plane);
        of.ranges_of(&line, plane, &tolerances, |ring, first, size| {
            ranges.first[plane][ring] = (first - begin) as i16;
            ranges.size[plane][ring] = size as i16;
        });
    }
    ranges
}

impl Event<'_> {
    /// Fills the window of a plane.
    #[inline(always)]
    fn fill(&self, line: &Line, plane: usize, window: &mut Vec<Beside>) {
        window.clear();
        let tolerances = self.tolerances(line, plane);
        self.ranges_of(
            line,
            plane,
            &tolerances,
            #[inline(always)]
            |_, first, size| {
                for hit in first..first + size {
                    window.extend(self.beside(line, plane, &tolerances, hit));
                }
            },
        );
    }

    /// Calls `see` with the number, the first hit and the size of each range that is not empty.
    #[inline(always)]
    fn ranges_of(
        &self,
        line: &Line,
        plane: usize,
        tolerances: &Tolerances,
        mut see: impl FnMut(usize, usize, usize),
    ) {
        let Self { config, layout, hits, starts } = self;
        let inner = layout.plane_groups[plane] as i32 + 1..layout.plane_groups[plane + 1] as i32 - 1;
        let depth = layout.depth[plane];
        let [_, y] = line.at(layout.z[plane]);
        let bend = tolerances.x * tolerances.factor;
        let reach =
            bend.mul_add(config.y_tolerance_slope, config.y_tolerance) + depth * line.ty.abs() + ROUNDING;
        // Strips that reach up to the track do not begin below this y.
        let lowest = y - reach - (ROW_STEP + layout.below + layout.above);
        for ring in 0..config.sectors as usize {
            let away = (ring as i32 + 1) / 2;
            let group = tolerances.own_group + if ring % 2 == 1 { -away } else { away };
            if !inner.contains(&group) {
                continue;
            }
            let begin = starts[group as usize] as usize;
            let of_group = &hits.y_begin[begin..starts[group as usize + 1] as usize];
            let mut first = begin + of_group.partition_point(|&low| low < lowest);
            let mut end = begin + of_group.partition_point(|&low| low <= y + reach);
            while first < end && self.beside(line, plane, tolerances, first).is_none() {
                first += 1;
            }
            while first < end && self.beside(line, plane, tolerances, end - 1).is_none() {
                end -= 1;
            }
            if first < end {
                see(ring, first, end - first);
            }
        }
    }
}

/// Upper limit of the rounding error of the edge of a window, mm.
const ROUNDING: f32 = 0.05;
