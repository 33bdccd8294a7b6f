//! Naive reference of the search in x by rows of bits: for every hit of a pivot's layer and every shift, finds the
//! layers that have a hit where the track crosses the layer.

use super::layers::{X_Z, bend, distance};
use super::track::Place;
use crate::scifi::config::{RowPass, RowsConfig};
use crate::scifi::rows::{Crossings, Sensitivity};

/// Hits of a layer: x, mm, and number in the event.
pub(super) type Layer<'a> = &'a [(f32, usize)];

/// A track in x.
#[derive(Debug, Clone)]
pub(super) struct CandidateX {
    pub(super) half: usize,
    pub(super) hits: [Place; 6],
    pub(super) parameters: [f32; 3],
    pub(super) chi2: f32,
    pub(super) value: f32,
}

/// Returns the first bit of a hit's mark or of a window.
pub(super) fn place(x: f32, scale: f32, first: f32, most: f32) -> i32 {
    let place = x.mul_add(scale, first);
    let place = if place > 1.0 { place } else { 1.0 };
    (if place < most { place } else { most }) as i32
}

/// Returns the last place of a row of so many bits.
pub(super) fn most(bits: f64) -> f32 {
    (64 * ((bits / 64.0) as usize + 1)) as f32
}

/// The row of a layer, relative to a pivot.
struct Row {
    layer: usize,
    bits: i32,
    hit: [f32; 2],
    window: [f32; 2],
    most: f32,
    ratio: f32,
    k: f32,
    /// Largest distance of a hit in the inner part and in the outer part, mm.
    reach: [f32; 2],
}

/// A pivot's layer and the rows of the others.
struct Pivot<'a> {
    config: &'a RowsConfig,
    pass: &'a RowPass,
    z: &'a Crossings,
    layer: usize,
    rows: Vec<Row>,
    step: f64,
}

