//! Where events come from: files, directories, standard input, or a simulation.

use super::console;
use super::options::{InputArgs, ReportArgs};
use crate::event::{TruthEvent, VeloBatch};
use crate::input::{ReadOptions, Source, VeloReader};
use crate::truth::Rules;
use crate::truth::simulate::{SimReader, SimSpec};
use crate::{Error, Result};

/// What is simulated when nobody names an input.
const DEFAULT_SIMULATION: &str = "sim:velo,events=1000,seed=1";

/// A source of events, whatever its kind.
pub enum EventSource {
    /// Files and streams.
    Files(Box<VeloReader>),
    /// The built-in simulation, and how many events it gives.
    Simulation(SimReader, u64),
}

impl InputArgs {
    /// Opens the inputs; without any, the built-in simulation.
    ///
    /// # Errors
    /// [`Error::Config`] for inputs that cannot go together, and those of the readers.
    pub fn open(&self, truth: bool, report: &ReportArgs) -> Result<EventSource> {
        if !report.quiet {
            self.say_what_has_no_effect();
        }
        let default = [DEFAULT_SIMULATION.to_string()];
        let inputs = if self.inputs.is_empty() { &default[..] } else { &self.inputs };
        if let Some(spec) = inputs.iter().find(|input| input.starts_with("sim:")) {
            if inputs.len() > 1 {
                return Err(Error::Config(format!("{spec} cannot stand beside other inputs")));
            }
            let spec: SimSpec = spec.parse()?;
            let (first, count) = (self.events.first as u64, self.events.count.map(|count| count as u64));
            let events = spec.events.saturating_sub(first).min(count.unwrap_or(u64::MAX));
            return Ok(EventSource::Simulation(SimReader::new(spec).with_range(first, count), events));
        }
        let source = |input: &String| if input == "-" { Source::Stdin } else { Source::Path(input.into()) };
        let sources: Vec<_> = inputs.iter().map(source).collect();
        let options = ReadOptions {
            format: self.format,
            first: self.events.first,
            count: self.events.count,
            strict: self.strict,
            truth,
        };
        VeloReader::open(&sources, options).map(Box::new).map(EventSource::Files)
    }

    fn say_what_has_no_effect(&self) {
        if self.geometry.is_some() {
            console::warn("--geometry has no effect: events of hits need no geometry");
        }
        if self.velo_banks != "auto" {
            console::warn("--velo-banks has no effect: events of hits have no banks");
        }
    }
}

impl EventSource {
    /// Appends up to `events` events; says how many. At the end it says 0.
    pub fn read(
        &mut self,
        events: usize,
        hits: &mut VeloBatch,
        truth: &mut Vec<TruthEvent>,
    ) -> Result<usize> {
        match self {
            Self::Files(reader) => reader.read(events, hits, truth),
            Self::Simulation(reader, _) => reader.read(events, hits, truth),
        }
    }

    /// How many events there will be, where that is known.
    pub fn known_events(&self) -> Option<u64> {
        match self {
            Self::Files(_) => None,
            Self::Simulation(_, events) => Some(*events),
        }
    }

    /// The rules that tracks of these events are checked by unless told otherwise.
    pub fn rules(&self) -> Rules {
        match self {
            Self::Files(_) => Rules::Json,
            Self::Simulation(..) => Rules::Lhcb,
        }
    }

    /// Tells what went wrong without ending the job, on standard error.
    pub fn say_problems(&self, report: &ReportArgs) {
        let Self::Files(reader) = self else { return };
        if report.quiet {
            return;
        }
        reader.problems().iter().for_each(|problem| console::warn(problem));
        let untold = reader.problem_count() - reader.problems().len() as u64;
        if untold > 0 {
            console::warn(&format!("and {untold} more like these"));
        }
    }
}
