//! Detection losses of the SciFi. A layer misses a fraction of all particles; a weak SiPM detects half as many
//! particles as a normal SiPM; a dead channel detects none.

use crate::SimSpec;
use crate::random::{Random, mix};
use peloton::scifi::SciFiChannel;

/// Efficiency of a weak SiPM relative to a normal one.
const WEAK: f64 = 0.5;
/// Offsets of the numbers, so that draws for SiPMs and channels differ.
const OF_SIPMS: u64 = 1 << 40;
const OF_CHANNELS: u64 = 2 << 40;
/// Channels of a SiPM, as a power of two.
const SIPM: u32 = 7;

/// The losses of the SciFi. The numbers of SiPMs and channels determine whether they are weak or dead, so all events
/// have the same ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fibres {
    efficiency: f64,
    weak: f64,
    dead: f64,
}

/// A fixed pseudorandom number from 0 to 1 for a part of the detector.
fn fixed(part: u64) -> f64 {
    (mix(mix(part)) >> 11) as f64 / (1u64 << 53) as f64
}

impl Fibres {
    pub fn new(spec: &SimSpec) -> Self {
        Self { efficiency: spec.scifi_efficiency, weak: spec.weak_sipms, dead: spec.dead_channels }
    }

    /// Returns whether a particle at the position of this hit is detected. Every call draws one random number.
    pub fn see(&self, hit: &SciFiChannel, random: &mut Random) -> bool {
        let is_weak = fixed(OF_SIPMS | u64::from(hit.id >> SIPM)) < self.weak;
        random.chance(if is_weak { self.efficiency * WEAK } else { self.efficiency }) && !self.is_dead(hit)
    }

    /// Returns whether the channel of this hit is dead.
    pub fn is_dead(&self, hit: &SciFiChannel) -> bool {
        fixed(OF_CHANNELS | u64::from(hit.id)) < self.dead
    }
}
