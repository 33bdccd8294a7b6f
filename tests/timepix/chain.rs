//! The whole chain: blocks, disorder and presets change nothing, and every hit is accounted for.

use peloton::event::{Column, Layout, PixelClusters, PixelHits};
use peloton::simd::Level;
use peloton::timepix::{
    Algorithm, ChainCounts, Definition, FindConfig, Finder, TimeSorter, TimepixConfig, Workers, reference,
};
use peloton_sim::timepix::{PixelPreset, PixelSim, PixelSimSpec};
use proptest::prelude::*;

/// All clusters of a stream pushed in blocks, on one thread.
fn run(
    config: &TimepixConfig,
    level: Level,
    layout: &Layout,
    hits: &PixelHits,
    block: usize,
) -> (PixelClusters, ChainCounts) {
    run_on(1, config, level, layout, hits, block)
}

/// All clusters of a stream pushed in blocks, on several threads.
fn run_on(
    workers: usize,
    config: &TimepixConfig,
    level: Level,
    layout: &Layout,
    hits: &PixelHits,
    block: usize,
) -> (PixelClusters, ChainCounts) {
    let mut chain = Workers::new(config, level, layout, workers).unwrap();
    let take = |all: &mut PixelClusters, parts: &mut [PixelClusters]| {
        parts.iter().for_each(|more| all.extend_from(more, 0..more.len()));
    };
    let mut all = PixelClusters::default();
    let mut part = PixelHits::default();
    for start in (0..hits.len()).step_by(block) {
        part.clear();
        part.extend_from(hits, start..hits.len().min(start + block), 0);
        take(&mut all, chain.push(&part, false));
    }
    take(&mut all, chain.push(&PixelHits::default(), true));
    let counts = chain.counts();
    let accounted = counts.hits_out + counts.masked + counts.late + counts.filtered;
    assert_eq!((counts.hits_in, chain.waiting()), (accounted, 0));
    assert_eq!((counts.hits_in, counts.clusters), (hits.len() as u64, all.len() as u64));
    (all, counts)
}

