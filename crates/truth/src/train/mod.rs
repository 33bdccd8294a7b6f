//! Trains the small classifiers of [`peloton::classifier`] on a table of features and labels, and writes Rust files.
//!
//! Each row of the table is a candidate: the seed of its simulated sample, its features, and whether it is true.
//! Weights are fitted to the samples of [`WEIGHT_SEEDS`]; the threshold is chosen on samples of [`THRESHOLD_SEEDS`].
//! Other seeds are refused, since quoted results use them. The same table and options give the same file, byte for
//! byte, on every machine: sums in f64 have a fixed order; random numbers and exponentials are computed in software.

mod network;
mod rust_file;

use network::{Dense, fit, response};
use peloton::{Error, Result};
use std::ops::RangeInclusive;

/// Seeds of the samples to which weights are fitted.
pub const WEIGHT_SEEDS: RangeInclusive<u64> = 1..=799;
/// Seeds of the samples on which thresholds are chosen.
pub const THRESHOLD_SEEDS: RangeInclusive<u64> = 800..=999;

/// A table of candidates for training: seed, features and label.
#[derive(Debug, Clone)]
pub struct Table {
    names: Vec<String>,
    /// Features, row by row.
    features: Vec<f32>,
    rows: Vec<(u64, bool)>,
}

impl Table {
    /// Creates an empty table with the names of the features, in the order of the network's inputs.
    pub fn new(names: &[&str]) -> Self {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Self { names, features: Vec::new(), rows: Vec::new() }
    }

    /// Appends a candidate from the sample with this seed.
    ///
    /// # Errors
    /// [`Error::Config`] if the number of features is wrong, a feature is not finite, or the seed is not for training.
    pub fn push(&mut self, seed: u64, features: &[f32], is_true: bool) -> Result<()> {
        let row = self.rows.len();
        if features.len() != self.names.len() {
            let (have, want) = (features.len(), self.names.len());
            return Err(Error::Config(format!("row {row} of a training table: {have} features, not {want}")));
        }
        if let Some(at) = features.iter().position(|value| !value.is_finite()) {
            let (name, value) = (&self.names[at], features[at]);
            return Err(Error::Config(format!("row {row} of a training table: `{name}` is {value}")));
        }
        if !WEIGHT_SEEDS.contains(&seed) && !THRESHOLD_SEEDS.contains(&seed) {
            let (first, last) = (WEIGHT_SEEDS.start(), THRESHOLD_SEEDS.end());
            let message = format!("seed {seed} is not for training: use {first} to {last}");
            return Err(Error::Config(format!("row {row} of a training table: {message}")));
        }
        self.features.extend(features);
        self.rows.push((seed, is_true));
        Ok(())
    }

    /// Returns the number of candidates.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether the table has no candidates.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns features and labels of the rows whose seeds are in a range, in order.
    fn part(&self, seeds: RangeInclusive<u64>) -> Vec<(&[f32], bool)> {
        let rows = self.features.chunks_exact(self.names.len().max(1)).zip(&self.rows);
        rows.filter(|(_, (seed, _))| seeds.contains(seed))
            .map(|(features, (_, label))| (features, *label))
            .collect()
    }
}

/// Options of a training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Training {
    /// Number of units in the hidden layer, 1 to [`peloton::classifier::MAX_HIDDEN`].
    pub hidden: usize,
    /// Number of passes over all candidates.
    pub epochs: usize,
    /// Number of candidates in a batch, after which the weights change.
    pub batch: usize,
    /// Learning rate of the first step (Adam); the rate decreases linearly to 0.
    pub rate: f64,
    /// Seed of the random initial weights and of the random order of candidates.
    pub seed: u64,
    /// The share of true candidates of [`THRESHOLD_SEEDS`] that the threshold keeps.
    pub keep: f64,
}

impl Default for Training {
    fn default() -> Self {
        Self { hidden: 8, epochs: 20, batch: 32, rate: 0.01, seed: 1, keep: 0.99 }
    }
}

/// A trained network, with measures of its quality.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    names: Vec<String>,
    training: Training,
    network: Dense,
    threshold: f32,
    /// Numbers of true and of false candidates to which the weights were fitted.
    pub weight_rows: [usize; 2],
    /// Numbers of true and of false candidates on which the threshold was chosen.
    pub threshold_rows: [usize; 2],
    /// Share of true and share of false candidates of [`THRESHOLD_SEEDS`] whose responses reach the threshold.
    pub kept: [f64; 2],
    /// Probability that a true candidate has a larger response than a false one; equal responses count half.
    pub ordered: f64,
}

