//! The physics of the presets on the public sample, by the rules of its validator.
use peloton::event::{Outcome, TruthEvent, VeloBatch};
use peloton::simd::Level;
use peloton::velo::{Preset, VeloConfig, VeloWorkspace, reconstruct};
use peloton_truth::{CheckReport, Checker, Rules};
use serde_json::{Value, json};

/// The checker's report of the events that `take` selects.
fn check(preset: Preset, sample: &(VeloBatch, Vec<TruthEvent>), take: fn(usize) -> bool) -> CheckReport {
    let (batch, truth) = sample;
    let (config, level) = (VeloConfig::preset(preset), Level::choose(None, None).unwrap());
    let mut out = Outcome::default();
    let mut workspace = VeloWorkspace::default();
    reconstruct(level, &config, batch.view(), 0..batch.len(), &mut workspace, &mut out);
    let Outcome { results: tracks, counters } = out;
    assert_eq!(counters.dropped().next(), None, "{preset}");
    let mut checker = Checker::new(Rules::Json);
    for event in (0..batch.len()).filter(|&event| take(event)) {
        checker.event(&truth[event], tracks.hit_lists(event));
    }
    checker.report()
}

/// Efficiencies of velo, long, long > 5 GeV and long from b, clones and ghosts, in percent.
fn physics(preset: Preset, sample: &(VeloBatch, Vec<TruthEvent>), take: fn(usize) -> bool) -> [f64; 6] {
    let report = check(preset, sample, take);
    let category = |name: &str| report.categories.iter().find(|category| category.name == name).unwrap();
    let efficiency = |name| category(name).efficiency;
    let rates = [
        efficiency("velo"),
        efficiency("long"),
        efficiency("long>5GeV"),
        efficiency("long_fromb"),
        category("velo").clone_rate,
        report.ghost_rate,
    ];
    let percent = rates.map(|rate| 100.0 * rate.expect("events of the category"));
    println!("{preset}: {percent:.2?}");
    percent
}

fn sample() -> Option<(VeloBatch, Vec<TruthEvent>)> {
    let sample = crate::common::read_all(&crate::common::data()?.join("velo/public200.ndjson.zst"));
    assert_eq!(sample.0.len(), 200);
    Some(sample)
}

/// Fails unless efficiencies are at least, and clones and ghosts at most, the given numbers.
#[track_caller]
fn assert_as_good_as(found: [f64; 6], bars: [f64; 6]) {
    let good = (0..6).all(|i| if i < 4 { found[i] >= bars[i] } else { found[i] <= bars[i] });
    assert!(good, "{found:.2?} is worse than {bars:?}");
}

/// The public code of the paper's time (LHCb's Allen, 2019) measured on the same events.
#[test]
fn paper_has_the_physics_of_its_source() {
    let Some(sample) = sample() else { return };
    let found = physics(Preset::Paper, &sample, |_| true);
    let source = [92.8, 98.3, 99.2, 98.3, 1.47, 1.27];
    assert!(found.iter().zip(source).all(|(a, b)| (a - b).abs() < 0.5), "{found:.2?}, not {source:?}");
}

/// There are no published numbers of the baseline for these events, and none of its parameters was tuned: its limits
/// are the results of the even events, minus half a percent.
#[test]
fn forwarding_finds_on_odd_events_what_it_finds_on_even_ones() {
    let Some(sample) = sample() else { return };
    let bars = [91.3, 98.6, 98.9, 98.6, 1.4, 3.5];
    assert_as_good_as(physics(Preset::Forwarding, &sample, |event| event % 2 == 0), bars);
    assert_as_good_as(physics(Preset::Forwarding, &sample, |event| event % 2 == 1), bars);
}

/// The aim of the preset, on odd events, since its parameters were chosen on even events.
#[test]
fn fast_finds_nearly_all() {
    let Some(sample) = sample() else { return };
    let found = physics(Preset::Fast, &sample, |event| event % 2 == 1);
    assert_as_good_as(found, [94.5, 98.9, 99.3, 97.5, 0.9, 1.1]);
}

/// Search by triplet of 2023 (LHCb's Allen, eight candidates) measured on the same events.
#[test]
fn best_is_no_worse_than_the_search_by_triplet_of_2023() {
    let Some(sample) = sample() else { return };
    assert_as_good_as(physics(Preset::Best, &sample, |_| true), [95.0, 99.2, 99.5, 99.3, 2.01, 1.64]);
}

/// The counts behind the table of `docs/performance/velo.md`, even and odd events apart, exactly: the same bits give the same counts.
/// After an intended change, PELOTON_NEW_REFS=1 writes new counts; the table and the changelog must change, too.
#[test]
fn counts_are_those_that_were_written_down() {
    let Some(sample) = sample() else { return };
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refs/velo_public200_counts.json");
    let counts = |preset, take| {
        let report = check(preset, &sample, take);
        let categories = report.categories.iter();
        let counts =
            categories.map(|c| (c.name.clone(), json!([c.reconstructible, c.reconstructed, c.clones])));
        json!({ "tracks": report.tracks, "ghosts": report.ghosts, "categories": counts.collect::<serde_json::Map<_, _>>() })
    };
    let both = |preset| json!({ "even": counts(preset, |event| event % 2 == 0), "odd": counts(preset, |event| event % 2 == 1) });
    let found: serde_json::Map<_, _> =
        Preset::ALL.into_iter().map(|preset| (preset.to_string(), both(preset))).collect();
    if std::env::var_os("PELOTON_NEW_REFS").is_some() {
        std::fs::write(&file, serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
    }
    let expected: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(Value::Object(found), expected, "efficiencies, clones or ghosts changed");

    // The table's rows of `best` are these counts in percent.
    let tables =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/performance/velo.md")).unwrap();
    for events in ["even", "odd"] {
        let best = &expected["best"][events];
        let share = |a: &Value, b: &Value| 100.0 * a.as_f64().unwrap() / b.as_f64().unwrap();
        let of = |name: &str| &best["categories"][name];
        let efficiencies =
            ["velo", "long", "long>5GeV", "long_fromb"].map(|name| share(&of(name)[1], &of(name)[0]));
        let [velo, long, fast, from_b] = efficiencies;
        let (ghosts, clones) =
            (share(&best["ghosts"], &best["tracks"]), share(&of("velo")[2], &of("velo")[1]));
        let row = format!(
            "| `best`, {events} | {velo:.2} % | {long:.2} % | {fast:.2} % | {from_b:.2} % | {ghosts:.2} % | {clones:.2} % |"
        );
        assert!(tables.contains(&row), "docs/performance/velo.md lacks {row}");
    }
}
