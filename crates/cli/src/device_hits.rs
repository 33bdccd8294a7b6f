//! [`Decoder`]: events as a device takes them. Raw banks are decoded on the host, by the calling thread.

use super::source::{EventBatch, EventSource};
use peloton::Result;
use peloton::event::{Counters, VeloBatch, VeloEvents};
use peloton::pipeline::{Config, Engine, Events, Workspace};

/// Turns events to hits.
pub struct Decoder {
    engine: Engine,
    workspace: Workspace,
    hits: VeloBatch,
}

impl Decoder {
    /// For the events of a source.
    pub fn new(config: &Config, source: &EventSource) -> Result<Self> {
        let engine = source.equip(Engine::new(config)?);
        Ok(Self { engine, workspace: Workspace::default(), hits: VeloBatch::default() })
    }

    /// The engine of the host.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The hits; where events come as raw banks, what became of the banks is added to `counters`.
    pub fn hits<'a>(&'a mut self, events: &'a EventBatch, counters: &mut Counters) -> VeloEvents<'a> {
        match events.view() {
            Events::Hits(events) => events,
            Events::Banks(events) => {
                self.hits.clear();
                self.engine.decode_velo(events, &mut self.workspace, &mut self.hits, counters);
                self.hits.view()
            }
        }
    }
}
