//! The Velo: hits or raw banks to tracks.

use super::banks::{NaiveDecoder, blame, lacking, velo_hits};
use super::inputs;
use super::over_banks::{hits_by, pool, tracker_rules};
use super::raw::{Found, RawSource, warn_of_format};
use super::rows;
use super::text_source::TextSource;
use crate::against::Against;
use crate::display::{Gather, GatherTracks, HitsOf};
use crate::embed::{self, AnyEngine};
use crate::summary::object;
use crate::system::{Detector, Runs};
use crate::totals::{BankSource, UNUSABLE_INPUTS};
use crate::truth_check::{KnownHits, report};
use crate::truth_output::TruthOutput;
use crate::{
    Beside, Check, CheckOptions, Checked, Chunk, Config, CountUnknown, Host, Opened, Preset, Request, Source,
    Summary, System,
};
use peloton::engine::{Algorithm, AlgorithmInfo, Batch, Sliced};
use peloton::event::{BadBanks, RawBatch, VELO_MODULES, VeloEvent, VeloTracks};
use peloton::velo::{FitConfig, Velo, VeloBanks, VeloConfig, VeloInputBatch, VeloSensors};
use peloton::{Error, Result, Status};
use peloton_io::input::{Format, Geometry, VeloReader};
use peloton_plot::Sensor;
use peloton_plot::text;
use peloton_sim::{SimDetector, SimReader, SimSpec};
use peloton_truth::{Checker, EventRows, Rules, VeloHits, VeloLosses, VeloPulls};
use serde_json::{Map, Value, json};
use std::sync::Arc;

const NAME: &str = "velo";

/// Finds Velo tracks from Velo banks or hits.
pub struct VeloSystem;

/// The detector that the events come from.
struct VeloDetector {
    /// The sensors, when events are raw banks.
    sensors: Option<Arc<VeloSensors>>,
    banks: VeloBanks,
    /// x and y of the beam line, mm.
    beam: [f32; 2],
    /// Default rules for the check of tracks.
    rules: Rules,
}

impl VeloDetector {
    /// The sequence for these events.
    ///
    /// # Errors
    /// Errors of the configuration.
    fn sequence(&self, config: &Config) -> Result<Velo> {
        let velo = Velo::new(config.level()?, config.velo.clone())?;
        Ok(match &self.sensors {
            Some(sensors) => {
                let velo = velo.with_sensors(sensors.clone(), self.banks).with_beam(self.beam);
                velo.with_bad_banks(config.bad_banks)
            }
            None => velo,
        })
    }
}

/// Events of hits, or of raw banks.
enum VeloSource {
    Files(Box<TextSource>),
    Raw(Box<RawSource>),
    Simulation(SimReader, u64),
}

/// The raw banks of a batch.
fn banks_of(batch: &mut dyn Batch) -> Result<&mut RawBatch> {
    batch.of_mut::<VeloInputBatch>().map(VeloInputBatch::banks_mut)
}

impl Source for VeloSource {
    fn empty(&self) -> Box<dyn Batch> {
        Box::new(VeloInputBatch::default())
    }

    fn cut(&mut self, events: usize, batch: &mut dyn Batch, beside: &mut Beside) -> Result<usize> {
        match self {
            Self::Files(source) => source.cut(events, beside),
            Self::Raw(source) => source.cut_banks(events, batch, beside, banks_of),
            Self::Simulation(reader, _) => {
                let batch: &mut VeloInputBatch = batch.of_mut()?;
                reader.read(events, batch.hits_mut(), &mut beside.truth)
            }
        }
    }

    fn waits_for_faults(&self) -> bool {
        match self {
            Self::Files(source) => source.waits_for_faults,
            Self::Raw(source) => source.waits_for_faults(),
            Self::Simulation(..) => false,
        }
    }

    fn bytes_read(&self) -> Option<u64> {
        match self {
            Self::Files(source) => Some(source.bytes_read()),
            Self::Raw(source) => source.bytes_read(),
            Self::Simulation(..) => None,
        }
    }

    fn known_items(&self) -> Option<u64> {
        match self {
            Self::Files(_) => None,
            Self::Raw(source) => source.known_items(),
            Self::Simulation(_, events) => Some(*events),
        }
    }

    fn problems(&self) -> (Vec<String>, u64) {
        match self {
            Self::Files(source) => source.problems(),
            Self::Raw(source) => source.problems(),
            Self::Simulation(..) => (Vec::new(), 0),
        }
    }

    fn dropped(&self) -> Vec<(&'static str, u64)> {
        match self {
            Self::Files(source) => vec![(UNUSABLE_INPUTS, source.unusable_inputs())],
            Self::Raw(source) => source.dropped(),
            Self::Simulation(..) => Vec::new(),
        }
    }

