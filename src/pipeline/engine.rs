//! [`Engine`]: a configuration made ready to run; the embedding API.

use super::{Config, Events, Geometry, Sequence};
use crate::event::{BankKind, Counters, RawEvents, Results, SciFiBatch, UtBatch, VeloBatch, VeloTracks};
use crate::scifi::{self, SciFiScratch};
use crate::simd::{Level, with_default_float_mode};
use crate::ut::{self, UtScratch};
use crate::velo::{self, DecodeScratch, VeloBanks, VeloConfig, VeloWorkspace};
use crate::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// Reconstructs events. It holds the configuration and nothing that changes, so that any number of threads
/// may share one engine; what changes lives in a [`Workspace`] of each thread.
///
/// ```
/// use peloton::event::{VeloBatch, VeloTracks};
/// use peloton::pipeline::{Config, Engine};
///
/// # fn main() -> peloton::Result<()> {
/// let engine = Engine::new(&Config::default())?;
/// let (mut workspace, mut tracks) = (engine.workspace(), VeloTracks::default());
/// let events = VeloBatch::default(); // columns of hits: see its fields
/// let counters = engine.run(events.view(), &mut workspace, &mut tracks);
/// assert_eq!(counters.events(), 0);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Engine {
    sequence: Sequence,
    level: Level,
    slice_events: usize,
    velo: VeloConfig,
    decoding: Option<(Arc<Geometry>, VeloBanks)>,
}

/// Scratch memory of one thread. It grows to what the largest event needs and is then reused.
#[derive(Debug, Default)]
pub struct Workspace {
    velo: VeloWorkspace,
    decode: DecodeScratch,
    /// Hits decoded from raw banks.
    hits: VeloBatch,
    ut: UtScratch,
    scifi: SciFiScratch,
}

/// What a sequence makes of events.
pub trait Product: Results + 'static {
    /// The sequence that makes it.
    const SEQUENCE: Sequence;

    /// Reconstructs the events of `range`, see [`Engine::run_range`].
    fn make(
        engine: &Engine,
        events: Events<'_>,
        range: Range<usize>,
        workspace: &mut Workspace,
        out: &mut Self,
        counters: &mut Counters,
    );
}

impl Product for VeloTracks {
    const SEQUENCE: Sequence = Sequence::Velo;

    fn make(
        engine: &Engine,
        events: Events<'_>,
        range: Range<usize>,
        workspace: &mut Workspace,
        out: &mut Self,
        counters: &mut Counters,
    ) {
        let Engine { level, velo, .. } = engine;
        let Workspace { velo: scratch, decode, hits, .. } = workspace;
        match events {
            Events::Hits(events) => velo::reconstruct(*level, velo, events, range, scratch, out, counters),
            Events::Banks(events) => {
                let (geometry, banks) = engine.decoding();
                hits.clear();
                let count = range.len();
                velo::decode(*level, &geometry.velo, banks, events, range, decode, hits, counters);
                velo::reconstruct(*level, velo, hits.view(), 0..count, scratch, out, counters);
            }
        }
    }
}

impl Product for UtBatch {
    const SEQUENCE: Sequence = Sequence::Ut;

    fn make(
        engine: &Engine,
        events: Events<'_>,
        range: Range<usize>,
        workspace: &mut Workspace,
        out: &mut Self,
        counters: &mut Counters,
    ) {
        let geometry = &engine.decoding().0.ut;
        ut::decode(engine.level, geometry, events.banks(), range, &mut workspace.ut, out, counters);
    }
}

impl Product for SciFiBatch {
    const SEQUENCE: Sequence = Sequence::SciFi;

    fn make(
        engine: &Engine,
        events: Events<'_>,
        range: Range<usize>,
        workspace: &mut Workspace,
        out: &mut Self,
        counters: &mut Counters,
    ) {
        let geometry = &engine.decoding().0.scifi;
        scifi::decode(engine.level, geometry, events.banks(), range, &mut workspace.scifi, out, counters);
    }
}

