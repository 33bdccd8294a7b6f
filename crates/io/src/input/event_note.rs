//! [`EventNote`]: data of an event in addition to its raw banks, such as its simulated truth.

use peloton::Result;
use peloton::event::TrueStates;

/// The encoding of the simulated truth of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McFormat {
    /// Truth in files next to bank containers; this encoding has no version.
    File,
    /// Truth in raw banks, whose headers give this version of the encoding.
    Bank(u8),
}

/// The simulated truth of one event as bytes, for [`truth::decode_mc`](crate::input::mdf::decode_mc).
#[derive(Debug, Clone, PartialEq)]
pub struct McBanks {
    /// True particles and their hits.
    pub tracks: Vec<u8>,
    /// The encoding of `tracks`.
    pub format: McFormat,
    /// True vertices; empty when there are none.
    pub vertices: Vec<u8>,
    /// Points on the paths of particles, in rising order of the particles' keys. Empty for events from files.
    pub states: Vec<(u32, TrueStates)>,
    /// Name of the event's truth in messages.
    pub place: String,
}

impl McBanks {
    /// The known points on the path of the particle with this key.
    pub(crate) fn states_of(&self, key: u32) -> TrueStates {
        let found = self.states.binary_search_by_key(&key, |(key, _)| *key);
        found.map(|at| self.states[at].1).unwrap_or_default()
    }
}

/// Data of an event in addition to its raw banks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EventNote {
    /// Number of the run, if known.
    pub run: Option<u32>,
    /// Number that the detector gave the event, if known.
    pub number: Option<u64>,
    /// The simulated truth, if requested and present.
    pub truth: Option<McBanks>,
}

/// A function that checks the simulated truth of an event; its error is the reason why the truth cannot be used.
pub type TruthJudge = fn(&McBanks) -> Result<()>;
