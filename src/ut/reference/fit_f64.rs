//! The fit of a track in the UT in f64, by textbook methods: least squares by elimination. For the errors, measurements
//! are moved as each source of errors moves them, and the fit is repeated.

use crate::ut::config::{UtChoice, UtConfig};
use crate::ut::layout::UtLayout;

const SLOPE: [f64; 4] = [0.0, 0.087_488_67, -0.087_488_6, 0.0];
const MIDDLE: f64 = 2484.6;
/// z at which the first two planes scatter as one, mm.
const TWO_PLANES: f64 = 2350.0;

/// A hit in the UT, in f64.
#[derive(Debug, Clone, Copy)]
pub struct UtHit64 {
    /// x where the strip, or its extension, meets y = 0, mm.
    pub x: f64,
    /// z, mm.
    pub z: f64,
    /// One over the variance of x, 1/mm^2.
    pub weight: f64,
    /// Number of the plane, 0 to 3 in rising order of z.
    pub plane: usize,
}

/// The state of a Velo track at the end of the Velo.
#[derive(Debug, Clone, Copy)]
pub struct VeloEnd64 {
    /// x, y, z, mm.
    pub position: [f64; 3],
    /// dx/dz and dy/dz.
    pub slope: [f64; 2],
    /// Covariance of position and slope, equal in x and y: variance of position, mm^2, covariance, mm, variance of
    /// slope.
    pub covariance: [f64; 3],
}

/// Results of the fit, in the units of [`VeloUtTracks`](crate::event::VeloUtTracks).
#[derive(Debug, Clone, Copy)]
pub struct UtFit64 {
    /// x, mm, and dx/dz in the middle of the UT.
    pub x: [f64; 2],
    /// Variance of x, covariance of x and dx/dz, and variance of dx/dz.
    pub cov_x: [f64; 3],
    /// Variance of y, covariance of y and dy/dz, and variance of dy/dz.
    pub cov_y: [f64; 3],
    /// Charge over momentum, c/GeV, and its variance.
    pub qop: [f64; 2],
    /// chi2.
    pub chi2: f64,
}

/// Solves equations by elimination with pivots.
fn solve<const N: usize>(mut a: [[f64; N]; N], mut b: [f64; N]) -> [f64; N] {
    for pivot in 0..N {
        let best = (pivot..N).max_by(|i, j| a[*i][pivot].abs().total_cmp(&a[*j][pivot].abs()));
        let best = best.unwrap_or(pivot);
        a.swap(pivot, best);
        b.swap(pivot, best);
        for row in (0..N).filter(|row| *row != pivot) {
            let factor = a[row][pivot] / a[pivot][pivot];
            let (upper, right) = (a[pivot], b[pivot]);
            (0..N).for_each(|column| a[row][column] -= factor * upper[column]);
            b[row] -= factor * right;
        }
    }
    std::array::from_fn(|i| b[i] / a[i][i])
}

/// The equations of a fit.
struct Equations<'a> {
    hits: &'a [UtHit64],
    /// z where the Velo track meets the line of the hits, from the middle of the UT, mm; weight of this point, and
    /// weight of the track's y.
    before: [f64; 3],
}

impl Equations<'_> {
    /// Returns x in the middle, slope and offset in y of the line nearest to hits at these distances from the Velo
    /// track.
    fn line(&self, distances: &[f64]) -> [f64; 3] {
        let [meets, meeting, offset] = self.before;
        let (mut matrix, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
        let mut add = |row: [f64; 3], weight: f64, value: f64| {
            for i in 0..3 {
                right[i] += weight * row[i] * value;
                (0..3).for_each(|j| matrix[i][j] += weight * row[i] * row[j]);
            }
        };
        for (hit, distance) in self.hits.iter().zip(distances) {
            add([1.0, hit.z - MIDDLE, -SLOPE[hit.plane]], hit.weight, *distance);
        }
        add([1.0, meets, 0.0], meeting, 0.0);
        add([0.0, 0.0, 1.0], offset, 0.0);
        solve(matrix, right)
    }

    /// Returns the weighted sum of the squares of the hits' distances from a line.
    fn chi2(&self, distances: &[f64], [x, t, offset]: [f64; 3]) -> f64 {
        let of = |(hit, d): (&UtHit64, &f64)| {
            hit.weight * (d + SLOPE[hit.plane] * offset - x - t * (hit.z - MIDDLE)).powi(2)
        };
        self.hits.iter().zip(distances).map(of).sum()
    }
}

/// A Velo track and the effect of the magnet on it.
struct Track {
    velo: VeloEnd64,
    /// q/p in 1/MeV per difference of sines.
    per_kick: f64,
}

impl Track {
    fn sine(&self, t: f64) -> f64 {
        t * (1.0 + t * t + self.velo.slope[1].powi(2)).sqrt()
    }

