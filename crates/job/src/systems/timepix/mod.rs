//! The sequence timepix: finds clusters in streams of pixel hits.

mod check;
mod pairing;
mod sink;
mod source;

use super::track_check::product;
use crate::sink::{Destination, Sink};
use crate::summary::object;
use crate::system::{Detector, EndlessStream, Runs, Sizes};
use crate::totals::Totals;
use crate::{Check, CheckOptions, Config, Host, Opened, Request, Source, System};
use check::PixelCheck;
use pairing::{Paired, Pairing};
use peloton::Result;
use peloton::engine::{AlgorithmInfo, Batch, Handle, Stage, StreamSequence, Streaming};
use peloton::event::{Columns, Layout, PixelClusters, Product, Schema};
use peloton::timepix::{PixelBatch, Timepix, TimepixConfig};
use peloton_io::input::Format;
use peloton_io::output::timepix::origin_fields;
use peloton_io::output::{ColumnRow, column_rows, field_rows};
use serde_json::{Map, Value, json};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// The system of the sequence timepix, which clusters pixel hits from an endless stream.
pub struct TimepixSystem;

/// The sensor that hits come from, and known properties of the hits.
pub struct PixelDetector {
    /// Layout of the sensor.
    pub layout: Layout,
    /// Folder of the energy calibration.
    pub calibration: Option<PathBuf>,
    /// Usual disorder of the hits: how much older a hit may be than the newest hit before it, us.
    pub disorder_us: f64,
    /// Pixels whose hits are dropped.
    pub masked: Vec<(u16, u16)>,
    /// Whether the times of the hits are numbers of frames.
    pub is_of_frames: bool,
    /// Whether the hits come from a socket.
    pub is_live: bool,
    /// Pairs hits with triggers; none if no pairing is requested.
    pub pairing: Option<Arc<Pairing>>,
}

impl PixelDetector {
    /// Returns the configuration; for values that are not set, it has the defaults for these hits.
    pub fn configuration(&self, config: &Config) -> TimepixConfig {
        let mut timepix = config.timepix.clone();
        timepix.disorder_us.get_or_insert(self.disorder_us);
        if self.is_of_frames {
            // With delta 0, every definition makes a cluster of connected pixels in one frame.
            (timepix.find.delta, timepix.find.strict) = (0, false);
        }
        timepix
    }

    /// Makes the sequence that clusters these hits on the CPU.
    ///
    /// # Errors
    /// Returns errors of the configuration.
    pub fn sequence(&self, config: &Config) -> Result<Timepix> {
        let timepix = self.configuration(config);
        // By default, two threads remain for reading and sorting.
        let threads = config.threads.unwrap_or_else(|| {
            Timepix::threads_for(&timepix, config.thread_count().saturating_sub(2).max(1))
        });
        let mut sequence = Timepix::new(&timepix, config.level()?, &self.layout, threads)?;
        self.masked.iter().for_each(|&(x, y)| sequence.mask(x, y));
        Ok(sequence)
    }
}

