//! Simple decoders of the raw banks of an event: find the faulty bank, and the hits with their positions.

use crate::totals::BankSource;
use peloton::Status;
use peloton::engine::{Batch, Events};
use peloton::event::{
    BadBanks, BankKind, RawBank, RawBatch, RawEvent, SCIFI_ZONES, SciFiBatch, UT_GROUPS, UtBatch,
    VELO_MODULES, VeloBatch, VeloEvent,
};
use peloton::lhcb::{absent, only_version};
use peloton::scifi::geometry::FIBRE_END;
use peloton::scifi::{self, SciFiGeometry};
use peloton::ut::geometry::STRIP_SLOPE;
use peloton::ut::{self, UtGeometry};
use peloton::velo::{self, VeloBanks, VeloSensors};
use peloton_io::input::Geometry;
use peloton_plot::Sensor;
use peloton_plot::event::{Hit, Part};
use peloton_truth::{HitsOf, detector_of};
use std::collections::HashSet;
use std::sync::Arc;

/// Simple, slow decoder of the banks of one detector, which finds the causes of faults.
pub enum NaiveDecoder {
    /// Decodes the Velo.
    Velo(Arc<VeloSensors>, VeloBanks),
    /// Decodes the UT.
    Ut(Arc<UtGeometry>),
    /// Decodes the SciFi.
    SciFi(Arc<SciFiGeometry>),
}

impl NaiveDecoder {
    /// Returns the hits of an event, or the status of an event that cannot be decoded.
    pub fn hits(&self, event: &RawEvent<'_>) -> Result<Vec<Hit>, Status> {
        let (hits, statuses) = match self {
            Self::Velo(sensors, banks) => {
                let mut hits = VeloBatch::default();
                velo::decode_reference(sensors, *banks, event, 0, &mut hits);
                (velo_hits(&hits.view().event(0)), hits.status)
            }
            Self::Ut(geometry) => {
                let mut hits = UtBatch::default();
                ut::decode_reference(geometry, event, &mut hits);
                (ut_hits(geometry, &hits), hits.status)
            }
            Self::SciFi(geometry) => {
                let mut hits = SciFiBatch::default();
                scifi::decode_reference(geometry, event, &mut hits);
                (scifi_hits(geometry, &hits), hits.status)
            }
        };
        match statuses.first() {
            Some(Status::Ok) | None => Ok(hits),
            Some(status) => Err(*status),
        }
    }

    /// Returns the identifiers of the hits of an event, or the status of an event that cannot be decoded.
    fn ids(&self, event: &RawEvent<'_>) -> Result<Vec<u32>, Status> {
        Ok(self.hits(event)?.into_iter().map(|hit| hit.id).collect())
    }

    /// Returns the sensors of the detector.
    pub fn sensors(&self) -> Vec<Sensor> {
        match self {
            Self::Velo(sensors, _) => Sensor::of_velo(sensors).collect(),
            Self::Ut(geometry) => Sensor::of_ut(geometry).collect(),
            Self::SciFi(geometry) => Sensor::of_scifi(geometry).collect(),
        }
    }

    /// Returns the kinds of banks that the decoder reads.
    fn kinds(&self) -> &'static [BankKind] {
        match self {
            Self::Velo(_, VeloBanks::Auto) => &[BankKind::VeloRetina, BankKind::VeloSuperpixel],
            Self::Velo(_, VeloBanks::Retina) => &[BankKind::VeloRetina],
            Self::Velo(_, VeloBanks::Superpixel) => &[BankKind::VeloSuperpixel],
            Self::Ut(_) => &[BankKind::Ut],
            Self::SciFi(_) => &[BankKind::SciFi],
        }
    }

    /// Returns the readout boards whose banks are absent from an event or, if `has_damaged` is true, damaged.
    fn lacking(&self, event: &RawEvent<'_>, has_damaged: bool) -> Vec<BankSource> {
        let kind = match self {
            Self::Velo(_, banks) => banks.kind(event),
            Self::Ut(_) => BankKind::Ut,
            Self::SciFi(_) => BankKind::SciFi,
        };
        let banks = event.banks(kind);
        let boards = match self {
            Self::Velo(..) => velo::boards(kind, banks.first().map_or(0, |bank| bank.version)),
            Self::Ut(geometry) => geometry.boards(),
            Self::SciFi(geometry) => geometry.boards(),
        };
        let version = only_version(kind, banks);
        let is_damaged = |bank: &&RawBank| {
            version.is_some_and(|version| bank.version != version)
                || self.ids(&alone(event, kind, bank).view().event(0)).is_err()
        };
        let damaged = banks.iter().filter(|_| has_damaged).filter(is_damaged);
        let damaged = damaged.map(|bank| kind.board(bank.version, bank.source));
        absent(event, kind, boards).chain(damaged).map(|board| (kind.detector(), board)).collect()
    }

    /// Describes the bank that caused this status of an event; none if no single bank causes the status.
    fn blame(&self, event: &RawEvent<'_>, status: Status) -> Option<String> {
        if event.status != Status::Ok {
            return None;
        }
        let kind = *self.kinds().iter().find(|kind| event.has(**kind))?;
        let banks = event.banks(kind);
        let fails = |bank: &&RawBank| self.ids(&alone(event, kind, bank).view().event(0)) == Err(status);
        if let Some(bank) = banks.iter().find(fails) {
            return Some(format!("the {} bank {}", name(kind), words(bank)));
        }
        let differs = banks.iter().find(|bank| bank.version != banks[0].version);
        differs.map(|bank| {
            let (first, name) = (words(&banks[0]), name(kind));
            format!("the {name} bank {} has another version than the bank {first}", words(bank))
        })
    }
}

