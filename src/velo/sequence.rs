//! [`Velo`]: the algorithm that finds tracks in raw banks or hits of the Velo.

use super::config::VeloConfig;
use super::decode::{DecodeScratch, VeloBanks, VeloDecoder, decode};
use super::run::reconstruct;
use super::scratch::VeloWorkspace;
use super::sensors::{VeloSensors, boards};
use crate::engine::{Algorithm, AlgorithmInfo, Batch, Events, Handle, Sequence, Slice, detector_stages};
use crate::event::{BadBanks, Counters, Outcome, RawBatch, RawEvent, RawEvents, VeloBatch, VeloTracks};
use crate::lhcb::banks::{self, mark_partial};
use crate::simd::Level;
use crate::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// Handle of the Velo tracks that `Velo` produces.
pub const VELO_TRACKS: Handle = Handle::of::<VeloTracks>("velo_tracks");

/// Finds tracks in raw banks or hits of the Velo.
#[derive(Debug, Clone)]
pub struct Velo {
    level: Level,
    config: VeloConfig,
    sensors: Option<Arc<VeloSensors>>,
    banks: VeloBanks,
    /// x and y of the beam line for the search in hits of raw banks, mm.
    beam: [f32; 2],
    bad_banks: BadBanks,
}

impl Velo {
    /// Creates an algorithm that accepts events of hits; after `with_sensors` it accepts raw banks, too.
    ///
    /// # Errors
    /// Returns [`Error::Config`] if `config` is invalid.
    pub fn new(level: Level, config: VeloConfig) -> Result<Self> {
        config.validate()?;
        Ok(Self {
            level,
            config,
            sensors: None,
            banks: VeloBanks::Auto,
            beam: [0.0; 2],
            bad_banks: BadBanks::Event,
        })
    }

    /// Makes the algorithm accept raw banks, too; `banks` selects the kind of Velo banks if an event has several.
    pub fn with_sensors(mut self, sensors: Arc<VeloSensors>, banks: VeloBanks) -> Self {
        (self.sensors, self.banks) = (Some(sensors), banks);
        self
    }

    /// Sets x and y of the beam line for raw banks, mm: tracks are searched around it, and have their states where they
    /// are closest to it. If `fit.beam_x` or `fit.beam_y` is not 0, `beam` is ignored, and the search uses the z axis.
    pub fn with_beam(mut self, beam: [f32; 2]) -> Self {
        let fit = &self.config.fit;
        if [fit.beam_x, fit.beam_y] == [0.0; 2] {
            self.beam = beam;
        }
        self
    }

    /// Sets how events with damaged raw banks are treated.
    pub fn with_bad_banks(mut self, bad_banks: BadBanks) -> Self {
        self.bad_banks = bad_banks;
        self
    }

    /// Returns how events with damaged raw banks are treated.
    pub fn bad_banks(&self) -> BadBanks {
        self.bad_banks
    }

    /// Returns the configuration.
    pub fn config(&self) -> &VeloConfig {
        &self.config
    }

    /// Clears `hits`, and decodes the raw banks of the events in `range` to `hits`, as the first stage does.
    ///
    /// # Errors
    /// Returns [`Error::Config`] if the algorithm has no sensors.
    pub fn decode(
        &self,
        events: RawEvents<'_>,
        range: Range<usize>,
        scratch: &mut DecodeScratch,
        hits: &mut Outcome<VeloBatch>,
    ) -> Result<()> {
        hits.results.clear();
        hits.counters = Counters::default();
        decode(self.level, self.decoder()?, events.with_bad_banks(self.bad_banks), range, scratch, hits);
        Ok(())
    }

    /// Moves hits so that the beam line is the z axis.
    pub(crate) fn move_to_beam(&self, hits: &mut VeloBatch) {
        for (column, beam) in [&mut hits.x, &mut hits.y].into_iter().zip(self.moves()) {
            column.iter_mut().for_each(|value| *value -= beam);
        }
    }

    /// Moves the states of the tracks from number `first` on back to the coordinates of the detector.
    pub(crate) fn move_from_beam(&self, first: usize, tracks: &mut VeloTracks) {
        for states in [&mut tracks.beam, &mut tracks.end] {
            for (column, beam) in [&mut states.x, &mut states.y].into_iter().zip(self.moves()) {
                column[first..].iter_mut().for_each(|value| *value += beam);
            }
        }
    }

    /// Returns the coordinates of the beam line, or none if both are 0: adding 0 may change the sign of a zero.
    fn moves(&self) -> impl Iterator<Item = f32> {
        let is_moved = self.beam != [0.0; 2];
        self.beam.into_iter().filter(move |_| is_moved)
    }

    /// Returns whether an event lacks banks; `scratch` must come from the decoding of its slice.
    pub(crate) fn is_partial(&self, number: usize, event: &RawEvent<'_>, scratch: &DecodeScratch) -> bool {
        let kind = self.banks.kind(event);
        let version = event.banks(kind).first().map_or(0, |bank| bank.version);
        banks::is_partial(event, number, &scratch.salvage, (kind, boards(kind, version)))
    }

