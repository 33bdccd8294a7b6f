//! The checker on the tracks of another program: it gives the same counts of the tracks of Allen (2023) in the seven events as
//! Allen itself.

use crate::common::{data, read_raw};
use peloton_truth::{CheckReport, Checker, HitsOf, Measured, PairedChecker, Rules, TruthEvent, decode_mc};
use std::path::Path;

/// One event's tracks: hits, and momenta where the program wrote them.
type Tracks = Vec<(Vec<u32>, Option<Measured>)>;

fn truths(data: &Path) -> Vec<TruthEvent> {
    let (_, notes) = read_raw(&data.join("lhcb/minbias_retina_truth.mdf"));
    notes.iter().map(|note| decode_mc(note.truth.as_ref().unwrap(), HitsOf::All).unwrap()).collect()
}

/// The tracks of one of the program's files, with the momenta from a second file.
fn tracks(data: &Path, name: &str) -> Vec<Tracks> {
    let place = data.join("lhcb/peer_2023").join(name);
    let text = std::fs::read_to_string(place.with_extension("ndjson")).unwrap();
    let hits: Vec<Vec<Vec<u32>>> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Event, p, pt (MeV/c), eta, q/p.
    let told = std::fs::read_to_string(place.with_extension("kin")).unwrap_or_default();
    let mut told = told.lines().map(|line| {
        let [_, p, pt, _, qop] = line.split(' ').map(|word| word.parse().unwrap()).collect::<Vec<f64>>()[..]
        else {
            panic!("{line}");
        };
        Measured { p: p / 1000.0, pt: pt / 1000.0, charge: qop.signum(), qop_error: None }
    });
    let with_momenta = |event: Vec<Vec<u32>>| event.into_iter().map(|hits| (hits, told.next())).collect();
    hits.into_iter().map(with_momenta).collect()
}

fn check(truths: &[TruthEvent], tracks: &[Tracks], rules: Rules) -> CheckReport {
    assert_eq!(truths.len(), tracks.len());
    let mut checker = Checker::new(rules);
    for (truth, tracks) in truths.iter().zip(tracks) {
        checker.measured_event(truth, tracks.iter().map(|(hits, told)| (hits.as_slice(), *told)));
    }
    checker.report()
}

#[test]
fn counts_are_those_of_the_program_itself() {
    let Some(data) = data() else { return };
    let truths = truths(&data);
    let ut = |velo_ut, long| vec![("03_velo+UT_P>5GeV", velo_ut, 288), ("08_long_P>5GeV", long, 244)];
    let long = |long, fast, high_pt| {
        vec![("01_long", long, 374), ("02_long_P>5GeV", fast, 244), ("long_P>5GeV_AND_Pt>1GeV", high_pt, 50)]
    };
    let seeds = vec![
        ("02_long_P>5GeV", 201, 244),
        ("03_long_P>3GeV", 249, 305),
        ("00_P>3Gev_Pt>0.5", 109, 130),
        ("10_UT+SciFi_P>3GeV", 39, 57),
    ];
    for (name, rules, counts, ghosts) in [
        ("velout", Rules::LhcbUt, ut(200, 167), None),
        ("velout_unrestricted", Rules::LhcbUt, ut(242, 204), None),
        ("seeds", Rules::LhcbSeed, seeds, Some((61, 535))),
        ("long", Rules::LhcbLong, long(219, 187, 41), Some((23, 259))),
    ] {
        let report = check(&truths, &tracks(&data, name), rules);
        for (category, found, all) in counts {
            let told = report.categories.iter().find(|one| one.name == category).unwrap();
            assert_eq!((told.reconstructed, told.reconstructible), (found, all), "{name} {category}");
        }
        if let Some(expected) = ghosts {
            assert_eq!((report.ghosts, report.tracks), expected, "{name}");
        }
    }
}

#[test]
fn momenta_and_fast_ghosts_are_told_where_tracks_have_momenta() {
    let Some(data) = data() else { return };
    let truths = truths(&data);
    let report = check(&truths, &tracks(&data, "velout"), Rules::LhcbUt);
    assert!(report.fast.is_none() && report.momentum.is_none());
    let report = check(&truths, &tracks(&data, "long"), Rules::LhcbLong);
    let (fast, momentum) = (report.fast.clone().unwrap(), report.momentum.clone().unwrap());
    println!("{report}\n{:?}", momentum.all);
    assert_eq!((fast.ghosts, fast.tracks), (7, 114));
    assert_eq!((momentum.all.right_charge, momentum.all.tracks), (223, 225));
    // Half of the central 68 % of its momenta is 0.79 %.
    assert!((momentum.all.half_width.unwrap() - 0.007_87).abs() < 1e-5, "{momentum:?}");
    assert!((momentum.all.median.unwrap() - 0.000_34).abs() < 1e-5, "{momentum:?}");
}

/// Compares two lists of tracks of the same events, particle by particle.
#[test]
fn what_two_programs_find_is_compared_particle_by_particle() {
    let Some(data) = data() else { return };
    let truths = truths(&data);
    let (one, other) = (tracks(&data, "velout"), tracks(&data, "velout_unrestricted"));
    let (mut paired, mut checker) = (PairedChecker::new(Rules::LhcbUt), Checker::new(Rules::LhcbUt));
    for (event, truth) in truths.iter().enumerate() {
        checker.event(truth, one[event].iter().map(|(hits, _)| hits.as_slice()));
        paired.event(truth, checker.found(), other[event].iter().map(|(hits, _)| hits.as_slice()));
    }
    let paired = paired.report().into_iter().find(|one| one.name == "08_long_P>5GeV").unwrap().paired;
    println!("{paired:?}");
    assert_eq!((paired.both + paired.first_only, paired.both + paired.second_only), (167, 204));
    assert_eq!(paired.both + paired.first_only + paired.second_only + paired.neither, 244);
    assert_eq!(Rules::LhcbUt.holds("no such category", &truths[0].particles[0]), None);
}
