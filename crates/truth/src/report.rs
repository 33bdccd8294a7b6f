//! Results of [`Checker`](crate::Checker), as JSON and as text.

use super::Rules;
use super::momentum::MomentumReport;
use super::tables::{EfficiencyTable, GhostTable};
use serde::Serialize;
use std::fmt;

/// The result of a check. The keys in its JSON are part of the command line's interface. Rates are fractions (clone
/// rates can exceed 1), and none (`null` in JSON, a dash in text) for 0 / 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckReport {
    /// Number of tracks.
    pub tracks: u64,
    /// Number of tracks that match no particle.
    pub ghosts: u64,
    /// Ghosts over all tracks.
    pub ghost_rate: Option<f64>,
    /// Results for each category of particles.
    pub categories: Vec<CategoryReport>,
    /// The rules of the check.
    pub rules: Rules,
    /// Number of events.
    pub events: u64,
    /// Mean of the ghost rates of the events; the rate of an event without tracks is 0.
    pub ghost_rate_event_average: Option<f64>,
    /// Number of tracks with exactly the hits of an earlier track, which the rules `json` skip.
    pub repeated_tracks: u64,
    /// Efficiencies in bins of properties of the particles.
    pub tables: Vec<EfficiencyTable>,
    /// Ghost rates in bins of properties of the tracks.
    pub ghost_tables: Vec<GhostTable>,
    /// Ghosts among tracks with measured p > 3 GeV/c and pT > 0.5 GeV/c; none if momenta are not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast: Option<FastGhosts>,
    /// Comparison of measured with true momenta.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub momentum: Option<MomentumReport>,
}

/// Ghosts among tracks of high measured momentum.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FastGhosts {
    /// Number of tracks with high momentum.
    pub tracks: u64,
    /// Number of these tracks that match no particle.
    pub ghosts: u64,
    /// Ghosts over tracks with high momentum.
    pub ghost_rate: Option<f64>,
}

/// Results for the particles of one category.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CategoryReport {
    /// Name of the category.
    pub name: String,
    /// Number of reconstructible particles.
    pub reconstructible: u64,
    /// Number of reconstructible particles that were found.
    pub reconstructed: u64,
    /// Reconstructed over reconstructible particles.
    pub efficiency: Option<f64>,
    /// Lower end of the efficiency's 68 % Clopper-Pearson interval.
    pub efficiency_low: Option<f64>,
    /// Upper end of the efficiency's interval.
    pub efficiency_high: Option<f64>,
    /// Number of clones: tracks of particles that already have an earlier track.
    pub clones: u64,
    /// Rules `json`: clones / reconstructed; rules of LHCb: clones / (reconstructed + clones).
    pub clone_rate: Option<f64>,
    /// Mean share of a matched track's hits that come from the matched particle, over all events.
    pub purity: Option<f64>,
    /// Mean share of a particle's hits that are on the matched track, over all matched tracks.
    pub hit_efficiency: Option<f64>,
    /// Rules of LHCb: mean of the efficiencies of the events. Rules `json`: mean of the running efficiencies after each
    /// event, which depends on the order of events.
    pub efficiency_event_average: Option<f64>,
    /// Mean over events of the mean purity of an event's matched tracks.
    pub purity_event_average: Option<f64>,
    /// Mean over events of the mean hit efficiency of an event's matched tracks.
    pub hit_efficiency_event_average: Option<f64>,
    /// Number of tracks that match a particle of the category.
    pub matched_tracks: u64,
    /// Sum of the purities of the matched tracks.
    pub sum_purity: f64,
    /// Sum of the hit efficiencies of the matched tracks.
    pub sum_hit_efficiency: f64,
}

/// A rate in per cent with two decimals, or a dash.
struct Percent(Option<f64>);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rate) => write!(f, "{:.2} %", 100.0 * rate),
            None => f.write_str("-"),
        }
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.categories.iter().map(|category| category.name.len()).max().unwrap_or(0).max(6);
        let (rate, average) = (Percent(self.ghost_rate), Percent(self.ghost_rate_event_average));
        writeln!(f, "{:width$} : {}/{} {rate} ({average})", "ghosts", self.ghosts, self.tracks)?;
        if let Some(FastGhosts { tracks, ghosts, ghost_rate }) = self.fast {
            let name = "ghosts P>3GeV_Pt>0.5GeV";
            writeln!(f, "{name:width$} : {ghosts}/{tracks} {}", Percent(ghost_rate))?;
        }
        for category in &self.categories {
            writeln!(f, "{:width$} : {category}", category.name)?;
        }
        Ok(())
    }
}

impl fmt::Display for CategoryReport {
    /// Writes the line of LHCb's checker, without the name and with the interval.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reconstructed, reconstructible, clones, .. } = self;
        let efficiency = Percent(self.efficiency);
        let average = Percent(self.efficiency_event_average);
        let (low, high) = (Percent(self.efficiency_low), Percent(self.efficiency_high));
        let clone_rate = Percent(self.clone_rate);
        let (purity, hit_efficiency) = (Percent(self.purity), Percent(self.hit_efficiency));
        write!(f, "{reconstructed}/{reconstructible} {efficiency} ({average}) [{low}, {high}], ")?;
        write!(f, "{clones} ({clone_rate}) clones, pur {purity}, hit eff {hit_efficiency}")
    }
}
