//! [`Algorithm`]: one step of a sequence, which reads events and products and makes one product.

use super::{Events, Stage};
use crate::event::{Columns, Counters, Outcome, Product, Schema};
use crate::simd::Level;
use crate::{Error, Result};
use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;

/// Name and type of a product. A product holds the results of one algorithm; other algorithms can read it.
#[derive(Debug, Clone, Copy)]
pub struct Handle {
    name: &'static str,
    schema: &'static Schema,
    empty: fn() -> Columns,
}

impl Handle {
    /// Makes the handle of a product of type `P`. The name must be unique in a sequence.
    pub const fn of<P: Product>(name: &'static str) -> Self {
        Self { name, schema: P::SCHEMA, empty: Columns::of::<P> }
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The columns.
    pub fn schema(&self) -> &'static Schema {
        self.schema
    }

    /// Returns empty columns of the product's type.
    pub fn empty(&self) -> Columns {
        (self.empty)()
    }
}

/// Properties of an algorithm that do not depend on its configuration.
#[derive(Debug)]
pub struct AlgorithmInfo {
    /// Name of the detector; may be empty. In sequences over several detectors it precedes the stage names (no unit).
    pub detector: &'static str,
    /// Products of other algorithms that the algorithm reads; [`Slice::product`] takes an index in this list (no unit).
    pub reads: &'static [Handle],
    /// The product that the algorithm makes. The algorithm has the name of this product (no unit).
    pub makes: Handle,
    /// Stages of the algorithm, in the order of its counters. If several algorithms have stages of the same name, a
    /// sequence merges these into one stage (no unit).
    pub stages: &'static [Stage],
    /// `stages` with the detector in the names of the stages, for sequences over several detectors (no unit).
    pub stages_in_chain: &'static [Stage],
}

impl AlgorithmInfo {
    /// Returns the name of the algorithm, which is the name of its product.
    pub fn name(&self) -> &'static str {
        self.makes.name
    }

    /// Returns the stages; their names begin with the detector if the sequence has several detectors (`is_chain`).
    pub(super) fn stages_of(&self, is_chain: bool) -> &'static [Stage] {
        if is_chain { self.stages_in_chain } else { self.stages }
    }
}

/// A slice of events, with the products that earlier algorithms made from them.
#[derive(Clone)]
pub struct Slice<'a> {
    events: Events<'a>,
    range: Range<usize>,
    reads: &'a [usize],
    made: &'a [Outcome<Columns>],
}

impl<'a> Slice<'a> {
    /// Makes a slice of events without products, for an algorithm that reads no products.
    pub fn of(events: impl Into<Events<'a>>, range: Range<usize>) -> Self {
        Self::new(events.into(), range, &[], &[])
    }

    pub(super) fn new(
        events: Events<'a>,
        range: Range<usize>,
        reads: &'a [usize],
        made: &'a [Outcome<Columns>],
    ) -> Self {
        Self { events, range, reads, made }
    }

    /// The input.
    pub fn events(&self) -> Events<'a> {
        self.events
    }

    /// Returns the range of the slice's events in the input. Entry i of a product belongs to event i of this range.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Returns the product with the index `number` in [`AlgorithmInfo::reads`].
    ///
    /// # Panics
    /// Panics if `reads` has no index `number`, or if `P` is not the type of the product's handle.
    pub fn product<P: Product>(&self, number: usize) -> &'a P {
        self.made[self.reads[number]].results.get().expect("the product has the type of its handle")
    }
}

/// One step of a [`Sequence`](super::Sequence), which reads events and products, and makes one product.
///
/// An algorithm holds its configuration and does not change, so any number of threads may share it. Mutable data are in
/// the scratch memory of each thread. `examples/own_detector` is a crate that defines its own algorithm.
pub trait Algorithm: Debug + Send + Sync + 'static {
    /// The products that the algorithm reads and makes, and its stages.
    const INFO: &'static AlgorithmInfo;

    /// Type of the product that the algorithm makes.
    type Output: Product;
    /// Scratch memory of one thread. The memory grows to the size that the largest event needs, and is reused.
    type Scratch: Default + Debug + Send + 'static;

    /// Returns the instruction set level and gang size on which the algorithm runs.
    fn level(&self) -> Level;

    /// Checks that the algorithm can process these events. The default implementation accepts all events if the algorithm
    /// reads products, and no events if it reads none: such an algorithm overrides it.
    ///
    /// # Errors
    /// Returns [`Error::Config`], which names the missing part, such as a geometry for raw banks.
    fn accept(&self, events: Events<'_>) -> Result<()> {
        if Self::INFO.reads.is_empty() { Err(does_not_take(events)) } else { Ok(()) }
    }

    /// Returns how many bytes of raw banks the algorithm reads for these events; `None` if it reads no raw banks.
    fn bank_bytes(&self, _events: Events<'_>) -> Option<u64> {
        None
    }

    /// Appends one entry for each event of the slice to the results in `out`, and adds the counts of the slice. An
    /// event that cannot be reconstructed gets a status and no items.
    fn run(&self, slice: Slice<'_>, scratch: &mut Self::Scratch, out: &mut Outcome<Self::Output>);
}

/// An algorithm of any type.
pub(super) trait AnyAlgorithm: Debug + Send + Sync {
    fn info(&self) -> &'static AlgorithmInfo;
    fn level(&self) -> Level;
    fn accept(&self, events: Events<'_>) -> Result<()>;
    fn bank_bytes(&self, events: Events<'_>) -> Option<u64>;
    fn scratch(&self) -> Box<dyn Any + Send>;
    fn owns(&self, scratch: &(dyn Any + Send)) -> bool;
    /// Appends the slice's entries to the columns of `out`, and replaces its counts by the slice's counts.
    fn run(&self, slice: Slice<'_>, scratch: &mut (dyn Any + Send), out: &mut Outcome<Columns>);
}

/// Scratch memory, and an outcome of the algorithm's own type, into which columns are swapped while it runs.
type Memory<A> = (<A as Algorithm>::Scratch, Outcome<<A as Algorithm>::Output>);

impl<A: Algorithm> AnyAlgorithm for A {
    fn info(&self) -> &'static AlgorithmInfo {
        A::INFO
    }

    fn level(&self) -> Level {
        Algorithm::level(self)
    }

    fn accept(&self, events: Events<'_>) -> Result<()> {
        Algorithm::accept(self, events)
    }

    fn bank_bytes(&self, events: Events<'_>) -> Option<u64> {
        Algorithm::bank_bytes(self, events)
    }

    fn scratch(&self) -> Box<dyn Any + Send> {
        Box::new(Memory::<A>::default())
    }

    fn owns(&self, scratch: &(dyn Any + Send)) -> bool {
        scratch.is::<Memory<A>>()
    }

    fn run(&self, slice: Slice<'_>, scratch: &mut (dyn Any + Send), out: &mut Outcome<Columns>) {
        let (scratch, spare) = scratch.downcast_mut::<Memory<A>>().expect("scratch memory of this algorithm");
        out.counters = Counters::default();
        out.lend(spare, |out| Algorithm::run(self, slice, scratch, out));
    }
}

/// The error of an algorithm that does not take events of a kind.
pub(super) fn does_not_take(events: Events<'_>) -> Error {
    Error::Config(format!("this algorithm does not accept {}", events.kind()))
}
