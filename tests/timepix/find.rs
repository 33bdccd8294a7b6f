//! Clusters: every algorithm, definition and cut against the naive reference.

use crate::common::data;
use peloton::event::{Column, PixelBlock, PixelHits};
use peloton::simd::Level;
use peloton::timepix::{Algorithm, Definition, FindConfig, Finder, TimeSorter, reference};
use peloton_io::input::Source;
use peloton_io::input::timepix::{PixelOptions, PixelReader, ReadEnd};
use proptest::prelude::*;
use std::collections::HashMap;
use std::path::Path;

/// Side of the small sensor.
const SIDE: u16 = 12;

/// Hits in order of time on a small sensor.
fn hits() -> impl Strategy<Value = PixelHits> {
    let hit = (0i64..40, 0..SIDE, 0..SIDE);
    // Few or many hits in the window, all scales of time, and far jumps.
    let scale = prop::sample::select(vec![1i64, 3, 50]);
    let jump = prop::sample::select(vec![0i64, 1000, 1 << 31, 1 << 33, i64::MAX]);
    // The earliest and the latest possible times, too.
    let start =
        prop::sample::select(vec![-500i64, 0, 1, 100, 1 << 40, i64::MIN, i64::MIN + 150, i64::MAX - 3000]);
    (prop::collection::vec(hit, 0..300), scale, jump, 0usize..300, start).prop_map(
        |(rows, scale, jump, at, start)| {
            let (mut time, mut hits) = (start, PixelHits::default());
            for (i, (step, x, y)) in rows.into_iter().enumerate() {
                time = time.saturating_add(step % 7 * scale).saturating_add(if i == at { jump } else { 0 });
                hits.push(time, x, y, 1);
            }
            hits
        },
    )
}