    /// Returns q/p for a line, if the Velo track's slope is wrong by `off`. With `halfway`, the slope before the magnet
    /// is LHCb's: halfway between track and line.
    fn qop(&self, [x, t, _]: [f64; 3], meets: f64, halfway: bool, off: f64) -> f64 {
        let tx = self.velo.slope[0] + off;
        let way = meets + MIDDLE - self.velo.position[2];
        let before = if halfway { tx + 0.5 * (x + t * meets) / way } else { tx };
        (self.sine(before) - self.sine(tx + t)) * self.per_kick
    }
}

/// Fits a track to its hits.
pub fn fit_f64(config: &UtConfig, layout: &UtLayout, velo: &VeloEnd64, hits: &[UtHit64]) -> UtFit64 {
    let VeloEnd64 { position: [x, y, z], slope: [tx, ty], .. } = *velo;
    let field = integral(layout, velo);
    let per_kick = if field.abs() < 1e-8 { 0.0 } else { -3.3356e-3 / field };
    let track = Track { velo: *velo, per_kick };
    let distance = |hit: &UtHit64| {
        let dz = hit.z - z;
        hit.x + SLOPE[hit.plane] * (y + ty * dz) - (x + tx * dz)
    };
    let distances: Vec<f64> = hits.iter().map(distance).collect();
    let halfway = config.choice != UtChoice::Line;
    let before = if halfway {
        by_kick(&track, hits, &distances, f64::from(config.velo_slope_error))
    } else {
        let alone = Equations { hits, before: [0.0; 3] }.line(&distances);
        by_line(config, ty, (1000.0 * alone[1] * per_kick).abs())
    };
    let equations = Equations { hits, before };
    let line = equations.line(&distances);
    let qop = track.qop(line, before[0], halfway, 0.0);
    let scale = if halfway { 1.0 } else { f64::from(config.line.scale) };
    let (apart, shrink) = (line[0] + line[1] * before[0], 1.0 / (1.0 + (tx + line[1]).powi(2)));
    let chi2 = match halfway {
        true => {
            let first = before[1] * (apart * apart * shrink + line[2] * line[2] / (1.0 + ty * ty));
            shrink * equations.chi2(&distances, line) + first
        }
        false => before[1] * apart * apart + before[2] * line[2] * line[2] + equations.chi2(&distances, line),
    };
    let [at_x, at_tx] = state(layout, &track, &equations, line);
    let gev = 1000.0 / scale;
    let errors = errors(layout, &track, &equations, (&distances, halfway), qop * gev);
    UtFit64 {
        x: [x + tx * (MIDDLE - z) + at_x, tx + at_tx],
        cov_x: errors.cov_x,
        cov_y: errors.cov_y,
        qop: [qop * gev, errors.qop * gev * gev],
        chi2,
    }
}

/// Returns x and slope of a line relative to the Velo track, in the middle of the UT. Hits lie on a parabola, with a
/// curvature from the ratio of the field there to its integral; the effect on the line is subtracted.
fn state(layout: &UtLayout, track: &Track, equations: &Equations<'_>, line: [f64; 3]) -> [f64; 2] {
    let squares: Vec<f64> = equations.hits.iter().map(|hit| (hit.z - MIDDLE).powi(2)).collect();
    let bent = equations.line(&squares);
    let bend = 0.5e-3 * line[1] * f64::from(layout.field) * track.per_kick.abs() / 3.3356e-3;
    [0, 1].map(|i| line[i] - bend * bent[i])
}

/// Returns the constraints of the choice `line` for a tracklet of this 1/p, c/GeV.
fn by_line(config: &UtConfig, ty: f64, inverse_p: f64) -> [f64; 3] {
    let of = &config.line;
    let weight = |[constant, part]: [f32; 2]| {
        1.0 / (f64::from(constant).powi(2) + (inverse_p * f64::from(part)).powi(2))
    };
    let [constant, part, square] = of.kink.map(f64::from);
    let distance = constant + part * ty.abs() + square * ty * ty;
    [-distance, weight(of.kink_error), weight(of.offset_error)]
}

/// Returns the constraints of LHCb's program, from its first fit.
fn by_kick(track: &Track, hits: &[UtHit64], distances: &[f64], slope_error: f64) -> [f64; 3] {
    let VeloEnd64 { position: [x, _, z], slope: [tx, ty], .. } = track.velo;
    let (meets, way) = (1780.0 - MIDDLE, 1780.0 - z);
    let velo = 1.0 / (way * slope_error).powi(2);
    let (mut matrix, mut right) = ([[velo, velo * meets], [velo * meets, velo * meets * meets]], [0.0; 2]);
    for (hit, distance) in hits.iter().zip(distances) {
        let cosine = if SLOPE[hit.plane] == 0.0 { 1.0 } else { 0.996_175_3 };
        let row = [1.0, hit.z - MIDDLE];
        let distance = distance + (x + tx * (hit.z - z)) * (1.0 - cosine);
        for i in 0..2 {
            right[i] += hit.weight * row[i] * distance;
            (0..2).for_each(|j| matrix[i][j] += hit.weight * cosine * row[i] * row[j]);
        }
    }
    let [at, t] = solve(matrix, right);
    // LHCb's program ignores ty here.
    let sine = |t: f64| t * (1.0 + t * t).sqrt();
    let kick = sine(tx + (at + t * meets) / way) - sine(tx + t);
    let inverse_p = (kick * track.per_kick).abs().max(1e-9) * (1.0 + ty * ty).sqrt();
    let kink = 2010.0 + ty * ty * (2240.0 + ty * ty * 71_330.0);
    let error = (0.14 + 1e4 * inverse_p).powi(2) + (0.12 + 3e3 * inverse_p).powi(2);
    [kink - MIDDLE, 1.0 / error, 0.0]
}

