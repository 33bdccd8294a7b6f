//! Efficiencies, clones and ghosts of tracks in the cylinder detector, in bins of pT and eta.

use super::efficiency::{Counter, ratio};
use super::tables::{Axis, EfficiencyBin};
use peloton::event::CylinderTruth;

/// pT and eta of a particle.
type Properties = [f64; 2];

const AXES: [Axis<Properties>; 2] = [
    Axis {
        variable: "pt",
        unit: "GeV/c",
        edges: &[0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0],
        value: |of| Some(of[0]),
    },
    Axis {
        variable: "eta",
        unit: "",
        edges: &[-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0],
        value: |of| Some(of[1]),
    },
];

/// Returns pT, GeV/c, and eta of particle number `particle` of all events.
fn properties(truth: &CylinderTruth, particle: usize) -> Properties {
    let [.., per_pt, _, theta] = truth.particles.vertex.each_ref().map(|column| f64::from(column[particle]));
    [1.0 / per_pt.abs(), -libm::log(libm::tan(0.5 * theta))]
}

/// Counts of one bin.
#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    counter: Counter,
    tracks: u64,
    ghosts: u64,
}

/// Counts of one category along all axes.
#[derive(Debug, Clone, Default)]
pub(super) struct CylinderBins([Vec<Bin>; 2]);

impl CylinderBins {
    /// Returns the bins of particle number `particle` of all events.
    fn of(&mut self, truth: &CylinderTruth, particle: usize) -> impl Iterator<Item = &mut Bin> {
        let values = properties(truth, particle);
        self.0.iter_mut().zip(&AXES).filter_map(move |(bins, axis)| {
            bins.resize(axis.bins(), Bin::default());
            Some(&mut bins[axis.bin(&values)?])
        })
    }

    /// Adds a particle with the number of tracks that match the particle.
    pub fn particle(&mut self, truth: &CylinderTruth, particle: usize, tracks: u64) {
        let one =
            Counter { reconstructible: 1, reconstructed: tracks.min(1), clones: tracks.saturating_sub(1) };
        self.of(truth, particle).for_each(|bin| bin.counter.add(one));
    }

    /// Adds a track, most of whose hits come from `particle`.
    pub fn track(&mut self, truth: &CylinderTruth, particle: usize, is_ghost: bool) {
        for bin in self.of(truth, particle) {
            bin.tracks += 1;
            bin.ghosts += u64::from(is_ghost);
        }
    }

    /// Returns the tables against pT and eta; `category` is the name of their category.
    pub fn tables(&self, category: &'static str) -> impl Iterator<Item = CylinderTable> {
        let table = move |(axis, bins): (&Axis<Properties>, &Vec<Bin>)| CylinderTable {
            category,
            variable: axis.variable,
            unit: axis.unit,
            bins: axis.edges.windows(2).zip(bins).map(|(edges, bin)| CylinderBin::new(edges, bin)).collect(),
        };
        AXES.iter().zip(&self.0).map(table)
    }
}

/// Efficiency, clones and ghosts of one category in bins of one property.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CylinderTable {
    /// Name of the category.
    pub category: &'static str,
    /// Name of the property: `pt` or `eta`.
    pub variable: &'static str,
    /// Unit of the property; empty when it has none.
    pub unit: &'static str,
    /// Bins, rising.
    pub bins: Vec<CylinderBin>,
}

/// One bin of a [`CylinderTable`]; rates are `None` for 0 / 0.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CylinderBin {
    /// Edges, and counts of particles. The clone rate is clones over reconstructed particles.
    #[serde(flatten)]
    pub particles: EfficiencyBin,
    /// Number of tracks; a track counts in the bin of the particle from which most of its hits come.
    pub tracks: u64,
    /// Number of these tracks that belong to no particle.
    pub ghosts: u64,
    /// Ghosts over all tracks of the bin.
    pub ghost_rate: Option<f64>,
}

impl CylinderBin {
    fn new(edges: &[f64], bin: &Bin) -> Self {
        let Bin { counter, tracks, ghosts } = bin;
        let clone_rate = |counter: &Counter| ratio(counter.clones as f64, counter.reconstructed as f64);
        Self {
            particles: EfficiencyBin::new(edges, counter, clone_rate),
            tracks: *tracks,
            ghosts: *ghosts,
            ghost_rate: ratio(*ghosts as f64, *tracks as f64),
        }
    }
}