impl Engine {
    /// Makes an engine for a configuration, whose values and level are checked here, once.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) and [`Error::Unsupported`](crate::Error::Unsupported).
    pub fn new(config: &Config) -> Result<Self> {
        config.validate()?;
        if config.sequence == Sequence::Timepix {
            return Err(Error::Unsupported("timepix has streams and no events: run a timepix::Chain".into()));
        }
        if config.sequence == Sequence::Cylinder {
            return Err(Error::Unsupported("cylinder has hits of its own: run a CylinderPool".into()));
        }
        Ok(Self {
            sequence: config.sequence,
            level: config.level()?,
            slice_events: config.slice_events,
            velo: config.velo.clone(),
            decoding: None,
        })
    }

    /// Makes the engine take raw banks, too: those of `banks` where an event has several kinds.
    pub fn with_geometry(mut self, geometry: Arc<Geometry>, banks: VeloBanks) -> Self {
        self.decoding = Some((geometry, banks));
        self
    }

    /// What is reconstructed.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// The instruction set level and gang size that run.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Events a thread takes at once when many threads share a batch.
    pub fn slice_events(&self) -> usize {
        self.slice_events
    }

    /// Scratch memory for one more thread.
    pub fn workspace(&self) -> Workspace {
        Workspace::default()
    }

    /// Bytes of the raw banks that the sequence takes of these events; none when they are hits.
    pub fn bank_bytes(&self, events: Events<'_>) -> Option<u64> {
        let Events::Banks(events) = events else { return None };
        let banks = self.decoding.as_ref().map_or(VeloBanks::Auto, |(_, banks)| *banks);
        let of_event = |number: usize| {
            let event = events.event(number);
            let kind = match self.sequence {
                Sequence::Ut => BankKind::Ut,
                Sequence::SciFi => BankKind::SciFi,
                Sequence::Velo | Sequence::Timepix | Sequence::Cylinder => banks.kind(&event),
            };
            event.banks(kind).iter().map(|bank| u64::from(bank.bytes)).sum::<u64>()
        };
        Some((0..events.len()).map(of_event).sum())
    }

    /// Geometry and kind of Velo banks.
    fn decoding(&self) -> (&Geometry, VeloBanks) {
        let (geometry, banks) = self.decoding.as_ref().expect("a geometry for raw banks");
        (geometry, *banks)
    }

    /// Decodes raw banks of the Velo to hits, as the first stage of the sequence does, and appends them to `hits`.
    ///
    /// # Panics
    /// Without a geometry.
    pub fn decode_velo(
        &self,
        events: RawEvents<'_>,
        workspace: &mut Workspace,
        hits: &mut VeloBatch,
        counters: &mut Counters,
    ) {
        let (geometry, banks) = self.decoding();
        let (range, scratch) = (0..events.len(), &mut workspace.decode);
        velo::decode(self.level, &geometry.velo, banks, events, range, scratch, hits, counters);
    }

    /// Reconstructs all events on the calling thread: `results` is emptied and gets one entry per event, in
    /// order, whatever became of it. Nothing is allocated once `workspace` and `results` have grown to the
    /// size of the data.
    ///
    /// # Panics
    /// When the engine's sequence makes something else, takes raw banks and gets hits, or has no geometry for raw
    /// banks.
    pub fn run<'a, P: Product>(
        &self,
        events: impl Into<Events<'a>>,
        workspace: &mut Workspace,
        results: &mut P,
    ) -> Counters {
        let events = events.into();
        results.clear();
        let mut counters = Counters::default();
        self.run_range(events, 0..events.len(), workspace, results, &mut counters);
        counters
    }

    /// Reconstructs the events of `range` and appends them to `results`, their counts to `counters`.
    ///
    /// # Panics
    /// When `range` reaches beyond the events, and as [`Engine::run`].
    pub fn run_range<P: Product>(
        &self,
        events: Events<'_>,
        range: Range<usize>,
        workspace: &mut Workspace,
        results: &mut P,
        counters: &mut Counters,
    ) {
        assert_eq!(self.sequence, P::SEQUENCE, "what the engine's sequence makes");
        with_default_float_mode(|| P::make(self, events, range, workspace, results, counters));
    }
}
