//! Velo tracks into the UT: the same bits as the naive reference on every level, for any events, and the
//! physics of the seven public events.

use crate::common::geometry::Detector;
use crate::common::ut::{Events, Sample, everything, hostile, layout, push};
use crate::common::{Sharing, best_level, data, hashes, hashes_on, read_raw};
use peloton::Status;
use peloton::event::{Outcome, RawBatch, UtBatch, VeloTracks, VeloUtTracks, difference};
use peloton::simd::Level;
use peloton::ut::reference::{per_track, ranges, reference, reference_with};
use peloton::ut::{UtConfig, UtFindWorkspace, UtLayout, UtPreset, find};
use peloton_io::input::EventNote;
use peloton_sim::LhcbReader;
use peloton_truth::{CheckReport, Checker, HitsOf, Rules, decode_mc};

/// Configurations: all presets, and the narrow and wide extremes of the paper's preset.
fn configs() -> Vec<UtConfig> {
    let mut configs: Vec<_> = UtPreset::ALL.map(UtConfig::preset).into();
    for (sectors, candidates) in [(1, 1), (3, 2), (3, 16), (5, 16)] {
        configs.push(UtConfig { sectors, candidates, ..UtConfig::preset(UtPreset::Paper) });
    }
    configs.extend([UtPreset::Best, UtPreset::Paper].map(everything));
    // Windows over many rows of sectors.
    configs.push(UtConfig { min_momentum: 1.0, min_pt: 0.1, ..UtConfig::preset(UtPreset::Best) });
    configs
}

/// Searches on every level and by the reference; fails when any bit or count differs. Returns the number of tracks.
fn compare(layout: &UtLayout, events: &Events) -> usize {
    let mut tracks = 0;
    for config in configs() {
        let input = events.input(&config);
        let mut expected = VeloUtTracks::default();
        reference(&config, layout, input, &mut expected);
        let mut first = None;
        for level in Level::supported() {
            let mut out = Outcome::default();
            find(level, &config, layout, input, &mut UtFindWorkspace::default(), &mut out);
            let Outcome { results, mut counters } = out;
            assert_eq!(results.status, expected.status);
            for event in 0..results.status.len() {
                let found = difference(&results, event, &expected, event);
                assert_eq!(found, None, "{level}, event {event}, {config:?}");
            }
            for stage in &mut counters.stages {
                // The number of steps depends on the gang, the work in them does not.
                (stage.ns, stage.lanes_total) = (0, 0);
            }
            assert_eq!(*first.get_or_insert(counters), counters, "{level}, {config:?}");
        }
        // The paper's form takes all hits of a window.
        let is_full = |(reason, _)| reason == "candidates_in_window";
        if config.sectors > 0 && !first.is_some_and(|counters| counters.dropped().any(is_full)) {
            let mut out = VeloUtTracks::default();
            per_track(&config, layout, &events.velo, &events.groups, &mut out);
            for event in 0..out.status.len() {
                assert_eq!(difference(&out, event, &expected, event), None, "event {event}, {config:?}");
            }
        }
        tracks += expected.tracks();
    }
    tracks
}

fn simulated(spec: &str, detector: &Detector) -> (RawBatch, Vec<EventNote>) {
    let (mut raw, mut notes) = (RawBatch::default(), Vec::new());
    let mut reader = LhcbReader::new(spec.parse().unwrap(), 0, None);
    reader.read(usize::MAX, &detector.to_fly_through(), &mut raw, &mut notes).unwrap();
    (raw, notes)
}

#[test]
fn every_level_finds_what_the_reference_finds_in_simulated_events() {
    let detector = Detector::nominal();
    let (raw, _) = simulated("sim:lhcb,events=12,seed=17,signal=b", &detector);
    let sample = Sample::new(&detector, &raw);
    let tracks = compare(&sample.layout, &sample.events);
    assert!(tracks > 4000, "{tracks}");

    // Few tracks are so close to the edge of a window.
    let (raw, _) = simulated("sim:lhcb,events=40,seed=18,signal=b", &detector);
    let (sample, config) = (Sample::new(&detector, &raw), UtConfig::default());
    let [mut right, mut wrong] = [VeloUtTracks::default(), VeloUtTracks::default()];
    let input = sample.events.input(&config);
    reference(&config, &sample.layout, input, &mut right);
    reference_with(true, &config, &sample.layout, input, &mut wrong);
    assert!((0..raw.len()).any(|event| difference(&right, event, &wrong, event).is_some()));
}

#[test]
fn every_level_finds_what_the_reference_finds_in_the_seven_events() {
    let Some(data) = data() else { return };
    let detector = Detector::open(&data.join("lhcb/geometry"));
    let (raw, _) = read_raw(&data.join("lhcb/minbias_retina_truth.mdf"));
    let sample = Sample::new(&detector, &raw);
    let tracks = compare(&sample.layout, &sample.events);
    assert!(tracks > 2000, "{tracks}");
}

