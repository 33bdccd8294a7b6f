//! Finds tracks in x: tries every pair of hits with every middle hit, adds the nearest hits of the other layers, and
//! removes the worse of tracks that share hits.

use super::layers::{X_Z, bend, distance};
use super::track::Place;
use crate::scifi::config::SeedPass;

/// A track in x.
#[derive(Debug, Clone)]
pub(super) struct CandidateX {
    pub(super) hits: [Place; 6],
    pub(super) parameters: [f32; 3],
    pub(super) value: f32,
    /// Kind of triplets, first, last and middle hit: the order of candidates.
    pub(super) order: [usize; 4],
}

/// Solves three equations by Cramer's rule.
fn solve(m: [[f64; 3]; 3], right: [f64; 3]) -> [f64; 3] {
    let determinant = |m: [[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let whole = determinant(m);
    std::array::from_fn(|column| {
        let mut replaced = m;
        (0..3).for_each(|row| replaced[row][column] = right[row]);
        determinant(replaced) / whole
    })
}

/// Returns the nearest hit to `x`, and its distance: the lower one of two equally near hits, and of several hits at one x
/// the one that is next to `x` in the order of the hits.
pub(super) fn nearest(hits: &[(f32, usize)], x: f32) -> Option<(usize, f32)> {
    let mut best: Option<(usize, f32)> = None;
    for (place, (hit, _)) in hits.iter().enumerate() {
        let away = (hit - x).abs();
        let is_better = |best: f32| if *hit < x { away <= best } else { away < best };
        if best.is_none_or(|(_, best)| is_better(best)) {
            best = Some((place, away));
        }
    }
    best
}

/// Returns the change of the parameters per mm of a hit's distance in one of `others`, when the layers of `used` have hits.
fn gain(layer: usize, used: &[usize]) -> [f32; 3] {
    let basis = |layer: usize| [1.0, distance(X_Z[layer]), bend(X_Z[layer])];
    let mut normal = [[0.0; 3]; 3];
    for b in used.iter().map(|layer| basis(*layer)) {
        (0..9).for_each(|at| normal[at / 3][at % 3] += b[at / 3] * b[at % 3]);
    }
    solve(normal, basis(layer)).map(|value| value as f32)
}

/// Returns all tracks in x of a half.
pub(super) fn candidates(pass: &SeedPass, layers: &[&[(f32, usize)]; 6]) -> Vec<CandidateX> {
    let mut all = Vec::new();
    for (kind, &[first, middle, last]) in pass.triplets.iter().enumerate() {
        let [z1, z2, z3] = [first, middle, last].map(|layer| X_Z[layer]);
        let ([d1, d2, d3], [b1, b2, b3]) = ([z1, z2, z3].map(distance), [z1, z2, z3].map(bend));
        let lever = z1 / (z3 - z1);
        let (linear, square) = (1.6322e-7, -5.0217e-12);
        let deflection = (2.18e6 / lever) / (pass.min_momentum + 1073.0);
        let root = (linear * linear + 4.0 * square / pass.min_momentum).max(0.0).sqrt();
        let window = ((root - linear) / (2.0 * square) / lever) as f32;
        let sagitta = 1.0 / ((z2 - z1) / (z3 - z1) * (b3 - b1) + b1 - b2);
        let slope = d1 + d3 - 0.00028 * (d3 * d3 + d1 * d1 + d1 * d3);
        let at = d1 * (d1 - slope - 0.00028 * d1 * d1);
        for (i, &(x1, _)) in layers[first].iter().enumerate() {
            let centre = x1 * ((z3 + deflection) / z1) as f32;
            for (k, &(x3, _)) in layers[last].iter().enumerate() {
                if x3 < centre - window || x3 > centre + window {
                    continue;
                }
                let tx = (x3 - x1) * (1.0 / (z3 - z1)) as f32;
                let x_reference = (-(d1 as f32)).mul_add(tx, x1);
                let x0 = (-(z1 as f32)).mul_add(tx, x1);
                let per_momentum = x0.abs() * (square as f32).mul_add(x0.abs(), linear as f32);
                let expected = (d2 as f32).mul_add(tx, x_reference);
                let t0 = (1.82e-6 / sagitta) as f32;
                let bent = |more: f32| ((2.49e-2 / sagitta) as f32).mul_add(per_momentum, more);
                let (far, near) = (bent(t0), bent(-2.0 * t0));
                let (from, to) = if x0 < 0.0 {
                    (expected - far, expected - near)
                } else {
                    (expected + near, expected + far)
                };
                for (j, &(x2, _)) in layers[middle].iter().enumerate() {
                    if x2 < from || x2 > to {
                        continue;
                    }
                    let c = (expected - x2) * sagitta as f32;
                    let parabola =
                        [(-(at as f32)).mul_add(c, x_reference), (-(slope as f32)).mul_add(c, tx), c];
                    let triplet = [(first, i), (middle, j), (last, k)];
                    let order = [kind, i, k, j];
                    all.extend(candidate(pass, layers, parabola, triplet, order));
                }
            }
        }
    }
    all
}

/// Returns x of a parabola in a layer.
fn x_at(parameters: [f32; 3], layer: usize) -> f32 {
    let [a, b, c] = parameters;
    (bend(X_Z[layer]) as f32).mul_add(c, (distance(X_Z[layer]) as f32).mul_add(b, a))
}

/// Returns the candidate of a triplet, given layers and places of its hits.
fn candidate(
    pass: &SeedPass,
    layers: &[&[(f32, usize)]; 6],
    parabola: [f32; 3],
    triplet: [(usize, usize); 3],
    order: [usize; 4],
) -> Option<CandidateX> {
    let mut hits: [Place; 6] = [None; 6];
    triplet.iter().for_each(|&(layer, place)| hits[layer] = Some(place));
    let others: Vec<usize> = (0..6).filter(|layer| hits[*layer].is_none()).collect();
    let mut off = [0.0; 3];
    for (&layer, off) in others.iter().zip(&mut off) {
        let x = x_at(parabola, layer);
        if let Some((place, away)) = nearest(layers[layer], x)
            && away < pass.x_tolerance
        {
            hits[layer] = Some(place);
            *off = layers[layer][place].0 - x;
        }
    }
    let used: Vec<usize> = (0..6).filter(|layer| hits[*layer].is_some()).collect();
    if used.len() < pass.min_x_hits as usize {
        return None;
    }
    let gains: [[f32; 3]; 3] = std::array::from_fn(|other| match hits[others[other]] {
        Some(_) => gain(others[other], &used),
        None => [0.0; 3],
    });
    let change: [f32; 3] = std::array::from_fn(|parameter| {
        let [a, b, c] = gains.map(|gain| gain[parameter]);
        c.mul_add(off[2], b.mul_add(off[1], a * off[0]))
    });
    let mut score = 0.0f32;
    for (layer, _) in triplet {
        let moved = x_at(change, layer);
        score = moved.mul_add(moved, score);
    }
    for (&layer, off) in others.iter().zip(off) {
        if hits[layer].is_some() {
            let left = off - x_at(change, layer);
            score = left.mul_add(left, score);
        }
    }
    if used.len() < 6 {
        score *= 10.0;
    }
    if used.len() < 5 {
        score += 2.0;
    }
    score += (0.01 * order[0] as f64) as f32;
    let parameters: [f32; 3] = std::array::from_fn(|at| parabola[at] + change[at]);
    let value = score.mul_add(1000.0, parameters[2].abs());
    Some(CandidateX { hits, parameters, value, order })
}

/// Returns the candidates that are the best for enough of their hits, in their order.
pub(super) fn without_clones(pass: &SeedPass, all: Vec<CandidateX>) -> Vec<CandidateX> {
    let best_of = |layer: usize, place: Place| {
        let users = all.iter().filter(|other| other.hits[layer] == place);
        users.map(|other| other.value).fold(f32::INFINITY, f32::min)
    };
    let stays = |one: &&CandidateX| {
        let hits = (0..6).filter(|layer| one.hits[*layer].is_some());
        let own = hits.clone().filter(|layer| (best_of(*layer, one.hits[*layer]) - one.value).abs() < 0.01);
        let enough = if hits.count() == 6 { pass.min_own_of_six } else { pass.min_own_hits };
        own.count() >= enough as usize
    };
    let mut kept: Vec<CandidateX> = all.iter().filter(stays).cloned().collect();
    kept.sort_by_key(|one| one.order);
    kept
}
