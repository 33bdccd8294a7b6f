//! Timepix: streams of pixel hits to clusters.

mod check;
mod pairing;
mod sink;
mod source;

use crate::display;
use crate::sink::Sink;
use crate::summary::object;
use crate::system::{Runs, Sizes};
use crate::totals::Totals;
use crate::{
    Cancel, Check, CheckOptions, Config, DisplayOptions, Displayed, Host, Opened, Preset, Request, System,
};
use check::PixelCheck;
use pairing::{Paired, Pairing};
use peloton::Result;
use peloton::engine::{Stage, StreamSequence, Streaming};
use peloton::event::{Layout, PixelClusters};
use peloton::timepix::{PixelBatch, Timepix, TimepixConfig};
use peloton_io::input::Format;
use peloton_io::output::timepix::origin_fields;
use peloton_io::output::{ColumnRow, Metadata, column_rows, field_rows};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Pixel hits to clusters; an endless stream.
pub struct TimepixSystem;

/// What is known of the hits beforehand.
pub struct PixelContext {
    /// Their sensor.
    pub layout: Layout,
    /// Folder of their energy calibration.
    pub calibration: Option<PathBuf>,
    /// Their usual disorder, us.
    pub disorder_us: f64,
    /// Pixels whose hits are dropped.
    pub masked: Vec<(u16, u16)>,
    /// Whether their times are numbers of frames.
    pub is_of_frames: bool,
    /// Whether they come from a socket.
    pub is_live: bool,
    /// Pairs hits with triggers, when that was asked for.
    pub pairing: Option<Arc<Pairing>>,
}

impl PixelContext {
    /// The configuration with what these hits say where it is silent.
    pub fn configuration(&self, config: &Config) -> TimepixConfig {
        let mut timepix = config.timepix.clone();
        timepix.disorder_us.get_or_insert(self.disorder_us);
        if self.is_of_frames {
            // By every definition, clusters are what is connected within a frame.
            (timepix.find.delta, timepix.find.strict) = (0, false);
        }
        timepix
    }

    /// What clusters these hits on the CPU.
    ///
    /// # Errors
    /// Those of the configuration.
    pub fn sequence(&self, config: &Config) -> Result<Timepix> {
        let timepix = self.configuration(config);
        // Unless told otherwise, two threads are left for reading and sorting.
        let threads = config.threads.unwrap_or_else(|| {
            Timepix::threads_for(&timepix, config.thread_count().saturating_sub(2).max(1))
        });
        let mut sequence = Timepix::new(&timepix, config.level()?, &self.layout, threads)?;
        self.masked.iter().for_each(|&(x, y)| sequence.mask(x, y));
        Ok(sequence)
    }
}

