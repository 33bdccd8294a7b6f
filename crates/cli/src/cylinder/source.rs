//! Where events of the cylinder detector come from: toy files, or the simulation.

use crate::options::{InputArgs, ReportArgs};
use crate::{console, interrupt};
use peloton::cylinder::CylinderInput;
use peloton::event::{CylinderBatch, CylinderTruth};
use peloton::{Error, Result};
use peloton_io::input::{CylinderReader, Format, ReadOptions, Source};
use peloton_sim::{CylinderSim, cylinder_shuffle};

/// What is simulated when nobody names an input.
const DEFAULT_SIMULATION: &str = "sim:cylinder,events=3,tracks=10000,seed=1";

/// The seed that hits are shuffled by.
const SHUFFLE: u64 = 1;

/// Events with their truth.
#[derive(Default)]
pub struct Events {
    /// Hits.
    pub hits: CylinderBatch,
    /// Particles.
    pub truth: CylinderTruth,
}

impl Events {
    /// What the pool takes.
    pub fn input(&self) -> CylinderInput<'_> {
        CylinderInput { hits: &self.hits, seeds: &self.truth.particles }
    }

    /// All events of a source, for measuring, with the hits of each layer shuffled: toy files hold them in the order of
    /// their particles.
    pub fn shuffled(source: &mut EventSource) -> Result<Self> {
        let mut events = Self::default();
        while !interrupt::requested() && source.read(16, &mut events)? > 0 {}
        if events.hits.is_empty() {
            return Err(Error::format("input", "no event to measure with"));
        }
        let all = 0..events.hits.len();
        cylinder_shuffle(&mut events.hits, &mut events.truth, all, SHUFFLE);
        Ok(events)
    }

    /// Forgets all events.
    pub fn clear(&mut self) {
        self.hits.clear();
        self.truth.particles.clear();
        self.truth.particle_of.clear();
    }
}

/// A source of events.
pub enum EventSource {
    Files(CylinderReader),
    Simulation(CylinderSim),
}

impl EventSource {
    /// Opens the inputs; without any, the built-in simulation.
    pub fn open(input: &InputArgs) -> Result<Self> {
        let default = [DEFAULT_SIMULATION.to_string()];
        let inputs = if input.inputs.is_empty() { &default[..] } else { &input.inputs };
        if !matches!(input.format, Format::Auto | Format::Cylinder) {
            return Err(Error::Config(format!(
                "--format {} is no format of the sequence cylinder",
                input.format
            )));
        }
        if let Some(simulation) = inputs.iter().find(|input| input.starts_with("sim:")) {
            if inputs.len() > 1 {
                return Err(Error::Config(format!("{simulation} cannot stand beside other inputs")));
            }
            let count = input.events.count.map(|count| count as u64);
            return Ok(Self::Simulation(CylinderSim::new(
                simulation.parse()?,
                input.events.first as u64,
                count,
            )));
        }
        let source = |input: &String| if input == "-" { Source::Stdin } else { Source::Path(input.into()) };
        let sources: Vec<_> = inputs.iter().map(source).collect();
        let options = ReadOptions {
            first: input.events.first,
            count: input.events.count,
            strict: input.strict,
            truth: true,
            ..ReadOptions::default()
        };
        CylinderReader::open(&sources, options).map(Self::Files)
    }

    /// Appends up to `max_events` events; nothing is left when it says 0.
    pub fn read(&mut self, max_events: usize, events: &mut Events) -> Result<usize> {
        match self {
            Self::Files(reader) => reader.read(max_events, &mut events.hits, &mut events.truth),
            Self::Simulation(sim) => Ok(sim.read(max_events, &mut events.hits, &mut events.truth)),
        }
    }

    /// Says what could not be read.
    pub fn say_problems(&self, report: &ReportArgs) {
        let Self::Files(reader) = self else { return };
        let (problems, count) = reader.problems();
        if !report.quiet {
            problems.iter().for_each(|problem| console::warn(problem));
            if count > problems.len() as u64 {
                console::warn(&format!("and {} more like these", count - problems.len() as u64));
            }
        }
    }
}