/// Hits of the Velo for drawing.
fn velo_hits(event: &VeloEvent<'_>) -> Vec<Hit> {
    let at = |hit: usize| [event.x[hit], event.y[hit], event.z[hit]].map(f64::from);
    (0..event.len()).map(|hit| Hit::point(Part::Velo, event.id[hit], at(hit))).collect()
}

fn ut_hits(geometry: &UtGeometry, hits: &UtBatch) -> Vec<Hit> {
    let plane_of = |group: usize| geometry.plane_groups.partition_point(|&first| first <= group) - 1;
    let of_group = |group: usize| hits.of_group(0, group).zip(std::iter::repeat(plane_of(group)));
    let hit = |(hit, plane): (usize, usize)| {
        let [x, z, slope] = [hits.x[hit], hits.z[hit], STRIP_SLOPE[plane]].map(f64::from);
        let end = |y: f32| [x + slope * f64::from(y), y.into(), z];
        Hit { part: Part::Ut, id: hits.id[hit], ends: [end(hits.y_begin[hit]), end(hits.y_end[hit])] }
    };
    let events = hits.status.len().min(1);
    (0..events * UT_GROUPS).flat_map(of_group).map(hit).collect()
}

fn scifi_hits(geometry: &SciFiGeometry, hits: &SciFiBatch) -> Vec<Hit> {
    let of_zone = |zone: usize| hits.of_zone(0, zone).zip(std::iter::repeat(zone));
    let hit = |(hit, zone): (usize, usize)| {
        let [x, z] = [hits.x[hit], hits.z[hit]].map(f64::from);
        let [slope_x, slope_z] = geometry.slopes(hits.id[hit]).map(f64::from);
        let end = |y: f32| [x + slope_x * f64::from(y), y.into(), z + slope_z * f64::from(y)];
        let outer = if zone % 2 == 1 { FIBRE_END } else { -FIBRE_END };
        Hit { part: Part::SciFi, id: hits.id[hit], ends: [end(hits.y_end[hit]), end(outer)] }
    };
    let events = hits.status.len().min(1);
    (0..events * SCIFI_ZONES).flat_map(of_zone).map(hit).collect()
}

/// Returns the hits of an event for drawing, without detectors whose banks cannot be decoded.
pub fn hits_of(decoders: &[NaiveDecoder], batch: &dyn Batch, event: usize) -> Vec<Hit> {
    match batch.events() {
        Events::VeloHits(hits) => velo_hits(&hits.event(event)),
        Events::Banks(banks) => {
            let event = banks.event(event);
            decoders.iter().flat_map(|decoder| decoder.hits(&event).unwrap_or_default()).collect()
        }
        _ => Vec::new(),
    }
}

/// Describes the hit or bank that caused an event's status, if there is one. Decoders are asked in turn for a bank.
pub fn diagnose(
    decoders: &[NaiveDecoder],
    batch: &dyn Batch,
    event: usize,
    status: Status,
) -> Option<String> {
    match batch.events() {
        Events::VeloHits(hits) => blame_hit(&hits.event(event), status),
        Events::Banks(banks) => {
            decoders.iter().find_map(|decoder| decoder.blame(&banks.event(event), status))
        }
        _ => None,
    }
}

/// Describes the hit that caused a status of an event, or the module with too many hits.
fn blame_hit(event: &VeloEvent<'_>, status: Status) -> Option<String> {
    let position = |hit: usize| [event.x[hit], event.y[hit], event.z[hit]];
    let size = |hit: usize| position(hit).into_iter().map(f32::abs).fold(0.0, f32::max);
    let hit = match status {
        Status::NotFinite => {
            (0..event.len()).find(|&hit| position(hit).iter().any(|value| !value.is_finite()))?
        }
        Status::OutOfRange => (0..event.len()).max_by(|&a, &b| size(a).total_cmp(&size(b)))?,
        Status::TooManyHits => return Some(format!("{} hits", event.len())),
        Status::TooManyHitsInModule => {
            let module = (0..VELO_MODULES).max_by_key(|&module| event.module(module).len())?;
            return Some(format!("{} hits in module {module}", event.module(module).len()));
        }
        _ => return None,
    };
    let module = (0..VELO_MODULES).find(|&module| event.module(module).contains(&hit));
    let module = module.map_or(String::new(), |module| format!(" in module {module}"));
    let [x, y, z] = position(hit);
    Some(format!("hit {hit}{module} at x {x}, y {y}, z {z} mm"))
}

