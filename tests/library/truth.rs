//! The checker: against the numbers of the original validator, and on cases computed by hand.
use peloton::event::{Particle, TruthEvent};
use peloton_truth::{CategoryReport, CheckReport, Checker, Rules};
use serde_json::Value;

/// Fails unless numbers are equal, except for digits that depend on the order of additions.
fn assert_close(found: Option<f64>, expected: &Value, place: &str) {
    let found = found.unwrap_or_else(|| panic!("{place}: nothing, not {expected}"));
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{place}: {found}, not {expected}");
}

fn compare_category(found: &CategoryReport, expected: &Value, place: &str) {
    let counts = [found.reconstructible, found.reconstructed, found.clones, found.matched_tracks];
    let names = ["n_particles", "n_reconstructed", "n_clones", "n_matched_tracks"];
    assert_eq!(counts.map(Some), names.map(|name| expected[name].as_u64()), "{place}");
    let percent = |rate: Option<f64>| rate.map(|rate| 100.0 * rate);
    let rates = [
        ("efficiency", found.efficiency),
        ("clone_fraction", found.clone_rate),
        ("purity_percent_total", percent(found.purity)),
        ("purity_percent_event_avg", percent(found.purity_event_average)),
        ("hit_eff_percent_total", percent(found.hit_efficiency)),
        ("hit_eff_percent_event_avg", percent(found.hit_efficiency_event_average)),
        ("recoeff_percent_event_avg", percent(found.efficiency_event_average)),
        ("sum_purity", Some(found.sum_purity)),
        ("sum_hit_eff", Some(found.sum_hit_efficiency)),
    ];
    for (name, rate) in rates {
        assert_close(rate, &expected[name], &format!("{place} {name}"));
    }
    let known = expected.as_object().unwrap().len();
    assert_eq!(known, names.len() + rates.len(), "{place}: every number is compared");
}

fn compare(found: &CheckReport, expected: &Value, place: &str) {
    assert_eq!(Some(found.tracks), expected["n_tracks"].as_u64(), "{place}");
    assert_eq!(Some(found.ghosts), expected["n_ghosts"].as_u64(), "{place}");
    assert_close(found.ghost_rate, &expected["ghost_fraction"], place);
    assert_close(found.ghost_rate_event_average, &expected["ghost_fraction_event_avg"], place);
    let categories = expected["categories"].as_object().unwrap();
    assert_eq!(found.categories.len(), categories.len());
    for category in &found.categories {
        let place = format!("{place} {}", category.name);
        let expected = &categories[&category.name];
        if expected.is_null() {
            assert_eq!((category.reconstructible, category.efficiency), (0, None), "{place}");
        } else {
            compare_category(category, expected, &place);
        }
    }
}

#[test]
fn json_rules_reproduce_every_number_of_the_original() {
    let Some((batch, truth)) = crate::common::reference10() else { return };
    let path = crate::common::data().unwrap().join("velo/reference10/expected.json");
    let expected: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let algorithms = expected["algorithms"].as_object().unwrap();
    assert_eq!(algorithms.len(), 3);
    for (name, expected) in algorithms {
        let events = expected["per_event"].as_array().unwrap();
        assert_eq!(events.len(), 10);
        let mut all = Checker::new(Rules::Json);
        let mut halves = [Checker::new(Rules::Json), Checker::new(Rules::Json)];
        for (number, (event, truth)) in events.iter().zip(&truth).enumerate() {
            assert_eq!(event["n_hits"].as_u64().unwrap() as usize, batch.view().event(number).len());
            let tracks: Vec<Vec<u32>> = serde_json::from_value(event["tracks"].clone()).unwrap();
            let lists = || tracks.iter().map(Vec::as_slice);
            let mut alone = Checker::new(Rules::Json);
            alone.event(truth, lists());
            compare(&alone.report(), event, &format!("{name} event {number}"));
            all.event(truth, lists());
            halves[number / 6].event(truth, lists());
        }
        compare(&all.report(), &expected["all_events"], &format!("{name}, all events"));
        let [mut first, second] = halves;
        first.merge(&second).unwrap();
        assert_eq!(first.report(), all.report(), "{name}: divided or not");
    }
}

fn particle(pid: i32, hits: &[u32]) -> Particle {
    Particle {
        pid,
        p: 6.0,
        pt: 0.4,
        eta: 3.0,
        has_velo: true,
        is_long: true,
        hits: hits.to_vec(),
        ..Particle::default()
    }
}

fn check(rules: Rules, particles: Vec<Particle>, tracks: &[&[u32]]) -> CheckReport {
    let mut checker = Checker::new(rules);
    checker.event(&TruthEvent { particles }, tracks.iter().copied());
    checker.report()
}

