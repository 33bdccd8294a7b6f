//! The sequence of the Velo: finds tracks in hits or raw banks.

use super::banks::NaiveDecoder;
use super::event_source::EventSource;
use super::inputs;
use super::over_banks::{pool, tracker_rules};
use super::parts::Parts;
use super::raw::{self, Found, warn_of_format};
use super::rows;
use crate::comparison::Comparison;
use crate::display::gather::{Gather, GatherTracks};
use crate::embed::{self, ConfiguredEngine};
use crate::system::{Detector, Runs};
use crate::{
    Beside, Check, CheckOptions, Checked, Chunk, Config, Host, Opened, Preset, Request, Source, Summary,
    System, Unparsed,
};
use peloton::engine::{Algorithm, AlgorithmInfo, Batch, Events, Sliced, Spread};
use peloton::event::{BadBanks, VeloTracks};
use peloton::velo::{FitConfig, Velo, VeloBanks, VeloConfig, VeloInputBatch, VeloSensors};
use peloton::{Error, Result};
use peloton_io::input::{ByteCount, CutTexts, Format, Geometry, ProblemLog, VeloReader};
use peloton_plot::text;
use peloton_sim::{SimDetector, SimReader, SimSpec};
use peloton_truth::{Rules, VeloHits, VeloLosses, VeloPulls};

const NAME: &str = "velo";

/// The system of the sequence velo, which finds Velo tracks from Velo banks or hits.
pub struct VeloSystem;

/// The detector that the events come from.
struct VeloDetector {
    /// The Velo, if events are raw banks; none if events are hits.
    parts: Option<Parts>,
    /// Default rules for the check of tracks.
    rules: Rules,
}

impl VeloDetector {
    /// Makes the sequence that reconstructs these events.
    ///
    /// # Errors
    /// Returns errors of the configuration.
    fn sequence(&self, config: &Config) -> Result<Velo> {
        match &self.parts {
            Some(parts) => parts.velo(config),
            None => Velo::new(config.level()?, config.velo.clone()),
        }
    }
}

/// Reads the Velo of a geometry.
fn parts(request: &Request, geometry: &Geometry) -> Result<Option<Parts>> {
    Parts::new(&["velo_tracks"], request, geometry).map(Some)
}

/// Texts of events that were cut from the input but not parsed.
struct Texts {
    cut: CutTexts,
    problems: ProblemLog,
}

impl Unparsed for Texts {
    fn is_empty(&self) -> bool {
        self.cut.is_empty()
    }

    fn parse(&mut self, threads: &dyn Spread, batch: &mut dyn Batch, beside: &mut Beside) -> Result<()> {
        let batch: &mut VeloInputBatch = batch.of_mut()?;
        self.cut.parse(threads, batch.hits_mut(), &mut beside.truth, &mut self.problems.lock())
    }
}

/// Makes the source of the events that a reader of texts reads.
fn texts(request: &Request, mut reader: VeloReader, bytes: ByteCount) -> EventSource {
    let problems = reader.problems().clone();
    let log = problems.clone();
    let source = EventSource::files(no_events, bytes, problems, move |events, _, beside| {
        let texts = beside.unparsed(|| Texts { cut: CutTexts::default(), problems: log.clone() });
        reader.cut(events, &mut texts.cut)
    });
    EventSource { waits_for_faults: inputs::waits_for_faults(request), ..source }
}

fn no_events() -> Box<dyn Batch> {
    Box::new(VeloInputBatch::default())
}

fn raw_banks(request: &Request, source: EventSource, geometry: &Geometry) -> Result<Opened> {
    let detector = VeloDetector { parts: parts(request, geometry)?, rules: Rules::Lhcb };
    Ok(Opened { source: Box::new(EventSource { empty: no_events, ..source }), detector: Box::new(detector) })
}

fn hits(request: &Request, source: EventSource, rules: Rules, host: Host<'_>) -> Opened {
    if request.geometry.is_some() {
        host.warn("--geometry has no effect: events of hits need no geometry");
    }
    if request.velo_banks != VeloBanks::Auto {
        host.warn("--velo-banks has no effect: events of hits have no raw banks");
    }
    if request.config.bad_banks != BadBanks::default() {
        host.warn("--bad-banks has no effect: events of hits have no raw banks");
    }
    Opened { source: Box::new(source), detector: Box::new(VeloDetector { parts: None, rules }) }
}