impl<'a> Pivot<'a> {
    fn new(
        config: &'a RowsConfig,
        pass: &'a RowPass,
        (z, tracks): (&'a Crossings, &[Crossings]),
        number: usize,
    ) -> Self {
        let layer = config.pivots[number];
        let Sensitivity { k, spread } = Sensitivity::new(z, tracks, layer);
        let step = 2.0 * f64::from(pass.shift) / 256.0;
        let row = |other: usize| {
            let (width, sign) = ((k[other].abs() * step).max(0.02), k[other].signum());
            let [constant, factor] = config.reach.map(f64::from);
            let reach = f64::from(pass.width) * (constant + factor * spread[other]);
            let bits = (2.0 * reach / width + 0.2).ceil().min(32.0);
            let (middle, ratio) = (3_300.0 / width + 512.0, z[other] / z[layer]);
            Row {
                layer: other,
                bits: bits as i32,
                hit: [(sign / width) as f32, (middle - 0.5 * (bits - 1.0)) as f32],
                window: [(ratio * sign / width) as f32, (middle - 127.5) as f32],
                most: most(2.0 * middle),
                ratio: ratio as f32,
                k: k[other] as f32,
                reach: [(reach + width) as f32, (reach + width + width) as f32],
            }
        };
        let others = (0..6).filter(|other| !config.pivots[..=number].contains(other));
        Self { config, pass, z, layer, rows: others.map(row).collect(), step }
    }

    /// Returns the shifts for which a row has a hit.
    fn shifts(&self, row: &Row, layer: Layer<'_>, x: f32) -> [bool; 256] {
        let window = place(x, row.window[0], row.window[1], row.most);
        let mut has = [false; 256];
        for &(hit, _) in layer {
            let first = place(hit, row.hit[0], row.hit[1], row.most);
            let is_near = self.rows.len() == 5 && row.layer == self.rows[2].layer;
            let more = i32::from(hit.abs() > self.config.outer && !is_near);
            for bit in first - more..first + row.bits + more {
                if let Some(has) = has.get_mut((bit - window) as usize) {
                    *has = true;
                }
            }
        }
        has
    }

    /// Returns twice the middle bits of the runs of a pivot's hit.
    fn runs(&self, layers: &[Layer<'_>; 6], x: f32) -> Vec<i32> {
        let has: Vec<_> = self.rows.iter().map(|row| self.shifts(row, layers[row.layer], x)).collect();
        let all = self.rows.len();
        let count = |bit: usize| has.iter().filter(|row| row[bit]).count();
        let is_enough = |bit: usize| {
            let shift = -0.5 * 255.0 * self.step + bit as f64 * self.step;
            let is_inner = shift.abs() < f64::from(self.pass.four_hit_shift);
            let ends = (has[0][bit] || has[1][bit]) && (has[all - 2][bit] || has[all - 1][bit]);
            let two_may_miss = self.pass.min_x_hits < 5 && is_inner && ends && count(bit) >= 3;
            count(bit) >= 4 || two_may_miss
        };
        runs(256, 4, is_enough)
            .into_iter()
            .map(|(begin, end)| {
                let most: Vec<_> = (begin..end).filter(|bit| count(*bit) == all).collect();
                match (most.first(), most.last()) {
                    (Some(first), Some(last)) => (first + last) as i32,
                    _ => (begin + end - 1) as i32,
                }
            })
            .collect()
    }

    /// Returns z of a layer from the reference, and its bend, in the units of the fit.
    fn metres(layer: usize) -> [f64; 2] {
        [1e-3 * distance(X_Z[layer]), 1e-6 * bend(X_Z[layer])]
    }

    /// Returns the factors of the distances at two rows for the distance of the parabola at another row.
    fn parabola(&self, [a, b]: [usize; 2], row: usize) -> [f32; 2] {
        let from_pivot = |row: usize| {
            let ([u, v], [pu, pv]) = (Self::metres(self.rows[row].layer), Self::metres(self.layer));
            [u - pu, v - pv]
        };
        let ([ua, va], [ub, vb], [u, v]) = (from_pivot(a), from_pivot(b), from_pivot(row));
        let determinant = ua * vb - ub * va;
        [((u * vb - v * ub) / determinant) as f32, ((v * ua - u * va) / determinant) as f32]
    }

    /// Returns the best hits of a run, by row: place in the layer, and distance from the line from the origin.
    fn best(&self, layers: &[Layer<'_>; 6], x: f32, shift: f32) -> Option<Vec<Option<(usize, f32)>>> {
        let is_outer = usize::from(self.config.outer < x.abs());
        let four: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                let (off, reach) = (row.k * shift, row.reach[is_outer]);
                let middle = x.mul_add(row.ratio, off);
                Four::new(layers[row.layer], [middle - reach, middle, middle + reach])
            })
            .collect();
        let last = self.rows.len() - 1;
        let ends = [[0, last], [1, last - 1], [0, last - 1], [1, last]];
        let (mut best, mut picked) = (-1.0, None);
        for [a, b] in ends.into_iter().take(if self.pass.min_x_hits < 5 { 4 } else { 2 }) {
            let [at_a, at_b] = [a, b].map(|row| four[row].nearest(0.0));
            let (mut count, mut sum) = (3.0f32, 0.0f32);
            let hits: Vec<_> = (0..=last)
                .map(|row| {
                    if row == a || row == b {
                        return Some(if row == a { at_a } else { at_b });
                    }
                    let [of_a, of_b] = self.parabola([a, b], row);
                    let expected = four[a].away(at_a).mul_add(of_a, four[b].away(at_b) * of_b);
                    let distance = four[row].nearest(expected);
                    let is_in = distance < self.pass.x_tolerance;
                    if is_in {
                        count += 1.0;
                        sum = distance.mul_add(distance, sum);
                    }
                    is_in.then_some(distance)
                })
                .collect();
            let quality = (-sum).mul_add(0.3, count);
            let is_near = |row: usize, at: f32| at < self.rows[row].reach[is_outer];
            if best < quality && is_near(a, at_a) && is_near(b, at_b) {
                (best, picked) = (quality, Some(hits));
            }
        }
        let hits = picked.filter(|_| best > 0.0)?;
        Some(
            hits.into_iter()
                .enumerate()
                .map(|(row, distance)| {
                    let distance = distance?;
                    let off = self.rows[row].k * shift + four[row].away(distance);
                    four[row].place(distance).map(|place| (place, off))
                })
                .collect(),
        )
    }
}

/// Returns the runs of set bits, within words of 64 bits and at most `longest` bits long: first bits, and the bits
/// after the last.
pub(super) fn runs(bits: usize, longest: usize, has: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut at = 0;
    while at < bits {
        let begin = at;
        while at < bits && has(at) && at - begin < longest && (at == begin || at % 64 != 0) {
            at += 1;
        }
        if at > begin {
            all.push((begin, at));
        } else {
            at += 1;
        }
    }
    all
}

/// Four neighbouring hits: the place of the first one in the layer, if any, and their distances from an x; 1e9 mm stands
/// for a missing hit.
pub(super) struct Four {
    begin: Option<usize>,
    away: [f32; 4],
}

impl Four {
    /// Finds the first hit in the bucket of `low` or in the next one. When more than four hits are in the range, begins at
    /// the first hit that is not below `low`.
    pub(super) fn new(layer: Layer<'_>, [low, middle, high]: [f32; 3]) -> Self {
        let bucket = |x: f32| x.mul_add(1.0 / 8.0, 3_300.0 / 8.0).clamp(0.0, 825.0) as i32;
        let first = layer.iter().position(|(x, _)| bucket(*x) >= bucket(low));
        let first = first.filter(|first| bucket(layer[*first].0) <= bucket(low) + 1);
        let x = |place: usize| layer.get(place).map_or(1e9, |(x, _)| *x);
        let begin = first.map(|mut first| {
            while x(first + 3) < high && x(first) < low {
                first += (0..3).filter(|more| x(first + more) < low).count();
            }
            first
        });
        let of = |number: usize| begin.map_or(1e9, |begin| x(begin + number)) - middle;
        Self { begin, away: [0, 1, 2, 3].map(of) }
    }