fn config() -> impl Strategy<Value = FindConfig> {
    let definition = prop::sample::select(Definition::ALL.to_vec());
    let algorithm = prop::sample::select(Algorithm::ALL.to_vec());
    (definition, algorithm, 1u32..200, any::<bool>())
        .prop_map(|(definition, algorithm, delta, strict)| FindConfig {
            definition,
            delta,
            strict,
            algorithm,
        })
        .prop_filter("not built", |config| config.validate().is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_algorithm_finds_the_clusters_of_the_reference(hits in hits(), config in config()) {
        let mut finder = Finder::new(config, SIDE.into(), SIDE.into()).unwrap();
        let mut labels = Column::default();
        let expected = reference::cluster(&config, &hits);
        // Twice: the memory of the first run must not affect the second, also with earlier times.
        for _ in 0..2 {
            let clusters = finder.run(&hits, &mut labels);
            prop_assert_eq!(&labels[..], &expected[..]);
            prop_assert_eq!(clusters as u32, expected.iter().max().map_or(0, |last| last + 1));
        }
    }
}

/// Consecutive long stretches with few hits in the window, with many hits, or without pauses.
fn stretches() -> impl Strategy<Value = PixelHits> {
    let stretch = (1usize..1500, prop::sample::select(vec![0u64, 1, 4, 20, 90, 5000, 1 << 33]), any::<u64>());
    prop::collection::vec(stretch, 1..5).prop_map(|stretches| {
        let (mut time, mut hits) = (-100_000i64, PixelHits::default());
        for (len, step, mut random) in stretches {
            for _ in 0..len {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                time += (random >> 33) as i64 % (step + 1) as i64;
                let pixel = (random >> 20) as u16;
                hits.push(time, pixel % SIDE, pixel / SIDE % SIDE, 1);
            }
        }
        hits
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn stretches_with_few_and_with_many_hits_in_the_window(
        hits in stretches(),
        delta in prop::sample::select(vec![1u32, 20, 128, 1925, 1926, 1927, 4000, 1 << 30]),
        again in 0usize..3000,
    ) {
        let plain = FindConfig { delta, algorithm: Algorithm::Plain, ..FindConfig::default() };
        let fast = FindConfig { algorithm: Algorithm::Fast, ..plain };
        let sides = [SIDE.into(), SIDE.into()];
        let find = |config, hits: &PixelHits| {
            let mut labels = Column::default();
            Finder::new(config, sides[0], sides[1]).unwrap().run(hits, &mut labels);
            labels
        };
        let expected = find(plain, &hits);
        // Hits that are pushed again, like the hits of incomplete clusters.
        let from = again.min(hits.len());
        let reach = hits.time.get(from).map_or(i64::MAX, |time| time.saturating_sub(i64::from(delta)));
        let mut rest = PixelHits::default();
        rest.extend_from(&hits, from..hits.len(), 0);
        let rest_expected = find(plain, &rest);
        for level in Level::supported() {
            let mut finder = Finder::at_level(fast, level, sides[0], sides[1]).unwrap();
            let mut labels = Column::default();
            finder.run(&hits, &mut labels);
            prop_assert_eq!(&labels[..], &expected[..], "{}", level);
            finder.forget(&hits, hits.time.partition_point(|time| *time < reach));
            finder.run(&rest, &mut labels);
            prop_assert_eq!(&labels[..], &rest_expected[..], "{}", level);
        }
    }
}

/// Hits of frames; pixels may occur twice.
fn frames() -> impl Strategy<Value = PixelHits> {
    let start = prop::sample::select(vec![0i64, -7, i64::MIN, i64::MAX - 100]);
    let sides = prop::sample::select(vec![2u16, 5, SIDE]);
    (prop::collection::vec((0i64..6, 0..SIDE, 0..SIDE), 0..300), start, sides).prop_map(
        |(rows, start, side)| {
            let mut hits = PixelHits::default();
            rows.into_iter()
                .for_each(|(frame, x, y)| hits.push(start + frame * frame, x % side, y % side, 1));
            hits
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Hits at equal times: in the order of arrival, which is hardly ever the order of x and y, and sorted.
    #[test]
    fn frames_are_clustered_as_the_reference_does(hits in frames()) {
        let mut sorted = PixelHits::default();
        let mut sorter = TimeSorter::new(Level::choose(None, None).unwrap(), i64::MAX, 1 << 20);
        sorter.push(&hits);
        sorter.finish(&mut sorted);
        let mut by_time = PixelHits::default();
        let mut order: Vec<usize> = (0..hits.len()).collect();
        order.sort_by_key(|i| hits.time[*i]);
        order.into_iter().for_each(|i| by_time.push(hits.time[i], hits.x[i], hits.y[i], 1));
        let config = FindConfig { delta: 0, ..FindConfig::default() };
        for level in Level::supported() {
            let mut finder = Finder::at_level(config, level, SIDE.into(), SIDE.into()).unwrap();
            let mut labels = Column::default();
            // The memory of earlier runs must not affect later runs.
            for hits in [&sorted, &by_time, &sorted, &sorted] {
                let clusters = finder.run(hits, &mut labels);
                prop_assert_eq!(&labels[..], &reference::cluster(&config, hits)[..], "{}", level);
                prop_assert_eq!(clusters, labels.iter().max().map_or(0, |last| *last as usize + 1));
            }
        }
        for definition in [Definition::Global, Definition::Static] {
            let other = FindConfig { definition, ..config };
            prop_assert_eq!(reference::cluster(&other, &sorted), reference::cluster(&config, &sorted));
        }
    }
}

/// A planted fault, another window, must be noticed.
#[test]
fn one_tick_makes_a_difference() {
    let mut hits = PixelHits::default();
    [(0, 1), (128, 2), (257, 3)].into_iter().for_each(|(time, x)| hits.push(time, x, 5, 1));
    let labels = |strict| {
        let config = FindConfig { strict, ..FindConfig::default() };
        let mut labels = Column::default();
        Finder::new(config, 16, 16).unwrap().run(&hits, &mut labels);
        labels.to_vec()
    };
    assert_eq!(labels(false), [0, 0, 1]);
    assert_eq!(labels(true), [0, 1, 2]);
}

/// All hits of a file in order of time, and the sensor.
fn read_sorted(path: &Path) -> (PixelHits, [usize; 2]) {
    let mut reader = PixelReader::open(&[Source::Path(path.into())], PixelOptions::default()).unwrap();
    let (mut block, mut sorter, mut hits) = (
        PixelBlock::default(),
        TimeSorter::new(Level::choose(None, None).unwrap(), 1 << 40, 1 << 24),
        PixelHits::default(),
    );
    loop {
        let end = reader.read(1000, &mut block).unwrap();
        sorter.push(&block.hits);
        sorter.take(&mut hits);
        block.clear();
        if end != ReadEnd::More {
            break;
        }
    }
    sorter.finish(&mut hits);
    assert_eq!((sorter.late(), sorter.forced()), (0, 0), "{}", path.display());
    assert_eq!(hits.len() as u64, reader.counts().hits);
    assert_eq!((reader.counts().outside, reader.counts().unknown), (0, unknown(path)), "{}", path.display());
    (hits, [reader.layout().width(), reader.layout().height()])
}

/// Words of unknown kinds: readout status words of the Timepix4 file.
fn unknown(path: &Path) -> u64 {
    if path.extension().is_some_and(|end| end == "tpx4") { 159 } else { 0 }
}

fn clusters(hits: &PixelHits, [width, height]: [usize; 2]) -> usize {
    let mut found = Vec::new();
    for definition in Definition::ALL {
        for algorithm in Algorithm::ALL {
            let config = FindConfig { definition, algorithm, ..FindConfig::default() };
            if let Ok(mut finder) = Finder::new(config, width, height) {
                let mut labels = Column::default();
                let clusters = finder.run(hits, &mut labels);
                found.push((definition, clusters, labels.to_vec()));
            }
        }
    }
    assert_eq!(found.len(), 8);
    for (definition, clusters, labels) in &found {
        let first = found.iter().find(|other| other.0 == *definition).unwrap();
        assert_eq!(clusters, &first.1, "{definition:?}");
        assert!(labels == &first.2, "{definition:?}: other clusters");
    }
    found[0].1
}

#[test]
fn real_files_have_the_known_numbers_of_clusters() {
    let Some(data) = data() else { return };
    for (file, hits, expected) in [
        ("asi_tpx4/fDrE_000000.tpx4", 213_363, 65_297),
        ("ornl_tpx3/suann_socket_background_serval32.tpx3", 98_548, 89_371),
        ("nsls2_tpx3/raw_test_data_serval_4_3_0.tpx3", 2_956, 2_076),
        ("jcmartin76_t3pa/testa.t3pa", 99_999, 99_970),
    ] {
        let (found, sensor) = read_sorted(&data.join("timepix").join(file));
        assert_eq!(found.len(), hits, "{file}");
        assert_eq!(clusters(&found, sensor), expected, "{file}");
    }
    let mut small = 0;
    for i in 0..=21 {
        let file = data.join(format!("timepix/nsls2_tpx3/raw_test_data_{i:02}.tpx3"));
        let (found, [width, height]) = read_sorted(&file);
        clusters(&found, [width, height]);
        for definition in Definition::ALL {
            let config = FindConfig { definition, ..FindConfig::default() };
            let mut labels = Column::default();
            Finder::new(config, width, height).unwrap().run(&found, &mut labels);
            assert_eq!(labels[..], reference::cluster(&config, &found)[..]);
        }
        small += found.len();
    }
    assert_eq!(small, 112);
}

#[test]
fn without_its_hot_pixels_the_background_run_has_712_clusters() {
    let Some(data) = data() else { return };
    let file = data.join("timepix/ornl_tpx3/suann_socket_background_serval32.tpx3");
    let (all, sensor) = read_sorted(&file);
    let mut counts = HashMap::new();
    (0..all.len()).for_each(|i| *counts.entry((all.x[i], all.y[i])).or_insert(0) += 1);
    let mut hits = PixelHits::default();
    for i in (0..all.len()).filter(|&i| counts[&(all.x[i], all.y[i])] <= 100) {
        let (time, x, y, tot) = all.get(i);
        hits.push(time, x, y, tot);
    }
    assert_eq!(hits.len(), 9_887);
    assert_eq!(clusters(&hits, sensor), 712);
    let labels = reference::cluster(&FindConfig::default(), &hits);
    assert_eq!(labels.iter().max(), Some(&711));
}