    fn facts(&self) -> Map<String, Value> {
        match self {
            Self::Raw(source) => source.facts(),
            Self::Files(_) | Self::Simulation(..) => Map::new(),
        }
    }

    fn count_unknown(&self, rules: Rules) -> CountUnknown {
        let in_banks = match self {
            Self::Raw(source) => Some(source.count_unknown_in_banks(rules)),
            Self::Files(_) | Self::Simulation(..) => None,
        };
        Box::new(move |batch, event, hits| match (batch.of(), &in_banks) {
            (Ok(VeloInputBatch::Hits(events)), _) => {
                let count = events.view().event(event).len();
                hits.filter(|hit| **hit as usize >= count).count() as u64
            }
            (Ok(VeloInputBatch::Banks(banks)), Some(in_banks)) => in_banks(banks, event, hits),
            (Ok(VeloInputBatch::Banks(_)), None) | (Err(_), _) => 0,
        })
    }

    fn check_by(&mut self, rules: Rules) {
        if let Self::Raw(source) = self {
            source.check_by(rules);
        }
    }
}

fn raw(request: &Request, source: RawSource, geometry: &Geometry) -> Result<Opened> {
    let detector = VeloDetector {
        sensors: Some(Arc::new(geometry.velo()?)),
        banks: request.velo_banks,
        beam: geometry.beam()?,
        rules: Rules::Lhcb,
    };
    Ok(Opened { source: Box::new(VeloSource::Raw(Box::new(source))), detector: Box::new(detector) })
}

