//! The strict validator of the public Velo JSON events, number for number.
//!
//! With w(t, p) the share of track t's hits that particle p left (0 for tracks of fewer than two hits):
//! - A track is a ghost when no particle of the event, of any kind, has w > 0.7.
//! - Within a category, a track belongs to the particle with the largest w (the first if several are equal), when w >
//!   0.7; a particle is reconstructed when any track has w > 0.7. Tracks beyond the first of a particle are clones;
//!   their rate is per reconstructed particle.
//! - Purity is the sum of w over (reconstructed + clones), which is not the number of matched tracks when
//!   two particles share hits; hit efficiency is the mean over matched tracks.
//! - The efficiency in brackets is the mean of the running efficiencies after each event, so it depends on the order
//!   of the events. Events without a particle of the category do not count.
//! - Tracks that repeat an earlier track of the event hit by hit are skipped, but count as tracks.
//!
//! Electrons belong to no category; there is no cut on pseudorapidity.

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
