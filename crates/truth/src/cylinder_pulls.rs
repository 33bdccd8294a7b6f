//! Compares fitted states in the cylinder detector with true particles: pulls and resolutions.

use super::state_pulls::PullHistogram;
use peloton::cylinder::Helix;
use peloton::event::{CYLINDER_LAYERS, CYLINDER_STATE, CylinderBatch, CylinderTracks, CylinderTruth, NO_HIT};

/// Names of the five parameters of a state.
pub const PARAMETERS: [&str; 5] = ["r-phi", "z", "1/pT", "phi", "theta"];
/// Lower edges of the bins of transverse momentum of the resolution table, GeV/c.
const PT_EDGES: [f64; 6] = [0.0, 1.0, 2.0, 4.0, 6.0, 8.0];

/// Sums of a distribution.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moments {
    pub n: u64,
    sum: f64,
    square: f64,
}

impl Moments {
    pub fn add(&mut self, value: f64) {
        self.n += 1;
        self.sum += value;
        self.square += value * value;
    }

    pub fn mean(&self) -> f64 {
        self.sum / self.n as f64
    }

    fn width(&self) -> f64 {
        (self.square / self.n as f64 - self.mean() * self.mean()).max(0.0).sqrt()
    }
}

/// Compares the fitted states of tracks with true particles, for tracks whose hits all belong to one particle.
#[derive(Debug, Clone, Default)]
pub struct CylinderPulls {
    field: f64,
    pulls: [Moments; 5],
    histograms: [PullHistogram; 5],
    residuals: [[Moments; 5]; PT_EDGES.len()],
}

/// Mean, width and distribution of a parameter's pull.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Pull {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// Number of tracks.
    pub tracks: u64,
    /// Mean of (fitted - true) / sigma.
    pub mean: f64,
    /// Standard deviation of (fitted - true) / sigma.
    pub width: f64,
    /// Distribution of (fitted - true) / sigma.
    pub histogram: PullHistogram,
}

/// Resolutions in a bin of transverse momentum: standard deviations of fitted - true.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Resolution {
    /// Lower edge of the bin, GeV/c.
    pub pt_from: f64,
    /// Number of tracks.
    pub tracks: u64,
    /// Resolution of the azimuth times the radius, cm.
    pub r_phi: f64,
    /// Resolution of z, cm.
    pub z: f64,
    /// Resolution of pT, divided by pT (no unit).
    pub pt: f64,
    /// Resolution of phi, rad.
    pub phi: f64,
    /// Resolution of theta, rad.
    pub theta: f64,
}

impl CylinderPulls {
    /// Creates a comparison without tracks; `field` is the magnetic field, T.
    pub fn new(field: f64) -> Self {
        Self { field, ..Self::default() }
    }

    /// Adds the tracks of one event, which has the index `event` in `tracks`, and `of_truth` in `hits` and `truth`.
    /// Tracks with a failed fit or with hits of several particles are ignored.
    pub fn event(
        &mut self,
        tracks: &CylinderTracks,
        event: usize,
        hits: &CylinderBatch,
        truth: &CylinderTruth,
        of_truth: usize,
    ) {
        let first_hit = hits.layer_start[of_truth * CYLINDER_LAYERS] as usize;
        for track in tracks.of_event(event) {
            let owners = tracks.hits_of(track).iter().map(|hit| truth.particle_of[first_hit + *hit as usize]);
            let mut owners = owners.peekable();
            let Some(&owner) = owners.peek() else { continue };
            if owner == NO_HIT || tracks.fit[track] != 0 || owners.any(|other| other != owner) {
                continue;
            }
            let particle = (truth.particles.start[of_truth] + owner) as usize;
            self.track(tracks, track, truth.particles.vertex.each_ref().map(|v| f64::from(v[particle])));
        }
    }

    /// Adds one track of a particle, whose state at its origin is `vertex`: x, y, z, charge / pT, phi, theta.
    pub fn track(&mut self, tracks: &CylinderTracks, track: usize, vertex: [f64; 6]) {
        self.state(tracks.state.each_ref().map(|column| f64::from(column[track])), vertex);
    }

    /// Adds one state (values in the order of the columns) of a particle whose state at its origin is `vertex`.
    pub fn state(&mut self, state: [f64; CYLINDER_STATE], vertex: [f64; 6]) {
        let radius = state[0];
        let Some(truth) = Helix::new(vertex, self.field).at_radius(radius) else { return };
        let [x, y, z] = truth.position;
        let residuals = [
            radius * turn(state[1] - libm::atan2(y, x)),
            state[2] - z,
            state[3] - truth.charge_over_pt,
            turn(state[4] - truth.phi),
            state[5] - libm::atan2(1.0, truth.slope),
        ];
        let pt = 1.0 / truth.charge_over_pt.abs();
        let bin = PT_EDGES.iter().rposition(|edge| pt >= *edge).unwrap_or(0);
        for i in 0..5 {
            let variance = state[6 + i * (i + 1) / 2 + i];
            let pull = residuals[i] / variance.sqrt();
            self.pulls[i].add(pull);
            self.histograms[i].add(pull);
            self.residuals[bin][i].add(if i == 2 { residuals[i] * pt } else { residuals[i] });
        }
    }

    /// Returns the pulls of all parameters.
    pub fn pulls(&self) -> Vec<Pull> {
        let pulls = PARAMETERS.iter().zip(&self.pulls).zip(&self.histograms);
        let pull = |((parameter, m), histogram): ((&&'static str, &Moments), &PullHistogram)| Pull {
            parameter,
            tracks: m.n,
            mean: m.mean(),
            width: m.width(),
            histogram: histogram.clone(),
        };
        pulls.map(pull).collect()
    }

    /// Returns the resolutions in bins of transverse momentum; empty bins are omitted.
    pub fn resolutions(&self) -> Vec<Resolution> {
        let bins = PT_EDGES.iter().zip(&self.residuals).filter(|(_, m)| m[0].n > 0);
        bins.map(|(&pt_from, m)| {
            let [r_phi, z, pt, phi, theta] = m.each_ref().map(Moments::width);
            Resolution { pt_from, tracks: m[0].n, r_phi, z, pt, phi, theta }
        })
        .collect()
    }
}

/// Returns the angle within -pi..pi.
fn turn(angle: f64) -> f64 {
    angle - std::f64::consts::TAU * libm::round(angle / std::f64::consts::TAU)
}
