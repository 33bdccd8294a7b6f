//! [`Sequence`]: algorithms in the order in which they run.

use super::algorithm::{Algorithm, AlgorithmInfo, AnyAlgorithm, Handle, Slice};
use super::{Events, Products, Stage};
use crate::event::{Columns, Counters, MAX_STAGES, Outcome};
use crate::simd::Level;
use crate::{Error, Result};
use std::any::Any;
use std::borrow::Cow;
use std::ops::Range;

/// Algorithms in the order in which they run, and the products to write. An [`Engine`](super::Engine) runs a sequence.
///
/// ```
/// use peloton::engine::Sequence;
/// use peloton::simd::Level;
/// use peloton::velo::{Velo, VeloConfig};
///
/// # fn main() -> peloton::Result<()> {
/// let velo = Velo::new(Level::choose(None, None)?, VeloConfig::default())?;
/// let sequence = Sequence::new("velo", velo)?;
/// assert_eq!(sequence.written()[0].name(), "velo_tracks");
/// assert!(sequence.writing(&["long_tracks"]).is_err());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Sequence {
    name: Cow<'static, str>,
    steps: Vec<Step>,
    stages: Vec<Stage>,
    /// The steps whose products are written.
    written: Vec<usize>,
    /// The products that are written.
    products: Vec<Handle>,
}

/// One algorithm of a sequence.
#[derive(Debug)]
struct Step {
    algorithm: Box<dyn AnyAlgorithm>,
    /// The steps whose products this step reads.
    reads: Vec<usize>,
    /// The last step that reads the product of this step.
    last_reader: Option<usize>,
    /// Index in the sequence's stages of each stage of the algorithm.
    stages: Vec<usize>,
}

impl Sequence {
    /// Makes a sequence of one algorithm. The sequence writes the product of this algorithm.
    ///
    /// # Errors
    /// As [`Sequence::with`].
    pub fn new(name: impl Into<Cow<'static, str>>, algorithm: impl Algorithm) -> Result<Self> {
        let empty = Self {
            name: name.into(),
            steps: Vec::new(),
            stages: Vec::new(),
            written: Vec::new(),
            products: Vec::new(),
        };
        empty.with(algorithm)
    }

    /// A sequence of one algorithm of this library that reads no products.
    pub(crate) fn of_one(name: &'static str, algorithm: impl Algorithm) -> Self {
        Self::new(name, algorithm).expect("the algorithm reads no products")
    }

    /// Adds an algorithm at the end. The sequence then writes only the product of this algorithm.
    ///
    /// # Errors
    /// Returns [`Error::Config`] if the algorithm reads a product that no earlier algorithm makes, makes the product of
    /// an earlier algorithm, or runs on another level, or if there are more than [`MAX_STAGES`] stages.
    pub fn with<A: Algorithm>(self, algorithm: A) -> Result<Self> {
        let reads: Vec<_> = A::INFO.reads.iter().map(Handle::name).collect();
        self.with_reads(algorithm, &reads)
    }

    /// Adds an algorithm as [`Sequence::with`] does. The algorithm reads the products that `reads` names, not those
    /// that it declares; the types must agree. In this way an algorithm can be inserted between two others.
    ///
    /// # Errors
    /// Returns the errors of [`Sequence::with`], and [`Error::Config`] if the number of names in `reads` is wrong.
    pub fn with_reads<A: Algorithm>(mut self, algorithm: A, reads: &[&str]) -> Result<Self> {
        let algorithm: Box<dyn AnyAlgorithm> = Box::new(algorithm);
        let (info, number) = (algorithm.info(), self.steps.len());
        let wrong = |what: String| Error::Config(format!("sequence {}: {what}", self.name));
        if self.step_of(info.name()).is_some() {
            return Err(wrong(format!("two algorithms make {}", info.name())));
        }
        if let Some(first) = self.steps.first()
            && first.algorithm.level() != algorithm.level()
        {
            let (one, other) = (first.algorithm.level(), algorithm.level());
            return Err(wrong(format!("all algorithms must run on one level, not on {one} and {other}")));
        }
        if reads.len() != info.reads.len() {
            let (name, count) = (info.name(), info.reads.len());
            return Err(wrong(format!("{name} reads {count} products, but {} are named", reads.len())));
        }
        let step_of = |(product, name): (&Handle, &&str)| {
            let reader = info.name();
            let step = self.step_of(name).ok_or_else(|| {
                wrong(format!("{reader} needs {name}: put the algorithm that makes {name} before {reader}"))
            })?;
            let is_same = self.steps[step].algorithm.info().makes.schema().is(product.schema());
            is_same.then_some(step).ok_or_else(|| wrong(format!("{reader} needs a {name} of another type")))
        };
        let reads: Vec<usize> = info.reads.iter().zip(reads).map(step_of).collect::<Result<_>>()?;
        if !info.makes.schema().has_events() {
            return Err(wrong(format!("the rows of {} are not events", info.name())));
        }
        let infos: Vec<_> = self.infos().chain([info]).collect();
        self.stages = stages(&infos);
        if self.stages.len() > MAX_STAGES {
            return Err(wrong(format!("{} stages exceed the limit of {MAX_STAGES}", self.stages.len())));
        }
        reads.iter().for_each(|&step| self.steps[step].last_reader = Some(number));
        self.steps.push(Step { algorithm, reads, last_reader: None, stages: Vec::new() });
        let (stages, is_chain) = (&self.stages, is_chain(&infos));
        for step in &mut self.steps {
            let number = |own: &Stage| stages.iter().position(|stage| stage.name == own.name);
            step.stages = step.algorithm.info().stages_of(is_chain).iter().filter_map(number).collect();
        }
        self.written = vec![number];
        self.products = vec![info.makes];
        Ok(self)
    }

