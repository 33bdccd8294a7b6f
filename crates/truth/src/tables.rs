//! Tables of efficiencies in bins of properties of particles, and of ghost rates in bins of properties of tracks.

use super::efficiency::{Counter, clopper_pearson, ratio};
use peloton::event::Particle;
use serde::Serialize;
use std::f64::consts::PI;

/// A binned quantity. The first and last bin include all values beyond them.
pub(super) struct Axis<T: ?Sized> {
    pub(super) variable: &'static str,
    pub(super) unit: &'static str,
    pub(super) edges: &'static [f64],
    pub(super) value: fn(&T) -> Option<f64>,
}

/// A particle and the number of particles of its event.
pub(super) type Subject<'a> = (&'a Particle, usize);

/// A track's number of hits and the number of particles of its event.
pub(super) type TrackSubject = (usize, usize);

const PHI: [f64; 9] = [-PI, -0.75 * PI, -0.5 * PI, -0.25 * PI, 0.0, 0.25 * PI, 0.5 * PI, 0.75 * PI, PI];
const PARTICLES: [f64; 8] = [0.0, 100.0, 200.0, 300.0, 400.0, 500.0, 700.0, 1000.0];

impl<T: ?Sized> Axis<T> {
    pub(super) fn bins(&self) -> usize {
        self.edges.len() - 1
    }

    /// Returns the bin of `subject`; none when the quantity is unknown or not a number.
    pub(super) fn bin(&self, subject: &T) -> Option<usize> {
        let value = (self.value)(subject).filter(|value| !value.is_nan())?;
        let above = self.edges.partition_point(|edge| *edge <= value);
        Some(above.saturating_sub(1).min(self.bins() - 1))
    }
}

/// Axes of the tables of efficiency.
fn particle_axes<'a>() -> [Axis<Subject<'a>>; 6] {
    [
        Axis {
            variable: "p",
            unit: "GeV/c",
            edges: &[0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 200.0],
            value: |s| Some(s.0.p),
        },
        Axis {
            variable: "pt",
            unit: "GeV/c",
            edges: &[0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 20.0],
            value: |s| Some(s.0.pt),
        },
        Axis {
            variable: "eta",
            unit: "",
            edges: &[-6.0, -4.0, -3.0, -2.0, -1.0, 1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 7.0],
            value: |s| Some(s.0.eta),
        },
        Axis { variable: "phi", unit: "rad", edges: &PHI, value: |s| Some(s.0.phi) },
        Axis {
            variable: "origin_z",
            unit: "mm",
            edges: &[-300.0, -200.0, -100.0, -50.0, 0.0, 50.0, 100.0, 200.0, 400.0, 800.0],
            value: |s| s.0.origin.map(|[_, _, z]| f64::from(z)),
        },
        Axis { variable: "particles_in_event", unit: "", edges: &PARTICLES, value: |s| Some(s.1 as f64) },
    ]
}

const TRACK_AXES: [Axis<TrackSubject>; 2] = [
    Axis {
        variable: "track_hits",
        unit: "",
        edges: &[0.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 15.0, 30.0],
        value: |s| Some(s.0 as f64),
    },
    Axis { variable: "particles_in_event", unit: "", edges: &PARTICLES, value: |s| Some(s.1 as f64) },
];

/// Counts of one category along all axes.
#[derive(Debug, Clone, Default)]
pub(super) struct ParticleCounts(Vec<Vec<Counter>>);

impl ParticleCounts {
    pub fn new() -> Self {
        Self(particle_axes().iter().map(|axis| vec![Counter::default(); axis.bins()]).collect())
    }

    pub fn add(&mut self, subject: Subject<'_>, counts: Counter) {
        for (axis, bins) in particle_axes().iter().zip(&mut self.0) {
            if let Some(bin) = axis.bin(&subject) {
                bins[bin].add(counts);
            }
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (bins, others) in self.0.iter_mut().zip(&other.0) {
            for (bin, other) in bins.iter_mut().zip(others) {
                bin.add(*other);
            }
        }
    }

    /// Returns the tables that contain particles; `clone_rate` computes the clone rate as the rules define it.
    pub fn tables(&self, category: &str, clone_rate: fn(&Counter) -> Option<f64>) -> Vec<EfficiencyTable> {
        let known = |bins: &[Counter]| bins.iter().any(|bin| bin.reconstructible > 0);
        let axes = particle_axes();
        let filled = axes.iter().zip(&self.0).filter(|(_, bins)| known(bins));
        filled
            .map(|(axis, bins)| EfficiencyTable {
                category: category.into(),
                variable: axis.variable,
                unit: axis.unit,
                bins: (axis.edges.windows(2).zip(bins))
                    .map(|(edges, counter)| EfficiencyBin::new(edges, counter, clone_rate))
                    .collect(),
            })
            .collect()
    }
}

/// Counts of tracks and ghosts along all axes.
#[derive(Debug, Clone, Default)]
pub(super) struct TrackCounts(Vec<Vec<(u64, u64)>>);

impl TrackCounts {
    pub fn new() -> Self {
        Self(TRACK_AXES.iter().map(|axis| vec![(0, 0); axis.bins()]).collect())
    }