/// Returns the readout boards whose banks these partial events lack, one entry for each event and board. If
/// `has_damaged` is true, boards whose banks are damaged and were left out are listed, too.
pub fn lacking(
    decoders: &[NaiveDecoder],
    batch: &dyn Batch,
    events: &[usize],
    has_damaged: bool,
) -> Vec<BankSource> {
    let Events::Banks(banks) = batch.events() else { return Vec::new() };
    let all = banks.with_bad_banks(BadBanks::Bank);
    let of_event = |&event: &usize| {
        let event = all.event(event);
        decoders.iter().flat_map(move |decoder| decoder.lacking(&event, has_damaged))
    };
    events.iter().flat_map(of_event).collect()
}

/// Makes an event that contains one bank of another event.
fn alone(event: &RawEvent<'_>, kind: BankKind, bank: &RawBank) -> RawBatch {
    let mut batch = RawBatch::default();
    // The bank comes from an event, so its length is valid.
    let pushed = batch.push_bank(kind, bank.source, bank.version, event.bytes(bank));
    batch.close_event(0, pushed.err().unwrap_or(Status::Ok));
    batch
}

fn words(bank: &RawBank) -> String {
    let RawBank { bytes, source, version, .. } = bank;
    format!("of source {source} (version {version}, {bytes} bytes)")
}

fn name(kind: BankKind) -> &'static str {
    match kind {
        BankKind::VeloSuperpixel => "Velo superpixel",
        BankKind::VeloRetina => "Velo retina",
        BankKind::Ut => "UT",
        BankKind::SciFi => "SciFi",
    }
}

/// Counts UT and SciFi hits of true particles on channels that a geometry lacks.
pub struct KnownChannels {
    ut: Option<UtGeometry>,
    scifi: Option<SciFiGeometry>,
}

impl KnownChannels {
    /// Makes the counter for the UT and the SciFi of this geometry.
    pub fn new(geometry: &Geometry) -> Self {
        Self { ut: geometry.ut().ok(), scifi: geometry.scifi().ok() }
    }

    /// Returns how many of `hits` (LHCbIDs) are on UT or SciFi channels that the geometry lacks; skips Velo hits.
    pub fn unknown<'a>(&self, hits: impl Iterator<Item = &'a u32>) -> u64 {
        let is_unknown = |hit: &&u32| match detector_of(**hit) {
            HitsOf::Ut => self.ut.as_ref().is_some_and(|ut| !ut.has_id(**hit)),
            HitsOf::SciFi => self.scifi.as_ref().is_some_and(|scifi| !scifi.has_id(**hit)),
            HitsOf::Velo | HitsOf::All => false,
        };
        hits.filter(is_unknown).count() as u64
    }
}

/// Decoders that list the hit identifiers of a raw event, to check the hits in tracks of other programs.
#[derive(Default)]
pub struct HitNames(Vec<(HitsOf, NaiveDecoder)>);

impl HitNames {
    /// Makes decoders for the hits that these rules need.
    pub fn new(geometry: &Geometry, banks: VeloBanks, hits_of: HitsOf) -> Self {
        let wanted = |part| hits_of == part || hits_of == HitsOf::All;
        let velo = || geometry.velo().ok().map(|sensors| NaiveDecoder::Velo(Arc::new(sensors), banks));
        let ut = || geometry.ut().ok().map(|geometry| NaiveDecoder::Ut(Arc::new(geometry)));
        let scifi = || geometry.scifi().ok().map(|geometry| NaiveDecoder::SciFi(Arc::new(geometry)));
        let parts: [(HitsOf, &dyn Fn() -> Option<NaiveDecoder>); 3] =
            [(HitsOf::Velo, &velo), (HitsOf::Ut, &ut), (HitsOf::SciFi, &scifi)];
        let found = parts.into_iter().filter(|(part, _)| wanted(*part));
        Self(found.filter_map(|(part, decoder)| Some((part, decoder()?))).collect())
    }

    /// Returns how many of `hits` an event lacks; skips hits in detectors that cannot be decoded.
    pub fn unknown<'a>(&self, event: &RawEvent<'_>, hits: impl Iterator<Item = &'a u32>) -> u64 {
        let names = |(part, decoder): &(HitsOf, NaiveDecoder)| {
            let ids: HashSet<u32> = decoder.ids(event).ok()?.into_iter().collect();
            Some((*part, ids))
        };
        let known: Vec<_> = self.0.iter().filter_map(names).collect();
        let is_unknown = |hit: &&u32| {
            let names = known.iter().find(|(part, _)| *part == detector_of(**hit));
            names.is_some_and(|(_, ids)| !ids.contains(hit))
        };
        hits.filter(is_unknown).count() as u64
    }
}
