//! LHCb's checker for Velo-UT, SciFi and long tracks: its categories on the seven public events, and tracks of true hits with
//! known faults.

use crate::common::{data, read_raw};
use peloton::event::Particle;
use peloton_truth::{CategoryReport, CheckReport, Checker, HitsOf, Rules, TruthEvent, decode_mc};

/// The truth of the seven events; none without data.
fn events() -> Vec<TruthEvent> {
    let Some(data) = data() else { return Vec::new() };
    let (_, notes) = read_raw(&data.join("lhcb/minbias_retina_truth.mdf"));
    notes.iter().map(|note| decode_mc(note.truth.as_ref().unwrap(), HitsOf::All).unwrap()).collect()
}

/// The hits of a particle in one detector, by the highest bits of their LHCbIDs.
fn part(particle: &Particle, detector: u32) -> Vec<u32> {
    particle.hits.iter().copied().filter(|id| id >> 28 == detector).collect()
}

const VELO: u32 = 2;
const UT: u32 = 3;
const SCIFI: u32 = 5;
/// A hit of no particle.
const NOBODY: u32 = 0xFFFF_FFFF;

fn check(rules: Rules, events: &[TruthEvent], tracks: impl Fn(&TruthEvent) -> Vec<Vec<u32>>) -> CheckReport {
    let mut checker = Checker::new(rules);
    for event in events {
        checker.event(event, tracks(event).iter().map(Vec::as_slice));
    }
    checker.report()
}

fn category<'a>(report: &'a CheckReport, name: &str) -> &'a CategoryReport {
    report.categories.iter().find(|category| category.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn categories_have_the_sizes_that_the_experiments_checker_finds() {
    let events = events();
    if events.is_empty() {
        return;
    }
    let ut = [651, 556, 288, 277, 191, 52, 374, 244, 0, 0, 30, 0, 0];
    let seed = [
        130, 374, 107, 97, 79, 91, 16, 23, 120, 215, 244, 131, 92, 145, 305, 374, 0, 0, 0, 79, 30, 57, 22,
        17, 30, 16, 26, 9, 9, 6, 1, 153,
    ];
    let long = [(0, 374), (1, 244), (6, 30), (7, 16), (10, 50), (13, 0)];
    let sizes = |rules| -> Vec<u64> {
        let report = check(rules, &events, |_| Vec::new());
        report.categories.iter().map(|category| category.reconstructible).collect()
    };
    // The categories after these do not exist in the experiment's checker.
    assert_eq!(sizes(Rules::LhcbUt)[..ut.len()], ut);
    assert_eq!(sizes(Rules::LhcbSeed), seed);
    for (at, size) in long {
        assert_eq!(sizes(Rules::LhcbLong)[at], size, "category {at}");
    }
}

#[test]
fn true_tracks_are_found_and_cost_nothing() {
    let events = events();
    for (rules, name, parts) in [
        (Rules::LhcbUt, "02_velo+UT", &[VELO, UT][..]),
        (Rules::LhcbSeed, "01_long", &[SCIFI]),
        (Rules::LhcbLong, "01_long", &[VELO, SCIFI]),
        (Rules::LhcbLong, "01_long", &[VELO, UT, SCIFI]),
    ] {
        let report = check(rules, &events, |event| {
            let of = |p: &Particle| parts.iter().flat_map(|&detector| part(p, detector)).collect::<Vec<_>>();
            let wanted =
                |p: &&Particle| if rules == Rules::LhcbUt { p.has_velo && p.has_ut } else { p.is_long };
            event.particles.iter().filter(wanted).map(of).collect()
        });
        if report.events == 0 {
            return;
        }
        let found = category(&report, name);
        assert_eq!((report.ghosts, found.reconstructed), (0, found.reconstructible), "{rules} {name}");
        assert!(found.purity.unwrap() > 0.999 && found.hit_efficiency.unwrap() > 0.98, "{found:?}");
    }
}

/// Tracks of five known kinds, right and wrong, give known counts.
#[test]
fn known_faults_are_counted_as_such() {
    let events = events();
    if events.is_empty() {
        return;
    }
    let made = |event: &TruthEvent| {
        let long = |p: &&Particle| p.is_long && p.eta > 2.0 && p.eta < 5.0 && !p.is_electron();
        let mut tracks = Vec::new();
        for (number, particle) in event.particles.iter().filter(long).enumerate() {
            let (velo, ut, mut scifi) = (part(particle, VELO), part(particle, UT), part(particle, SCIFI));
            // Enough foreign hits that the track matches no related particle, which shares some of the true hits.
            let foreign = 6 * scifi.len();
            match number % 5 {
                0 => scifi.extend(vec![NOBODY; foreign]),
                1 => tracks.push([&velo[..], &scifi].concat()),
                2 => scifi.push(NOBODY),
                3 => continue,
                _ => {}
            }
            tracks.push([&velo[..], &ut, &scifi].concat());
        }
        tracks
    };
    let report = check(Rules::LhcbLong, &events, made);
    let expected = events.iter().map(|event| {
        let long = |p: &&Particle| p.is_long && p.eta > 2.0 && p.eta < 5.0 && !p.is_electron();
        let count = event.particles.iter().filter(long).count();
        let of = |kind: usize| (count + 4 - kind) / 5;
        [of(0), of(1), of(2), of(4)].map(|n| n as u64)
    });
    let [ghosts, twice, dirty, clean] =
        expected.fold([0; 4], |sum, one| std::array::from_fn(|i| sum[i] + one[i]));
    let found = category(&report, "01_long");
    assert_eq!(report.ghosts, ghosts);
    assert_eq!((found.reconstructible, found.reconstructed), (374, twice + dirty + clean));
    assert_eq!((found.clones, found.matched_tracks), (twice, 2 * twice + dirty + clean));
    assert!(found.purity.unwrap() < 1.0 && found.hit_efficiency.unwrap() > 0.98, "{found:?}");

    // All Velo-UT tracks with one foreign hit in the UT match a particle; none with two foreign hits does.
    for (foreign, left) in [(1, true), (2, false)] {
        let report = check(Rules::LhcbUt, &events, |event| {
            let extended = |p: &&Particle| p.has_velo && p.has_ut && part(p, VELO).len() > 2;
            let of =
                |p: &Particle| [part(p, VELO), part(p, UT), vec![3 << 28 | 0x0FFF_FFFF; foreign]].concat();
            event.particles.iter().filter(extended).map(of).collect()
        });
        let found = category(&report, "02_velo+UT");
        assert_eq!(found.reconstructed, if left { 556 } else { 0 }, "{foreign} foreign hits");
        assert_eq!(report.ghosts, if left { 0 } else { report.tracks });
    }
}