/// Trains a network on the candidates of a table.
///
/// # Errors
/// [`Error::Config`] for options out of range, no true or no false candidates, and a feature that is constant.
pub fn train(table: &Table, training: &Training) -> Result<Trained> {
    train_with_noise(table, training, &mut |_| ())
}

/// Trains a network on candidates with noise: each time that a candidate is used in the fit, `noise` changes a copy of
/// its features. The scaling of features and the quality of the network are computed without noise.
///
/// # Errors
/// The same errors as [`train`].
pub fn train_with_noise(
    table: &Table,
    training: &Training,
    noise: &mut dyn FnMut(&mut [f32]),
) -> Result<Trained> {
    let wrong = |message: String| Error::Config(format!("training: {message}"));
    let most = peloton::classifier::MAX_HIDDEN;
    if !(1..=most).contains(&training.hidden) {
        return Err(wrong(format!("{} hidden units, not 1 to {most}", training.hidden)));
    }
    if training.epochs == 0 || training.batch == 0 || !(training.rate > 0.0 && training.rate <= 1.0) {
        return Err(wrong("epochs and batch must be at least 1, the rate above 0 and at most 1".into()));
    }
    if !(training.keep > 0.0 && training.keep <= 1.0) {
        return Err(wrong(format!("`keep` is {}, but must be above 0 and at most 1", training.keep)));
    }
    let (weights, thresholds) = (table.part(WEIGHT_SEEDS), table.part(THRESHOLD_SEEDS));
    let count = |rows: &[(&[f32], bool)]| {
        let is_true = rows.iter().filter(|(_, label)| *label).count();
        [is_true, rows.len() - is_true]
    };
    let (weight_rows, threshold_rows) = (count(&weights), count(&thresholds));
    if weight_rows.contains(&0) || threshold_rows.contains(&0) {
        let message = format!("[true, false]: weights {weight_rows:?}, threshold {threshold_rows:?}");
        return Err(wrong(format!("true and false candidates are needed: {message}")));
    }
    let network = fit(&table.names, &weights, training, noise).map_err(wrong)?;
    let mut responses: Vec<(f64, bool)> =
        thresholds.iter().map(|(features, label)| (response(&network, features), *label)).collect();
    responses.sort_by(|a, b| a.0.total_cmp(&b.0));
    let is_true = responses.iter().filter(|(_, label)| *label).map(|(response, _)| *response);
    let lost = ((1.0 - training.keep) * threshold_rows[0] as f64) as usize;
    let threshold = is_true.clone().nth(lost).unwrap_or_default() as f32;
    let kept = [true, false].map(|label| {
        let of = responses.iter().filter(|row| row.1 == label);
        let kept = of.clone().filter(|row| row.0 as f32 >= threshold).count();
        kept as f64 / of.count() as f64
    });
    Ok(Trained {
        names: table.names.clone(),
        training: *training,
        network,
        threshold,
        weight_rows,
        threshold_rows,
        kept,
        ordered: ordered(&responses, threshold_rows),
    })
}

impl Trained {
    /// Returns the probability that a candidate with these features is true, 0 to 1.
    pub fn response(&self, features: &[f32]) -> f64 {
        response(&self.network, features)
    }

    /// Sets another threshold, and computes `kept` on the candidates of [`THRESHOLD_SEEDS`] in this table.
    pub fn set_threshold(&mut self, table: &Table, threshold: f32) {
        let rows = table.part(THRESHOLD_SEEDS);
        self.threshold = threshold;
        self.kept = [true, false].map(|label| {
            let of = rows.iter().filter(|row| row.1 == label);
            let kept = of.clone().filter(|row| self.response(row.0) as f32 >= threshold).count();
            kept as f64 / of.count() as f64
        });
    }
}

/// Returns the share of pairs in the right order; `responses` are sorted, rising.
fn ordered(responses: &[(f64, bool)], [all_true, all_false]: [usize; 2]) -> f64 {
    let (mut twice, mut below) = (0u64, 0u64);
    for equal in responses.chunk_by(|a, b| a.0 == b.0) {
        let is_true = equal.iter().filter(|(_, label)| *label).count() as u64;
        let is_false = equal.len() as u64 - is_true;
        twice += is_true * (2 * below + is_false);
        below += is_false;
    }
    twice as f64 / (2.0 * all_true as f64 * all_false as f64)
}
