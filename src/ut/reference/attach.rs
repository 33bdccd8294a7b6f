//! Naive reference of `find/attach.rs` (finds hits for long tracks): linear scans, one track after another.

use super::fit::{integral, sine};
use super::line::{Line, MIDDLE, SLOPE};
use super::{cell, hits_of_plane};
use crate::event::{UT_PLANES, UtBatch};
use crate::ut::config::LineConfig;
use crate::ut::layout::{BUCKET_WIDTH, BUCKETS, LEFT, LOWEST, ROW_STEP, ROWS, UtLayout};

/// Largest number of hits of a plane that are tried.
const SLOTS: usize = 16;

/// A hit near the track's straight line.
#[derive(Clone, Copy)]
struct Hit {
    d: f32,
    z: f32,
    number: usize,
}

/// Numbers in the batch of the hits of a track, by plane, and the sum of the squares of the hits' distances.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Attached {
    pub(crate) hits: Vec<usize>,
    pub(crate) distance2: f32,
}

/// Returns the hits of a track with these x, y, tx, ty at the end of the Velo; `bend` is 1/p in 1/GeV, positive where
/// the track bends to larger x. A track with fewer than two hits gets none.
pub(crate) fn attach(
    layout: &UtLayout,
    hits: &UtBatch,
    event: usize,
    [x, y, tx, ty]: [f32; 4],
    bend: f32,
) -> Attached {
    let line = Line { x, y, z: layout.velo_z, tx, ty };
    let [constant, part, square] = LineConfig::KINK;
    let kink = MIDDLE - (ty * ty).mul_add(square, ty.abs().mul_add(part, constant));
    let turn = bend * integral(layout, &line).abs() / (sine(tx, ty * ty + 1.0).1 * 3.3356);
    let tolerance =
        |[constant, part, least, most]: [f32; 4]| bend.abs().mul_add(part, constant).max(least).min(most);
    let distance = |hit: &Hit, turn: f32| (-turn).mul_add(hit.z - kink, hit.d).abs();
    let with = |hit: &Hit, turn: f32| 0.5 * (turn + hit.d / (hit.z - kink));

    let near = |plane: usize| {
        let tolerance = tolerance(match plane {
            0 | 1 => [0.8333, 33.333, 1.2, 8.5],
            _ => [1.3333, 33.333, 1.5, 9.5],
        });
        let mut found: Vec<((usize, usize, usize), Hit)> = Vec::new();
        for number in hits_of_plane(layout, hits, event, plane) {
            let (z, low, high) = (hits.z[number], hits.y_begin[number], hits.y_end[number]);
            let [x, y] = line.at(z);
            let hit = Hit { d: y.mul_add(SLOPE[plane], hits.x[number]) - x, z, number };
            if low - 2.0 <= y && y <= high + 2.0 && distance(&hit, turn) <= tolerance {
                let row = cell((low + high) * 0.5 - LOWEST, ROW_STEP, ROWS);
                let bucket = cell(hits.x[number] - LEFT, BUCKET_WIDTH, BUCKETS);
                found.push(((row, bucket, number), hit));
            }
        }
        found.sort_by_key(|(place, _)| *place);
        found.truncate(SLOTS);
        found.into_iter().map(|(_, hit)| hit).collect::<Vec<_>>()
    };
    let near: Vec<Vec<Hit>> = (0..UT_PLANES).map(near).collect();

    let mut best = Attached::default();
    for first in 0..UT_PLANES - 1 {
        for hit in &near[first] {
            let mut turn = with(hit, turn);
            let mut found = Attached { hits: vec![hit.number], distance2: 0.0 };
            for (plane, near) in near.iter().enumerate().skip(first + 1) {
                let limit = tolerance(if plane == 1 { [0.2, 6.0, 0.5, 2.0] } else { [0.4, 12.0, 1.0, 4.0] });
                let inside = near.iter().filter(|hit| distance(hit, turn) < limit);
                let nearest = inside
                    .reduce(|best, hit| if distance(hit, turn) < distance(best, turn) { hit } else { best });
                if let Some(hit) = nearest {
                    found.distance2 = distance(hit, turn).mul_add(distance(hit, turn), found.distance2);
                    found.hits.push(hit.number);
                    turn = with(hit, turn);
                }
            }
            let (more, as_many) = (found.hits.len() > best.hits.len(), found.hits.len() == best.hits.len());
            if found.hits.len() > 1 && (more || as_many && found.distance2 < best.distance2) {
                best = found;
            }
        }
    }
    best
}
