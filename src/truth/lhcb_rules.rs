//! The rules of LHCb's track checker, for Velo tracks.
//!
//! - A track is a particle when the particle left at least 70 % of its hits. A track may be several
//!   particles (they share hits). One of fewer than three hits is none: nothing could vouch for it.
//! - A track that is no particle is a ghost. Tracks beyond the first of a particle are clones; their rate is
//!   clones / (reconstructed + clones).
//! - Purity and hit efficiency are means over all matched tracks of a category; the efficiency in brackets
//!   is the mean of the efficiencies of the events that have a particle of the category.
//! - All categories ask for 2 < eta < 5. Electrons have their own.

use super::matching::{Association, Category, EventCategory, Fate, Matcher};
use crate::event::Particle;

/// Fewest hits of a track that can be matched.
const MIN_HITS: u32 = 3;

fn long(p: &Particle) -> bool {
    p.is_long && p.eta > 2.0 && p.eta < 5.0
}

fn long_hadron(p: &Particle) -> bool {
    long(p) && !p.is_electron()
}

fn long_electron(p: &Particle) -> bool {
    long(p) && p.is_electron()
}

fn above_5gev(p: &Particle) -> bool {
    p.p > 5.0
}

/// The categories of Velo tracks.
pub(super) const VELO: [Category; 10] = [
    Category { name: "01_velo", holds: |p| p.has_velo && p.eta > 2.0 && p.eta < 5.0 && !p.is_electron() },
    Category { name: "02_long", holds: long_hadron },
    Category { name: "03_long_P>5GeV", holds: |p| long_hadron(p) && above_5gev(p) },
    Category { name: "04_long_strange", holds: |p| long_hadron(p) && p.from_strange },
    Category { name: "05_long_strange_P>5GeV", holds: |p| long_hadron(p) && p.from_strange && above_5gev(p) },
    Category { name: "06_long_fromB", holds: |p| long_hadron(p) && p.from_beauty },
    Category { name: "07_long_fromB_P>5GeV", holds: |p| long_hadron(p) && p.from_beauty && above_5gev(p) },
    Category { name: "08_long_electrons", holds: long_electron },
    Category { name: "09_long_fromB_electrons", holds: |p| long_electron(p) && p.from_beauty },
    Category {
        name: "10_long_fromB_electrons_P>5GeV",
        holds: |p| long_electron(p) && p.from_beauty && above_5gev(p),
    },
];

/// Whether a track with `common` of its `hits` hits from a particle is that particle.
pub(super) fn accepts(common: u32, hits: u32) -> bool {
    // In integers: 7 of 10 hits are 70 %, whatever 0.7 is in binary.
    hits >= MIN_HITS && 10 * u64::from(common) >= 7 * u64::from(hits)
}

/// One event and category; `fates` has the particles of the event, all of them not found.
pub(super) fn evaluate(
    selected: &[bool],
    associations: &[Association],
    matcher: &Matcher,
    fates: &mut [Fate],
) -> EventCategory {
    let mut event = EventCategory::default();
    for association in associations.iter().filter(|a| selected[a.particle as usize]) {
        let fate = &mut fates[association.particle as usize];
        fate.reconstructed = true;
        fate.tracks += 1;
        event.matched += 1;
        event.purity += association.purity();
        event.hit_efficiency +=
            f64::from(association.common) / f64::from(matcher.hits_of(association.particle));
    }
    event
}
