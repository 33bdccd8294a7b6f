//! Naive joining: every track that ends with every one that begins in the next pair.

use super::find::{Finder, Line, Nearest};
use crate::velo::geometry::{MOST_ON_SENSORS, PAIRS, pair_middle};

/// A track that was accepted.
pub(super) struct Track {
    /// Place of each hit in the event's columns, from the largest z down.
    pub(super) hits: Vec<usize>,
    /// Their positions.
    pub(super) positions: Vec<[f32; 3]>,
    /// The pairs of the first and of the last.
    pub(super) pairs: [usize; 2],
    /// The pass, and its number among the candidates found there.
    pub(super) found: (usize, usize),
}

/// One of two tracks that may be one: its number, the other's, and the sum of both chi2.
type Choice = (usize, usize, f32);

/// The tracks, in their order; those that another one goes on into are part of that one. An other begins up to `pairs` beyond, where
/// a line may meet the sensors of one of the first `looks`. Of `known` ones the first goes on into the second.
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
    // Whom a track goes on into, where that one has no better track before it.
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

/// chi2 of the first hit of `other` to the end of `track`, and of the last of `track` to the beginning of `other`.
fn both_chi2(finder: &Finder<'_>, track: &Track, other: &Track) -> f32 {
    let slope = finder.config.scatter_slope;
    let chi2 = |Nearest { distance2, variance, .. }: Nearest| distance2 / variance;
    let (down, up) = (end(track), beginning(other));
    chi2(finder.distance(0, other.positions[0], &down, slope))
        + chi2(finder.distance(0, [down.x, down.y, down.z], &up, slope))
}

/// The line of the last two hits, at the last.
fn end(track: &Track) -> Line {
    let [.., before, last] = track.positions[..] else { unreachable!("two hits at least") };
    Line::through(before, last)
}

/// The line of the first two, at the first.
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

/// Whether a line meets a pair where most of its sensors are.
fn meets_sensors(line: &Line, pair: usize) -> bool {
    let to_pair = pair_middle(pair) - line.z;
    let (x, y) = (line.tx.mul_add(to_pair, line.x), line.ty.mul_add(to_pair, line.y));
    let radius2 = x.mul_add(x, y * y);
    let [inner, outer] = MOST_ON_SENSORS;
    inner * inner < radius2 && radius2 < outer * outer
}
