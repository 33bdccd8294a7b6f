//! [`TrackCheck`]: checks the tracks of any sequence whose tracks are lists of LHCbIDs.

use crate::comparison::Comparison;
use crate::{Check, CheckOptions, Checked, Chunk, Host, Request, Summary};
use peloton::Result;
use peloton::engine::Sliced;
use peloton::event::{BadBanks, Columns, Product, RawBatch};
use peloton_plot::text;
use peloton_truth::{FindLosses, FittedState, Losses, Measured, Rules, StatePulls};
use serde_json::json;

/// Function that appends the tracks of one event, for a check.
pub type Rows = fn(&Columns, usize, &mut TrackRows);

/// Casts results to the product type `P` of a sequence.
pub fn product<P: Product>(results: &Columns) -> &P {
    results.get().expect("results of this sequence")
}

/// Tracks of one event, in the form that [`TrackCheck`] needs.
#[derive(Debug, Default)]
pub struct TrackRows {
    ids: Vec<u32>,
    /// For each track: the end of its hits in `ids`, and its measured momentum.
    tracks: Vec<(usize, Option<Measured>)>,
    states: Vec<FittedState>,
    /// For each track: the end of its states in `states`.
    state_ends: Vec<usize>,
}

impl TrackRows {
    /// Appends a track: the LHCbIDs of its hits, its momentum if measured, and its states.
    pub fn push(
        &mut self,
        ids: impl IntoIterator<Item = u32>,
        measured: Option<Measured>,
        states: &[FittedState],
    ) {
        self.ids.extend(ids);
        self.tracks.push((self.ids.len(), measured));
        self.states.extend_from_slice(states);
        self.state_ends.push(self.states.len());
    }

    /// Returns the states of a track.
    pub fn states(&self, track: usize) -> &[FittedState] {
        let begin = track.checked_sub(1).map_or(0, |before| self.state_ends[before]);
        &self.states[begin..self.state_ends[track]]
    }

    fn clear(&mut self) {
        self.ids.clear();
        self.tracks.clear();
        self.states.clear();
        self.state_ends.clear();
    }

    /// Returns the tracks: LHCbIDs of the hits, and the momentum if measured.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32], Option<Measured>)> {
        let begins = std::iter::once(0).chain(self.tracks.iter().map(|(end, _)| *end));
        begins.zip(&self.tracks).map(|(begin, (end, measured))| (&self.ids[begin..*end], *measured))
    }
}

/// Compares the tracks of a sequence with the truth: efficiencies, ghosts, momenta, pulls of states. The sequence's
/// function `rows` copies the tracks of one event from its columns.
pub struct TrackCheck {
    compared: Comparison,
    rows: Rows,
    event: TrackRows,
    pulls: StatePulls,
    losses: Option<Losses>,
}

impl TrackCheck {
    /// Makes a check with these rules; events are added later.
    ///
    /// # Errors
    /// Returns errors of [`Comparison::new`].
    pub fn new(request: &Request, rules: Rules, options: &CheckOptions, rows: Rows) -> Result<Self> {
        let compared = Comparison::new(request, rules, options)?;
        let (event, pulls) = (TrackRows::default(), StatePulls::default());
        Ok(Self { compared, rows, event, pulls, losses: None })
    }

    /// Adds the search for the causes of lost particles; `rules` and `bad_banks` are the settings of the sequence.
    pub fn with_losses(self, of: Box<dyn FindLosses>, rules: Rules, bad_banks: BadBanks) -> Self {
        Self { losses: Some(Losses::new(of, rules, bad_banks)), ..self }
    }
}

impl Check for TrackCheck {
    fn add(&mut self, chunk: &Chunk<Sliced>) -> Result<()> {
        let banks: &RawBatch = chunk.batch.of()?;
        let events = chunk.result.events().zip(&chunk.beside.truth).zip(&chunk.beside.ids);
        for (number, (((tracks, event), truth), id)) in events.enumerate() {
            self.event.clear();
            (self.rows)(tracks, event, &mut self.event);
            self.compared.event(id, truth, || self.event.iter())?;
            let checker = self.compared.checker();
            let matches = checker.true_tracks().zip(checker.found());
            self.pulls.event(&truth.particles, matches, |track| self.event.states(track));
            if let Some(losses) = &mut self.losses {
                losses.event(banks, number, truth, checker.found());
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _summary: &Summary, host: Host<'_>) -> Result<Checked> {
        let (pulls, losses) = (self.pulls.report(), self.losses.as_ref().map(Losses::report));
        self.compared.finish(host, |checked| {
            if !pulls.is_empty() {
                checked.add("states", &text::state_pulls(&pulls), json!({ "pulls": pulls }));
            }
            if let Some(tables) = losses {
                checked.add("lost", &text::stage_losses(&tables), &tables);
            }
        })
    }
}
