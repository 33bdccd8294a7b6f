//! Velo tracks into the UT: the same bits as the naive reference on every level, whatever the events are, and the
//! physics of the seven public events.

use crate::common::geometry::Detector;
use crate::common::{Sharing, best_level, data, hashes, hashes_on, read_raw};
use peloton::Status;
use peloton::event::{
    Column, Outcome, RawBatch, Results, States, UT_GROUPS, UtBatch, UtCellHits, VeloTracks, VeloUtTracks,
    difference,
};
use peloton::simd::Level;
use peloton::ut::reference::{by_cell, per_track, ranges, reference, reference_with};
use peloton::ut::{
    UtConfig, UtFindInput, UtFindWorkspace, UtHitsIn, UtLayout, UtPreset, UtScratch, decode, decode_by_cell,
    find,
};
use peloton::velo::Preset;
use peloton_io::input::EventNote;
use peloton_sim::LhcbReader;
use peloton_truth::{CheckReport, Checker, HitsOf, Rules, decode_mc};

/// A detector, and events in it as far as they are reconstructed before the search.
struct Sample {
    layout: UtLayout,
    events: Events,
}

/// Velo tracks, and hits of the UT in both orders.
#[derive(Default)]
struct Events {
    velo: VeloTracks,
    groups: UtBatch,
    cells: UtCellHits,
}

impl Events {
    /// As a choice reads them.
    fn input(&self, config: &UtConfig) -> UtFindInput<'_> {
        let hits = match config.reads_cells() {
            true => UtHitsIn::Cells(&self.cells),
            false => UtHitsIn::Groups(&self.groups),
        };
        UtFindInput { velo: &self.velo, hits }
    }
}

impl Sample {
    fn new(detector: &Detector, raw: &RawBatch) -> Self {
        let engine = detector.velo_engine(best_level(), Preset::Best);
        let (mut velo, mut groups, mut cells) = (Outcome::default(), Outcome::default(), Outcome::default());
        let (events, all) = (raw.view(), 0..raw.len());
        engine.try_run(events, &mut engine.workspace(), &mut velo).unwrap();
        let (layout, mut scratch) = (layout(detector), UtScratch::default());
        decode(best_level(), &detector.ut, events, all.clone(), &mut scratch, &mut groups);
        decode_by_cell(best_level(), (&detector.ut, &layout), events, all, &mut scratch, &mut cells);
        let events = Events { velo: velo.results, groups: groups.results, cells: cells.results };
        Self { layout, events }
    }
}

fn layout(detector: &Detector) -> UtLayout {
    UtLayout::new(&detector.ut, detector.tables.clone(), detector.polarity, 770.0).unwrap()
}

/// Configurations to try: all presets, and the narrow and wide ends of the paper's.
fn configs() -> Vec<UtConfig> {
    let mut configs: Vec<_> = UtPreset::ALL.map(UtConfig::preset).into();
    for (sectors, candidates) in [(1, 1), (3, 2), (3, 16), (5, 16)] {
        configs.push(UtConfig { sectors, candidates, ..UtConfig::preset(UtPreset::Paper) });
    }
    // Everything that can be made of hits comes out.
    configs.extend([UtPreset::Best, UtPreset::Paper].map(|preset| {
        let mut config = UtConfig {
            min_momentum: 300.0,
            min_pt: 20.0,
            slope_tolerance: 10.0,
            hit_tolerance: 100.0,
            final_momentum: 0.0,
            final_pt: 0.0,
            discriminant: f32::NEG_INFINITY,
            ..UtConfig::preset(preset)
        };
        config.candidates = if config.reads_cells() { 0 } else { 512 };
        (config.line.max_cost, config.line.pair_kink) = (f32::INFINITY, 1e6);
        config.validate().unwrap();
        config
    }));
    // Windows over many rows of sectors.
    configs.push(UtConfig { min_momentum: 1.0, min_pt: 0.1, ..UtConfig::preset(UtPreset::Best) });
    configs
}

/// Searches on every level and by the reference; fails when any bit or count differs. The number of tracks.
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
                // Steps depend on the gang, what is done in them does not.
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

    // Few tracks are so near to the edge of a window.
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

