//! UT and SciFi: raw banks to hits.

use super::banks::{NaiveDecoder, blame};
use super::raw::RawSource;
use crate::check::no_tracks;
use crate::system::Runs;
use crate::{Check, CheckOptions, CheckRules, Config, Host, Opened, Request, System};
use peloton::engine::{Engine, Pool, SLICE_EVENTS, Sequence, Stage};
use peloton::event::RawBatch;
use peloton::scifi::{SciFiGeometry, SciFiHits};
use peloton::ut::{UtGeometry, UtHits};
use peloton::{Error, Result, Status};
use peloton_io::input::Format;
use peloton_truth::Rules;
use std::sync::Arc;

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

macro_rules! raw_to_hits {
    ($(#[$doc:meta])* $system:ident, $sequence:ident, $geometry:ident, $decoder:ident, $part:ident) => {
        $(#[$doc])*
        pub struct $system;

        impl System for $system {
            const NAME: &'static str = $sequence::NAME;
            const STAGES: &'static [Stage] = $sequence::STAGES;

            type Batch = RawBatch;
            type Results = <$sequence as Sequence>::Output;
            type Context = Arc<$geometry>;

            fn open(request: &Request, truth: bool, host: Host<'_>) -> Result<Opened<Self>> {
                let (source, geometry) = RawSource::open(request, Self::NAME, truth, host)?;
                Ok(Opened { source: Box::new(source), context: Arc::new(geometry.$part()?) })
            }

            fn executor(request: &Request, config: &Config, context: &Self::Context) -> Result<Runs<Self>> {
                request.cpu_only(Self::NAME)?;
                Ok(pool($sequence::new(config.level()?, context.clone()), config)?)
            }

            fn batch_items(_config: &Config, threads: usize) -> usize {
                256.max(16 * threads)
            }

            fn reads(format: Format) -> bool {
                matches!(format, Format::Auto | Format::Mdf | Format::Banks)
            }

            fn is_preset(_config: &Config) -> bool {
                true
            }

            fn track_rules(
                _request: &Request,
                options: &CheckOptions,
                opened: &mut Opened<Self>,
            ) -> Result<Rules> {
                let rules = tracker_rules(options, Rules::Lhcb)?;
                opened.source.check_by(rules);
                Ok(rules)
            }

            fn diagnose(
                context: &Self::Context,
                batch: &RawBatch,
                event: usize,
                status: Status,
            ) -> Option<String> {
                let decoder = NaiveDecoder::$decoder(context.clone());
                blame(&[decoder], &batch.view().event(event), status)
            }

            fn check(_: &Request, _: &CheckOptions, _: &mut Opened<Self>) -> Result<Box<dyn Check<Self>>> {
                Err(no_tracks(Self::NAME))
            }

            fn bank_bytes(context: &Self::Context, batch: &RawBatch) -> Option<u64> {
                // The level does not matter: nothing is decoded.
                let level = peloton::simd::Level::choose(None, None).ok()?;
                $sequence::new(level, context.clone()).bank_bytes(batch.view())
            }
        }
    };
}

raw_to_hits!(
    /// UT banks to UT hits.
    UtSystem, UtHits, UtGeometry, Ut, ut
);
raw_to_hits!(
    /// SciFi banks to SciFi hits.
    SciFiSystem, SciFiHits, SciFiGeometry, SciFi, scifi
);
