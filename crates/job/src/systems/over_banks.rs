//! [`OverBanks`]: what is different in the systems that read raw banks of LHCb and nothing else.

use super::banks::{NaiveDecoder, blame, lacking};
use super::raw::RawSource;
use super::track_check::{TrackCheck, TrackRows};
use crate::display::{Gather, GatherTracks, HitsOf};
use crate::embed::{self, AnyEngine, Events};
use crate::losses::FindLosses;
use crate::system::Runs;
use crate::totals::BankSource;
use crate::truth_check::no_tracks;
use crate::{Check, CheckOptions, CheckRules, Config, Host, Opened, Preset, Request, System};
use peloton::engine::{Engine, Pool, SLICE_EVENTS, Sequence, Stage};
use peloton::event::{RawBatch, RawEvents};
use peloton::{Error, Result, Status};
use peloton_io::input::{Format, Geometry};
use peloton_truth::Rules;

/// Appends the tracks of one event, for a check.
pub type Rows<R> = fn(&R, usize, &mut TrackRows);

/// A sequence from raw banks of LHCb, as jobs need to know it. Whatever says this much is a [`System`].
pub trait OverBanks: 'static {
    /// The sequence.
    type Sequence: for<'a> Sequence<Batch = RawBatch, Input<'a> = RawEvents<'a>>;
    /// What it needs to know of the detector.
    type Context: Send + Sync;

    /// The presets that the sequence has; none where it has one set of parameters.
    const PRESETS: &'static [Preset] = &[];

    /// The rules that tracks are checked by unless others are asked for.
    const RULES: Rules;

    /// What appends the tracks of an event, for a check; none where the sequence ends at hits.
    const ROWS: Option<Rows<<Self::Sequence as Sequence>::Output>>;

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

impl<S: OverBanks> System for S {
    const NAME: &'static str = S::Sequence::NAME;
    const STAGES: &'static [Stage] = S::Sequence::STAGES;
    const PRESETS: &'static [Preset] = S::PRESETS;

    type Batch = RawBatch;
    type Results = <S::Sequence as Sequence>::Output;
    type Context = S::Context;

    fn open(request: &Request, truth: bool, host: Host<'_>) -> Result<Opened<Self>> {
        let (source, geometry) = RawSource::open(request, <Self as System>::NAME, truth, host)?;
        Ok(Opened { source: Box::new(source), context: S::context(request, &geometry)? })
    }

    fn executor(request: &Request, config: &Config, context: &S::Context) -> Result<Runs<Self>> {
        request.cpu_only(<Self as System>::NAME)?;
        Ok(pool(S::sequence(context, config)?, config)?)
    }

    fn embed(request: &Request) -> Result<AnyEngine> {
        let geometry = embed::geometry(request, <Self as System>::NAME)?;
        let sequence = S::sequence(&S::context(request, &geometry)?, &request.config)?;
        Ok(AnyEngine::of(sequence, request.config.clone(), |events| match events {
            Events::Banks(banks) => Some(banks),
            _ => None,
        }))
    }

    fn batch_items(_config: &Config, threads: usize) -> usize {
        256.max(16 * threads)
    }

    fn reads(format: Format) -> bool {
        matches!(format, Format::Auto | Format::Mdf | Format::Banks)
    }

    fn is_preset(config: &Config) -> bool {
        S::is_preset(config)
    }

    fn track_rules(_request: &Request, options: &CheckOptions, opened: &mut Opened<Self>) -> Result<Rules> {
        let rules = tracker_rules(options, S::RULES)?;
        opened.source.check_by(rules);
        Ok(rules)
    }

    fn check(
        request: &Request,
        options: &CheckOptions,
        opened: &mut Opened<Self>,
    ) -> Result<Box<dyn Check<Self::Batch, Self::Results>>> {
        let rows = S::ROWS.ok_or_else(|| no_tracks(<Self as System>::NAME))?;
        let rules = Self::track_rules(request, options, opened)?;
        let mut check = TrackCheck::new(request, rules, options, rows)?;
        if options.losses {
            if rules != S::RULES {
                let message =
                    format!("--losses goes by the rules {}, not by {rules}: leave out --rules", S::RULES);
                return Err(Error::Config(message));
            }
            let losses = S::losses(&opened.context, &request.config)?;
            let losses = losses.ok_or_else(|| no_tracks(<Self as System>::NAME))?;
            check = check.with_losses(losses, rules, request.config.bad_banks);
        }
        Ok(Box::new(check))
    }

    fn gather(
        request: &Request,
        opened: &mut Opened<Self>,
    ) -> Result<Box<dyn Gather<Self::Batch, Self::Results>>> {
        let rules = Self::track_rules(request, &CheckOptions::default(), opened)?;
        let decoders = S::decoders(&opened.context);
        let sensors = decoders.iter().flat_map(NaiveDecoder::sensors).collect();
        Ok(Box::new(GatherTracks { hits: hits_by(decoders), rows: S::ROWS, rules, sensors }))
    }

    fn diagnose(context: &S::Context, batch: &RawBatch, event: usize, status: Status) -> Option<String> {
        blame(&S::decoders(context), &batch.view().event(event), status)
    }

    fn lacking(
        context: &S::Context,
        batch: &RawBatch,
        events: &[usize],
        has_damaged: bool,
    ) -> Vec<BankSource> {
        lacking(&S::decoders(context), batch, events, has_damaged)
    }

    fn bank_bytes(context: &S::Context, batch: &RawBatch) -> Option<u64> {
        S::sequence(context, &Config::default()).ok()?.bank_bytes(batch.view())
    }
}

/// What finds the hits of an event of raw banks; those of banks that cannot be decoded are left out.
pub fn hits_by(decoders: Vec<NaiveDecoder>) -> HitsOf<RawBatch> {
    Box::new(move |banks, event| {
        let event = banks.view().event(event);
        decoders.iter().flat_map(|decoder| decoder.hits(&event).unwrap_or_default()).collect()
    })
}

/// Threads of the CPU for a sequence.
///
/// # Errors
/// When the system gives no threads.
pub fn pool<S: Sequence>(sequence: S, config: &Config) -> Result<Box<Pool<S>>> {
    let slice = config.slice_events.unwrap_or(SLICE_EVENTS);
    Pool::new(Engine::new(sequence), config.thread_count(), slice).map(Box::new)
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