fn hits(request: &Request, source: VeloSource, rules: Rules, host: Host<'_>) -> Opened {
    if request.geometry.is_some() {
        host.warn("--geometry has no effect: events of hits need no geometry");
    }
    if request.velo_banks != VeloBanks::Auto {
        host.warn("--velo-banks has no effect: events of hits have no raw banks");
    }
    if request.config.bad_banks != BadBanks::default() {
        host.warn("--bad-banks has no effect: events of hits have no raw banks");
    }
    let detector = VeloDetector { sensors: None, banks: VeloBanks::Auto, beam: [0.0; 2], rules };
    Opened { source: Box::new(source), detector: Box::new(detector) }
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
        let names = &request.inputs;
        if let Some(spec) = inputs::special(names, &["sim:"])? {
            let spec: SimSpec = spec.parse()?;
            warn_of_format(request, host);
            if spec.detector == SimDetector::Lhcb {
                let (source, geometry) = RawSource::simulated(request, spec, truth)?;
                return raw(request, source, &geometry);
            }
            let (first, count) = (request.events.first as u64, request.events.count.map(|n| n as u64));
            let events = spec.events.saturating_sub(first).min(count.unwrap_or(u64::MAX));
            let reader = SimReader::new(spec).with_range(first, count);
            let source = VeloSource::Simulation(reader.with_threads(request.config.thread_count()), events);
            return Ok(hits(request, source, Rules::Lhcb, host));
        }
        let options = inputs::options(request, truth);
        let reader = match RawSource::find(request, names, truth)? {
            Found::Raw(source, geometry) => return raw(request, source, &geometry),
            Found::OtherPipe(name, stream) => VeloReader::from_stream(&name, stream, options),
            Found::OtherFiles(sources) => VeloReader::open(&sources, options)?,
        };
        Ok(hits(request, VeloSource::Files(Box::new(TextSource::new(reader, request))), Rules::Json, host))
    }

    fn embed(&self, request: &Request) -> Result<AnyEngine> {
        let (sensors, beam) = match &request.geometry {
            Some(_) => {
                let geometry = embed::geometry(request, NAME)?;
                (Some(Arc::new(geometry.velo()?)), geometry.beam()?)
            }
            None => (None, [0.0; 2]),
        };
        let detector = VeloDetector { sensors, banks: request.velo_banks, beam, rules: Rules::Json };
        let velo = detector.sequence(&request.config)?;
        Ok(AnyEngine::of(velo, request.config.clone()))
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
        let losses = options.losses.then(VeloLosses::default);
        Ok(Box::new(VeloCheck {
            checker: Checker::new(rules),
            known: KnownHits::default(),
            pulls: VeloPulls::default(),
            fit: request.config.velo.fit.clone(),
            losses,
            tables: options.tables,
            rows: options.truth_tables(request)?,
            against: Against::open(options, rules)?,
            is_whole: request.events.count.is_none(),
        }))
    }

    fn gather(&self, request: &Request, source: &mut dyn Source) -> Result<Box<dyn Gather>> {
        let rules = self.track_rules(request, &CheckOptions::default())?;
        source.check_by(rules);
        // Without a geometry, hits are drawn with the nominal detector.
        let sensors = self.sensors.clone().unwrap_or_else(|| Arc::new(VeloSensors::nominal()));
        let of_banks = hits_by(vec![NaiveDecoder::Velo(sensors.clone(), self.banks)]);
        let hits: HitsOf = Box::new(move |batch, event| match batch.of() {
            Ok(VeloInputBatch::Hits(hits)) => velo_hits(&hits.view().event(event)),
            Ok(VeloInputBatch::Banks(banks)) => of_banks(banks, event),
            Err(_) => Vec::new(),
        });
        let sensors = Sensor::of_velo(&sensors).collect();
        Ok(Box::new(GatherTracks { hits, rows: Some(rows::velo), rules, sensors }))
    }

    fn diagnose(&self, batch: &dyn Batch, event: usize, status: Status) -> Option<String> {
        match batch.of().ok()? {
            VeloInputBatch::Hits(hits) => blame_hit(&hits.view().event(event), status),
            VeloInputBatch::Banks(banks) => {
                let decoder = NaiveDecoder::Velo(self.sensors.clone()?, self.banks);
                blame(&[decoder], &banks.view().event(event), status)
            }
        }
    }

    fn lacking(&self, batch: &dyn Batch, events: &[usize], has_damaged: bool) -> Vec<BankSource> {
        let (Ok(VeloInputBatch::Banks(banks)), Some(sensors)) = (batch.of(), &self.sensors) else {
            return Vec::new();
        };
        lacking(&[NaiveDecoder::Velo(sensors.clone(), self.banks)], banks, events, has_damaged)
    }

    fn bank_bytes(&self, batch: &dyn Batch) -> Option<u64> {
        let velo = self.sequence(&Config::default()).ok()?;
        velo.bank_bytes(batch.events())
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

/// Compares tracks with true particles.
struct VeloCheck {
    checker: Checker,
    known: KnownHits,
    pulls: VeloPulls,
    fit: FitConfig,
    losses: Option<VeloLosses>,
    tables: bool,
    rows: Option<TruthOutput>,
    against: Option<Against>,
    /// Whether all events of the inputs are checked.
    is_whole: bool,
}

impl Check for VeloCheck {
    fn add(&mut self, chunk: &Chunk<Sliced>) -> Result<()> {
        let Chunk { batch, beside, result, .. } = chunk;
        let batch: &VeloInputBatch = batch.of()?;
        let events = result.events_of::<VeloTracks>().zip(&beside.truth).zip(&beside.ids);
        for (number, (((tracks, event), truth), id)) in events.enumerate() {
            self.checker.event(truth, tracks.hit_lists(event));
            if let Some(rows) = &mut self.rows {
                rows.add(EventRows::of_event(id, truth, &self.checker.last_event(truth)))?;
            }
            if let Some(against) = &mut self.against {
                against.event(id, truth, self.checker.found())?;
            }
            self.known.event(truth, tracks.hit_lists(event));
            let hits = match batch {
                VeloInputBatch::Hits(hits) => Some(hits.view().event(number)),
                VeloInputBatch::Banks(_) => None,
            };
            let places = hits.map(|event| VeloHits { fit: &self.fit, event });
            self.pulls.event(truth, tracks, event, places);
            if let Some(losses) = &mut self.losses {
                let VeloInputBatch::Hits(hits) = batch else {
                    let message =
                        "--losses needs events of hits: for raw banks only the identifiers of hits are known";
                    return Err(Error::Unsupported(message.into()));
                };
                losses.event(truth, &hits.view().event(number), tracks.hit_lists(event));
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _summary: &Summary, host: Host<'_>) -> Result<Checked> {
        self.known.tell(host);
        self.rows.map_or(Ok(()), TruthOutput::finish)?;
        let report = report(self.checker)?;
        let mut checked =
            Checked { text: report.to_string(), json: object(&report), is_right: true, failure: None };
        if self.tables {
            checked.text.push_str(&text::tables(&report));
        }
        if let Some(losses) = &self.losses {
            let losses = losses.report();
            checked.text.push_str(&text::losses(&losses));
            checked.json.insert("losses".into(), json!(losses));
        }
        if let Some(pulls) = self.pulls.report() {
            checked.text.push_str(&text::velo_pulls(&pulls));
            checked.json.insert("states".into(), json!(pulls));
        }
        self.against.map_or(Ok(()), |against| against.finish(host, self.is_whole, &mut checked))?;
        Ok(checked)
    }
}