/// Time-ordered hits on a small sensor; steps sometimes jump.
fn stream() -> impl Strategy<Value = PixelHits> {
    prop::collection::vec((0i64..90, 0u16..9, 0u16..9), 0..400).prop_map(|rows| {
        let (mut time, mut hits) = (0, PixelHits::default());
        for (step, x, y) in rows {
            time += if step > 85 { 1000 } else { step / 4 };
            hits.push(time, x, y, (time % 50) as u16);
        }
        hits
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn blocks_and_disorder_change_nothing(
        hits in stream(),
        definition in prop::sample::select(Definition::ALL.to_vec()),
        algorithm in prop::sample::select(vec![Algorithm::Fast, Algorithm::Plain]),
        delta in 1u32..150,
        block in 1usize..200,
        swaps in prop::collection::vec((0usize..400, 1usize..5), 0..60),
    ) {
        let find = FindConfig { definition, algorithm, delta, strict: false };
        let config = TimepixConfig { find, disorder_us: Some(1e6), ..TimepixConfig::default() };
        let layout = Layout::single(9, 9).unwrap();
        let mut shuffled = hits.clone();
        for (a, b) in swaps {
            let (a, b) = (a % hits.len().max(1), (a + b) % hits.len().max(1));
            if !hits.is_empty() {
                shuffled.time.swap(a, b);
                shuffled.x.swap(a, b);
                shuffled.y.swap(a, b);
                shuffled.tot.swap(a, b);
            }
        }
        let (clusters, _) = run(&config, Level::choose(None, None).unwrap(), &layout, &shuffled, block);
        if definition == Definition::Local {
            let level = Level::choose(None, None).unwrap();
            let (workers, _) = run_on(1 + block % 4, &config, level, &layout, &shuffled, block);
            prop_assert!(workers == clusters);
        }
        // The reference on the same hits in order.
        let (mut sorter, mut sorted) = (TimeSorter::new(Level::choose(None, None).unwrap(), 1 << 30, 1 << 20), PixelHits::default());
        sorter.push(&shuffled);
        sorter.finish(&mut sorted);
        let labels = reference::cluster(&find, &sorted);
        let mut expected = vec![Vec::new(); labels.iter().max().map_or(0, |last| *last as usize + 1)];
        labels.iter().enumerate().for_each(|(i, label)| expected[*label as usize].push(sorted.get(i)));
        let found: Vec<Vec<_>> = (0..clusters.len())
            .map(|cluster| clusters.of_cluster(cluster).map(|i| clusters.hits.get(i)).collect())
            .collect();
        prop_assert_eq!(found, expected);
    }
}

/// A simulated stream in the order of its readout.
fn simulated(preset: PixelPreset, hits: u64, delay_us: f64) -> (PixelHits, f64, u64) {
    let mut sim = PixelSim::new(PixelSimSpec { preset, hits, delay_us, ..PixelSimSpec::default() });
    let mut all = PixelHits::default();
    while sim.read(all.len() + 1000, &mut all) {}
    (all, sim.disorder_us(), sim.clusters())
}

#[test]
fn presets_have_the_cluster_sizes_of_the_paper() {
    let layout = Layout::single(256, 256).unwrap();
    for (name, preset) in PixelPreset::NAMES {
        let (hits, disorder, made) = simulated(preset, 1_000_000, 20.0);
        let config = TimepixConfig { disorder_us: Some(disorder), ..TimepixConfig::default() };
        let (clusters, counts) = run(&config, Level::choose(None, None).unwrap(), &layout, &hits, 1 << 16);
        assert_eq!(counts.late, 0);
        let sizes: Vec<f64> = (0..clusters.len()).map(|c| clusters.of_cluster(c).len() as f64).collect();
        let n = sizes.len() as f64;
        let mean = sizes.iter().sum::<f64>() / n;
        let deviation = (sizes.iter().map(|size| size * size).sum::<f64>() / n - mean * mean).sqrt();
        let off = [mean / preset.mean() - 1.0, deviation / preset.deviation() - 1.0];
        println!("{name}: {mean:.2} +- {deviation:.2}, {} of {made} clusters", sizes.len());
        assert!(off.iter().all(|off| off.abs() < 0.03), "{name}: {mean} +- {deviation}");
    }
}

#[test]
fn algorithms_levels_and_blocks_agree_on_every_preset() {
    let layout = Layout::single(256, 256).unwrap();
    for (name, preset) in PixelPreset::NAMES {
        let (hits, disorder, _) = simulated(preset, 200_000, 5.0);
        let config = TimepixConfig { disorder_us: Some(disorder), ..TimepixConfig::default() };
        let (expected, _) = run(&config, Level::choose(None, None).unwrap(), &layout, &hits, 1 << 16);
        for (level, block) in Level::supported().into_iter().zip([977, 30_000, 100_000, 4096, 65_536, 20_011])
        {
            assert!(run(&config, level, &layout, &hits, block).0 == expected, "{name}, {level}, {block}");
            let workers = 2 + block % 3;
            assert!(
                run_on(workers, &config, level, &layout, &hits, block).0 == expected,
                "{name}, {workers} workers"
            );
        }
        let (mut sorter, mut sorted) =
            (TimeSorter::new(Level::choose(None, None).unwrap(), 1 << 30, 1 << 24), PixelHits::default());
        sorter.push(&hits);
        sorter.finish(&mut sorted);
        for definition in Definition::ALL {
            let mut all = Vec::new();
            for algorithm in Algorithm::ALL {
                let config = FindConfig { definition, algorithm, ..FindConfig::default() };
                if let Ok(mut finder) = Finder::new(config, 256, 256) {
                    let mut labels = Column::default();
                    finder.run(&sorted, &mut labels);
                    all.push(labels);
                }
            }
            assert!(all.iter().all(|labels| *labels == all[0]), "{name}, {definition:?}");
        }
    }
}

/// Workers filter the clusters that they find, and the merger filters the clusters that it merges.
#[test]
fn filters_keep_and_count_the_same_clusters_on_every_number_of_threads() {
    let layout = Layout::single(256, 256).unwrap();
    let (hits, disorder, _) = simulated(PixelPreset::Lead0, 200_000, 5.0);
    let filter = "size=3:200,linearity=:0.9".parse().unwrap();
    let config = TimepixConfig { disorder_us: Some(disorder), filter, ..TimepixConfig::default() };
    let level = Level::choose(None, None).unwrap();
    let (expected, counts) = run(&config, level, &layout, &hits, 5000);
    assert!(counts.filtered_clusters > 100 && counts.clusters > 100);
    for workers in 2..5 {
        let (found, counted) = run_on(workers, &config, level, &layout, &hits, 5000);
        assert!(found == expected, "{workers}");
        assert_eq!(counted, counts, "{workers}");
    }
}

#[test]
fn never_ending_clusters_are_cut_and_counted() {
    let mut hits = PixelHits::default();
    (0..10_000).for_each(|i| hits.push(i * 100, 5, 5, 1));
    let config = TimepixConfig { capacity: 1000, disorder_us: Some(1.0), ..TimepixConfig::default() };
    let (clusters, counts) =
        run(&config, Level::choose(None, None).unwrap(), &Layout::single(16, 16).unwrap(), &hits, 100);
    assert!(counts.forced > 0);
    assert_eq!(clusters.len() as u64, counts.forced + 1);
}

/// The earliest and the latest possible times in one stream: nothing hangs, nothing is lost.
#[test]
fn extreme_times_go_through_the_chain() {
    let mut hits = PixelHits::default();
    for base in [i64::MIN, i64::MIN + 100, -3, i64::MAX - 129, i64::MAX - 1] {
        (0..2).for_each(|i| hits.push(base + i, 3 + i as u16, 3, 1));
    }
    let layout = Layout::single(9, 9).unwrap();
    for definition in Definition::ALL {
        let find = FindConfig { definition, ..FindConfig::default() };
        let labels = reference::cluster(&find, &hits);
        for (block, workers) in [(1, 1), (3, 1), (100, 1), (1, 2), (3, 3), (100, 2)] {
            if workers > 1 && definition != Definition::Local {
                continue;
            }
            let config = TimepixConfig { find, disorder_us: Some(0.0), ..TimepixConfig::default() };
            let level = Level::choose(None, None).unwrap();
            let (clusters, counts) = run_on(workers, &config, level, &layout, &hits, block);
            assert_eq!((counts.late, counts.hits_out), (0, hits.len() as u64));
            let last = labels.iter().copied().max().unwrap();
            assert_eq!(clusters.len() as u32, last + 1, "{definition:?}, {block}, {workers}");
        }
    }
}

/// A million hits of each preset: every algorithm, number of workers, size of block and usual gang of each instruction
/// set gives the same clusters with the same features. Minutes: `cargo test --release --test timepix chain -- --ignored`.
#[test]
#[ignore = "144 ways through ten million hits take minutes; smaller samples go the same ways in the other tests"]
fn a_million_hits_of_every_preset_in_every_way() {
    let layout = Layout::single(256, 256).unwrap();
    let mut levels: Vec<Level> = Vec::new();
    for level in Level::supported() {
        if levels.iter().all(|known| known.isa() != level.isa()) {
            levels.push(Level::choose(Some(level.isa()), None).unwrap());
        }
    }
    for (name, preset) in PixelPreset::NAMES {
        let (hits, disorder, _) = simulated(preset, 1_000_000, 20.0);
        let mut config = TimepixConfig { disorder_us: Some(disorder), ..TimepixConfig::default() };
        let (expected, counts) = run(&config, levels[0], &layout, &hits, hits.len());
        assert_eq!((counts.hits_out, counts.late, counts.forced), (hits.len() as u64, 0, 0));
        let mut ways = 0;
        for algorithm in Algorithm::ALL {
            config.find.algorithm = algorithm;
            for &level in &levels {
                for workers in 1..=4 {
                    for block in [1_000, 32_768, 1_000_000] {
                        let (found, _) = run_on(workers, &config, level, &layout, &hits, block);
                        assert!(
                            found == expected,
                            "{name}, {algorithm:?}, {level}, {workers} workers, {block}"
                        );
                        ways += 1;
                    }
                }
            }
        }
        println!("{name}: {} clusters in each of {ways} ways", expected.len());
    }
}