    /// Sets the products that the sequence writes, in this order.
    ///
    /// # Errors
    /// Returns [`Error::Config`] if a product is made by no algorithm, a name occurs twice, or there is no name.
    pub fn writing(mut self, products: &[&str]) -> Result<Self> {
        let wrong = |what: String| Error::Config(format!("sequence {}: {what}", self.name));
        let known = || self.infos().map(AlgorithmInfo::name).collect::<Vec<_>>().join(", ");
        let step = |name: &&str| {
            self.step_of(name)
                .ok_or_else(|| wrong(format!("no algorithm makes {name}: write one or more of {}", known())))
        };
        let written: Vec<usize> = products.iter().map(step).collect::<Result<_>>()?;
        let is_twice = |(number, step): (usize, &usize)| written[..number].contains(step);
        if written.is_empty() || written.iter().enumerate().any(is_twice) {
            return Err(wrong(format!("write at least one of {}, each at most once", known())));
        }
        self.products = written.iter().map(|&step| self.steps[step].algorithm.info().makes).collect();
        self.written = written;
        Ok(self)
    }

    /// Returns the name of the sequence on the command line and in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the stages in the order in which they run. The counts of stage i are in [`Counters::stages`]`[i]`.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Returns the properties of the algorithms, in the order in which the algorithms run.
    pub fn infos(&self) -> impl Iterator<Item = &'static AlgorithmInfo> + '_ {
        self.steps.iter().map(|step| step.algorithm.info())
    }