/// Numbers that look random and are always the same.
struct Random(u64);

impl Random {
    /// Evenly from 0 to 1.
    fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 24) as f32
    }

    fn within(&mut self, reach: f32) -> f32 {
        reach * (2.0 * self.unit() - 1.0)
    }
}

/// Where the strips of a made-up hit are: group, x, lower end.
type Strip = (usize, f32, f32);

/// An event of hits and of lines through the origin with these slopes.
fn push(
    layout_z: [f32; 4],
    mut strips: Vec<Strip>,
    slopes: &[[f32; 2]],
    velo: &mut VeloTracks,
    hits: &mut UtBatch,
) {
    let plane = |group: usize| [20, 40, 62, 84].iter().position(|&end| group < end).unwrap();
    strips.sort_by(|a, b| (a.0, a.2, a.1).partial_cmp(&(b.0, b.2, b.1)).unwrap());
    let first = hits.id.len();
    for &(group, x, low) in &strips {
        hits.x.push(x);
        hits.z.push(layout_z[plane(group)]);
        hits.y_begin.push(low);
        hits.y_end.push(low + 97.28);
        hits.weight.push(12.0 / (0.19 * 0.19));
        hits.id.push(hits.id.len() as u32);
    }
    for group in 0..UT_GROUPS {
        let upto = strips.iter().filter(|strip| strip.0 <= group).count();
        hits.group_start.push((first + upto) as u32);
    }
    hits.status.push(Status::Ok);
    for &[tx, ty] in slopes {
        let put = |states: &mut States, z: f32| {
            let values = [tx * z, ty * z, z, tx, ty, 1e-3, 1e-6, 1e-8];
            let put = |(column, value): (&mut Column<f32>, f32)| column.push(value);
            states.columns_mut().into_iter().zip(values).for_each(put);
        };
        put(&mut velo.beam, 0.0);
        put(&mut velo.end, 770.0);
        velo.chi2.push(1.0);
        velo.backward.push(u8::from(velo.chi2.len().is_multiple_of(7)));
        velo.hits.extend_from_slice(&[1, 2, 3]);
        velo.hit_start.push(velo.hits.len() as u32);
    }
    velo.track_start.push(velo.tracks() as u32);
    velo.status.push(Status::Ok);
}

/// The hits in the order of cells: strips are moved into the row that their middle is in, as sectors stand.
fn cells_of(layout: &UtLayout, hits: &UtBatch) -> UtCellHits {
    let mut moved = hits.clone();
    for hit in 0..hits.hits() {
        let row = ((hits.y_begin[hit] + hits.y_end[hit]) * 0.5 + 673.16) / 96.08;
        moved.y_begin[hit] = row.floor().clamp(0.0, 13.0) * 96.08 - 673.16;
        moved.y_end[hit] = moved.y_begin[hit] + 97.2;
    }
    by_cell(layout, &moved)
}

/// Slopes all over the acceptance, and what no track has.
fn slopes(random: &mut Random, count: usize) -> Vec<[f32; 2]> {
    let mut slopes: Vec<_> = (0..count).map(|_| [random.within(0.3), random.within(0.25)]).collect();
    for absurd in [f32::NAN, f32::INFINITY, 1e30, -1e-30, 0.0, 0.35, -0.3] {
        slopes.extend([[absurd, 0.1], [0.1, absurd], [absurd, absurd]]);
    }
    slopes
}