    /// Reconstructs raw banks; events that lack banks have [`Status::Ok`](crate::Status::Ok).
    fn run_banks(
        &self,
        events: RawEvents<'_>,
        range: Range<usize>,
        workspace: &mut VeloSequenceWorkspace,
        out: &mut Outcome<VeloTracks>,
    ) {
        let VeloSequenceWorkspace { velo, decode, hits } = workspace;
        let count = range.len();
        self.decode(events, range, decode, hits).expect("raw banks are accepted only with a geometry");
        out.counters.merge(&hits.counters);
        self.move_to_beam(&mut hits.results);
        let first = out.results.tracks();
        reconstruct(self.level, &self.config, hits.results.view(), 0..count, velo, out);
        self.move_from_beam(first, &mut out.results);
    }

    fn decoder(&self) -> Result<VeloDecoder<'_>> {
        let missing = "raw banks of the Velo need the detector's geometry";
        let sensors = self.sensors.as_ref().ok_or_else(|| Error::Config(missing.into()))?;
        Ok(VeloDecoder { sensors, banks: self.banks })
    }
}

/// A batch of Velo events as read from an input: hits or raw banks.
#[derive(Debug)]
pub enum VeloInputBatch {
    /// Hits.
    Hits(VeloBatch),
    /// Raw banks.
    Banks(RawBatch),
}

impl Default for VeloInputBatch {
    fn default() -> Self {
        Self::Hits(VeloBatch::default())
    }
}

impl VeloInputBatch {
    /// Returns the batch of hits. A batch of raw banks is first replaced by an empty batch of hits.
    pub fn hits_mut(&mut self) -> &mut VeloBatch {
        if let Self::Banks(_) = self {
            *self = Self::Hits(VeloBatch::default());
        }
        match self {
            Self::Hits(batch) => batch,
            Self::Banks(_) => unreachable!("just replaced"),
        }
    }

    /// Returns the batch of raw banks. A batch of hits is first replaced by an empty batch of raw banks.
    pub fn banks_mut(&mut self) -> &mut RawBatch {
        if let Self::Hits(_) = self {
            *self = Self::Banks(RawBatch::default());
        }
        match self {
            Self::Banks(batch) => batch,
            Self::Hits(_) => unreachable!("just replaced"),
        }
    }
}

impl Batch for VeloInputBatch {
    fn events(&self) -> Events<'_> {
        match self {
            Self::Hits(batch) => batch.view().into(),
            Self::Banks(batch) => batch.view().into(),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::Hits(batch) => batch.clear(),
            Self::Banks(batch) => batch.clear(),
        }
    }

    fn event_ids(&self) -> &[u64] {
        match self {
            Self::Hits(batch) => &batch.event_id,
            Self::Banks(batch) => batch.event_ids(),
        }
    }

    fn hits(&self) -> Option<u64> {
        match self {
            Self::Hits(batch) => Some(batch.x.len() as u64),
            Self::Banks(_) => None,
        }
    }

    fn memory_items(&self) -> u64 {
        match self {
            Self::Hits(batch) => batch.x.len() as u64,
            Self::Banks(batch) => batch.words() as u64,
        }
    }

    fn repeat(&mut self, copies: usize) -> Result<()> {
        match self {
            Self::Hits(batch) => batch.repeat(copies),
            Self::Banks(batch) => batch.repeat(copies),
        }
    }
}

/// Memory of [`Velo`] that one thread reuses from event to event.
#[derive(Debug, Default)]
pub struct VeloSequenceWorkspace {
    velo: VeloWorkspace,
    decode: DecodeScratch,
    /// Hits decoded from raw banks.
    hits: Outcome<VeloBatch>,
}

detector_stages! {
    "velo":
    "decode", "raw banks, or hits by module" => "hits sorted by module";
    "sort", "hits sorted by module" => "hits sorted by phi";
    "find", "hits sorted by phi" => "tracks as hit lists", super::paper::PARTS;
    "fit", "tracks as hit lists" => "states";
}

impl From<Velo> for Sequence {
    fn from(algorithm: Velo) -> Self {
        Self::of_one("velo", algorithm)
    }
}

impl Algorithm for Velo {
    const INFO: &'static AlgorithmInfo = &AlgorithmInfo {
        detector: "velo",
        reads: &[],
        makes: VELO_TRACKS,
        stages: STAGES,
        stages_in_chain: STAGES_IN_CHAIN,
    };

    type Output = VeloTracks;
    type Scratch = VeloSequenceWorkspace;

    fn level(&self) -> Level {
        self.level
    }

    fn accept(&self, events: Events<'_>) -> Result<()> {
        if let Events::VeloHits(_) = events {
            return Ok(());
        }
        events.banks()?;
        self.decoder().map(drop)
    }

    fn bank_bytes(&self, events: Events<'_>) -> Option<u64> {
        let events = events.banks().ok()?;
        Some(events.bank_bytes(|event| self.banks.kind(event)))
    }

    fn run(&self, slice: Slice<'_>, scratch: &mut VeloSequenceWorkspace, out: &mut Outcome<VeloTracks>) {
        let range = slice.range();
        match slice.events() {
            Events::VeloHits(events) => {
                reconstruct(self.level, &self.config, events, range, &mut scratch.velo, out);
            }
            Events::Banks(events) => {
                let events = events.with_bad_banks(self.bad_banks);
                self.run_banks(events, range.clone(), scratch, out);
                mark_partial(out, range, |number| {
                    self.is_partial(number, &events.event(number), &scratch.decode)
                });
            }
            _ => unreachable!("only accepted hits"),
        }
    }
}