/// Reconstructible, reconstructed, clones and matched tracks of a category.
fn counts(report: &CheckReport, name: &str) -> [u64; 4] {
    let category = report.categories.iter().find(|category| category.name == name).expect(name);
    [category.reconstructible, category.reconstructed, category.clones, category.matched_tracks]
}

#[test]
fn seventy_per_cent_is_enough_for_lhcb_only() {
    let ten: Vec<u32> = (0..10).collect();
    let particles = vec![particle(211, &[0, 1, 2, 3, 4, 5, 6, 20])];
    let strict = check(Rules::Json, particles.clone(), &[&ten]);
    assert_eq!((counts(&strict, "velo"), strict.ghosts), ([1, 0, 0, 0], 1));
    let lhcb = check(Rules::Lhcb, particles, &[&ten]);
    assert_eq!((counts(&lhcb, "01_velo"), lhcb.ghosts), ([1, 1, 0, 1], 0));
    assert_eq!(lhcb.categories[0].purity, Some(0.7));
    assert_eq!(lhcb.categories[0].hit_efficiency, Some(7.0 / 8.0));
}

#[test]
fn clones_are_divided_by_what_each_rule_says() {
    let particles = vec![particle(211, &[0, 1, 2, 3, 4, 5]), particle(-321, &[10, 11, 12])];
    let tracks: [&[u32]; 3] = [&[0, 1, 2], &[3, 4, 5], &[0, 4, 11]];
    let strict = check(Rules::Json, particles.clone(), &tracks);
    assert_eq!(counts(&strict, "long>5GeV"), [2, 1, 1, 2]);
    assert_eq!(strict.categories[1].clone_rate, Some(1.0));
    let lhcb = check(Rules::Lhcb, particles, &tracks);
    assert_eq!(counts(&lhcb, "03_long_P>5GeV"), [2, 1, 1, 2]);
    assert_eq!(lhcb.categories[1].clone_rate, Some(0.5));
    assert_eq!((lhcb.ghosts, lhcb.ghost_rate), (1, Some(1.0 / 3.0)));
}

#[test]
fn a_track_of_two_particles_is_the_first_by_json_and_both_by_lhcb() {
    let shared = [1, 2, 3, 4];
    let particles = vec![particle(211, &shared), particle(-211, &shared)];
    let strict = check(Rules::Json, particles.clone(), &[&shared]);
    assert_eq!(counts(&strict, "velo"), [2, 2, 0, 1]);
    assert_eq!(strict.categories[0].purity, Some(0.5), "one matched track, two reconstructed particles");
    let lhcb = check(Rules::Lhcb, particles, &[&shared]);
    assert_eq!(counts(&lhcb, "01_velo"), [2, 2, 0, 2]);
    assert_eq!(lhcb.categories[0].purity, Some(1.0));
}

#[test]
fn electrons_are_counted_apart() {
    let report = check(Rules::Lhcb, vec![particle(-11, &[1, 2, 3])], &[&[1, 2, 3]]);
    assert_eq!(counts(&report, "08_long_electrons"), [1, 1, 0, 1]);
    assert_eq!(counts(&report, "01_velo"), [0; 4]);
    let report = check(Rules::Json, vec![particle(-11, &[1, 2, 3])], &[&[1, 2, 3]]);
    assert_eq!((counts(&report, "velo"), report.ghosts), ([0; 4], 0), "in no category, but no ghost either");
}

#[test]
fn acceptance_and_origin_make_the_categories() {
    let outside = Particle { eta: 5.0, ..particle(211, &[1, 2, 3]) };
    let slow = Particle { p: 5.0, from_strange: true, ..particle(211, &[4, 5, 6]) };
    let beauty = Particle { from_beauty: true, from_signal: true, ..particle(211, &[7, 8, 9]) };
    let particles = vec![outside, slow, beauty];
    let tracks: [&[u32]; 3] = [&[1, 2, 3], &[4, 5, 6], &[7, 8, 9]];
    let lhcb = check(Rules::Lhcb, particles.clone(), &tracks);
    let sizes: Vec<u64> = lhcb.categories.iter().map(|category| category.reconstructible).collect();
    assert_eq!(sizes, [2, 2, 1, 1, 0, 1, 1, 0, 0, 0, 1]);
    let json = check(Rules::Json, particles, &tracks);
    let sizes: Vec<u64> = json.categories.iter().map(|category| category.reconstructible).collect();
    assert_eq!(sizes, [3, 3, 2, 1, 0, 1, 1]);
}

