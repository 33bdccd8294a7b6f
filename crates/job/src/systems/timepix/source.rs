//! Sources of pixel hits: files, pipes, sockets and the simulation.

use super::PixelDetector;
use super::pairing::Pairing;
use crate::systems::inputs;
use crate::totals::UNUSABLE_INPUTS;
use crate::{Beside, Cancel, Host, Opened, Request, Source};
use peloton::engine::Batch;
use peloton::event::{Layout, PixelBlock};
use peloton::timepix::{PixelBatch, TimepixConfig};
use peloton::{Error, Result};
use peloton_io::input::timepix::{
    Fed, Feed, KatherineOptions, PixelCounts, PixelFormat, PixelOptions, PixelReader, PixelStream, ReadEnd,
    dropped_datagrams, listen,
};
use peloton_io::input::{ByteCount, Format};
use peloton_plot::text::{OUTSIDE_CHIPS, TOO_FAST, WAYS, Way};
use peloton_sim::timepix::{PixelSimSpec, SimulatedPixels};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

/// Number of hits at the start of the input in which hot pixels are searched for.
const HOT_SAMPLE: usize = 1_000_000;

/// Hits in which hot pixels were searched for, before the clustering.
#[derive(Default)]
struct LookedAt {
    source: Arc<str>,
    block: PixelBlock,
    /// Whether the source ended with these hits.
    is_end: bool,
}

/// A stream of hits, which a separate thread reads.
struct PixelSource {
    feed: Feed,
    /// Hits in which hot pixels were searched for: `cut` returns them first.
    looked_at: Option<LookedAt>,
    counts: PixelCounts,
    /// Time that the feed has spent on reading.
    reading: Duration,
    /// Counter of the bytes that the feed has read; none for a simulation.
    bytes: Option<ByteCount>,
    /// Total number of hits, if known.
    known: Option<u64>,
    /// Number of hits that were dropped because they arrived too fast.
    not_taken: u64,
    socket: Option<UdpSocket>,
    cancel: Cancel,
}

impl PixelSource {
    /// Returns the next block that has data or ends a source; none at the end of the last source.
    fn next(&mut self) -> Result<Option<Fed>> {
        while !self.cancel.is_requested() {
            let Some(fed) = self.feed.next()? else { return Ok(None) };
            (self.counts, self.not_taken, self.reading) = (fed.counts, fed.dropped, fed.reading);
            let is_empty = fed.block.hits.is_empty() && fed.block.triggers.is_empty();
            if !is_empty || fed.end == ReadEnd::EndOfSource {
                return Ok(Some(fed));
            }
            self.feed.give_back(fed.block);
        }
        Ok(None)
    }
}

impl Source for PixelSource {
    fn empty(&self) -> Box<dyn Batch> {
        Box::new(PixelBatch::default())
    }

    /// Cuts one block of the configured size. A measurement cuts repeatedly into one batch; this ends with the first
    /// source, since each source has its own clock.
    fn cut(&mut self, _items: usize, batch: &mut dyn Batch, beside: &mut Beside) -> Result<usize> {
        let batch: &mut PixelBatch = batch.of_mut()?;
        if batch.end {
            return Ok(0);
        }
        if let Some(LookedAt { source, block, is_end }) = self.looked_at.take() {
            beside.input = Some(source);
            (batch.block, batch.end) = (block, is_end);
            return Ok(batch.block.hits.len());
        }
        let Some(mut fed) = self.next()? else { return Ok(0) };
        batch.end = fed.end == ReadEnd::EndOfSource;
        beside.input = Some(fed.source);
        let hits = fed.block.hits.len();
        if batch.block.hits.is_empty() && batch.block.triggers.is_empty() {
            std::mem::swap(&mut batch.block, &mut fed.block);
        } else {
            batch.block.hits.extend_from(&fed.block.hits, 0..hits, 0);
        }
        self.feed.give_back(fed.block);
        Ok(hits)
    }

    fn known_items(&self) -> Option<u64> {
        self.known
    }

    fn bytes_read(&self) -> Option<u64> {
        self.bytes.as_ref().map(ByteCount::get)
    }

    fn reading_time(&self) -> Option<Duration> {
        Some(self.reading)
    }

    fn dropped(&self) -> Vec<(&'static str, u64)> {
        let of_input = |way: &Way| way.of_input.map(|count| (way.key, count(&self.counts)));
        let mut dropped: Vec<_> = WAYS.iter().filter_map(of_input).collect();
        dropped.extend([
            ("datagrams", self.socket.as_ref().and_then(dropped_datagrams).unwrap_or(0)),
            (TOO_FAST, self.not_taken),
            (UNUSABLE_INPUTS, self.feed.troubles().unusable_inputs),
        ]);
        dropped
    }

    fn misread(&self) -> Option<String> {
        let PixelCounts { hits, outside, triggers, control, unknown, malformed, .. } = self.counts;
        // Chunk headers count as words of a known kind, even if all words in the chunks are of unknown kinds.
        let is_unknown = unknown > 0 && triggers == 0 && unknown >= control;
        let message = match hits + outside {
            0 if malformed > 0 => {
                "there is no hit in the input, and parts of it contradict its format: see --format"
            }
            0 if is_unknown => "there is no hit in the input, and no word of a known kind: see --format",
            _ => return None,
        };
        Some(message.into())
    }

    fn problems(&self) -> (Vec<String>, u64) {
        let troubles = self.feed.troubles();
        (troubles.problems.clone(), troubles.count)
    }

