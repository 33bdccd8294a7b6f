//! Where events come from: files, directories, standard input, or a simulation.

use super::options::{InputArgs, ReportArgs};
use super::{console, interrupt};
use peloton::event::{Counters, RawBatch, TruthEvent, VeloBatch};
use peloton::pipeline::{Config, Engine, Events, Geometry, Sequence};
use peloton::velo::VeloBanks;
use peloton::{Error, Result};
use peloton_io::input::{
    EventNote, Format, RawReader, ReadOptions, Source, VeloReader, find_raw, is_pipe, is_raw_stream,
};
use peloton_sim::{LhcbDetector, LhcbReader, SimDetector, SimReader, SimSpec};
use peloton_truth::{HitsOf, Rules, decode_mc};
use std::fs::File;
use std::io::{Cursor, Read, stdin};
use std::path::Path;
use std::sync::Arc;

/// What is simulated when nobody names an input.
const DEFAULT_SIMULATION: &str = "sim:velo,events=1000,seed=1";

const DEFAULT_RAW_SIMULATION: &str = "sim:lhcb,events=200,seed=1";

/// A source of events, whatever its kind.
pub enum EventSource {
    /// Files and streams of hits.
    Files(Box<VeloReader>),
    /// Files and streams of raw banks.
    Raw(Box<RawSource>),
    /// The built-in simulation, and how many events it gives.
    Simulation(SimReader, u64),
}

/// Where raw banks come from.
enum RawOrigin {
    Files(Box<RawReader>),
    Simulation(LhcbReader),
}

/// Raw banks and what decoding them needs.
pub struct RawSource {
    origin: RawOrigin,
    notes: Vec<EventNote>,
    /// The hits that true particles list, when the truth is asked for.
    truth: Option<HitsOf>,
    geometry: Arc<Geometry>,
    banks: VeloBanks,
}

/// A batch of events as their source gives them.
pub enum EventBatch {
    /// Hits.
    Hits(VeloBatch),
    /// Raw banks.
    Banks(RawBatch),
}

impl Default for EventBatch {
    fn default() -> Self {
        Self::Hits(VeloBatch::default())
    }
}

impl EventBatch {
    /// Forgets all events and keeps the memory.
    pub fn clear(&mut self) {
        match self {
            Self::Hits(batch) => batch.clear(),
            Self::Banks(batch) => batch.clear(),
        }
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.event_ids().len()
    }

    /// Whether there is no event at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers of the events in their source.
    pub fn event_ids(&self) -> &[u64] {
        match self {
            Self::Hits(batch) => &batch.event_id,
            Self::Banks(batch) => batch.event_ids(),
        }
    }

    /// What the engine takes.
    pub fn view(&self) -> Events<'_> {
        match self {
            Self::Hits(batch) => batch.view().into(),
            Self::Banks(batch) => batch.view().into(),
        }
    }

    /// Hits or words in memory.
    pub fn items(&self) -> usize {
        match self {
            Self::Hits(batch) => batch.x.len(),
            Self::Banks(batch) => batch.words(),
        }
    }

    /// Number of hits, which for raw banks only decoding tells: `counters` are those of `passes` passes.
    pub fn hits(&self, counters: &Counters, passes: u64) -> u64 {
        match self {
            Self::Hits(batch) => batch.x.len() as u64,
            Self::Banks(_) => counters.stages[0].items_out / passes.max(1),
        }
    }

    fn hits_mut(&mut self) -> &mut VeloBatch {
        if let Self::Banks(_) = self {
            *self = Self::Hits(VeloBatch::default());
        }
        match self {
            Self::Hits(batch) => batch,
            Self::Banks(_) => unreachable!("just replaced"),
        }
    }

    fn banks_mut(&mut self) -> &mut RawBatch {
        if let Self::Hits(_) = self {
            *self = Self::Banks(RawBatch::default());
        }
        match self {
            Self::Banks(batch) => batch,
            Self::Hits(_) => unreachable!("just replaced"),
        }
    }
}

impl InputArgs {
    /// Opens the inputs; without any, the built-in simulation.
    ///
    /// # Errors
    /// [`Error::Config`] for inputs that cannot go together, and those of the readers.
    pub fn open(&self, config: &Config, truth: bool, report: &ReportArgs) -> Result<EventSource> {
        let source = self.open_any(config.sequence, truth, report)?;
        match (config.sequence, &source) {
            (Sequence::Ut | Sequence::SciFi, EventSource::Files(_) | EventSource::Simulation(..)) => {
                let message = "takes raw banks: MDF, bank containers or sim:lhcb, not Velo hits";
                Err(Error::Config(format!("sequence {} {message}", config.sequence)))
            }
            _ => Ok(source),
        }
    }

