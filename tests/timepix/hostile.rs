//! Streams that no detector sends: few pixels, equal times, bursts, long pauses, windows from 0 on, blocks of any size.
//! `PELOTON_STREAMS=5000 cargo test --release --test timepix hostile` has 25 times as many of them.

use peloton::event::{Layout, PixelClusters, PixelHits};
use peloton::simd::Level;
use peloton::timepix::{FindConfig, TimepixConfig, Workers};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Time, x, y, time over threshold.
type Hit = (i64, u16, u16, u16);

struct Random(Xoshiro256PlusPlus);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        if n == 0 { 0 } else { self.0.next_u64() % n }
    }

    fn is(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

/// A stream in the order of readout, and its disorder, ticks. No hit is late.
fn stream(random: &mut Random, window: u64, sides: [u64; 2]) -> (Vec<Hit>, i64) {
    let mut side = |of: u64| {
        let few = random.is(2);
        1 + random.below(if few { of.min(4) } else { of })
    };
    let (width, height) = (side(sides[0]), side(sides[1]));
    let (x, y) = (random.below(sides[0] - width + 1), random.below(sides[1] - height + 1));
    let mut step = match random.below(4) {
        0 => 0,
        1 => random.below(4 * window + 2),
        _ => random.below(4),
    };
    let disorder = if random.is(3) { random.below(1_000_000) } else { random.below(5000) } as i64;
    let (has_bursts, has_pauses, is_slow) = (random.is(2), random.is(4), random.is(5));
    let many = if random.is(10) { 20_000 } else { 2000 };
    let mut time = random.below(1 << 40) as i64 - (1 << 39);
    let (mut latest, mut hits) = (time, Vec::new());
    for _ in 0..1 + random.below(many) {
        if has_bursts && random.is(200) {
            step = if random.is(3) { random.below(3 * window + 9) } else { random.below(3) };
        }
        if is_slow && random.is(3) {
            time += random.below(1 << 23) as i64;
        }
        if has_pauses && random.is(1000) {
            time += 1 << [28, 31, 44][random.below(3) as usize];
        }
        time += random.below(step + 1) as i64;
        let read = (time - random.below(disorder as u64 + 1) as i64).max(latest - disorder);
        latest = latest.max(read);
        let tot = if random.is(8) { 0 } else { random.below(1 << 16) as u16 };
        hits.push((read, (x + random.below(width)) as u16, (y + random.below(height)) as u16, tot));
    }
    (hits, disorder)
}

/// Clusters by a simple loop over nine pixels: lists of hits, in the order of their first hits.
fn expected(hits: &[Hit], window: i64, sides: [u64; 2]) -> Vec<Vec<Hit>> {
    let mut hits = hits.to_vec();
    hits.sort_by_key(|&(time, x, y, _)| (time, x, y));
    let mut last = vec![None; (sides[0] * sides[1]) as usize];
    let mut parent: Vec<usize> = (0..hits.len()).collect();
    fn root(parent: &[usize], mut of: usize) -> usize {
        while parent[of] != of {
            of = parent[of];
        }
        of
    }
    for (i, &(time, x, y, _)) in hits.iter().enumerate() {
        for y in u64::from(y).saturating_sub(1)..=(u64::from(y) + 1).min(sides[1] - 1) {
            for x in u64::from(x).saturating_sub(1)..=(u64::from(x) + 1).min(sides[0] - 1) {
                let Some(j) = last[(y * sides[0] + x) as usize] else { continue };
                let other: Hit = hits[j];
                if time - other.0 <= window {
                    let (a, b) = (root(&parent, i), root(&parent, j));
                    parent[a.max(b)] = a.min(b);
                }
            }
        }
        last[(u64::from(y) * sides[0] + u64::from(x)) as usize] = Some(i);
    }
    let (mut number, mut clusters) = (vec![0; hits.len()], Vec::<Vec<Hit>>::new());
    for (i, hit) in hits.iter().enumerate() {
        let first = root(&parent, i);
        if first == i {
            number[i] = clusters.len();
            clusters.push(Vec::new());
        }
        clusters[number[first]].push(*hit);
    }
    clusters
}

fn found(
    config: &TimepixConfig,
    level: Level,
    sides: [u64; 2],
    hits: &[Hit],
    run: [usize; 2],
) -> PixelClusters {
    let [workers, block] = run;
    let layout = Layout::single(sides[0] as usize, sides[1] as usize).unwrap();
    let mut chain = Workers::new(config, level, &layout, workers).unwrap();
    let (mut all, mut part) = (PixelClusters::default(), PixelHits::default());
    for (start, block) in (0..).step_by(block).zip(hits.chunks(block)) {
        part.clear();
        block.iter().for_each(|&(time, x, y, tot)| part.push(time, x, y, tot));
        let end = start + block.len() == hits.len();
        chain.push(&part, end).iter().for_each(|more| all.extend_from(more, 0..more.len()));
    }
    let counts = chain.counts();
    assert_eq!((counts.late, counts.forced, chain.waiting()), (0, 0, 0));
    all
}

#[test]
fn hostile_streams_have_the_clusters_of_the_plain_loop() {
    let streams = std::env::var("PELOTON_STREAMS").map_or(200, |count| count.parse().expect("a number"));
    let levels = Level::supported();
    for seed in 0..streams {
        let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(seed));
        let sides = [[256, 256], [256, 256], [448, 512], [3, 700]][random.below(4) as usize];
        let window = match random.below(6) {
            0 => random.below(300),
            1 => 0,
            2 => 1 << random.below(30),
            _ => 128,
        };
        let (hits, disorder) = stream(&mut random, window, sides);
        let delta = window as u32 + u32::from(seed % 2 == 1);
        let find = FindConfig { delta, strict: seed % 2 == 1, ..FindConfig::default() };
        // Half a tick more, since the disorder is truncated to whole ticks.
        let us = (disorder as f64 + 0.5) * 1.5625e-3;
        let config = TimepixConfig { find, disorder_us: Some(us), ..TimepixConfig::default() };
        let expected = expected(&hits, window as i64, sides);
        let most = if random.is(4) { 20_000 } else { 700 };
        for workers in [1, 2] {
            let level = levels[random.below(levels.len() as u64) as usize];
            let block = 1 + random.below(most) as usize;
            let clusters = found(&config, level, sides, &hits, [workers, block]);
            let of = |cluster| clusters.of_cluster(cluster).map(|i| clusters.hits.get(i)).collect::<Vec<_>>();
            let found: Vec<_> = (0..clusters.len()).map(of).collect();
            assert!(found == expected, "stream {seed}, {level}, {workers} workers, blocks of {block}");
        }
    }
}