    /// Returns the name of the last algorithm that reads a product. After this algorithm, the product is not needed.
    /// Returns `None` if the sequence writes the product, or if no algorithm reads it.
    pub fn last_reader(&self, product: &str) -> Option<&'static str> {
        let step = self.step_of(product).filter(|step| !self.written.contains(step))?;
        self.steps[step].last_reader.map(|reader| self.steps[reader].algorithm.info().name())
    }

    /// Returns the products that the sequence writes.
    pub fn written(&self) -> &[Handle] {
        &self.products
    }

    /// Returns the instruction set level and gang size on which the sequence runs.
    pub fn level(&self) -> Level {
        self.steps[0].algorithm.level()
    }

    /// Checks that all algorithms of the sequence accept these events.
    ///
    /// # Errors
    /// Returns [`Error::Config`], which names the missing part, such as a geometry for raw banks.
    pub fn accept(&self, events: Events<'_>) -> Result<()> {
        self.steps.iter().try_for_each(|step| {
            step.algorithm.accept(events).map_err(|error| match error {
                Error::Config(message) => {
                    let place = format!("sequence {}, {}", self.name, step.algorithm.info().name());
                    Error::Config(format!("{place}: {message}"))
                }
                error => error,
            })
        })
    }

    /// Returns how many bytes of raw banks the sequence reads for these events; `None` if the events are hits.
    pub fn bank_bytes(&self, events: Events<'_>) -> Option<u64> {
        self.steps
            .iter()
            .filter_map(|step| step.algorithm.bank_bytes(events))
            .reduce(|sum, bytes| sum + bytes)
    }

    /// Makes empty products for the results of this sequence.
    pub fn products(&self) -> Products {
        Products::new(&self.products)
    }

    /// Checks that `out` was made for the products that this sequence writes.
    ///
    /// # Errors
    /// Returns [`Error::Config`] if `out` has other products.
    pub fn check(&self, out: &Products) -> Result<()> {
        if out.is_of(self.written()) { Ok(()) } else { Err(self.made_for_another("result")) }
    }

    pub(super) fn made_for_another(&self, what: &str) -> Error {
        let words = "was not made for";
        Error::Config(format!("this {what} {words} sequence {}: make a {what} with this engine", self.name))
    }

    /// Scratch memory of each algorithm.
    pub(super) fn scratch(&self) -> Vec<Box<dyn Any + Send>> {
        self.steps.iter().map(|step| step.algorithm.scratch()).collect()
    }

    /// Whether `scratch` was made by a sequence of the same algorithms.
    pub(super) fn owns(&self, scratch: &[Box<dyn Any + Send>]) -> bool {
        let is_own = |(step, scratch): (&Step, &Box<dyn Any + Send>)| step.algorithm.owns(&**scratch);
        scratch.len() == self.steps.len() && self.steps.iter().zip(scratch).all(is_own)
    }

    /// Memory for the product of each algorithm.
    pub(super) fn slots(&self) -> Vec<Outcome<Columns>> {
        let slot =
            |info: &AlgorithmInfo| Outcome { results: info.makes.empty(), counters: Counters::default() };
        self.infos().map(slot).collect()
    }

    /// Runs all algorithms on a slice. A product that is written and that no algorithm reads is appended to its slot; all other
    /// slots hold only this slice afterwards.
    pub(super) fn run(
        &self,
        events: Events<'_>,
        range: Range<usize>,
        scratch: &mut [Box<dyn Any + Send>],
        slots: &mut [Outcome<Columns>],
    ) {
        for (number, (step, scratch)) in self.steps.iter().zip(scratch).enumerate() {
            let (made, rest) = slots.split_at_mut(number);
            if !self.is_appended(number) {
                rest[0].results.clear();
            }
            let slice = Slice::new(events, range.clone(), &step.reads, made);
            let before = if self.is_appended(number) { rest[0].results.events() } else { 0 };
            step.algorithm.run(slice, &mut **scratch, &mut rest[0]);
            let (name, made) = (step.algorithm.info().name(), rest[0].results.events() - before);
            assert_eq!(made, range.len(), "{name} must make one entry for each event");
        }
    }

    /// Swaps the slots that `run` appends to with the columns of `out`.
    pub(super) fn exchange(&self, slots: &mut [Outcome<Columns>], out: &mut Products) {
        for (&step, columns) in self.written.iter().zip(out.columns_mut()) {
            if self.is_appended(step) {
                std::mem::swap(&mut slots[step].results, columns);
            }
        }
    }

    /// Appends all other written products of a slice to `out`, and counts the slice's events, from event `first` of `out` on.
    ///
    /// # Errors
    /// As [`append`](crate::event::append).
    pub(super) fn hand_over(
        &self,
        slots: &[Outcome<Columns>],
        first: usize,
        out: &mut Products,
    ) -> Result<()> {
        for (&step, columns) in self.written.iter().zip(out.columns_mut()) {
            if !self.is_appended(step) {
                crate::event::append(&mut **columns, &*slots[step].results)?;
            }
        }
        for (step, slot) in self.steps.iter().zip(slots) {
            out.counters.add_part(&slot.counters, &step.stages);
        }
        out.count_events(first);
        Ok(())
    }

    fn is_appended(&self, step: usize) -> bool {
        self.written.contains(&step) && self.steps[step].last_reader.is_none()
    }

    fn step_of(&self, product: &str) -> Option<usize> {
        self.infos().position(|info| info.name() == product)
    }
}

/// Returns the stages of algorithms that run in this order. The names of stages contain the detector if there are
/// several detectors. Stages with equal names are merged into one stage.
pub fn stages(algorithms: &[&AlgorithmInfo]) -> Vec<Stage> {
    let (mut all, is_chain) = (Vec::<Stage>::new(), is_chain(algorithms));
    for stage in algorithms.iter().flat_map(|info| info.stages_of(is_chain)) {
        if all.iter().all(|known| known.name != stage.name) {
            all.push(*stage);
        }
    }
    all
}

/// Whether the algorithms belong to several detectors.
fn is_chain(algorithms: &[&AlgorithmInfo]) -> bool {
    algorithms.windows(2).any(|pair| pair[0].detector != pair[1].detector)
}
