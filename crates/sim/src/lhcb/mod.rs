//! Simulates an LHCb-like detector: particles fly through Velo, UT, a dipole and SciFi, and leave raw banks with truth.
//!
//! ```text
//! collisions -> Velo (as in `sim:velo`) -> magnet, UT, SciFi -> raw banks, true particles
//! ```
//! The simulation contains no physics model: it imitates the size and shape of real events in the given geometry.

mod banks;
mod fibres;
pub(crate) mod magnet;
mod trackers;
mod truth;

use super::SimSpec;
use super::collisions::collide;
use super::few::Few;
use super::flight::{ELECTRON, norm};
use super::pixels::{Cluster, merge_touching};
use super::random::Random;
use super::threads::{in_order, take_events};
use super::transport::transport;
use super::velo::{digitise, leaves};
use fibres::Fibres;
use peloton::event::{BankKind, RawBatch, TrueStates, UT_PLANES};
use peloton::scifi::SciFiGeometry;
use peloton::ut::UtGeometry;
use peloton::{Result, Status};
use peloton_io::input::mdf::{Bank, RecordHeader, bank_type, put_bank, put_nominal, write_record};
use peloton_io::input::{EventNote, McBanks, McFormat};
use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;
use trackers::Through;
pub use trackers::TrueHit;
use truth::ParticleHits;

/// Largest payload of one bank of true particles, bytes.
const MC_PIECE: usize = 60_000;
/// Version of the banks of true particles; then of vertices, and of the ODIN bank.
const MC_VERSION: u8 = 2;
const MC_VERTICES_VERSION: u8 = 1;
const ODIN_VERSION: u8 = 6;

/// Smallest number of tracks in the Velo of a vertex that can be found.
const VERTEX_TRACKS: i32 = 4;

/// The simulated detector: an ideal Velo, and UT and SciFi with the given geometry.
#[derive(Debug, Clone, Copy)]
pub struct LhcbDetector<'a> {
    /// Sectors and boards of the UT.
    pub ut: &'a UtGeometry,
    /// Mats and boards of the SciFi.
    pub scifi: &'a SciFiGeometry,
    /// The magnet's polarity, -1 or 1.
    pub polarity: f32,
}

impl LhcbDetector<'_> {
    /// Whether this is the nominal detector, not a detector from files.
    fn is_nominal(&self) -> bool {
        self.ut.is_nominal() && self.scifi.is_nominal()
    }
}

/// One simulated event: its raw banks and its true particles.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedEvent {
    number: u64,
    /// Number of the run: the low 32 bits of the seed, so that events of different seeds are distinguished.
    run: u32,
    is_nominal: bool,
    banks: Vec<banks::SimBank>,
    truth: Vec<u8>,
    vertices: Vec<u8>,
    bends: Vec<Bend>,
    states: Vec<(u32, TrueStates)>,
    seen: Vec<TrueHit>,
}

/// The path through the magnet of a particle that is reconstructible in Velo and SciFi, and is no electron.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bend {
    /// True momentum, GeV/c.
    pub p: f64,
    /// Charge of the particle.
    pub charge: f64,
    /// dx/dz and dy/dz where the particle leaves the Velo.
    pub velo: [f64; 2],
    /// x of the particle in the six upright layers of the SciFi, mm.
    pub scifi: [f64; 6],
}

impl SimulatedEvent {
    /// Simulates event `number` of the sample.
    pub fn new(spec: &SimSpec, detector: &LhcbDetector<'_>, number: u64) -> Self {
        let mut random = Random::new(spec.seed, number);
        let (mut flights, vertices) = collide(spec, &mut random);
        let (crossings, exits) = transport(&mut flights, &mut random);
        let sensors = digitise(spec, &crossings, &mut random);
        let trackers = trackers::follow((detector, Fibres::new(spec)), &mut flights, &exits, &mut random);

        let mut hits = vec![ParticleHits::default(); flights.len()];
        let mut all = Vec::new();
        for (sensor, clusters) in sensors.into_iter().enumerate() {
            let clusters = &connected(clusters);
            let make = if spec.superpixels { banks::superpixels } else { banks::retina };
            let (bank, ids) = make(sensor, clusters);
            all.push(bank);
            for (cluster, id) in clusters.iter().zip(ids) {
                cluster.flights.iter().for_each(|&flight| hits[flight].velo.push(id));
            }
        }
        let mut planes = HashMap::new();
        for (hit, flights) in trackers.ut.values() {
            planes.insert(hit.id, detector.ut.plane_of(hit));
            flights.iter().for_each(|&flight| hits[flight].ut.push(hit.id));
        }
        for (hit, _, flights) in trackers.scifi.values() {
            flights.iter().for_each(|&flight| hits[flight].scifi.push(hit.id));
        }
        all.extend(banks::ut(&trackers, detector.ut.boards()));
        all.extend(banks::scifi(&trackers, detector.scifi.boards()));
        let bends = trackers.through.iter().filter(|one| {
            let hits = &hits[one.flight];
            flights[one.flight].pid.abs() != ELECTRON && hits.has_velo() && hits.has_scifi()
        });
        let bend = |one: &Through| {
            let flight = &flights[one.flight];
            Bend { p: norm(flight.momentum), charge: flight.charge, velo: one.begin, scifi: one.x }
        };
        let bends = bends.map(bend).collect();
        let passed = (0u32..).zip(&trackers.states).zip(&hits).filter(|(_, hits)| !hits.is_empty());
        let states = passed.map(|((key, states), _)| {
            let exit = exits.get(key as usize).and_then(Option::as_ref);
            (key, TrueStates { velo: exit.and_then(leaves), ..*states })
        });
        let states = states.collect();
        let plane_of = |id| planes.get(&id).copied().unwrap_or(UT_PLANES);
        let vertices = truth::with_tracks(&vertices, &flights, &hits);
        let reconstructible = vertices.iter().filter(|vertex| vertex.tracks >= VERTEX_TRACKS).count() as u32;
        Self {
            number,
            run: spec.seed as u32,
            is_nominal: detector.is_nominal(),
            banks: all,
            truth: truth::particles(flights.iter().zip(&hits), plane_of, reconstructible),
            vertices: truth::vertices(&vertices),
            bends,
            states,
            seen: trackers.seen,
        }
    }

