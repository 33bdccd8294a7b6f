//! [`BankNotes`]: auxiliary data of events that consist of raw banks. [`RawCut`]: such events before they are parsed.

use super::banks::{HitNames, KnownChannels};
use crate::{Beside, Request, Unparsed};
use peloton::Result;
use peloton::engine::{Batch, Spread};
use peloton::event::RawBatch;
use peloton::velo::{VeloBanks, VeloInputBatch};
use peloton_io::input::mdf::{HitsOf, decode_mc};
use peloton_io::input::{ChecksumPolicy, CutEvents, EventId, EventNote, Geometry, ProblemLog};
use serde_json::{Map, Value};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Auxiliary data of all events so far; a source and the events that it has cut share this object.
#[derive(Clone)]
pub struct BankNotes(Arc<Mutex<Inside>>);

struct Inside {
    /// Geometry of the detectors, kind of Velo banks to read, treatment of checksums.
    geometry: Geometry,
    banks: VeloBanks,
    checksum: ChecksumPolicy,
    /// Detectors whose hits the true particles list; none if the truth is not requested.
    truth: Option<HitsOf>,
    /// Whether the hits of true particles are looked up in the geometry.
    looks_up_hits: bool,
    /// The channels of the geometry, made when hits of true particles are first looked up.
    channels: Option<KnownChannels>,
    /// Number of UT and SciFi hits of true particles on channels that the geometry lacks.
    unknown_hits: u64,
    /// Number of events that are decoded with the nominal geometry but not marked as simulated with it.
    not_nominal: u64,
}

impl BankNotes {
    /// Makes empty auxiliary data; if `looks_up_hits` is true, hits of true particles are looked up in the geometry.
    pub fn new(request: &Request, geometry: Geometry, truth: bool, looks_up_hits: bool) -> Self {
        Self(Arc::new(Mutex::new(Inside {
            geometry,
            banks: request.velo_banks,
            checksum: request.checksum,
            truth: truth.then_some(HitsOf::Velo),
            looks_up_hits,
            channels: None,
            unknown_hits: 0,
            not_nominal: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests the truth; each true particle lists its hits in the detectors that `hits` names.
    pub fn take_truth(&self, hits: HitsOf) {
        self.lock().truth = Some(hits);
    }

    /// Returns the number of UT and SciFi hits of true particles on channels that the geometry lacks.
    pub fn unknown_hits(&self) -> u64 {
        self.lock().unknown_hits
    }

    /// Returns decoders that list the hit identifiers of a raw event, for the detectors that `hits_of` names.
    pub fn hit_names(&self, hits_of: HitsOf) -> HitNames {
        let inside = self.lock();
        HitNames::new(&inside.geometry, inside.banks, hits_of)
    }

    /// Returns facts about the input for [`Source::facts`](crate::Source::facts).
    pub fn facts(&self) -> Map<String, Value> {
        let Inside { not_nominal, checksum, .. } = *self.lock();
        let facts = [
            (not_nominal > 0).then(|| ("events_not_nominal", not_nominal.into())),
            (checksum == ChecksumPolicy::Skip).then(|| ("checksum", checksum.name().into())),
        ];
        facts.into_iter().flatten().map(|(name, value)| (name.to_string(), value)).collect()
    }

    /// Adds auxiliary data to `beside` for the events of a batch, from event number `first` to the last.
    ///
    /// # Errors
    /// Fails for truth that cannot be decoded.
    pub fn note(
        &self,
        (batch, first): (&RawBatch, usize),
        notes: &[EventNote],
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
            if let Some(hits_of) = inside.truth {
                let decode = |mc| decode_mc(mc, hits_of);
                let truth = note.truth.as_ref().map(decode).transpose()?.unwrap_or_default();
                if inside.looks_up_hits {
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

/// Returns the raw banks of a batch.
///
/// # Errors
/// Fails for events of another kind.
pub fn banks_of(batch: &mut dyn Batch) -> Result<&mut RawBatch> {
    if (batch as &dyn Any).is::<VeloInputBatch>() {
        return batch.of_mut().map(VeloInputBatch::banks_mut);
    }
    batch.of_mut()
}

/// Events of raw banks that were cut from the input but not parsed.
pub struct RawCut {
    /// The events.
    pub events: CutEvents,
    notes: Vec<EventNote>,
    found: BankNotes,
    problems: ProblemLog,
}

impl RawCut {
    /// Makes memory for cut events.
    pub fn new(found: BankNotes, problems: ProblemLog) -> Self {
        Self { events: CutEvents::default(), notes: Vec::new(), found, problems }
    }
}

impl Unparsed for RawCut {
    fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    fn parse(&mut self, threads: &dyn Spread, batch: &mut dyn Batch, beside: &mut Beside) -> Result<()> {
        let batch = banks_of(batch)?;
        let first = batch.len();
        self.notes.clear();
        let parsed = self.events.parse(threads, batch, &mut self.notes, &mut self.problems.lock());
        // After an error, the events before it need their truth and numbers, too.
        self.found.note((batch, first), &self.notes, beside)?;
        parsed
    }
}
