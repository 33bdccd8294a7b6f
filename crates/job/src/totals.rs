//! [`Totals`]: sums over all reconstructed events.

use crate::MaxBad;
use peloton::Status;
use peloton::engine::{Batch, Sliced};
use peloton::event::{Counters, Truncation};
use peloton_io::input::EventId;
use peloton_plot::text;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// Key in the summary: the number of inputs that could not be read, or not to their ends.
pub const UNUSABLE_INPUTS: &str = "unusable_inputs";

/// Key in the summary: the number of UT and SciFi hits of true particles on channels that the geometry lacks.
pub const HITS_NOT_IN_GEOMETRY: &str = "hits_not_in_geometry";

/// Sums over all reconstructed events.
#[derive(Debug, Clone)]
pub struct Totals {
    /// Counts of all stages.
    pub counters: Counters,
    /// Number of events; for an endless stream, number of items in the results.
    pub events: u64,
    /// Number of input hits.
    pub hits: u64,
    /// Number of tracks.
    pub tracks: u64,
    /// Number of hits in all results.
    pub hits_out: u64,
    /// Number of events that could not be reconstructed.
    pub bad: u64,
    /// The first event that could not be reconstructed.
    pub first_bad: Option<BadEvent>,
    /// Number of events that were reconstructed without some of their raw banks.
    pub partial: u64,
    /// The first partial event.
    pub first_partial: Option<EventId>,
    /// Of the last added batch: indices of its partial events, and whether damaged banks were left out.
    pub partial_here: (Vec<usize>, bool),
    /// For each readout board, the number of partial events that lack its bank.
    pub lacking: BTreeMap<BankSource, u64>,
    /// Number of equal passes over which the sums run.
    pub passes: u64,
    /// Wall clock from input in memory to results in memory.
    pub time: Duration,
}

/// A readout board: the name of its detector, and its source number.
pub type BankSource = (&'static str, u16);

/// An event that could not be reconstructed.
#[derive(Debug, Clone)]
pub struct BadEvent {
    /// Run and event number of the event.
    pub id: EventId,
    /// Status of the event.
    pub status: Status,
    /// Description of the bank or hit that caused the status; none before the diagnosis, empty if it finds no cause.
    pub blame: Option<String>,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            counters: Counters::default(),
            events: 0,
            hits: 0,
            tracks: 0,
            hits_out: 0,
            bad: 0,
            first_bad: None,
            partial: 0,
            first_partial: None,
            partial_here: Default::default(),
            lacking: BTreeMap::new(),
            passes: 1,
            time: Duration::ZERO,
        }
    }
}

impl Totals {
    /// Adds the results and counts of a batch.
    pub fn add(&mut self, counters: &Counters, time: Duration, batch: &dyn Batch, results: &Sliced) {
        self.counters.merge(counters);
        self.time += time;
        self.hits += hits_of(batch, counters);
        self.events += results.slices().map(|piece| piece.items(0) as u64).sum::<u64>();
        self.tracks += results.tracks() as u64;
        self.hits_out += results.slices().map(|piece| piece.hits() as u64).sum::<u64>();
        self.partial_here.0.clear();
        self.partial_here.1 = counters.truncated(Truncation::BanksLeftOut) > 0;
        let statuses = results.slices().flat_map(|piece| piece.statuses()).zip(batch.event_ids()).enumerate();
        for (place, (&status, &event)) in statuses.filter(|(_, (status, _))| **status != Status::Ok) {
            if status.is_reconstructed() {
                self.partial += 1;
                self.partial_here.0.push(place);
                self.first_partial.get_or_insert(EventId { number: event, run: None, event: None });
                continue;
            }
            self.bad += 1;
            self.first_bad.get_or_insert_with(|| {
                let id = EventId { number: event, run: None, event: None };
                BadEvent { id, status, blame: None }
            });
        }
    }

    /// If the first event that could not be reconstructed is among `events` and not diagnosed yet, calls `diagnose` to
    /// find the bank or hit that caused its status.
    pub fn explain(
        &mut self,
        events: &[u64],
        ids: &[EventId],
        diagnose: impl FnOnce(usize, Status) -> Option<String>,
    ) {
        let Some(bad) = self.first_bad.as_mut().filter(|bad| bad.blame.is_none()) else { return };
        let Some(event) = events.iter().position(|id| *id == bad.id.number) else { return };
        bad.id = ids.get(event).copied().unwrap_or(bad.id);
        bad.blame = Some(diagnose(event, bad.status).unwrap_or_default());
    }

    /// Counts the partial events that lack each board's bank; completes the identification of the first partial event.
    pub fn count_lacking(&mut self, ids: &[EventId], lacking: &[BankSource]) {
        for source in lacking {
            *self.lacking.entry(*source).or_default() += 1;
        }
        if let Some(first) = &mut self.first_partial
            && let Some(id) = ids.iter().find(|id| id.number == first.number)
        {
            *first = *id;
        }
    }

    /// Returns a sentence about the events that lack raw banks, if there are any.
    pub fn partial_events(&self) -> Option<String> {
        let Self { partial, events, lacking, .. } = self;
        let first = self.first_partial?;
        let most = lacking.iter().max_by_key(|((_, source), count)| (**count, u16::MAX - source));
        let most = most.map_or(String::new(), |((detector, source), count)| {
            let (sources, times) = (text::count(lacking.len(), "source"), text::count(*count as usize, "event"));
            format!(": the banks of {sources} are absent or damaged, most often of {detector} source {source} ({times})")
        });
        Some(format!("{partial} of {events} events are partial{most}; the first is {first}"))
    }

    /// Returns facts about events that lack raw banks, if any, for the summary: the number of these events and, for
    /// each readout board, the number of events that lack its bank.
    pub fn partial_facts(&self) -> Map<String, Value> {
        if self.partial == 0 {
            return Map::new();
        }
        let sources = self
            .lacking
            .iter()
            .map(|((detector, source), events)| (format!("{detector} {source}"), Value::from(*events)));
        let sources: Map<_, _> = sources.collect();
        let facts = [("partial_events", self.partial.into()), ("lacking_sources", sources.into())];
        facts.map(|(name, value)| (name.to_string(), value)).into_iter().collect()
    }

    /// Returns a sentence about the events that could not be reconstructed, if there are any.
    pub fn bad_events(&self) -> Option<String> {
        let BadEvent { id, status, blame } = self.first_bad.as_ref()?;
        let (name, meaning) = (status.name(), status.meaning());
        let blame = blame.as_ref().filter(|blame| !blame.is_empty());
        let blame = blame.map_or(String::new(), |blame| format!("{blame}: "));
        let Self { bad, events, .. } = self;
        Some(format!(
            "{bad} of {events} events could not be reconstructed; the first is {id}: {name}: {blame}{meaning}"
        ))
    }

    /// Returns the reason why the job failed, if too many events could not be reconstructed; `max_bad` is the limit.
    pub fn failure(&self, max_bad: Option<MaxBad>) -> Option<String> {
        text::bad_events_failure(self.bad, self.events, max_bad)
    }
}

/// Returns the number of hits of a batch; for raw banks, the number of hits that the first stage decoded.
pub fn hits_of(batch: &dyn Batch, counters: &Counters) -> u64 {
    batch.hits().unwrap_or(counters.stages[0].items_out)
}
