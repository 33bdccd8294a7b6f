//! [`RawFound`]: auxiliary data of events of raw banks, and [`RawCut`], events that are not parsed yet.

use super::banks::KnownChannels;
use crate::{Beside, Unparsed};
use peloton::Result;
use peloton::engine::{Batch, Spread};
use peloton::event::RawBatch;
use peloton_io::input::mdf::{HitsOf, decode_mc};
use peloton_io::input::{CutEvents, EventId, EventNote, Geometry, Problems};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The auxiliary data so far, shared between a source and its cut events.
#[derive(Clone)]
pub struct RawFound(Arc<Mutex<Inside>>);

struct Inside {
    problems: Problems,
    /// The channels of the geometry, made when hits of true particles are first looked up.
    channels: Option<KnownChannels>,
    /// Number of hits of true particles on no channel of the geometry.
    unknown_hits: u64,
    /// Geometry of the detectors.
    geometry: Geometry,
    /// Number of events that are decoded with the nominal geometry but not marked as simulated with it.
    not_nominal: u64,
}

/// The requested auxiliary data.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The hits that true particles list, if the truth is requested.
    pub truth: Option<HitsOf>,
    /// Whether the hits of true particles are looked up in the geometry.
    pub looks_up_hits: bool,
}

impl RawFound {
    /// Makes empty auxiliary data.
    pub fn new(geometry: Geometry) -> Self {
        let problems = Problems::default();
        Self(Arc::new(Mutex::new(Inside {
            problems,
            channels: None,
            unknown_hits: 0,
            geometry,
            not_nominal: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Faults of the input.
    pub fn problems(&self) -> (Vec<String>, u64) {
        let inside = self.lock();
        (inside.problems.kept().to_vec(), inside.problems.count())
    }

    /// Number of inputs that could not be used at all.
    pub fn unusable_inputs(&self) -> u64 {
        self.lock().problems.unusable()
    }

    /// Number of hits of true particles on no channel of the geometry.
    pub fn unknown_hits(&self) -> u64 {
        self.lock().unknown_hits
    }

    /// Number of events that are decoded with the nominal geometry but not marked as simulated with it.
    pub fn not_nominal(&self) -> u64 {
        self.lock().not_nominal
    }

    /// Adds the events of a batch from `first` on, with their notes.
    ///
    /// # Errors
    /// For truth that cannot be decoded.
    pub fn note(
        &self,
        (batch, first): (&RawBatch, usize),
        notes: &[EventNote],
        wanted: Wanted,
        beside: &mut Beside,
    ) -> Result<()> {
        let inside = &mut *self.lock();
        if inside.geometry == Geometry::NominalForced {
            let events = batch.view();
            let lacking = (first..events.len()).filter(|&event| events.lacks_nominal(event));
            inside.not_nominal += lacking.count() as u64;
        }
        for (note, &number) in notes.iter().zip(&batch.event_ids()[first..]) {
            beside.ids.push(EventId { number, run: note.run, event: note.number });
            if let Some(hits_of) = wanted.truth {
                let decode = |mc| decode_mc(mc, hits_of);
                let truth = note.truth.as_ref().map(decode).transpose()?.unwrap_or_default();
                if wanted.looks_up_hits {
                    let geometry = &inside.geometry;
                    let channels = inside.channels.get_or_insert_with(|| KnownChannels::new(geometry));
                    inside.unknown_hits += channels.unknown(truth.particles.iter().flat_map(|one| &one.hits));
                }
                beside.truth.push(truth);
            }
        }
        Ok(())
    }
}

/// Finds the raw banks in a batch.
pub type BanksOf = fn(&mut dyn Batch) -> Result<&mut RawBatch>;

/// Events of raw banks that are not parsed yet.
pub struct RawCut {
    pub events: CutEvents,
    notes: Vec<EventNote>,
    found: RawFound,
    wanted: Wanted,
    banks_of: BanksOf,
}

impl RawCut {
    /// Memory for events.
    pub fn new(found: RawFound, wanted: Wanted, banks_of: BanksOf) -> Self {
        Self { events: CutEvents::default(), notes: Vec::new(), found, wanted, banks_of }
    }
}

impl Unparsed for RawCut {
    fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    fn parse(&mut self, threads: &dyn Spread, batch: &mut dyn Batch, beside: &mut Beside) -> Result<()> {
        let batch = (self.banks_of)(batch)?;
        let first = batch.len();
        self.notes.clear();
        let mut problems = std::mem::take(&mut self.found.lock().problems);
        let parsed = self.events.parse(threads, batch, &mut self.notes, &mut problems);
        self.found.lock().problems = problems;
        // The events before an error also need their truth and numbers.
        self.found.note((batch, first), &self.notes, self.wanted, beside)?;
        parsed
    }
}
