//! [`Pairing`]: pairs the hits of clusters with triggers, in parallel to the search for clusters.

use peloton::Result;
use peloton::engine::{Batch, Executor, Machine, Sliced};
use peloton::event::{Counters, Edge, PixelClusters, TriggerPairs};
use peloton::timepix::{PixelBatch, TriggerPairer};
use peloton_plot::text::grouped;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pairs hits with triggers, and stores the pairs until they are written.
pub struct Pairing {
    state: Mutex<State>,
    /// Whether the pairs will be written.
    is_written: AtomicBool,
}

struct State {
    pairer: TriggerPairer,
    waiting: VecDeque<TriggerPairs>,
    unused: Vec<TriggerPairs>,
}

impl Pairing {
    /// Makes a pairing of each hit with the latest trigger edge of this kind before the hit.
    pub fn new(edge: Edge) -> Self {
        let state = State { pairer: TriggerPairer::new(edge), waiting: VecDeque::new(), unused: Vec::new() };
        Self { state: Mutex::new(state), is_written: AtomicBool::new(false) }
    }

    /// From this call on, stores pairs for a writer that calls [`next`](Self::next).
    pub fn keep(&self) {
        self.is_written.store(true, Ordering::Relaxed);
    }

    /// Returns the pairs of the next piece of clusters, in order.
    pub fn next(&self) -> Option<TriggerPairs> {
        self.state().waiting.pop_front()
    }

    /// Takes back the memory of pairs, to use it again.
    pub fn give_back(&self, pairs: TriggerPairs) {
        self.state().unused.push(pairs);
    }

    /// Returns the final counts: dropped triggers as a loss, paired hits as a fact.
    pub fn outcome(&self) -> (Vec<(&'static str, u64)>, Map<String, Value>) {
        let state = self.state();
        let facts = Map::from_iter([("paired_hits".to_string(), json!(state.pairer.paired()))]);
        (vec![("forgotten_triggers", state.pairer.forgotten())], facts)
    }

    /// Returns a message if the input has no edge of the requested kind, with the kinds of edges in the input.
    pub fn not_found(&self) -> Option<String> {
        let state = self.state();
        let (edge, seen) = (state.pairer.edge(), state.pairer.seen());
        if seen[edge as usize] > 0 {
            return None;
        }
        let others = Edge::ALL.into_iter().filter(|other| seen[*other as usize] > 0);
        let others: Vec<_> =
            others.map(|other| format!("{other} ({})", grouped(seen[other as usize]))).collect();
        let others =
            if others.is_empty() { "no edge of any trigger input".into() } else { others.join(", ") };
        Some(format!("--trigger {edge}: the input has no such edge, so no hit is paired; it has {others}"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pair(&self, batch: &PixelBatch, results: &Sliced) {
        let state = &mut *self.state();
        state.pairer.push(&batch.block.triggers);
        let last = results.slices().count();
        for (number, clusters) in results.products::<PixelClusters>().enumerate() {
            let mut pairs = state.unused.pop().unwrap_or_default();
            state.pairer.pair(clusters, batch.end && number + 1 == last, &mut pairs);
            if self.is_written.load(Ordering::Relaxed) {
                state.waiting.push_back(pairs);
            } else {
                state.unused.push(pairs);
            }
        }
    }
}

/// Executor that finds clusters and pairs their hits with triggers.
pub struct Paired {
    runs: Box<dyn Executor>,
    pairing: std::sync::Arc<Pairing>,
}

impl Paired {
    /// Makes an executor that pairs the hits of the clusters from `runs`.
    pub fn new(runs: Box<dyn Executor>, pairing: std::sync::Arc<Pairing>) -> Self {
        Self { runs, pairing }
    }
}

impl Executor for Paired {
    fn run(&mut self, batch: &dyn Batch, results: &mut Sliced) -> Result<Counters> {
        let counters = self.runs.run(batch, results)?;
        self.pairing.pair(batch.of()?, results);
        Ok(counters)
    }

    fn machine(&self) -> Machine {
        self.runs.machine()
    }

    fn time_kernels(&mut self, yes: bool) {
        self.runs.time_kernels(yes);
    }

    fn take_kernel_times(&mut self) -> Vec<(&'static str, u64)> {
        self.runs.take_kernel_times()
    }
}