    /// Returns the distance of the nearest hit from a place, with the hit's number in the last two bits.
    pub(super) fn nearest(&self, at: f32) -> f32 {
        let numbered =
            |number: usize| f32::from_bits((self.away[number] - at).to_bits() & 0x7FFF_FFFC | number as u32);
        [0, 1, 2, 3].map(numbered).into_iter().fold(f32::INFINITY, f32::min)
    }

    fn number(distance: f32) -> usize {
        (distance.to_bits() & 3) as usize
    }

    /// Returns the distance of the hit whose number is in `distance`.
    pub(super) fn away(&self, distance: f32) -> f32 {
        self.away[Self::number(distance)]
    }

    /// Returns the place of the hit whose number is in `distance`.
    pub(super) fn place(&self, distance: f32) -> Option<usize> {
        self.begin.map(|begin| begin + Self::number(distance))
    }
}

impl Pivot<'_> {
    /// Returns the candidate of a run, if its fit is good enough.
    fn candidate(
        &self,
        (half, layers): (usize, &[Layer<'_>; 6]),
        (pivot, x): (usize, f32),
        twice: i32,
    ) -> Option<CandidateX> {
        let (step, first) = (self.step as f32, (-0.5 * 255.0 * self.step) as f32);
        let best = self.best(layers, x, (twice as f32).mul_add(0.5 * step, first))?;
        let of_fit = |layer: usize| Self::metres(layer).map(|value| value as f32);
        let [pu, pv] = of_fit(self.layer);
        let there: Vec<_> = self
            .rows
            .iter()
            .zip(&best)
            .filter_map(|(row, hit)| Some((of_fit(row.layer), (*hit)?.1)))
            .collect();
        let (mut n, mut u, mut v, mut uu, mut uv, mut vv) = (1.0f32, pu, pv, pu * pu, pu * pv, pv * pv);
        let (mut t0, mut t1, mut t2) = (0.0f32, 0.0f32, 0.0f32);
        for &([ru, rv], off) in &there {
            (n, u, v) = (n + 1.0, u + ru, v + rv);
            (uu, uv, vv) = (uu + ru * ru, uv + ru * rv, vv + rv * rv);
            (t0, t1, t2) = (t0 + off, off.mul_add(ru, t1), off.mul_add(rv, t2));
        }
        if n < self.pass.min_x_hits as f32 {
            return None;
        }
        let minor = |a: f32, b: f32, c: f32, d: f32| a.mul_add(b, -(c * d));
        let (m00, m01, m02) = (minor(uu, vv, uv, uv), minor(uv, v, u, vv), minor(u, uv, uu, v));
        let (m11, m12, m22) = (minor(n, vv, v, v), minor(u, v, n, uv), minor(n, uu, u, u));
        let scale = 1.0 / n.mul_add(m00, u.mul_add(m01, v * m02));
        let dot = |a: f32, b: f32, c: f32| scale * a.mul_add(t0, b.mul_add(t1, c * t2));
        let (fa, fb, fc) = (dot(m00, m01, m02), dot(m01, m11, m12), dot(m02, m12, m22));
        let at = |[u, v]: [f32; 2]| fb.mul_add(u, fc.mul_add(v, fa));
        let mut chi2 = at([pu, pv]) * at([pu, pv]);
        for &(of, off) in &there {
            let left = off - at(of);
            chi2 = left.mul_add(left, chi2);
        }
        let score = if n < 5.5 { chi2 * 10.0 } else { chi2 };
        let score = if n < 4.5 { score + 2.0 } else { score };
        let (bend, z) = (fc * 1e-6, self.z[self.layer]);
        // Tracks are described at the layers' nominal z.
        let to_reference = (1.0 + (8520.0 - X_Z[self.layer]) / z) as f32;
        let parameters = [x.mul_add(to_reference, fa), x.mul_add((1.0 / z) as f32, fb * 1e-3), bend];
        let mut hits = [None; 6];
        hits[self.layer] = Some(pivot);
        self.rows.iter().zip(best).for_each(|(row, hit)| hits[row.layer] = hit.map(|(place, _)| place));
        let value = score.mul_add(1_000.0, bend.abs());
        (chi2 < 1.0).then_some(CandidateX { half, hits, parameters, chi2, value })
    }
}

/// Returns all tracks in x of both halves, first for the first pivot.
pub(super) fn candidates(
    config: &RowsConfig,
    pass: &RowPass,
    detector: (&Crossings, &[Crossings]),
    halves: &[[Layer<'_>; 6]; 2],
) -> Vec<CandidateX> {
    let [first, second] = [0, 1].map(|number| Pivot::new(config, pass, detector, number));
    let mut all: Vec<CandidateX> = Vec::new();
    for pivot in [first, second] {
        let others: Vec<_> =
            all.iter().filter(|one| one.hits.iter().flatten().count() >= 5).cloned().collect();
        for (half, layers) in halves.iter().enumerate() {
            for (place, &(x, _)) in layers[pivot.layer].iter().enumerate() {
                let has = |one: &CandidateX| one.half == half && one.hits[pivot.layer] == Some(place);
                if pivot.rows.len() == 4 && others.iter().any(has) {
                    continue;
                }
                let runs = pivot.runs(layers, x).into_iter();
                all.extend(runs.filter_map(|twice| pivot.candidate((half, layers), (place, x), twice)));
            }
        }
    }
    all
}

/// Returns the candidates that are the best for enough of their hits, in their order; of equal candidates the first
/// one is the best.
pub(super) fn without_clones(pass: &RowPass, all: &[CandidateX]) -> Vec<CandidateX> {
    let is_best = |number: usize, layer: usize| {
        let one = &all[number];
        let is_rival = |other: &CandidateX| other.half == one.half && other.hits[layer] == one.hits[layer];
        let mut rivals = all.iter().enumerate().filter(|(_, other)| is_rival(other));
        rivals.all(|(other, rival)| (rival.value, other) >= (one.value, number))
    };
    let stays = |number: &usize| {
        let hits = (0..6).filter(|layer| all[*number].hits[*layer].is_some());
        let enough = if hits.clone().count() == 6 { pass.min_own_of_six } else { pass.min_own_hits };
        hits.filter(|layer| is_best(*number, *layer)).count() >= enough as usize
    };
    (0..all.len()).filter(stays).map(|number| all[number].clone()).collect()
}