    /// Returns the paths of the event's particles through the magnet, in no particular order.
    pub fn bends(&self) -> &[Bend] {
        &self.bends
    }

    /// Returns the positions of particles at the UT planes and SciFi layers that detected them.
    pub fn true_hits(&self) -> &[TrueHit] {
        &self.seen
    }

    /// Appends the event to a batch, as readers of MDF files do.
    pub fn push(&self, batch: &mut RawBatch) -> EventNote {
        let mut status = Status::Ok;
        for (code, version, source, payload) in &self.banks {
            let kind = BankKind::from_code(*code).expect("a known kind of bank");
            status = batch.push_bank(kind, *source, *version, payload).err().unwrap_or(status);
        }
        if self.is_nominal {
            batch.mark_nominal();
        }
        batch.close_event(self.number, status);
        let truth = McBanks {
            tracks: self.truth.clone(),
            format: McFormat::Bank(MC_VERSION),
            vertices: self.vertices.clone(),
            states: self.states.clone(),
            place: format!("simulated event {}", self.number),
        };
        EventNote { run: Some(self.run), number: Some(self.number), truth: Some(truth) }
    }

    /// Writes the event as an MDF record.
    ///
    /// # Errors
    /// Errors of writing to `writer`.
    pub fn write(&self, writer: &mut dyn Write) -> std::io::Result<()> {
        let mut body = Vec::new();
        let odin = [self.run, 0, 0, (self.number >> 32) as u32, self.number as u32, 0, 0, 0, 0, 0];
        let odin: Vec<u8> = odin.into_iter().flat_map(u32::to_le_bytes).collect();
        let bank = |kind, version, source, payload| Bank { kind, version, source, payload };
        put_bank(&mut body, &bank(bank_type::ODIN, ODIN_VERSION, 0, &odin))?;
        if self.is_nominal {
            put_nominal(&mut body)?;
        }
        for (kind, version, source, payload) in &self.banks {
            put_bank(&mut body, &bank(*kind, *version, *source, payload))?;
        }
        for (piece, source) in self.truth.chunks(MC_PIECE).zip(0..) {
            put_bank(&mut body, &bank(bank_type::MC_TRACKS, MC_VERSION, source, piece))?;
        }
        put_bank(&mut body, &bank(bank_type::MC_VERTICES, MC_VERTICES_VERSION, 0, &self.vertices))?;
        write_record(writer, &RecordHeader { run: self.run, ..RecordHeader::default() }, &body, None)
    }
}

/// Splits clusters into groups of touching pixels: the pixels of one particle may have gaps, which no detector can bridge.
fn connected(clusters: Vec<Cluster>) -> Vec<Cluster> {
    let mut all = Vec::with_capacity(clusters.len());
    for cluster in clusters {
        if cluster.pixels.len() == 1 {
            all.push(cluster);
            continue;
        }
        let pixel = |&pixel| Cluster { pixels: Few::one(pixel), flights: Few::default() };
        let mut parts: Vec<_> = cluster.pixels.iter().map(pixel).collect();
        merge_touching(&mut parts);
        for part in &mut parts {
            part.flights.clone_from(&cluster.flights);
        }
        all.append(&mut parts);
    }
    all
}

/// A reader of simulated raw events.
#[derive(Debug, Clone)]
pub struct LhcbReader {
    spec: SimSpec,
    events: Range<u64>,
    threads: usize,
}

impl LhcbReader {
    /// Creates a reader of at most `count` events of the sample, from number `first` on.
    pub fn new(spec: SimSpec, first: u64, count: Option<u64>) -> Self {
        let end = first.saturating_add(count.unwrap_or(u64::MAX)).min(spec.events);
        Self { events: first.min(end)..end, spec, threads: 1 }
    }

    /// Sets the number of threads that simulate; the events do not depend on this number.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Returns the number of events that are not yet simulated.
    pub fn left(&self) -> u64 {
        self.events.end - self.events.start
    }

    /// Simulates the next event; returns none at the end of the sample.
    pub fn next(&mut self, detector: &LhcbDetector<'_>) -> Option<SimulatedEvent> {
        self.events.next().map(|number| SimulatedEvent::new(&self.spec, detector, number))
    }

    /// Appends up to `max_events` events to `batch`, and their run, number and truth to `notes`; returns their number.
    ///
    /// # Errors
    /// Errors of [`in_order`].
    pub fn read(
        &mut self,
        max_events: usize,
        detector: &LhcbDetector<'_>,
        batch: &mut RawBatch,
        notes: &mut Vec<EventNote>,
    ) -> Result<usize> {
        let (spec, before) = (&self.spec, notes.len());
        let make = |(): &mut (), number| SimulatedEvent::new(spec, detector, number);
        in_order(take_events(&mut self.events, max_events), self.threads, make, |event| {
            notes.push(event.push(batch));
            true
        })?;
        Ok(notes.len() - before)
    }
}
