//! The JSON that `check` writes for tracks, as far as a report shows it.

use serde::Deserialize;

/// Largest numbers of tables and of bins.
const MAX_TABLES: usize = 2000;
const MAX_BINS: usize = 500;
/// Largest number of tracks: intervals of larger numbers would take long to compute.
const MAX_COUNT: u64 = 1_000_000_000_000;

/// JSON results of `peloton check` on tracks.
#[derive(Debug, Deserialize)]
pub struct CheckData {
    #[serde(default)]
    pub tracks: u64,
    #[serde(default)]
    pub ghosts: u64,
    #[serde(default)]
    pub ghost_rate: Option<f64>,
    #[serde(default)]
    pub rules: String,
    pub categories: Vec<Category>,
    #[serde(default)]
    pub tables: Vec<Table>,
    #[serde(default)]
    pub ghost_tables: Vec<Table>,
    /// Cylinder detector: numbers of matched tracks and of ghosts, by number of hits.
    #[serde(default)]
    pub lengths: Vec<[u64; 2]>,
    #[serde(default)]
    pub losses: Option<Losses>,
    #[serde(default)]
    pub states: Option<States>,
    #[serde(default)]
    pub momentum: Option<Momentum>,
    /// Pulls in the cylinder detector.
    #[serde(default)]
    pub pulls: Vec<Pull>,
    #[serde(default)]
    pub resolutions: Vec<Resolution>,
}

#[derive(Debug, Deserialize)]
pub struct Category {
    pub name: String,
    pub reconstructible: u64,
    pub reconstructed: u64,
    pub efficiency: Option<f64>,
    pub efficiency_low: Option<f64>,
    pub efficiency_high: Option<f64>,
    pub clones: u64,
    pub clone_rate: Option<f64>,
    #[serde(default)]
    pub purity: Option<f64>,
    #[serde(default)]
    pub hit_efficiency: Option<f64>,
    /// Ghost rate of the category, which exists only for the cylinder detector.
    #[serde(default)]
    pub ghost_rate: Option<f64>,
}

/// Rates (efficiency, clones, ghosts) against one property.
#[derive(Debug, Deserialize)]
pub struct Table {
    /// The category of particles; empty for ghost rates.
    #[serde(default)]
    pub category: String,
    pub variable: String,
    pub unit: String,
    pub bins: Vec<Bin>,
}

/// One bin of a table of efficiencies or of ghost rates.
#[derive(Debug, Deserialize)]
pub struct Bin {
    pub low: f64,
    pub high: f64,
    #[serde(default)]
    pub reconstructible: u64,
    #[serde(default)]
    pub efficiency: Option<f64>,
    #[serde(default)]
    pub efficiency_low: Option<f64>,
    #[serde(default)]
    pub efficiency_high: Option<f64>,
    #[serde(default)]
    pub clone_rate: Option<f64>,
    #[serde(default)]
    pub tracks: u64,
    #[serde(default)]
    pub ghosts: u64,
}

#[derive(Debug, Deserialize)]
pub struct Losses {
    pub particles: u64,
    pub tracks: u64,
    pub missed: Vec<Loss>,
    pub ghosts: Vec<Loss>,
    pub clones: Vec<Loss>,
}

#[derive(Debug, Deserialize)]
pub struct Loss {
    pub cause: String,
    pub count: u64,
    pub slow: u64,
}

#[derive(Debug, Deserialize)]
pub struct States {
    pub pulls: Vec<Pull>,
    #[serde(default)]
    pub impact_parameters: Vec<Impact>,
}

/// A pull. Pulls in the cylinder detector have neither places nor bins of momentum.
#[derive(Debug, Deserialize)]
pub struct Pull {
    #[serde(default)]
    pub place: String,
    pub parameter: String,
    #[serde(default)]
    pub p_from: Option<f64>,
    #[serde(default)]
    pub p_to: Option<f64>,
    pub tracks: u64,
    pub mean: Option<f64>,
    pub width: Option<f64>,
    #[serde(default)]
    pub resolution: Option<f64>,
    #[serde(default)]
    pub histogram: Option<Histogram>,
}

/// Numbers of tracks in bins of equal width.
#[derive(Debug, Deserialize)]
pub struct Histogram {
    pub low: f64,
    pub high: f64,
    pub counts: Vec<u64>,
}

#[derive(Debug, Deserialize)]
pub struct Impact {
    pub inverse_pt_from: f64,
    pub inverse_pt_to: f64,
    pub tracks: u64,
    pub resolution: f64,
    pub lhcb_run1: f64,
}

#[derive(Debug, Deserialize)]
pub struct Momentum {
    pub bins: Vec<MomentumBin>,
}