    fn open_any(&self, sequence: Sequence, truth: bool, report: &ReportArgs) -> Result<EventSource> {
        let default = match sequence {
            Sequence::Ut | Sequence::SciFi => [DEFAULT_RAW_SIMULATION.to_string()],
            Sequence::Velo | Sequence::Timepix | Sequence::Cylinder => [DEFAULT_SIMULATION.to_string()],
        };
        let inputs = if self.inputs.is_empty() { &default[..] } else { &self.inputs };
        if let Some(spec) = inputs.iter().find(|input| input.starts_with("sim:")) {
            if inputs.len() > 1 {
                return Err(Error::Config(format!("{spec} cannot stand beside other inputs")));
            }
            let spec: SimSpec = spec.parse()?;
            if self.format != Format::Auto && !report.quiet {
                console::warn("--format has no effect: the events are simulated");
            }
            let (first, count) = (self.events.first as u64, self.events.count.map(|count| count as u64));
            if spec.detector == SimDetector::Lhcb {
                return self.raw(RawOrigin::Simulation(LhcbReader::new(spec, first, count)), truth);
            }
            self.say_what_has_no_effect(report);
            let events = spec.events.saturating_sub(first).min(count.unwrap_or(u64::MAX));
            return Ok(EventSource::Simulation(SimReader::new(spec).with_range(first, count), events));
        }
        let options = ReadOptions {
            format: self.format,
            first: self.events.first,
            count: self.events.count,
            strict: self.strict,
            truth,
        };
        if let [name] = inputs
            && let Some(mut stream) = open_pipe(name)?
        {
            // What is looked at comes first again: a pipe is read but once.
            let mut head = Vec::new();
            stream.by_ref().take(HEAD).read_to_end(&mut head).map_err(|e| Error::io(name, e))?;
            let is_raw = self.format == Format::Mdf || self.format == Format::Auto && is_raw_stream(&head);
            let stream = Cursor::new(head).chain(stream);
            if is_raw {
                let reader = RawReader::from_stream(name, stream, options);
                return self.raw(RawOrigin::Files(Box::new(reader)), truth);
            }
            self.say_what_has_no_effect(report);
            let reader = VeloReader::from_stream(name, stream, options);
            return Ok(EventSource::Files(Box::new(reader)));
        }
        let source = |input: &String| if input == "-" { Source::Stdin } else { Source::Path(input.into()) };
        let sources: Vec<_> = inputs.iter().map(source).collect();
        if self.is_raw(&sources)? {
            return self.raw(RawOrigin::Files(Box::new(RawReader::open(&sources, options)?)), truth);
        }
        self.say_what_has_no_effect(report);
        VeloReader::open(&sources, options).map(Box::new).map(EventSource::Files)
    }

    /// Whether the first file holds raw banks; what follows must be of its kind.
    fn is_raw(&self, sources: &[Source]) -> Result<bool> {
        match (self.format, sources.first()) {
            (Format::Auto, Some(Source::Path(path))) if is_pipe(path) => Err(Error::Config(format!(
                "{} is a pipe, read but once: beside other inputs it needs --format",
                path.display()
            ))),
            (Format::Auto, Some(Source::Path(path))) => Ok(find_raw(path)?.is_some()),
            (format, _) => Ok(format.is_raw()),
        }
    }

    fn raw(&self, origin: RawOrigin, truth: bool) -> Result<EventSource> {
        let simulated = matches!(origin, RawOrigin::Simulation(_));
        let geometry = open_geometry(self.geometry.as_deref(), simulated)?;
        let origin = match origin {
            RawOrigin::Files(reader) => {
                RawOrigin::Files(Box::new(reader.judging_truth(|mc| decode_mc(mc, HitsOf::All).map(drop))))
            }
            simulation => simulation,
        };
        let (banks, truth) = (self.velo_banks, truth.then_some(HitsOf::Velo));
        Ok(EventSource::Raw(Box::new(RawSource { origin, notes: Vec::new(), truth, geometry, banks })))
    }

    /// Warns when `--events` begins behind the last event.
    pub fn say_if_beyond(&self, events: u64, report: &ReportArgs) {
        let first = self.events.first;
        if events == 0
            && first > 0
            && self.events.count != Some(0)
            && !report.quiet
            && !interrupt::requested()
        {
            console::warn(&format!("--events {first}: the input has no event of this number"));
        }
    }

    fn say_what_has_no_effect(&self, report: &ReportArgs) {
        if report.quiet {
            return;
        }
        if self.geometry.is_some() {
            console::warn("--geometry has no effect: events of hits need no geometry");
        }
        if self.velo_banks != VeloBanks::Auto {
            console::warn("--velo-banks has no effect: events of hits have no banks");
        }
    }
}

/// Bytes by which a stream is known.
const HEAD: u64 = 64;

