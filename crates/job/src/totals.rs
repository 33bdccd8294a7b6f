//! [`Totals`]: sums over everything that was reconstructed.

use crate::{MaxBad, text};
use peloton::Status;
use peloton::engine::{Batch, Sliced};
use peloton::event::{Counters, Results};
use peloton_io::input::EventId;
use std::time::Duration;

/// The reason of inputs that were left out.
pub const UNUSABLE_INPUTS: &str = "unusable_inputs";

/// Sums over everything that was reconstructed.
#[derive(Debug, Clone)]
pub struct Totals {
    /// Counts of all stages.
    pub counters: Counters,
    /// Items of an endless stream's results, events otherwise.
    pub events: u64,
    /// Hits that went in.
    pub hits: u64,
    /// Tracks that came out.
    pub tracks: u64,
    /// Hits in all results.
    pub hits_out: u64,
    /// Events that could not be reconstructed.
    pub bad: u64,
    /// The first of them.
    pub first_bad: Option<BadEvent>,
    /// How many equal passes these are the sums of.
    pub passes: u64,
    /// Wall clock from input in memory to results in memory.
    pub time: Duration,
}

/// An event that could not be reconstructed.
#[derive(Debug, Clone)]
pub struct BadEvent {
    /// Which one it is.
    pub id: EventId,
    /// What became of it.
    pub status: Status,
    /// Which bank or hit is to blame, once somebody has looked; empty where none is.
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
            passes: 1,
            time: Duration::ZERO,
        }
    }
}

impl Totals {
    /// Adds a batch.
    pub fn add<B: Batch, R: Results>(
        &mut self,
        counters: &Counters,
        time: Duration,
        batch: &B,
        results: &Sliced<R>,
    ) {
        self.counters.merge(counters);
        self.time += time;
        self.hits += hits_of(batch, counters);
        self.events += results.slices().map(|piece| piece.items(0) as u64).sum::<u64>();
        self.tracks += results.tracks() as u64;
        self.hits_out += results.slices().map(|piece| piece.hits() as u64).sum::<u64>();
        let statuses = results.slices().flat_map(R::statuses).zip(batch.event_ids());
        for (&status, &event) in statuses.filter(|(status, _)| **status != Status::Ok) {
            self.bad += 1;
            self.first_bad.get_or_insert_with(|| {
                let id = EventId { number: event, run: None, event: None };
                BadEvent { id, status, blame: None }
            });
        }
    }

    /// Finds out by `diagnose` which bank or hit the first event that failed failed by, if it is among these events and
    /// nobody has looked.
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

    /// The events that could not be reconstructed in a sentence, if there are any.
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

    /// Why the job as a whole has failed, if so: nothing, or less than was asked for, could be reconstructed.
    pub fn failure(&self, max_bad: Option<MaxBad>) -> Option<String> {
        bad_events_failure(self.bad, self.events, max_bad)
    }
}

/// Why a job with so many bad events has failed, if so.
pub fn bad_events_failure(bad: u64, events: u64, max_bad: Option<MaxBad>) -> Option<String> {
    match max_bad {
        Some(max) if max.allows_all() => None,
        _ if bad > 0 && bad == events => Some("no event could be reconstructed".into()),
        Some(max) if !max.allows(bad, events) => {
            let events = text::count(events as usize, "event");
            Some(format!("{bad} of {events} could not be reconstructed, more than --max-bad {max}"))
        }
        _ => None,
    }
}

/// Hits of a batch, which for raw banks only decoding tells.
pub fn hits_of<B: Batch>(batch: &B, counters: &Counters) -> u64 {
    batch.hits().unwrap_or(counters.stages[0].items_out)
}