#[test]
fn short_and_repeated_tracks() {
    let particles = vec![particle(211, &[1, 2, 3, 4])];
    let tracks: [&[u32]; 4] = [&[1, 2, 3], &[1, 2, 3], &[4], &[]];
    let json = check(Rules::Json, particles.clone(), &tracks);
    assert_eq!((json.tracks, json.ghosts, json.repeated_tracks), (4, 2, 1));
    assert_eq!(counts(&json, "velo"), [1, 1, 0, 1], "a repeated track is no clone for the original");
    let lhcb = check(Rules::Lhcb, particles, &tracks);
    assert_eq!((lhcb.ghosts, counts(&lhcb, "01_velo")), (2, [1, 1, 1, 2]));
}

#[test]
fn nothing_over_nothing_is_null() {
    let report = Checker::new(Rules::Lhcb).report();
    let json = serde_json::to_value(&report).unwrap();
    assert!(json["ghost_rate"].is_null());
    let keys = [
        "name",
        "reconstructible",
        "reconstructed",
        "efficiency",
        "efficiency_low",
        "efficiency_high",
        "clones",
        "clone_rate",
        "purity",
        "hit_efficiency",
    ];
    let text = serde_json::to_string(&report).unwrap();
    assert!(text.starts_with(r#"{"tracks":0,"ghosts":0,"ghost_rate":null,"categories":[{"name":"01_velo","#));
    let category = json["categories"][0].as_object().unwrap();
    assert!(keys.iter().all(|key| category.contains_key(*key)));
    assert!(category["efficiency"].is_null() && category["efficiency_low"].is_null());
    let printed = report.to_string();
    assert!(printed.contains("01_velo") && printed.contains("0/0 - (-) [-, -], 0 (-) clones"));
    assert!(!printed.contains("NaN"), "{printed}");
}

#[test]
fn the_text_is_the_line_people_know() {
    let particles = vec![particle(211, &[0, 1, 2, 3]), particle(321, &[5, 6, 7])];
    let report = check(Rules::Lhcb, particles, &[&[0, 1, 2], &[5, 6, 8]]);
    let printed = report.to_string();
    let lines: Vec<&str> = printed.lines().collect();
    assert!(
        lines[0].starts_with("ghosts ") && lines[0].ends_with(" : 1/2 50.00 % (50.00 %)"),
        "{}",
        lines[0]
    );
    let ending =
        " : 1/2 50.00 % (50.00 %) [8.28 %, 91.72 %], 0 (0.00 %) clones, pur 100.00 %, hit eff 75.00 %";
    assert!(lines[1].starts_with("01_velo ") && lines[1].ends_with(ending), "{}", lines[1]);
}

#[test]
fn tables_add_up() {
    let mut particles: Vec<Particle> = (0..40u32)
        .map(|i| Particle {
            pt: 0.2 * f64::from(i),
            eta: 2.0 + 0.07 * f64::from(i),
            phi: -3.5 + 0.17 * f64::from(i),
            ..particle(211, &[3 * i, 3 * i + 1, 3 * i + 2])
        })
        .collect();
    particles[0].origin = Some([0.0, 0.0, -60.0]);
    particles[1].eta = f64::NAN;
    let tracks: Vec<Vec<u32>> = particles.iter().step_by(2).map(|p| p.hits.clone()).collect();
    let lists: Vec<&[u32]> = tracks.iter().map(Vec::as_slice).collect();
    let report = check(Rules::Json, particles, &lists);
    let sum = |variable: &str| {
        let table = report.tables.iter().find(|t| t.category == "velo" && t.variable == variable).unwrap();
        let bins = &table.bins;
        let total = |count: fn(&peloton_truth::EfficiencyBin) -> u64| bins.iter().map(count).sum::<u64>();
        assert!(bins.windows(2).all(|pair| pair[0].high == pair[1].low && pair[0].low < pair[0].high));
        (total(|bin| bin.reconstructible), total(|bin| bin.reconstructed))
    };
    for variable in ["p", "pt", "phi", "particles_in_event"] {
        assert_eq!(sum(variable), (40, 20), "{variable}");
    }
    assert_eq!((sum("eta"), sum("origin_z")), ((39, 20), (1, 1)), "what is not known is left out");
    let table = report.tables.iter().find(|t| t.variable == "origin_z").unwrap();
    let bin = table.bins.iter().find(|bin| bin.reconstructible > 0).unwrap();
    assert_eq!((bin.low, bin.high, bin.efficiency), (-100.0, -50.0, Some(1.0)));
    assert_eq!(report.ghost_tables[0].bins.iter().map(|bin| bin.tracks).sum::<u64>(), 20);
}

#[test]
fn different_rules_do_not_mix() {
    assert!(Checker::new(Rules::Json).merge(&Checker::new(Rules::Lhcb)).is_err());
    assert!("strict".parse::<Rules>().is_err() && "lhcb".parse::<Rules>().unwrap() == Rules::Lhcb);
}