#[test]
fn hostile_events() {
    let detector = Detector::nominal();
    let layout = layout(&detector);
    let (z, groups) = ([2327.5, 2372.5, 2597.5, 2642.5], &detector.ut.group_x);
    let first = [0, 20, 40, 62];
    let tilt = [0.0, 0.087_488_67, -0.087_488_6, 0.0];
    let (mut velo, mut hits) = (VeloTracks::default(), UtBatch::default());
    let mut random = Random(1);
    let mut event = |strips, slopes: &[[f32; 2]]| push(z, strips, slopes, &mut velo, &mut hits);

    // 300 hits in each of four sectors that lie behind one another, and tracks into them.
    let into: Vec<_> = (0..40).map(|_| [0.11 + random.within(0.01), 0.02 + random.within(0.01)]).collect();
    let mut crowd = Vec::new();
    for sector in first {
        for _ in 0..300 {
            crowd.push((sector + 13, 270.0 + random.within(40.0), 0.4));
        }
    }
    event(crowd, &into);
    // All hits at one x, one y and one place.
    event((0..4).flat_map(|plane| vec![(first[plane] + 13, 270.0, 0.4); 40]).collect(), &into);
    // More tracklets than there is room for.
    let many: Vec<_> = (0..300).map(|_| [0.11 + random.within(0.004), 0.02 + random.within(0.01)]).collect();
    event((0..4).flat_map(|plane| vec![(first[plane] + 13, 270.0, 0.4); 40]).collect(), &many);
    // Planes without hits: one, two, all of them; and no tracks.
    for empty in 1..=4 {
        let strip = |plane: usize| {
            (0..20).map(move |i| (first[plane] + 13, 260.0 + i as f32, 0.4)).collect::<Vec<_>>()
        };
        event((empty..4).flat_map(strip).collect(), &into);
    }
    event(vec![(13, 270.0, 0.4)], &[]);
    // Tracks along the borders of groups and rows, with hits of their own on both sides.
    let (mut strips, mut along) = (Vec::new(), Vec::new());
    for i in 0..60 {
        let (x, y) =
            (groups[i % 20] + random.within(0.02), -673.16 + 96.08 * (i % 15) as f32 + random.within(0.02));
        let [tx, ty] = [x / z[0], y / z[0]];
        along.push([tx, ty]);
        for plane in 0..4 {
            let (x, y) = (tx * z[plane], ty * z[plane]);
            let x0 = x - y * tilt[plane];
            let right = groups[first[plane]..first[plane] + [20, 20, 22, 22][plane]].iter();
            let group = (first[plane] + right.filter(|&&left| left < x0).count()).max(first[plane] + 1) - 1;
            let border = -673.16 + 96.08 * (i % 15) as f32;
            for low in [border - 96.08, border] {
                strips.push((group, x0 + random.within(0.05), low + random.within(4.0)));
            }
        }
    }
    event(strips, &along);
    // Hits and tracks anywhere, also beside the detector; strips lie near their rows, as those of all geometries do.
    for count in [0, 1, 7, 500, 3000] {
        let strip = |random: &mut Random| {
            let low = -673.16 + 96.08 * (14.0 * random.unit()).floor() + random.within(4.0);
            (((random.unit() * 84.0) as usize).min(83), random.within(1200.0), low)
        };
        let strips = (0..count).map(|_| strip(&mut random)).collect();
        let slopes = slopes(&mut random, 60);
        event(strips, &slopes);
    }
    // Events that failed before.
    let failed = velo.status.len();
    velo.push_failed(Status::NotFinite);
    hits.push_failed(Status::Ok);
    velo.push_failed(Status::Ok);
    hits.push_failed(Status::BadBank);

    let cells = cells_of(&layout, &hits);
    assert!(5 * cells.hits() > 4 * hits.hits(), "{} of {} hits are in cells", cells.hits(), hits.hits());
    let events = Events { velo, groups: hits, cells };
    let tracks = compare(&layout, &events);
    assert!(tracks > 300, "{tracks}");
    let (mut out, config) = (Outcome::default(), UtConfig::default());
    find(best_level(), &config, &layout, events.input(&config), &mut UtFindWorkspace::default(), &mut out);
    assert_eq!(out.results.status[failed..], [Status::NotFinite, Status::BadBank]);
    // Crowded windows are cut short, and that is counted.
    let dropped: Vec<_> = out.counters.dropped().collect();
    assert!(
        dropped.iter().any(|&(reason, count)| reason == "candidates_in_window" && count > 1000),
        "{dropped:?}"
    );
}

/// A window in the paper's layout goes from the first to the last hit that the track may have left, whatever is between.
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
    // By group: one hit at the left, then five of the own group in the order of y, of which the lowest is too low and the
    // highest too far; one at the second to the right.
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
