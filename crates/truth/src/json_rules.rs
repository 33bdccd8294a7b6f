//! The rules `json`: they give the same numbers as the strict validator of the public Velo JSON events.
//!
//! w is the share of a track's hits that come from a particle (0 for a track with fewer than two hits).
//! - A track is a ghost when no particle of the event, with or without a category, has w > 0.7.
//! - Within a category, a track belongs to the particle with the largest w > 0.7 (the first of equals). A particle is
//!   reconstructed when it has w > 0.7 for a track. Further tracks of the particle are clones. The clone rate is clones
//!   over reconstructed particles.
//! - Purity is the sum of w, divided by (reconstructed + clones). This divisor can exceed the number of matched tracks
//!   when particles share hits. Hit efficiency is the mean over matched tracks.
//! - The efficiency in brackets is the mean of the running efficiencies after each event. The mean depends on the order
//!   of events, and ignores events without a particle of the category.
//! - Tracks that have exactly the hits of an earlier track are skipped, but count in the number of tracks.
//!
//! Electrons belong to no category. There is no cut on pseudorapidity.

use super::matching::{Association, Category, EventCategory, Fate};
use peloton::event::Particle;

/// Momentum above which a particle is "fast", GeV/c.
const FAST: f64 = 5.0;

fn long(particle: &Particle) -> bool {
    particle.is_long && !particle.is_electron()
}

fn fast(particle: &Particle) -> bool {
    particle.p.abs() > FAST
}

pub(super) const CATEGORIES: [Category; 7] = [
    Category { name: "velo", holds: |p| p.has_velo && !p.is_electron() },
    Category { name: "long", holds: long },
    Category { name: "long>5GeV", holds: |p| long(p) && fast(p) },
    Category { name: "long_strange", holds: |p| long(p) && p.from_strange },
    Category { name: "long_strange>5GeV", holds: |p| long(p) && p.from_strange && fast(p) },
    Category { name: "long_fromb", holds: |p| long(p) && p.from_beauty },
    Category { name: "long_fromb>5GeV", holds: |p| long(p) && p.from_beauty && fast(p) },
];

/// Returns whether a track of `hits` hits matches a particle that left `common` of them.
pub(super) fn accepts(common: u32, hits: u32) -> bool {
    hits >= 2 && f64::from(common) / f64::from(hits) > 0.7
}

/// Evaluates one event for one category; `fates` has an entry for each particle of the event, all not found.
pub(super) fn evaluate(selected: &[bool], associations: &[Association], fates: &mut [Fate]) -> EventCategory {
    let mut event = EventCategory::default();
    for of_track in associations.chunk_by(|a, b| a.track == b.track) {
        let mut best: Option<&Association> = None;
        for association in of_track.iter().filter(|a| selected[a.particle as usize]) {
            fates[association.particle as usize].reconstructed = true;
            if best.is_none_or(|best| association.common > best.common) {
                best = Some(association);
            }
        }
        if let Some(best) = best {
            fates[best.particle as usize].tracks += 1;
            event.matched += 1;
            event.purity += best.purity();
            event.hit_efficiency += best.hit_efficiency();
        }
    }
    event
}
