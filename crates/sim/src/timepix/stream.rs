//! [`SimulatedPixels`]: simulated pixel hits as a [`PixelStream`], like hits from a file.

use super::{PixelSim, PixelSimSpec};
use peloton::Result;
use peloton::event::PixelBlock;
use peloton_io::input::timepix::{PixelCounts, PixelStream, ReadEnd};
use std::sync::Arc;

/// Simulated pixel hits with the interface of a stream from a file.
pub struct SimulatedPixels {
    name: Arc<str>,
    sim: PixelSim,
    hits: u64,
    at_end: bool,
}

impl SimulatedPixels {
    /// Creates the stream of a specification; `name` is the name of the input.
    pub fn new(name: &str, spec: PixelSimSpec) -> Self {
        Self { name: name.into(), sim: PixelSim::new(spec), hits: 0, at_end: false }
    }

    /// Returns an upper limit for the time, us, by which a hit is earlier than a hit before it in the stream.
    pub fn disorder_us(&self) -> f64 {
        self.sim.disorder_us()
    }
}

impl PixelStream for SimulatedPixels {
    fn read(&mut self, hits: usize, block: &mut PixelBlock) -> Result<ReadEnd> {
        if self.at_end {
            return Ok(ReadEnd::End);
        }
        let before = block.hits.len();
        self.at_end = !self.sim.read(hits, &mut block.hits);
        self.hits += (block.hits.len() - before) as u64;
        Ok(if self.at_end { ReadEnd::EndOfSource } else { ReadEnd::More })
    }

    fn counts(&self) -> PixelCounts {
        PixelCounts { hits: self.hits, ..PixelCounts::default() }
    }

    fn source(&self) -> Arc<str> {
        self.name.clone()
    }
}