/// Standard input or a named pipe; none for a file or a directory.
fn open_pipe(name: &str) -> Result<Option<Box<dyn Read + Send>>> {
    if name == "-" {
        return Ok(Some(Box::new(stdin())));
    }
    if !is_pipe(Path::new(name)) {
        return Ok(None);
    }
    File::open(name).map(|file| Some(Box::new(file) as Box<_>)).map_err(|e| Error::io(name, e))
}

/// The name that means no folder but the nominal detector.
const NOMINAL: &str = "nominal";

/// A folder named by a flag: when it is not there, the flag is wrong. Simulations have the nominal detector unless
/// told otherwise.
pub fn open_geometry(folder: Option<&Path>, simulated: bool) -> Result<Arc<Geometry>> {
    let missing = "raw banks need --geometry DIR, the folder of the detector's geometry files";
    let folder = match folder {
        None if !simulated => return Err(Error::Config(missing.into())),
        Some(folder) if folder != Path::new(NOMINAL) => folder,
        _ => return Ok(Arc::new(Geometry::nominal())),
    };
    if !folder.is_dir() {
        return Err(Error::Config(format!("--geometry {}: no such folder", folder.display())));
    }
    Geometry::open(folder).map(Arc::new)
}

/// What a simulation needs of a geometry.
pub fn detector(geometry: &Geometry) -> LhcbDetector<'_> {
    LhcbDetector { ut: &geometry.ut, scifi: &geometry.scifi, polarity: geometry.polarity }
}

impl RawSource {
    fn read(&mut self, events: usize, batch: &mut RawBatch, truth: &mut Vec<TruthEvent>) -> Result<usize> {
        self.notes.clear();
        let read = match &mut self.origin {
            RawOrigin::Files(reader) => reader.read(events, batch, &mut self.notes)?,
            RawOrigin::Simulation(reader) => {
                let detector = detector(&self.geometry);
                let made = std::iter::from_fn(|| reader.next(&detector)).take(events);
                self.notes.extend(made.map(|event| event.push(batch)));
                self.notes.len()
            }
        };
        if let Some(hits_of) = self.truth {
            for note in &self.notes {
                let decode = |mc| decode_mc(mc, hits_of);
                truth.push(note.truth.as_ref().map(decode).transpose()?.unwrap_or_default());
            }
        }
        Ok(read)
    }
}

impl EventSource {
    /// Appends up to `events` events; says how many. At the end it says 0.
    pub fn read(
        &mut self,
        events: usize,
        batch: &mut EventBatch,
        truth: &mut Vec<TruthEvent>,
    ) -> Result<usize> {
        match self {
            Self::Files(reader) => reader.read(events, batch.hits_mut(), truth),
            Self::Raw(source) => source.read(events, batch.banks_mut(), truth),
            Self::Simulation(reader, _) => reader.read(events, batch.hits_mut(), truth),
        }
    }

    /// An engine that takes these events: with the geometry when they are raw banks.
    pub fn equip(&self, engine: Engine) -> Engine {
        match self {
            Self::Raw(source) => engine.with_geometry(source.geometry.clone(), source.banks),
            Self::Files(_) | Self::Simulation(..) => engine,
        }
    }

    /// How many events there will be, where that is known.
    pub fn known_events(&self) -> Option<u64> {
        match self {
            Self::Files(_) => None,
            Self::Raw(source) => match &source.origin {
                RawOrigin::Files(_) => None,
                RawOrigin::Simulation(reader) => Some(reader.left()),
            },
            Self::Simulation(_, events) => Some(*events),
        }
    }

    /// Has true particles list the hits that `rules` ask for.
    pub fn check_by(&mut self, rules: Rules) {
        if let Self::Raw(source) = self {
            source.truth = Some(rules.hits_of());
        }
    }

    /// The rules that tracks of these events are checked by unless told otherwise.
    pub fn rules(&self) -> Rules {
        match self {
            Self::Files(_) => Rules::Json,
            Self::Raw(_) | Self::Simulation(..) => Rules::Lhcb,
        }
    }

    /// Tells what went wrong without ending the job, on standard error.
    pub fn say_problems(&self, report: &ReportArgs) {
        let (problems, count) = match self {
            Self::Files(reader) => (reader.problems(), reader.problem_count()),
            Self::Raw(source) => match &source.origin {
                RawOrigin::Files(reader) => (reader.problems(), reader.problem_count()),
                RawOrigin::Simulation(_) => return,
            },
            Self::Simulation(..) => return,
        };
        if report.quiet {
            return;
        }
        problems.iter().for_each(|problem| console::warn(problem));
        let untold = count - problems.len() as u64;
        if untold > 0 {
            console::warn(&format!("and {untold} more like these"));
        }
    }
}