    fn facts(&self) -> Map<String, Value> {
        let PixelCounts { triggers, restarts, runs, .. } = self.counts;
        let facts = [("triggers", triggers), ("runs", runs), ("clock_restarts", restarts)];
        let mut facts: Map<_, _> =
            facts.iter().map(|(name, count)| (name.to_string(), json!(count))).collect();
        let chips: Vec<_> = self.counts.outside_chips.iter().collect();
        if !chips.is_empty() {
            facts.insert(OUTSIDE_CHIPS.into(), json!(chips));
        }
        facts
    }
}

/// A stream and its known properties.
struct Found {
    stream: Box<dyn PixelStream>,
    layout: Layout,
    disorder_us: f64,
    is_live: bool,
    socket: Option<UdpSocket>,
    /// Total number of hits, if known.
    known: Option<u64>,
    /// Whether the times of the hits are numbers of frames.
    is_of_frames: bool,
    /// Format of the hits; none for simulated hits.
    format: Option<PixelFormat>,
}

/// Opens the inputs of a request.
///
/// # Errors
/// Returns errors of the readers and sockets.
pub fn open(request: &Request, host: Host<'_>) -> Result<Opened> {
    let names = &request.inputs;
    let TimepixConfig { filter, calibration, .. } = &request.config.timepix;
    filter.check(calibration.is_some())?;
    let options = options(request);
    let bytes = options.bytes.clone();
    let Found { mut stream, layout, disorder_us, is_live, socket, known, is_of_frames, format } =
        match inputs::special(names, &["sim:", "tcp://", "udp://"])? {
            Some(spec) if spec.starts_with("sim:") => {
                let parsed: PixelSimSpec = spec.parse()?;
                let stream = SimulatedPixels::new(spec, parsed);
                Found {
                    layout: Layout::single(256, 256)?,
                    disorder_us: stream.disorder_us(),
                    stream: Box::new(stream),
                    is_live: false,
                    socket: None,
                    known: Some(parsed.hits),
                    is_of_frames: parsed.frame_us > 0.0,
                    format: None,
                }
            }
            Some(address) => {
                let (reader, socket) = listen(address, options, host)?;
                Found { socket, ..from_reader(reader, true) }
            }
            None => from_reader(PixelReader::open(&inputs::sources(names), options)?, false),
        };
    if request.pixels.katherine != KatherineOptions::default() && format != Some(PixelFormat::Katherine) {
        let message = "--katherine-unit is for the format katherine, but the input has another format";
        return Err(Error::Config(message.into()));
    }
    let has_columns = matches!(format, Some(PixelFormat::Npy | PixelFormat::Parquet));
    if request.pixels.time_unit.is_some() && !has_columns {
        let message = "--time-unit is for the formats npy and parquet, but the input has another format";
        return Err(Error::Config(message.into()));
    }
    if is_of_frames && request.config.timepix.time_walk.is_some() {
        let message = "timepix: time_walk corrects times of arrival, and hits of frames have none";
        return Err(Error::Config(message.into()));
    }
    let (mut looked_at, mut end) = (LookedAt::default(), ReadEnd::More);
    let mut masked = Vec::new();
    if let Some(limit) = request.pixels.mask_hot {
        while looked_at.block.hits.len() < HOT_SAMPLE && end == ReadEnd::More {
            end = stream.read(HOT_SAMPLE, &mut looked_at.block)?;
        }
        masked = hot_pixels(&looked_at.block, limit);
    }
    (looked_at.source, looked_at.is_end) = (stream.source(), end == ReadEnd::EndOfSource);
    let counts = stream.counts();
    let feed = Feed::start(stream, request.config.timepix.block_hits, request.pixels.when_full)?;
    let source = PixelSource {
        feed,
        looked_at: Some(looked_at).filter(|looked_at| !looked_at.block.hits.is_empty()),
        counts,
        reading: Duration::ZERO,
        bytes: format.map(|_| bytes),
        known,
        not_taken: 0,
        socket,
        cancel: host.cancel.clone(),
    };
    let pairing = request.pixels.trigger.map(|edge| Arc::new(Pairing::new(edge)));
    let calibration = request.config.timepix.calibration.clone();
    let detector = PixelDetector { layout, calibration, disorder_us, masked, is_of_frames, is_live, pairing };
    Ok(Opened { source: Box::new(source), detector: Box::new(detector) })
}

/// Returns the pixels that have more than `limit` hits in a block.
fn hot_pixels(block: &PixelBlock, limit: u64) -> Vec<(u16, u16)> {
    let mut counts = HashMap::new();
    let pixels = block.hits.x.iter().zip(&block.hits.y[..]);
    pixels.for_each(|(x, y)| *counts.entry((*x, *y)).or_insert(0u64) += 1);
    counts.into_iter().filter(|(_, count)| *count > limit).map(|(pixel, _)| pixel).collect()
}

fn from_reader(reader: PixelReader, is_live: bool) -> Found {
    let (layout, format) = (reader.layout().clone(), reader.format());
    Found {
        stream: Box::new(reader),
        layout,
        disorder_us: format.usual_disorder_us(),
        is_live,
        socket: None,
        known: None,
        is_of_frames: format.is_of_frames(),
        format: Some(format),
    }
}

fn options(request: &Request) -> PixelOptions {
    let format = match request.format {
        Format::Pixels(format) => format,
        _ => PixelFormat::Auto,
    };
    let pixels = &request.pixels;
    PixelOptions {
        format,
        layout: pixels.layout.clone(),
        katherine: pixels.katherine,
        disorder_us: request.config.timepix.disorder_us,
        toa_bits: pixels.toa_bits,
        time_unit: pixels.time_unit,
        bytes: ByteCount::default(),
    }
}