    pub fn add(&mut self, subject: TrackSubject, ghost: bool) {
        for (axis, bins) in TRACK_AXES.iter().zip(&mut self.0) {
            if let Some(bin) = axis.bin(&subject) {
                bins[bin].0 += 1;
                bins[bin].1 += u64::from(ghost);
            }
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (bins, others) in self.0.iter_mut().zip(&other.0) {
            for (bin, other) in bins.iter_mut().zip(others) {
                *bin = (bin.0 + other.0, bin.1 + other.1);
            }
        }
    }

    pub fn tables(&self) -> Vec<GhostTable> {
        let bin = |(edges, &(tracks, ghosts)): (&[f64], &(u64, u64))| {
            let interval = clopper_pearson(ghosts, tracks);
            GhostBin {
                low: edges[0],
                high: edges[1],
                tracks,
                ghosts,
                ghost_rate: ratio(ghosts as f64, tracks as f64),
                ghost_rate_low: interval.map(|(low, _)| low),
                ghost_rate_high: interval.map(|(_, high)| high),
            }
        };
        TRACK_AXES
            .iter()
            .zip(&self.0)
            .map(|(axis, bins)| GhostTable {
                variable: axis.variable,
                unit: axis.unit,
                bins: axis.edges.windows(2).zip(bins).map(bin).collect(),
            })
            .collect()
    }
}

/// Efficiency of one category in bins of one property of its particles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EfficiencyTable {
    /// Name of the category.
    pub category: String,
    /// Name of the property: `p`, `pt`, `eta`, `phi`, `origin_z` or `particles_in_event`.
    pub variable: &'static str,
    /// Unit of the property; empty when it has none.
    pub unit: &'static str,
    /// Bins in rising order. The first and the last bin include all values beyond their outer edges.
    pub bins: Vec<EfficiencyBin>,
}

/// One bin of an [`EfficiencyTable`]. Rates are fractions (clone rates can exceed 1), and none for 0 / 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EfficiencyBin {
    /// Lower edge, in the table's unit.
    pub low: f64,
    /// Upper edge, in the table's unit.
    pub high: f64,
    /// Number of reconstructible particles.
    pub reconstructible: u64,
    /// Number of reconstructible particles that were found.
    pub reconstructed: u64,
    /// Reconstructed over reconstructible particles.
    pub efficiency: Option<f64>,
    /// Lower end of the efficiency's 68 % Clopper-Pearson interval.
    pub efficiency_low: Option<f64>,
    /// Upper end of the efficiency's 68 % Clopper-Pearson interval.
    pub efficiency_high: Option<f64>,
    /// Number of clones: tracks of particles that already have an earlier track.
    pub clones: u64,
    /// Clones over the denominator that the rules define ([`CategoryReport`](crate::CategoryReport)).
    pub clone_rate: Option<f64>,
}

impl EfficiencyBin {
    pub(super) fn new(edges: &[f64], counter: &Counter, clone_rate: fn(&Counter) -> Option<f64>) -> Self {
        Self {
            low: edges[0],
            high: edges[1],
            reconstructible: counter.reconstructible,
            reconstructed: counter.reconstructed,
            efficiency: counter.efficiency(),
            efficiency_low: counter.interval().map(|(low, _)| low),
            efficiency_high: counter.interval().map(|(_, high)| high),
            clones: counter.clones,
            clone_rate: clone_rate(counter),
        }
    }
}

/// Ghost rate in bins of one property of the tracks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GhostTable {
    /// Name of the property: `track_hits` or `particles_in_event`.
    pub variable: &'static str,
    /// Unit of the property; empty when it has none.
    pub unit: &'static str,
    /// Bins in rising order. The first and the last bin include all values beyond their outer edges.
    pub bins: Vec<GhostBin>,
}

/// One bin of a [`GhostTable`]. Rates are from 0 to 1, and none for 0 / 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GhostBin {
    /// Lower edge, in the table's unit.
    pub low: f64,
    /// Upper edge, in the table's unit.
    pub high: f64,
    /// Number of tracks.
    pub tracks: u64,
    /// Number of tracks that match no particle.
    pub ghosts: u64,
    /// Ghosts over all tracks of the bin.
    pub ghost_rate: Option<f64>,
    /// Lower end of the ghost rate's 68 % Clopper-Pearson interval.
    pub ghost_rate_low: Option<f64>,
    /// Upper end of the ghost rate's 68 % Clopper-Pearson interval.
    pub ghost_rate_high: Option<f64>,
}
