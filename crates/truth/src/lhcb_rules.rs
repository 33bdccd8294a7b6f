//! The rules of LHCb's track checker for Velo tracks, and the categories of all kinds of tracks.
//!
//! - A track matches a particle when at least 70 % of the track's hits come from the particle. A track can match
//!   several particles, because particles can share hits. A track with fewer than three hits matches no particle.
//! - A track that matches no particle is a ghost. Further tracks of a particle are clones. The clone rate is clones /
//!   (reconstructed + clones).
//! - Purity and hit efficiency are means over all matched tracks of a category. The efficiency in brackets is the mean
//!   of the efficiencies of all events that have a particle of the category.
//! - All categories require 2 < eta < 5. Electrons have their own categories.

use super::matching::{Association, Category, EventCategory, Fate};
use peloton::event::Particle;
use std::f64::consts::{FRAC_PI_2, PI};

/// Fewest hits of a track that can be matched.
const MIN_HITS: u32 = 3;

/// Returns whether a particle has the pseudorapidity that all categories require.
fn inside(p: &Particle) -> bool {
    p.eta > 2.0 && p.eta < 5.0
}

fn long(p: &Particle) -> bool {
    p.is_long && inside(p)
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

fn above_3gev(p: &Particle) -> bool {
    p.p > 3.0
}

fn velo(p: &Particle) -> bool {
    p.has_velo && inside(p) && !p.is_electron()
}

fn velo_ut(p: &Particle) -> bool {
    velo(p) && p.has_ut
}

/// Returns whether a particle is in UT and SciFi and not in the Velo.
fn downstream(p: &Particle) -> bool {
    p.has_ut && p.has_scifi && !p.has_velo && inside(p) && !p.is_electron()
}

/// Returns whether a particle is in the UT and not in the Velo; it may be in the SciFi or not.
fn not_velo_ut(p: &Particle) -> bool {
    p.has_ut && !p.has_velo && inside(p) && !p.is_electron()
}

/// Returns whether a particle is long, from a strange hadron, and above 5 GeV/c.
fn long_strange_above_5gev(p: &Particle) -> bool {
    long_hadron(p) && p.from_strange && above_5gev(p)
}

/// Returns whether a particle is long, with its azimuth in quarter turn `number`.
fn quadrant(p: &Particle, number: u32) -> bool {
    let turn = if p.phi < 0.0 { p.phi + 2.0 * PI } else { p.phi };
    let from = FRAC_PI_2 * f64::from(number);
    long_hadron(p) && (from..from + FRAC_PI_2).contains(&turn)
}

/// Returns whether the azimuth of a particle is within 30 degrees of straight up or down.
fn large_y(p: &Particle) -> bool {
    (PI / 3.0..2.0 * PI / 3.0).contains(&p.phi.abs())
}

/// The categories of Velo tracks.
pub(super) const VELO: [Category; 11] = [
    Category { name: "01_velo", holds: velo },
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
    Category { name: "11_long_fromSignal", holds: |p| long(p) && p.from_signal },
];

/// Returns whether p is above 5 GeV/c and pT above 1 GeV/c: the paper on Compass UT quotes these particles first.
fn hard(p: &Particle) -> bool {
    above_5gev(p) && p.pt > 1.0
}

/// The categories of Velo tracks that were extended to the UT; LHCb's checker lacks the last two.
pub(super) const UT: [Category; 15] = [
    Category { name: "01_velo", holds: velo },
    Category { name: "02_velo+UT", holds: velo_ut },
    Category { name: "03_velo+UT_P>5GeV", holds: |p| velo_ut(p) && above_5gev(p) },
    Category { name: "04_velo+notLong", holds: |p| velo(p) && !p.is_long },
    Category { name: "05_velo+UT+notLong", holds: |p| velo_ut(p) && !p.is_long },
    Category { name: "06_velo+UT+notLong_P>5GeV", holds: |p| velo_ut(p) && !p.is_long && above_5gev(p) },
    Category { name: "07_long", holds: long_hadron },
    Category { name: "08_long_P>5GeV", holds: |p| long_hadron(p) && above_5gev(p) },
    Category { name: "09_long_fromB", holds: |p| long_hadron(p) && p.from_beauty },
    Category { name: "10_long_fromB_P>5GeV", holds: |p| long_hadron(p) && p.from_beauty && above_5gev(p) },
    Category { name: "11_long_electrons", holds: long_electron },
    Category { name: "12_long_fromB_electrons", holds: |p| long_electron(p) && p.from_beauty },
    Category {
        name: "13_long_fromB_electrons_P>5GeV",
        holds: |p| long_electron(p) && p.from_beauty && above_5gev(p),
    },
    Category { name: "velo+UT_P>5GeV_Pt>1GeV", holds: |p| velo_ut(p) && hard(p) },
    Category { name: "long+UT_P>5GeV_Pt>1GeV", holds: |p| long_hadron(p) && p.has_ut && hard(p) },
];

/// The categories of tracks in the SciFi alone. Lines that begin with dashes are parts of the line above them.
pub(super) const SEED: [Category; 32] = [
    Category { name: "00_P>3Gev_Pt>0.5", holds: |p| long_hadron(p) && above_3gev(p) && p.pt > 0.5 },
    Category { name: "01_long", holds: long_hadron },
    Category { name: "---1. phi quadrant", holds: |p| quadrant(p, 0) },
    Category { name: "---2. phi quadrant", holds: |p| quadrant(p, 1) },
    Category { name: "---3. phi quadrant", holds: |p| quadrant(p, 2) },
    Category { name: "---4. phi quadrant", holds: |p| quadrant(p, 3) },
    Category {
        name: "---eta < 2.5, small x, large y",
        holds: |p| long_hadron(p) && p.eta < 2.5 && large_y(p),
    },
    Category {
        name: "---eta < 2.5, large x, small y",
        holds: |p| long_hadron(p) && p.eta < 2.5 && !large_y(p),
    },
    Category {
        name: "---eta > 2.5, small x, large y",
        holds: |p| long_hadron(p) && p.eta > 2.5 && large_y(p),
    },
    Category {
        name: "---eta > 2.5, large x, small y",
        holds: |p| long_hadron(p) && p.eta > 2.5 && !large_y(p),
    },
    Category { name: "02_long_P>5GeV", holds: |p| long_hadron(p) && above_5gev(p) },
    Category { name: "02_long_P>5GeV, eta > 4", holds: |p| long_hadron(p) && above_5gev(p) && p.eta > 4.0 },
    Category {
        name: "---eta > 2.5, small x, large y",
        holds: |p| long_hadron(p) && above_5gev(p) && p.eta > 2.5 && large_y(p),
    },
    Category {
        name: "---eta > 2.5, large x, small y",
        holds: |p| long_hadron(p) && above_5gev(p) && p.eta > 2.5 && !large_y(p),
    },
    Category { name: "03_long_P>3GeV", holds: |p| long_hadron(p) && above_3gev(p) },
    Category { name: "04_long_P>0.5GeV", holds: |p| long_hadron(p) && p.p > 0.5 },
    Category { name: "05_long_from_B", holds: |p| long_hadron(p) && p.from_beauty },
    Category { name: "06_long_from_B_P>5GeV", holds: |p| long_hadron(p) && p.from_beauty && above_5gev(p) },
    Category { name: "07_long_from_B_P>3GeV", holds: |p| long_hadron(p) && p.from_beauty && above_3gev(p) },
    Category { name: "08_UT+SciFi", holds: downstream },
    Category { name: "09_UT+SciFi_P>5GeV", holds: |p| downstream(p) && above_5gev(p) },
    Category { name: "10_UT+SciFi_P>3GeV", holds: |p| downstream(p) && above_3gev(p) },
    Category { name: "11_UT+SciFi_fromStrange", holds: |p| downstream(p) && p.from_strange },
    Category {
        name: "13_UT+SciFi_fromStrange_P>3GeV",
        holds: |p| downstream(p) && p.from_strange && above_3gev(p),
    },
    Category { name: "14_long_electrons", holds: long_electron },
    Category { name: "15_long_electrons_P>5GeV", holds: |p| long_electron(p) && above_5gev(p) },
    Category { name: "16_long_electrons_P>3GeV", holds: |p| long_electron(p) && above_3gev(p) },
    Category {
        name: "12_UT+SciFi_fromStrange_P>5GeV",
        holds: |p| downstream(p) && p.from_strange && above_5gev(p),
    },
    Category { name: "long_PT>2GeV", holds: |p| long_hadron(p) && p.pt > 2.0 },
    Category { name: "long_strange_P>5GeV", holds: long_strange_above_5gev },
    Category { name: "long_strange_P>5GeV_Pt>0.5GeV", holds: |p| long_strange_above_5gev(p) && p.pt > 0.5 },
    Category { name: "noVelo+UT", holds: not_velo_ut },
];

/// The categories of tracks through Velo and SciFi.
pub(super) const LONG: [Category; 15] = [
    Category { name: "01_long", holds: long_hadron },
    Category { name: "02_long_P>5GeV", holds: |p| long_hadron(p) && above_5gev(p) },
    Category { name: "03_long_strange", holds: |p| long_hadron(p) && p.from_strange },
    Category { name: "04_long_strange_P>5GeV", holds: long_strange_above_5gev },
    Category { name: "05_long_fromB", holds: |p| long_hadron(p) && p.from_beauty },
    Category { name: "06_long_fromB_P>5GeV", holds: |p| long_hadron(p) && p.from_beauty && above_5gev(p) },
    Category { name: "07_long_electrons", holds: long_electron },
    Category { name: "08_long_electrons_P>5GeV", holds: |p| long_electron(p) && above_5gev(p) },
    Category { name: "09_long_fromB_electrons", holds: |p| long_electron(p) && p.from_beauty },
    Category {
        name: "10_long_fromB_electrons_P>5GeV",
        holds: |p| long_electron(p) && p.from_beauty && above_5gev(p),
    },
    Category { name: "long_P>5GeV_AND_Pt>1GeV", holds: |p| long_hadron(p) && above_5gev(p) && p.pt > 1.0 },
    Category { name: "13_long_PT>2GeV", holds: |p| long_hadron(p) && p.pt > 2.0 },
    Category { name: "14_long_from_B_PT>2GeV", holds: |p| long_hadron(p) && p.from_beauty && p.pt > 2.0 },
    Category { name: "17_long_fromSignal", holds: |p| long(p) && p.from_signal },
    Category { name: "long_strange_P>5GeV_Pt>0.5GeV", holds: |p| long_strange_above_5gev(p) && p.pt > 0.5 },
];

/// Returns whether a track of `hits` hits matches a particle that left `common` of them.
pub(super) fn accepts(common: u32, hits: u32) -> bool {
    // In integers, 7 of 10 hits are exactly 70 %; 0.7 has no exact binary value.
    hits >= MIN_HITS && 10 * u64::from(common) >= 7 * u64::from(hits)
}

/// Evaluates one event for one category; `fates` has an entry for each particle of the event, all not found.
pub(super) fn evaluate(selected: &[bool], associations: &[Association], fates: &mut [Fate]) -> EventCategory {
    let mut event = EventCategory::default();
    for association in associations.iter().filter(|a| selected[a.particle as usize]) {
        let fate = &mut fates[association.particle as usize];
        fate.reconstructed = true;
        fate.tracks += 1;
        event.matched += 1;
        event.purity += association.purity();
        event.hit_efficiency += association.hit_efficiency();
    }
    event
}