impl System for VeloSystem {
    fn name(&self) -> &'static str {
        NAME
    }

    fn algorithms(&self, _config: &Config) -> Vec<&'static AlgorithmInfo> {
        vec![Velo::INFO]
    }

    fn presets(&self) -> &'static [Preset] {
        use Preset::{Best, Fast, Forwarding, Paper, PaperLiteral, TwoPass};
        &[Best, Fast, TwoPass, Paper, PaperLiteral, Forwarding]
    }

    fn open(&'static self, request: &Request, truth: bool, host: Host<'_>) -> Result<Opened> {
        if let Some(spec) = inputs::special(&request.inputs, &["sim:"])? {
            let spec: SimSpec = spec.parse()?;
            warn_of_format(request, host);
            if spec.detector == SimDetector::Lhcb {
                let (source, geometry) = raw::simulated(request, spec, truth)?;
                return raw_banks(request, source, &geometry);
            }
            let (first, count) = (request.events.first as u64, request.events.count.map(|n| n as u64));
            let events = spec.events.saturating_sub(first).min(count.unwrap_or(u64::MAX));
            let reader = SimReader::new(spec).with_range(first, count);
            let mut reader = reader.with_threads(request.config.thread_count());
            let source = EventSource::simulated(no_events, events, move |events, batch, beside| {
                let batch: &mut VeloInputBatch = batch.of_mut()?;
                reader.read(events, batch.hits_mut(), &mut beside.truth)
            });
            return Ok(hits(request, source, Rules::Lhcb, host));
        }
        let options = inputs::options(request, truth);
        let bytes = options.bytes.clone();
        let reader = match raw::find(request, options.clone())? {
            Found::Raw(source, geometry) => return raw_banks(request, source, &geometry),
            Found::OtherPipe(name, stream) => VeloReader::from_stream(&name, stream, options),
            Found::OtherFiles(sources) => VeloReader::open(&sources, options)?,
        };
        Ok(hits(request, texts(request, reader, bytes), Rules::Json, host))
    }

    fn embed(&self, request: &Request) -> Result<ConfiguredEngine> {
        let parts = match &request.geometry {
            Some(_) => parts(request, &embed::geometry(request, NAME)?)?,
            None => None,
        };
        let velo = VeloDetector { parts, rules: Rules::Json }.sequence(&request.config)?;
        Ok(ConfiguredEngine::of(velo, request.config.clone()))
    }

    fn batch_items(&self, _config: &Config, threads: usize) -> usize {
        256.max(16 * threads)
    }

    fn reads(&self, format: Format) -> bool {
        use Format::{Auto, Banks, Mdf, VeloJson, VeloNdjson};
        matches!(format, Auto | VeloJson | VeloNdjson | Mdf | Banks)
    }

    fn is_preset(&self, config: &Config) -> bool {
        config.velo == VeloConfig::preset(config.preset.velo())
    }
}

impl Detector for VeloDetector {
    fn executor(&self, request: &Request, config: &Config) -> Result<Runs> {
        let sequence = self.sequence(config)?;
        if request.is_on_cpu() {
            return pool(sequence, config);
        }
        super::device::velo(request, config, sequence)
    }

    fn track_rules(&self, _request: &Request, options: &CheckOptions) -> Result<Rules> {
        tracker_rules(options, self.rules)
    }

    fn check(
        &self,
        request: &Request,
        options: &CheckOptions,
        source: &mut dyn Source,
    ) -> Result<Box<dyn Check>> {
        let rules = self.track_rules(request, options)?;
        source.check_by(rules);
        Ok(Box::new(VeloCheck {
            compared: Comparison::new(request, rules, options)?,
            pulls: VeloPulls::default(),
            fit: request.config.velo.fit.clone(),
            losses: options.losses.then(VeloLosses::default),
        }))
    }

    fn gather(&self, request: &Request, source: &mut dyn Source) -> Result<Box<dyn Gather>> {
        GatherTracks::of(self, request, source, Some(rows::velo))
    }

    fn decoders(&self) -> Vec<NaiveDecoder> {
        // Without a geometry, hits are drawn with the nominal detector.
        let nominal = || vec![NaiveDecoder::Velo(VeloSensors::nominal().into(), VeloBanks::Auto)];
        self.parts.as_ref().map_or_else(nominal, Parts::decoders)
    }

    fn bank_bytes(&self, batch: &dyn Batch) -> Option<u64> {
        let velo = self.sequence(&Config::default()).ok()?;
        velo.bank_bytes(batch.events())
    }
}

/// Compares tracks with true particles.
struct VeloCheck {
    compared: Comparison,
    pulls: VeloPulls,
    fit: FitConfig,
    losses: Option<VeloLosses>,
}

impl Check for VeloCheck {
    fn add(&mut self, chunk: &Chunk<Sliced>) -> Result<()> {
        let Chunk { batch, beside, result, .. } = chunk;
        let hits = match batch.events() {
            Events::VeloHits(hits) => Some(hits),
            _ => None,
        };
        let events = result.events_of::<VeloTracks>().zip(&beside.truth).zip(&beside.ids);
        for (number, (((tracks, event), truth), id)) in events.enumerate() {
            self.compared.event(id, truth, || tracks.hit_lists(event).map(|hits| (hits, None)))?;
            let hits = hits.map(|hits| hits.event(number));
            let places = hits.map(|event| VeloHits { fit: &self.fit, event });
            self.pulls.event(truth, tracks, event, places);
            if let Some(losses) = &mut self.losses {
                let message =
                    "--losses needs events of hits: for raw banks only the identifiers of hits are known";
                let hits = hits.ok_or_else(|| Error::Unsupported(message.into()))?;
                losses.event(truth, &hits, tracks.hit_lists(event));
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _summary: &Summary, host: Host<'_>) -> Result<Checked> {
        let Self { compared, pulls, losses, .. } = *self;
        compared.finish(host, |checked| {
            if let Some(losses) = losses.map(|losses| losses.report()) {
                checked.add("losses", &text::losses(&losses), &losses);
            }
            if let Some(pulls) = pulls.report() {
                checked.add("states", &text::velo_pulls(&pulls), &pulls);
            }
        })
    }
}
