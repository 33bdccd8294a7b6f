//! [`OverBanks`]: the systems that read raw banks of LHCb and nothing else, by what is different about each.

use super::banks::{NaiveDecoder, blame, lacking};
use super::raw::RawSource;
use super::track_check::{Rows, TrackCheck};
use crate::display::{Gather, GatherTracks, Hit, HitsOf};
use crate::embed::{self, AnyEngine, Events};
use crate::losses::FindLosses;
use crate::system::{Detector, Runs};
use crate::totals::BankSource;
use crate::truth_check::no_tracks;
use crate::{Check, CheckOptions, CheckRules, Config, Host, Opened, Preset, Request, Source, System};
use peloton::engine::{Batch, Engine, Pool, SLICE_EVENTS, Sequence, Stage};
use peloton::event::{Columns, RawBatch, RawEvents};
use peloton::{Error, Result, Status};
use peloton_io::input::{Format, Geometry};
use peloton_truth::Rules;
use std::marker::PhantomData;

/// A sequence from raw banks of LHCb, as jobs need to know it.
pub trait BankSequence: Send + Sync + 'static {
    /// The sequence.
    type Sequence: for<'a> Sequence<Batch = RawBatch, Input<'a> = RawEvents<'a>>;
    /// What it needs to know of the detector.
    type Context: Send + Sync;

    /// The presets that the sequence has; none where it has one set of parameters.
    const PRESETS: &'static [Preset] = &[];

    /// The rules that tracks are checked by unless others are asked for.
    const RULES: Rules;

    /// What appends the tracks of an event, for a check; none where the sequence ends at hits.
    const ROWS: Option<Rows>;

    /// What the sequence needs of a geometry.
    ///
    /// # Errors
    /// For a geometry without one of the parts.
    fn context(request: &Request, geometry: &Geometry) -> Result<Self::Context>;

    /// The sequence for these events.
    ///
    /// # Errors
    /// Those of the configuration.
    fn sequence(context: &Self::Context, config: &Config) -> Result<Self::Sequence>;

    /// Whether the parameters are those of the preset.
    fn is_preset(config: &Config) -> bool;

    /// What finds out where the sequence lost particles; none where it ends at hits.
    ///
    /// # Errors
    /// Those of the configuration.
    fn losses(_context: &Self::Context, _config: &Config) -> Result<Option<Box<dyn FindLosses>>> {
        Ok(None)
    }

    /// Decoders that can tell which bank is to blame.
    fn decoders(context: &Self::Context) -> Vec<NaiveDecoder>;
}

/// The system of a sequence from raw banks.
pub struct OverBanks<S>(pub S);

/// The detector that banks come from.
struct BankDetector<S: BankSequence> {
    context: S::Context,
    sequence: PhantomData<S>,
}

impl<S: BankSequence> OverBanks<S> {
    const NAME: &'static str = S::Sequence::NAME;
}

impl<S: BankSequence> System for OverBanks<S> {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn stages(&self) -> &'static [Stage] {
        S::Sequence::STAGES
    }

    fn empty(&self) -> Columns {
        Columns::of::<<S::Sequence as Sequence>::Output>()
    }

    fn presets(&self) -> &'static [Preset] {
        S::PRESETS
    }

    fn open(&self, request: &Request, truth: bool, host: Host<'_>) -> Result<Opened> {
        let (source, geometry) = RawSource::open(request, Self::NAME, truth, host)?;
        let detector = BankDetector::<S> { context: S::context(request, &geometry)?, sequence: PhantomData };
        Ok(Opened { source: Box::new(source), detector: Box::new(detector) })
    }

    fn embed(&self, request: &Request) -> Result<AnyEngine> {
        let geometry = embed::geometry(request, Self::NAME)?;
        let sequence = S::sequence(&S::context(request, &geometry)?, &request.config)?;
        Ok(AnyEngine::of(sequence, request.config.clone(), |events| match events {
            Events::Banks(banks) => Some(banks),
            _ => None,
        }))
    }

    fn batch_items(&self, _config: &Config, threads: usize) -> usize {
        256.max(16 * threads)
    }

    fn reads(&self, format: Format) -> bool {
        matches!(format, Format::Auto | Format::Mdf | Format::Banks)
    }

    fn is_preset(&self, config: &Config) -> bool {
        S::is_preset(config)
    }
}