impl System for TimepixSystem {
    const NAME: &'static str = Timepix::NAME;
    const STAGES: &'static [Stage] = Timepix::STAGES;
    const PRESETS: &'static [Preset] = &[];
    const IS_STREAM: bool = true;
    const HAS_LANES: bool = false;
    const SIZES: &'static [&'static [Sizes]] = &[
        &[
            &[("sort_digit_bits", 8), ("sort_part_hits", 1 << 12)],
            &[("sort_digit_bits", 9), ("sort_part_hits", 1 << 12)],
            &[("sort_digit_bits", 9), ("sort_part_hits", 1 << 13)],
            &[("sort_digit_bits", 10), ("sort_part_hits", 1 << 14)],
            &[("sort_digit_bits", 11), ("sort_part_hits", 1 << 14)],
            &[("sort_digit_bits", 13), ("sort_part_hits", 1 << 16)],
        ],
        &[&[("block_hits", 1 << 13)], &[("block_hits", 1 << 14)], &[("block_hits", 1 << 16)]],
    ];

    type Batch = PixelBatch;
    type Results = PixelClusters;
    type Context = PixelContext;

    fn open(request: &Request, _truth: bool, host: Host<'_>) -> Result<Opened<Self>> {
        source::open(request, host)
    }

    fn executor(request: &Request, config: &Config, context: &PixelContext) -> Result<Runs<Self>> {
        let runs: Runs<Self> = if request.is_on_cpu() {
            Box::new(Streaming(context.sequence(config)?))
        } else {
            super::device::timepix(request, config, context)?
        };
        Ok(match &context.pairing {
            Some(pairing) => Box::new(Paired::new(runs, pairing.clone())),
            None => runs,
        })
    }

    fn batch_items(config: &Config, _threads: usize) -> usize {
        config.timepix.block_hits
    }

    fn ends_source(batch: &PixelBatch) -> bool {
        batch.end
    }

    fn last() -> Option<PixelBatch> {
        Some(PixelBatch { end: true, ..PixelBatch::default() })
    }

    fn reads(format: Format) -> bool {
        matches!(format, Format::Auto | Format::Pixels(_))
    }

    fn facts(_config: &Config, totals: &Totals) -> Map<String, Value> {
        let Totals { events: clusters, hits_out, .. } = totals;
        object(&json!({ "clusters": clusters, "hits_out": hits_out, "triggers": 0, "paired_hits": null }))
    }

    fn is_preset(config: &Config) -> bool {
        // Sizes change the speed alone.
        let TimepixConfig { block_hits, sort_digit_bits, sort_part_hits, .. } = config.timepix;
        config.timepix == TimepixConfig { block_hits, sort_digit_bits, sort_part_hits, ..Default::default() }
    }

    fn set_size(config: &mut Config, name: &str, value: usize) -> bool {
        let timepix = &mut config.timepix;
        match name {
            "block_hits" if timepix.block_hits == TimepixConfig::default().block_hits => {
                timepix.block_hits = value
            }
            "sort_digit_bits" if timepix.sort_digit_bits.is_none() => {
                timepix.sort_digit_bits = u32::try_from(value).ok();
            }
            "sort_part_hits" if timepix.sort_part_hits.is_none() => timepix.sort_part_hits = Some(value),
            "block_hits" | "sort_digit_bits" | "sort_part_hits" => {}
            _ => return false,
        }
        true
    }

    fn override_key(config: &mut Config, key: &str, value: &str) -> Result<bool> {
        let number = |what: &str| {
            let message = format!("{what}={value}: this is not a number");
            value.parse().map_err(|_| peloton::Error::Config(message))
        };
        match key {
            "block" => config.timepix.block_hits = number("block")?,
            "algorithm" => config.timepix.find.algorithm = value.parse()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn sink(
        path: &Path,
        _request: &Request,
        context: &PixelContext,
        metadata: &Metadata,
        cancel: &Cancel,
    ) -> Result<Box<dyn Sink<PixelClusters>>> {
        sink::create(path, context, metadata, cancel)
    }

    fn check(
        request: &Request,
        options: &CheckOptions,
        opened: &mut Opened<Self>,
    ) -> Result<Box<dyn Check<Self::Batch, Self::Results>>> {
        for (flag, is_given) in [
            ("--rules", options.rules.is_some()),
            ("--tables", options.tables),
            ("--losses", options.losses),
            ("--against", options.against.is_some()),
            ("--truth-output", options.truth_output.is_some()),
        ] {
            if is_given {
                let message = format!("{flag} is for tracks: pixel hits come without true particles");
                return Err(peloton::Error::Config(message));
            }
        }
        PixelCheck::new(request, &opened.context).map(|check| Box::new(check) as Box<_>)
    }

    fn columns() -> Vec<ColumnRow> {
        let mut rows = column_rows::<PixelClusters>();
        rows.extend(field_rows::<PixelClusters>(&origin_fields()));
        rows
    }

    fn display(
        request: &Request,
        options: &DisplayOptions,
        output: &Path,
        host: Host<'_>,
    ) -> Result<Displayed> {
        display::frame(request, options, output, host)
    }

    fn outcome(context: &PixelContext) -> (Vec<(&'static str, u64)>, Map<String, Value>) {
        context.pairing.as_deref().map(Pairing::outcome).unwrap_or_default()
    }

    fn not_found(context: &PixelContext) -> Option<String> {
        context.pairing.as_deref().and_then(Pairing::not_found)
    }

    fn is_live(context: &PixelContext) -> bool {
        context.is_live
    }

    fn keep(waiting: &mut PixelClusters, piece: &PixelClusters) {
        waiting.extend_from(piece, 0..piece.len());
    }

    fn remove_first(waiting: &mut PixelClusters, count: usize) {
        waiting.remove_front(count);
    }
}