impl System for TimepixSystem {
    fn name(&self) -> &'static str {
        Timepix::NAME
    }

    fn algorithms(&self, _config: &Config) -> Vec<&'static AlgorithmInfo> {
        Vec::new()
    }

    fn stages(&self, _config: &Config) -> Vec<Stage> {
        Timepix::STAGES.to_vec()
    }

    fn products(&self, _config: &Config) -> Vec<Handle> {
        vec![Timepix::PRODUCT]
    }

    fn stream(&self) -> Option<&'static dyn EndlessStream> {
        Some(&PixelStream)
    }

    fn has_lanes(&self) -> bool {
        false
    }

    fn open(&self, request: &Request, _truth: bool, host: Host<'_>) -> Result<Opened> {
        source::open(request, host)
    }

    fn batch_items(&self, config: &Config, _threads: usize) -> usize {
        config.timepix.block_hits
    }

    fn reads(&self, format: Format) -> bool {
        matches!(format, Format::Auto | Format::Pixels(_))
    }

    fn facts(&self, _config: &Config, totals: &Totals) -> Map<String, Value> {
        let Totals { events: clusters, hits_out, .. } = totals;
        object(&json!({ "clusters": clusters, "hits_out": hits_out, "triggers": 0, "paired_hits": null }))
    }

    fn is_preset(&self, config: &Config) -> bool {
        // Sizes change the speed alone.
        let TimepixConfig { block_hits, sort_digit_bits, sort_part_hits, .. } = config.timepix;
        config.timepix == TimepixConfig { block_hits, sort_digit_bits, sort_part_hits, ..Default::default() }
    }

    fn sizes(&self) -> &'static [&'static [Sizes]] {
        &[
            &[
                &[("sort_digit_bits", 8), ("sort_part_hits", 1 << 12)],
                &[("sort_digit_bits", 9), ("sort_part_hits", 1 << 12)],
                &[("sort_digit_bits", 9), ("sort_part_hits", 1 << 13)],
                &[("sort_digit_bits", 10), ("sort_part_hits", 1 << 14)],
                &[("sort_digit_bits", 11), ("sort_part_hits", 1 << 14)],
                &[("sort_digit_bits", 13), ("sort_part_hits", 1 << 16)],
            ],
            &[&[("block_hits", 1 << 13)], &[("block_hits", 1 << 14)], &[("block_hits", 1 << 16)]],
        ]
    }

    fn set_size(&self, config: &mut Config, name: &str, value: usize) -> bool {
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

    fn override_key(&self, config: &mut Config, key: &str, value: &str) -> Result<bool> {
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

    fn columns(&self, _config: &Config) -> Vec<ColumnRow> {
        let schema = PixelClusters::SCHEMA;
        let mut rows = column_rows(schema);
        rows.extend(field_rows(schema, &origin_fields()));
        rows
    }
}

/// Pixel hits as a stream.
struct PixelStream;

impl EndlessStream for PixelStream {
    fn ends_source(&self, piece: &dyn Batch) -> bool {
        piece.of().is_ok_and(|batch: &PixelBatch| batch.end)
    }

    fn last(&self) -> Box<dyn Batch> {
        Box::new(PixelBatch { end: true, ..PixelBatch::default() })
    }

    fn keep(&self, waiting: &mut Columns, piece: &Columns, rows: Range<usize>) {
        let waiting: &mut PixelClusters = waiting.get_mut().expect("clusters");
        waiting.extend_from(product(piece), rows);
    }
}

impl Detector for PixelDetector {
    fn executor(&self, request: &Request, config: &Config) -> Result<Runs> {
        let runs: Runs = if request.is_on_cpu() {
            Box::new(Streaming(self.sequence(config)?))
        } else {
            super::device::timepix(request, config, self)?
        };
        Ok(match &self.pairing {
            Some(pairing) => Box::new(Paired::new(runs, pairing.clone())),
            None => runs,
        })
    }

    fn sink(&self, _schema: &'static Schema, to: &Destination<'_>) -> Result<Box<dyn Sink>> {
        sink::create(self, to)
    }

    fn check(
        &self,
        request: &Request,
        options: &CheckOptions,
        _source: &mut dyn Source,
    ) -> Result<Box<dyn Check>> {
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
        Ok(Box::new(PixelCheck::new(request, self)?))
    }

    fn sensor(&self) -> Option<[usize; 2]> {
        Some([self.layout.width(), self.layout.height()])
    }

    fn outcome(&self) -> (Vec<(&'static str, u64)>, Map<String, Value>) {
        self.pairing.as_deref().map(Pairing::outcome).unwrap_or_default()
    }

    fn not_found(&self) -> Option<String> {
        self.pairing.as_deref().and_then(Pairing::not_found)
    }

    fn is_live(&self) -> bool {
        self.is_live
    }
}