impl<S: BankSequence> Detector for BankDetector<S> {
    fn executor(&self, request: &Request, config: &Config) -> Result<Runs> {
        request.cpu_only(S::Sequence::NAME)?;
        pool(S::sequence(&self.context, config)?, config)
    }

    fn track_rules(&self, _request: &Request, options: &CheckOptions) -> Result<Rules> {
        tracker_rules(options, S::RULES)
    }

    fn check(
        &self,
        request: &Request,
        options: &CheckOptions,
        source: &mut dyn Source,
    ) -> Result<Box<dyn Check>> {
        let rows = S::ROWS.ok_or_else(|| no_tracks(S::Sequence::NAME))?;
        let rules = self.track_rules(request, options)?;
        source.check_by(rules);
        let mut check = TrackCheck::new(request, rules, options, rows)?;
        if options.losses {
            if rules != S::RULES {
                let message =
                    format!("--losses goes by the rules {}, not by {rules}: leave out --rules", S::RULES);
                return Err(Error::Config(message));
            }
            let losses = S::losses(&self.context, &request.config)?;
            let losses = losses.ok_or_else(|| no_tracks(S::Sequence::NAME))?;
            check = check.with_losses(losses, rules, request.config.bad_banks);
        }
        Ok(Box::new(check))
    }

    fn gather(&self, request: &Request, source: &mut dyn Source) -> Result<Box<dyn Gather>> {
        let rules = self.track_rules(request, &CheckOptions::default())?;
        source.check_by(rules);
        let decoders = S::decoders(&self.context);
        let sensors = decoders.iter().flat_map(NaiveDecoder::sensors).collect();
        let of_banks = hits_by(decoders);
        let hits: HitsOf = Box::new(move |batch, event| {
            batch.of().map_or_else(|_| Vec::new(), |banks| of_banks(banks, event))
        });
        Ok(Box::new(GatherTracks { hits, rows: S::ROWS, rules, sensors }))
    }

    fn diagnose(&self, batch: &dyn Batch, event: usize, status: Status) -> Option<String> {
        let banks: &RawBatch = batch.of().ok()?;
        blame(&S::decoders(&self.context), &banks.view().event(event), status)
    }

    fn lacking(&self, batch: &dyn Batch, events: &[usize], has_damaged: bool) -> Vec<BankSource> {
        let decoders = S::decoders(&self.context);
        batch.of().map_or_else(|_| Vec::new(), |banks| lacking(&decoders, banks, events, has_damaged))
    }

    fn bank_bytes(&self, batch: &dyn Batch) -> Option<u64> {
        let banks: &RawBatch = batch.of().ok()?;
        S::sequence(&self.context, &Config::default()).ok()?.bank_bytes(banks.view())
    }
}

/// Finds the hits of an event of raw banks.
pub type HitsOfBanks = Box<dyn Fn(&RawBatch, usize) -> Vec<Hit> + Send>;

/// What finds the hits of an event of raw banks; those of banks that cannot be decoded are left out.
pub fn hits_by(decoders: Vec<NaiveDecoder>) -> HitsOfBanks {
    Box::new(move |banks, event| {
        let event = banks.view().event(event);
        decoders.iter().flat_map(|decoder| decoder.hits(&event).unwrap_or_default()).collect()
    })
}

/// Threads of the CPU for a sequence.
///
/// # Errors
/// When the system gives no threads.
pub fn pool(sequence: impl Sequence, config: &Config) -> Result<Runs> {
    let slice = config.slice_events.unwrap_or(SLICE_EVENTS);
    Ok(Box::new(Pool::new(Engine::new(sequence), config.thread_count(), slice)?))
}

/// The rules of trackers that are asked for; `default` when none are.
///
/// # Errors
/// [`Error::Config`] for those of another detector.
pub fn tracker_rules(options: &CheckOptions, default: Rules) -> Result<Rules> {
    match options.rules {
        Some(CheckRules::Tracker(rules)) => Ok(rules),
        Some(CheckRules::Cylinder) => {
            let message = "--rules cylinder is for the sequence cylinder: add --sequence cylinder";
            Err(Error::Config(message.into()))
        }
        None => Ok(default),
    }
}