struct Errors {
    cov_x: [f64; 3],
    cov_y: [f64; 3],
    qop: f64,
}

/// Returns the errors of a fit. Each source of errors moves hits, the true state or the Velo track's slope by one
/// standard deviation; its error is the change of the fit minus the change of the truth. `qop`, c/GeV, is for
/// scattering.
fn errors(
    layout: &UtLayout,
    track: &Track,
    equations: &Equations<'_>,
    (distances, halfway): (&[f64], bool),
    qop: f64,
) -> Errors {
    let Equations { hits, before: [meets, _, offset] } = *equations;
    let VeloEnd64 { position: [.., z], covariance: [xx, xt, tt], .. } = track.velo;
    let base = equations.line(distances);
    let of_base = track.qop(base, meets, halfway, 0.0);
    let at_base = state(layout, track, equations, base);
    let mut found = Errors { cov_x: [0.0; 3], cov_y: [0.0; 3], qop: 0.0 };
    let mut add = |moved: &dyn Fn(&UtHit64) -> f64, truth: [f64; 2], off: f64| {
        // Small enough for linearity, and large enough for precision.
        const PART: f64 = 1e-4;
        let at: Vec<f64> = hits.iter().zip(distances).map(|(hit, d)| d + PART * moved(hit)).collect();
        let line = equations.line(&at);
        let found_x = state(layout, track, equations, line);
        let x = [0, 1].map(|i| (found_x[i] - at_base[i]) / PART - truth[i]);
        let change = (track.qop(line, meets, halfway, PART * off) - of_base) / PART;
        found.cov_x =
            [found.cov_x[0] + x[0] * x[0], found.cov_x[1] + x[0] * x[1], found.cov_x[2] + x[1] * x[1]];
        found.qop += change * change;
    };
    for one in hits {
        add(&|hit| f64::from(u8::from(hit.plane == one.plane)) / one.weight.sqrt(), [0.0; 2], 0.0);
    }
    if offset > 0.0 {
        // The error of the Velo track's y that the fit assumes.
        add(&|hit| SLOPE[hit.plane] / offset.sqrt(), [0.0; 2], 0.0);
    }
    let root = xx.sqrt();
    let (along, rest) = (xt / root, (tt - xt * xt / xx).max(0.0).sqrt());
    for [x, t] in [[root, along], [0.0, rest]] {
        add(&|hit| -(x + t * (hit.z - z)), [-(x + t * (MIDDLE - z)), -t], t);
    }
    let way = MIDDLE - z;
    let mut y = [xx + 2.0 * way * xt + way * way * tt, xt + way * tt, tt];
    let planes = [TWO_PLANES as f32, layout.two_planes];
    for [from, angle2] in layout.scatterers.into_iter().chain([planes]).map(|of| of.map(f64::from)) {
        let angle = angle2.sqrt() * qop.abs();
        // Scattering in the first two planes does not move hits in these planes.
        let reach = move |z: f64| if from == TWO_PLANES && z < MIDDLE { 0.0 } else { z - from };
        add(&|hit| angle * reach(hit.z), [angle * (MIDDLE - from), angle], 0.0);
        let way = MIDDLE - from;
        let turned = angle * angle;
        y = [y[0] + way * way * turned, y[1] + way * turned, y[2] + turned];
    }
    found.cov_y = y;
    found
}

/// Returns the field integral along a track up to the UT, T m.
fn integral(layout: &UtLayout, velo: &VeloEnd64) -> f64 {
    let VeloEnd64 { position: [x, y, z], slope: [tx, ty], .. } = *velo;
    let origin = if ty.abs() > 0.001 { z - y / ty } else { z - x / tx };
    let at = [(ty + 0.3) * 50.0, (origin + 250.0) * 0.02, z * 0.0125];
    let last = [30usize, 10, 10];
    let node = [0, 1, 2].map(|axis: usize| at[axis].clamp(0.0, last[axis] as f64) as usize);
    let value = |node: [usize; 3]| {
        let [i, j, k] = [0, 1, 2].map(|axis: usize| node[axis].min(last[axis]));
        f64::from(layout.tables.field_integral[(k * 11 + j) * 31 + i])
    };
    let mut sum = value(node);
    for axis in 0..3 {
        let mut next = node;
        next[axis] += 1;
        if (0.0..=last[axis] as f64).contains(&at[axis]) {
            sum += (at[axis] - node[axis] as f64) * (value(next) - value(node));
        }
    }
    sum
}