#[derive(Debug, Deserialize)]
pub struct MomentumBin {
    pub low: f64,
    pub high: f64,
    pub tracks: u64,
    pub half_width: Option<f64>,
    pub right_charge_rate: Option<f64>,
    pub right_charge_low: Option<f64>,
    pub right_charge_high: Option<f64>,
}

/// Resolutions in the cylinder detector, in a bin of transverse momentum.
#[derive(Debug, Deserialize)]
pub struct Resolution {
    pub pt_from: f64,
    pub r_phi: f64,
    pub z: f64,
    pub pt: f64,
    pub phi: f64,
    pub theta: f64,
}

impl CheckData {
    /// Checks that all numbers are possible; otherwise returns a message. Figures show only valid numbers.
    pub fn validate(&self) -> Result<(), String> {
        let tables = || self.tables.iter().chain(&self.ghost_tables);
        let momentum = self.momentum.iter().flat_map(|momentum| &momentum.bins);
        let histograms = self.all_pulls().filter_map(|pull| pull.histogram.as_ref());
        let longest = tables().map(|table| table.bins.len()).chain([self.lengths.len()]);
        let losses = self.losses.iter().flat_map(|losses| [&losses.missed, &losses.ghosts, &losses.clones]);
        let longest = longest.chain(losses.map(Vec::len)).chain(histograms.map(|of| of.counts.len()));
        let impacts = self.states.iter().map(|states| states.impact_parameters.len());
        let longest = longest.chain(impacts).chain([momentum.clone().count(), self.resolutions.len()]);
        let longest = longest.max().unwrap_or(0);
        let count = tables().count().max(self.categories.len()).max(self.all_pulls().count());
        if count > MAX_TABLES || longest > MAX_BINS {
            let message = format!("{count} tables with up to {longest} bins");
            return Err(format!("{message} are more than {MAX_TABLES} tables of {MAX_BINS} bins"));
        }
        let counts = tables().flat_map(|table| &table.bins).flat_map(|bin| [bin.tracks, bin.ghosts]);
        if let Some(count) =
            counts.chain(self.lengths.iter().flatten().copied()).find(|count| *count > MAX_COUNT)
        {
            return Err(format!("{count} tracks cannot be"));
        }
        for table in tables() {
            rising(table.bins.iter().map(|bin| [bin.low, bin.high]), &table.variable)?;
        }
        rising(momentum.clone().map(|bin| [bin.low, bin.high]), "momentum")?;
        for pull in self.all_pulls().filter_map(|pull| Some((pull, pull.histogram.as_ref()?))) {
            rising([[pull.1.low, pull.1.high]].into_iter(), &pull.0.parameter)?;
        }
        let categories = self.categories.iter().flat_map(|of| {
            let Category { efficiency, efficiency_low, efficiency_high, ghost_rate, .. } = *of;
            [efficiency, efficiency_low, efficiency_high, ghost_rate]
        });
        let bins = tables().flat_map(|table| &table.bins).flat_map(|bin| {
            let Bin { efficiency, efficiency_low, efficiency_high, .. } = *bin;
            [efficiency, efficiency_low, efficiency_high]
        });
        let charges =
            momentum.flat_map(|bin| [bin.right_charge_rate, bin.right_charge_low, bin.right_charge_high]);
        let mut rates = categories.chain(bins).chain(charges).chain([self.ghost_rate]).flatten();
        if let Some(rate) = rates.find(|rate| !(0.0..=1.0).contains(rate)) {
            return Err(format!("an efficiency or rate cannot be {rate}"));
        }
        // By some rules there can be more clones than particles.
        let clones = tables().flat_map(|table| &table.bins).filter_map(|bin| bin.clone_rate);
        let mut clones = clones.chain(self.categories.iter().filter_map(|of| of.clone_rate));
        match clones.find(|rate| !(0.0..=1e3).contains(rate)) {
            Some(rate) => Err(format!("a clone rate cannot be {rate}")),
            None => Ok(()),
        }
    }

    /// Returns all pulls: of the cylinder detector, and of LHCb's states.
    pub fn all_pulls(&self) -> impl Iterator<Item = &Pull> {
        self.pulls.iter().chain(self.states.iter().flat_map(|states| &states.pulls))
    }
}

/// Checks that bins have widths, and edges whose logarithms are in range.
fn rising(mut bins: impl Iterator<Item = [f64; 2]>, of: &str) -> Result<(), String> {
    let can_be = |edge: f64| edge == 0.0 || (1e-15..1e15).contains(&edge.abs());
    let is_bad = |[low, high]: &[f64; 2]| !(low < high && can_be(*low) && can_be(*high));
    match bins.find(is_bad) {
        Some([low, high]) => Err(format!("{of}: a bin cannot extend from {low} to {high}")),
        None => Ok(()),
    }
}