#[test]
fn hostile_events() {
    let detector = Detector::nominal();
    let layout = layout(&detector);
    let (events, failed) = hostile(&detector);
    let (cells, hits) = (events.cells.hits(), events.groups.hits());
    assert!(5 * cells > 4 * hits, "{cells} of {hits} hits are in cells");
    let tracks = compare(&layout, &events);
    assert!(tracks > 300, "{tracks}");
    let (mut out, config) = (Outcome::default(), UtConfig::default());
    find(best_level(), &config, &layout, events.input(&config), &mut UtFindWorkspace::default(), &mut out);
    assert_eq!(out.results.status[failed..], [Status::NotFinite, Status::BadBank]);
    // Crowded windows are cut short, and the loss is counted.
    let dropped: Vec<_> = out.counters.dropped().collect();
    assert!(
        dropped.iter().any(|&(reason, count)| reason == "candidates_in_window" && count > 1000),
        "{dropped:?}"
    );
}

/// A window in the paper's layout goes from the first to the last hit that the track may have left, with all hits between.
#[test]
fn windows_in_the_layout_of_the_paper() {
    let layout = layout(&Detector::nominal());
    let (z, config) = ([2327.5, 2372.5, 2597.5, 2642.5], UtConfig::preset(UtPreset::Paper));
    let (mut velo, mut hits) = (VeloTracks::default(), UtBatch::default());
    // A track at x = 232.75 mm, y = 46.55 mm in the first plane.
    let own = (0..20).filter(|&group| Detector::nominal().ut.group_x[group] < 232.75).count() - 1;
    let near =
        [(own, 232.0, 0.4), (own, 250.0, 0.5), (own, 233.0, 0.6), (own, 290.0, 0.7), (own, 234.0, -96.0)];
    let left = [(own - 1, 232.5, 0.4), (own + 2, 233.5, 0.4), (own + 3, 233.0, 0.4)];
    let strips = near.into_iter().chain(left).collect();
    push(z, strips, &[[0.1, 0.02], [-0.1, -0.02]], &mut velo, &mut hits);
    let input = (&velo, &hits);
    let found = ranges(&config, &layout, input, 0, 0);
    // By group: one hit in the left group; five hits in the own group in the order of y, the first too low and the last too
    // far; one hit in the second group to the right.
    assert_eq!((found.first[0], found.size[0]), ([2, 0, 0, 0, 6], [3, 1, 0, 0, 1]));
    assert_eq!(found.size[1..], [[0; 5]; 3]);
    let one = ranges(&UtConfig { sectors: 1, ..config.clone() }, &layout, input, 0, 0);
    assert_eq!((one.first[0], one.size[0]), ([2, 0, 0, 0, 0], [3, 0, 0, 0, 0]));
    assert_eq!(ranges(&config, &layout, input, 0, 1), Default::default());
}

#[test]
fn threads_and_slices_change_nothing() {
    let detector = Detector::nominal();
    let (raw, _) = simulated("sim:lhcb,events=30,seed=18", &detector);
    for preset in UtPreset::ALL {
        let engine = detector.velo_ut_engine(best_level(), preset);
        let (expected, tracks) = hashes(&engine, raw.view());
        assert!(tracks > 500, "{preset}: {tracks}");
        for (threads, slice_events) in [(1, 1), (2, 7), (3, 4), (2, 100)] {
            let sharing = Sharing { threads, slice_events };
            assert_eq!(hashes_on(sharing, &engine, raw.view()).0, expected, "{preset}, {sharing:?}");
        }
        for level in Level::supported() {
            let engine = detector.velo_ut_engine(level, preset);
            assert_eq!(hashes(&engine, raw.view()).0, expected, "{preset}, {level}");
        }
    }
}

fn checked(detector: &Detector, preset: UtPreset, raw: &RawBatch, notes: &[EventNote]) -> CheckReport {
    let engine = detector.velo_ut_engine(best_level(), preset);
    let mut out = Outcome::<VeloUtTracks>::default();
    engine.try_run(raw.view(), &mut engine.workspace(), &mut out).unwrap();
    let mut checker = Checker::new(Rules::LhcbUt);
    for (event, note) in notes.iter().enumerate() {
        let truth = decode_mc(note.truth.as_ref().unwrap(), HitsOf::All).unwrap();
        checker.event(&truth, out.results.hit_lists(event));
    }
    checker.report()
}

/// Reconstructed and reconstructible particles of a category.
fn counts(report: &CheckReport, name: &str) -> [u64; 2] {
    let category = report.categories.iter().find(|category| category.name == name).unwrap();
    [category.reconstructed, category.reconstructible]
}

#[test]
fn the_seven_events_are_as_good_as_those_of_lhcbs_program() {
    let Some(data) = data() else { return };
    let detector = Detector::open(&data.join("lhcb/geometry"));
    let (raw, notes) = read_raw(&data.join("lhcb/minbias_retina_truth.mdf"));
    // Its counts of UT and of long particles above 5 GeV, and the most ghosts in per cent.
    for (preset, ut, long, ghosts) in [
        (UtPreset::Hlt1, 200, 167, 0.075),
        (UtPreset::Hlt1Unrestricted, 242, 204, 0.08),
        (UtPreset::Best, 270, 224, 0.03),
    ] {
        let report = checked(&detector, preset, &raw, &notes);
        let [found_ut, of_ut] = counts(&report, "03_velo+UT_P>5GeV");
        let [found_long, of_long] = counts(&report, "08_long_P>5GeV");
        assert_eq!((of_ut, of_long), (288, 244));
        assert!(found_ut + 3 >= ut && found_long + 3 >= long, "{preset}: {found_ut}, {found_long}");
        assert!(report.ghost_rate.unwrap() <= ghosts, "{preset}: {:?}", report.ghost_rate);
    }
}
