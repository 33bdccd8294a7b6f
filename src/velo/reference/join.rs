//! Naive reference of joining tracks: compares the end of every track with the beginnings of all tracks in later pairs.

use super::find::{Finder, Line, Nearest};
use crate::velo::geometry::{MOST_ON_SENSORS, PAIRS, pair_middle};

/// An accepted track.
pub(super) struct Track {
    /// Place of each hit in the event's columns, from the largest z down.
    pub(super) hits: Vec<usize>,
    /// Positions of the hits, mm.
    pub(super) positions: Vec<[f32; 3]>,
    /// Pair of the first hit, and pair of the last hit.
    pub(super) pairs: [usize; 2],
    /// Pass, and number of the track among the candidates of the pass.
    pub(super) found: (usize, usize),
}

/// Two tracks that may be joined: number of the upper, number of the lower, and the sum of both chi2.
type Choice = (usize, usize, f32);

/// Returns the tracks in their order; a track that continues another is part of it. It begins up to `pairs` pairs
/// beyond; the line at either end must meet the sensors of one of the next `looks` pairs. The tracks in `known` are
/// joined in any case.
pub(super) fn join(
    finder: &Finder<'_>,
    tracks: Vec<Track>,
    (pairs, looks): (usize, usize),
    known: &[(usize, usize)],
) -> Vec<Vec<usize>> {
    let mut choices: Vec<Choice> = Vec::new();
    for (number, track) in tracks.iter().enumerate() {
        if !may_go_on(track, looks) || known.iter().any(|one| one.0 == number) {
            continue;
        }
        let mut best: Option<Choice> = None;
        for (other_number, other) in tracks.iter().enumerate() {
            let beyond = (other.pairs[0] + 1..=other.pairs[0] + pairs).contains(&track.pairs[1]);
            let free = may_have_gone_before(other, looks) && known.iter().all(|one| one.1 != other_number);
            if !beyond || !free {
                continue;
            }
            let sum = both_chi2(finder, track, other);
            let rank = (sum, other.found);
            if sum < finder.config.join_chi2 && best.is_none_or(|(_, of, sum)| rank < (sum, tracks[of].found))
            {
                best = Some((number, other_number, sum));
            }
        }
        choices.extend(best);
    }
    // A choice fails if the same lower track has a better upper track.
    let beaten = |&(number, other, sum): &Choice| {
        choices.iter().any(|&(rival, of, its)| {
            of == other && rival != number && (its, tracks[rival].found) < (sum, tracks[number].found)
        })
    };
    let mut next = vec![None; tracks.len()];
    known.iter().for_each(|&(number, other)| next[number] = Some(other));
    for choice in choices.iter().filter(|choice| !beaten(choice)) {
        next[choice.0] = Some(choice.1);
    }
    let begins = |number: &usize| !next.contains(&Some(*number));
    let whole = |number: usize| {
        let parts = std::iter::successors(Some(number), |&part| next[part]);
        parts.flat_map(|part| tracks[part].hits.clone()).collect()
    };
    (0..tracks.len()).filter(begins).map(whole).collect()
}

/// Returns the sum of chi2 of the first hit of `other` to the end of `track`, and of the last hit of `track` to the
/// beginning of `other`.
fn both_chi2(finder: &Finder<'_>, track: &Track, other: &Track) -> f32 {
    let slope = finder.config.scatter_slope;
    let chi2 = |Nearest { distance2, variance, .. }: Nearest| distance2 / variance;
    let (down, up) = (end(track), beginning(other));
    chi2(finder.distance(0, other.positions[0], &down, slope))
        + chi2(finder.distance(0, [down.x, down.y, down.z], &up, slope))
}

/// Returns the line through the last two hits, at the last hit.
fn end(track: &Track) -> Line {
    let [.., before, last] = track.positions[..] else { unreachable!("fewer than two hits") };
    Line::through(before, last)
}

/// Returns the line through the first two hits, at the first hit.
fn beginning(track: &Track) -> Line {
    Line::through(track.positions[1], track.positions[0])
}

fn may_go_on(track: &Track, looks: usize) -> bool {
    let mut pairs = (0..track.pairs[1]).rev().take(looks);
    pairs.any(|pair| meets_sensors(&end(track), pair))
}

fn may_have_gone_before(track: &Track, looks: usize) -> bool {
    let mut pairs = (track.pairs[0] + 1..PAIRS).take(looks);
    pairs.any(|pair| meets_sensors(&beginning(track), pair))
}

/// Returns whether a line meets a pair at a radius where most points are on a sensor.
fn meets_sensors(line: &Line, pair: usize) -> bool {
    let to_pair = pair_middle(pair) - line.z;
    let (x, y) = (line.tx.mul_add(to_pair, line.x), line.ty.mul_add(to_pair, line.y));
    let radius2 = x.mul_add(x, y * y);
    let [inner, outer] = MOST_ON_SENSORS;
    inner * inner < radius2 && radius2 < outer * outer
}
