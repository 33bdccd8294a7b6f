//! The pixel kernels on the device under test: the clusters of the CPU's chain, for any order of lanes.

use peloton::Error;
use peloton::engine::{Executor, Sliced, StreamSequence, Streaming};
use peloton::event::{Layout, PixelBlock, PixelClusters, PixelHits};
use peloton::gpu::Order;
use peloton::gpu::timepix::{PixelDevice, PixelStream};
use peloton::simd::Level;
use peloton::timepix::{Definition, FindConfig, PixelBatch, Timepix, TimepixConfig, reference};
use peloton_sim::timepix::{PixelPreset, PixelSim, PixelSimSpec};
use proptest::prelude::*;

const ORDERS: [Order; 3] = [Order::Forward, Order::Reverse, Order::Random(5)];

/// Clusters, and counts of losses.
type Found = (PixelClusters, Vec<(&'static str, u64)>);

fn layout() -> Layout {
    Layout::single(256, 256).unwrap()
}

/// Hands hits over in pieces of `step`.
fn run<S>(sequence: &mut S, hits: &PixelHits, step: usize) -> Found
where
    S: StreamSequence<Piece = PixelBatch, Output = PixelClusters>,
{
    let (mut clusters, mut piece) = (PixelClusters::default(), PixelBatch::default());
    for from in (0..hits.len().max(1)).step_by(step) {
        let to = hits.len().min(from + step);
        piece.block.hits.clear();
        piece.block.hits.extend_from(hits, from..to, 0);
        piece.end = to == hits.len();
        sequence.push(&piece, &mut |part| clusters.extend_from(part, 0..part.len())).unwrap();
    }
    (clusters, sequence.counters().dropped().collect())
}

fn cpu(config: &TimepixConfig) -> Timepix {
    Timepix::new(config, Level::choose(None, None).unwrap(), &layout(), 1).unwrap()
}

/// A device with one to four streams; the slice determines the number.
fn device(order: Order, config: &TimepixConfig, slice: usize) -> PixelDevice {
    PixelDevice::new(crate::device(order), config, &layout(), slice, slice % 4 + 1).unwrap()
}

fn on_cpu(config: &TimepixConfig, hits: &PixelHits) -> Found {
    run(&mut cpu(config), hits, usize::MAX)
}

/// Runs in slices of `slice` hits, which arrive in pieces of another size.
fn on_device(order: Order, config: &TimepixConfig, hits: &PixelHits, slice: usize) -> Found {
    run(&mut device(order, config, slice), hits, slice / 3 + 1)
}

/// Keeps hits that are at most `disorder` older than the latest time that two consecutive hits before them have reached.
fn in_time(disorder: i64, hits: &PixelHits) -> PixelHits {
    let (mut kept, mut reached, mut last) = (PixelHits::default(), i64::MIN, i64::MIN);
    for (time, x, y, tot) in (0..hits.len()).map(|i| hits.get(i)) {
        if time >= reached.saturating_sub(disorder) {
            kept.push(time, x, y, tot);
        }
        (reached, last) = (reached.max(last.min(time)), time);
    }
    kept
}

#[test]
fn simulated_streams() {
    let mut sizes = Vec::new();
    for (name, preset) in PixelPreset::NAMES {
        let spec = PixelSimSpec { preset, hits: 20_000, delay_us: 20.0, ..PixelSimSpec::default() };
        let (mut sim, mut hits) = (PixelSim::new(spec), PixelHits::default());
        while sim.read(hits.len() + 1000, &mut hits) {}
        let config = TimepixConfig { disorder_us: Some(sim.disorder_us()), ..TimepixConfig::default() };
        let expected = on_cpu(&config, &hits);
        sizes.push(expected.0.len());
        // In one slice, and in smaller slices, of which the smallest must grow.
        for (order, room) in ORDERS.into_iter().zip([1 << 15, 3000, 64]) {
            assert!(on_device(order, &config, &hits, room) == expected, "{name}, {order:?}");
        }
    }
    // From many small clusters to a few with thousands of hits.
    assert!(
        sizes.iter().any(|clusters| *clusters > 2000) && sizes.iter().any(|clusters| *clusters < 20),
        "{sizes:?}"
    );
}

/// The hits of each cluster.
fn rows(clusters: &PixelClusters) -> Vec<Vec<(i64, u16, u16, u16)>> {
    let of = |cluster| clusters.of_cluster(cluster).map(|hit| clusters.hits.get(hit)).collect();
    (0..clusters.len()).map(of).collect()
}

fn by_the_reference(config: &TimepixConfig, hits: &PixelHits) -> Vec<Vec<(i64, u16, u16, u16)>> {
    let kept = in_time(config.disorder_ticks(), hits);
    let mut order: Vec<_> = (0..kept.len()).collect();
    order.sort_by_key(|&i| (kept.time[i], kept.x[i], kept.y[i], i));
    let mut sorted = PixelHits::default();
    order.into_iter().map(|i| kept.get(i)).for_each(|(time, x, y, tot)| sorted.push(time, x, y, tot));
    let labels = reference::cluster(&config.find, &sorted);
    let mut rows = vec![Vec::new(); labels.iter().max().map_or(0, |last| *last as usize + 1)];
    labels.iter().enumerate().for_each(|(i, label)| rows[*label as usize].push(sorted.get(i)));
    rows
}

/// Hits on a few pixels with repeated times, far from order, at any possible time.
fn stretch() -> impl Strategy<Value = PixelHits> {
    let base = prop::sample::select(vec![0i64, -1_000_000, i64::MAX - 100_000, i64::MIN]);
    let rows = prop::collection::vec((0i64..3000, 0u16..9, 0u16..9, 0u16..40), 0..2600);
    (base, rows).prop_map(|(base, rows)| {
        let mut hits = PixelHits::default();
        rows.into_iter().for_each(|(time, x, y, tot)| hits.push(base + time, x, y, tot));
        hits
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_stretch(hits in stretch(), delta in prop_oneof![0u32..40, 500u32..4000], disorder in 0i64..4000, order in 0usize..3, room in 1usize..3000) {
        let find = FindConfig { delta, ..FindConfig::default() };
        let disorder_us = Some(disorder as f64 / 640.0);
        let config = TimepixConfig { find, disorder_us, ..TimepixConfig::default() };
        let found = on_device(ORDERS[order], &config, &hits, room);
        prop_assert_eq!(rows(&found.0), by_the_reference(&config, &hits));
        // The CPU's chain needs room for delta before the first time.
        if hits.time.iter().all(|time| *time > i64::MIN + 10_000) {
            prop_assert!(found == on_cpu(&config, &hits));
        }
    }
}

/// Energies and time walk are equal to the CPU's, for any ends of slices.
#[test]
fn calibrated_streams() {
    let folder = std::env::temp_dir().join(format!("peloton-gpu-calibration-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, least, step) in [("a", 1.2, 1e-6), ("b", 20.0, 1e-4), ("c", 250.0, 1e-3), ("t", -1.5, 1e-5)] {
        // Some pixels have a calibration that makes no sense.
        let value = |i: i32| if i % 97 == 0 { 0.0 } else { least + step * f64::from(i % 1000) };
        let text: Vec<_> = (0..256 * 256).map(|i| value(i).to_string()).collect();
        std::fs::write(folder.join(format!("{name}.txt")), text.join(" ")).unwrap();
    }
    let spec = PixelSimSpec { hits: 8000, delay_us: 20.0, ..PixelSimSpec::default() };
    let (mut sim, mut hits) = (PixelSim::new(spec), PixelHits::default());
    while sim.read(hits.len() + 1000, &mut hits) {}
    for time_walk in [None, Some([29.73, 1.778, 1.210, -0.5325])] {
        let disorder_us = Some(sim.disorder_us());
        let calibration = Some(folder.clone());
        let config = TimepixConfig { disorder_us, calibration, time_walk, ..TimepixConfig::default() };
        let expected = on_cpu(&config, &hits);
        assert!(expected.0.features.energy.iter().filter(|energy| **energy > 0).count() > 100);
        for (order, room) in ORDERS.into_iter().zip([1 << 13, 1000, 555]) {
            assert!(on_device(order, &config, &hits, room) == expected, "{order:?}, {time_walk:?}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Clusters without end are cut at the largest number of waiting hits, and the cuts are counted.
#[test]
fn memory_is_bounded() {
    let config = TimepixConfig { capacity: 500, disorder_us: Some(0.0), ..TimepixConfig::default() };
    let mut hits = PixelHits::default();
    (0..5000).for_each(|i| hits.push(i, (i % 2) as u16, 0, 1));
    let (clusters, dropped) = on_device(Order::Forward, &config, &hits, 100);
    assert_eq!(clusters.hits.len(), 5000);
    let [("full_buffers", forced)] = dropped[..] else { panic!("{dropped:?}") };
    assert!(forced > 2 && clusters.len() == forced as usize + 1, "{forced}, {} clusters", clusters.len());
}

/// Masked pixels, filters and late hits have the same effects and counts as on the CPU.
#[test]
fn what_is_dropped_is_what_the_cpu_drops() {
    let spec = PixelSimSpec { hits: 8000, delay_us: 20.0, ..PixelSimSpec::default() };
    let (mut sim, mut hits) = (PixelSim::new(spec), PixelHits::default());
    while sim.read(hits.len() + 1000, &mut hits) {}
    let disorder_us = Some(sim.disorder_us() / 8.0);
    let filter = "size=2:".parse().unwrap();
    let config = TimepixConfig { disorder_us, filter, ..TimepixConfig::default() };
    let (mut cpu, mut device) = (cpu(&config), device(Order::Forward, &config, 700));
    for (x, y) in (0..2000).map(|i| (hits.x[4 * i], hits.y[4 * i])) {
        cpu.mask(x, y);
        device.mask(x, y);
    }
    let [expected, found] = [run(&mut cpu, &hits, 900), run(&mut device, &hits, 900)];
    let names: Vec<_> = expected.1.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["masked_hits", "late_hits", "filtered_hits"]);
    assert!(found == expected, "{:?} and {:?}", found.1, expected.1);
    let flow = |counters: peloton::event::Counters| {
        counters.stages.map(|stage| (stage.items_in, stage.items_out))[..4].to_vec()
    };
    assert_eq!(flow(device.counters()), flow(cpu.counters()));
}

/// A device is an executor, and reports its kind and its name.
#[test]
fn the_device_is_an_executor() {
    let mut hits = PixelHits::default();
    (0..1000).for_each(|i| hits.push(10 * i, (i * 7 % 13) as u16, (i * 5 % 11) as u16, 3));
    let config = TimepixConfig::default();
    let expected = on_cpu(&config, &hits);
    let mut executor: Box<dyn Executor> = Box::new(Streaming(device(Order::Reverse, &config, 302)));
    let piece = PixelBatch { block: PixelBlock { hits, ..PixelBlock::default() }, end: true };
    let mut slices = Sliced::default();
    for _ in 0..2 {
        let counters = executor.run(&piece, &mut slices).unwrap();
        let mut clusters = PixelClusters::default();
        slices.products().for_each(|part: &PixelClusters| clusters.extend_from(part, 0..part.len()));
        assert!((clusters, counters.dropped().collect::<Vec<_>>()) == expected);
        assert_eq!(counters.stages[0].items_in, 1000);
    }
    let machine = executor.machine();
    let device = crate::device(Order::Reverse);
    assert_eq!((machine.isa, machine.gang, machine.threads, machine.slice), (device.kind(), 32, 3, 302));
    assert_eq!(machine.device, Some(device.name()));
    assert!(machine.memory.arena > 3 * 40 * 302 && machine.memory.staging > 3 * 14 * 302);
    assert!(executor.take_kernel_times().is_empty(), "no times unless they are asked for");
    executor.time_kernels(true);
    executor.run(&piece, &mut slices).unwrap();
    let times = executor.take_kernel_times();
    for name in ["pixels_link", "copy_in", "copy_out"] {
        assert!(times.iter().any(|(of, ns)| *of == name && *ns > 0), "{name}: {times:?}");
    }
}

#[test]
fn what_a_device_cannot_do_is_an_error() {
    let device = crate::device(Order::Forward);
    let global = FindConfig { definition: Definition::Global, ..FindConfig::default() };
    assert!(matches!(PixelStream::open(&device, &global, None, 10), Err(Error::Unsupported(_))));
    for (slice, streams) in [(0, 1), (1, 0)] {
        let none = PixelDevice::new(device.clone(), &TimepixConfig::default(), &layout(), slice, streams);
        assert!(matches!(none, Err(Error::Config(_))));
    }
    let mut stream = PixelStream::open(&device, &FindConfig::default(), None, 10).unwrap();
    let (mut hits, mut clusters) = (PixelHits::default(), PixelClusters::default());
    (0..11).for_each(|i| hits.push(i, 0, 0, 1));
    assert!(matches!(stream.run(&hits, &mut clusters), Err(Error::Device(_))));
}

/// Crowds at one time over many chunks, on pixels with the lowest and highest numbers: the naive reference's clusters.
#[test]
fn crowds_and_edges() {
    let config = TimepixConfig { disorder_us: Some(0.0), ..TimepixConfig::default() };
    fn edge(i: u32) -> u16 {
        [0, 1, 2, 65533, 65534, 65535][i as usize % 6]
    }
    let places: [fn(u32) -> (u16, u16); 3] = [
        // Each hit is a cluster of its own.
        |i| (2 * (i % 100) as u16, 2 * (i / 100) as u16),
        // Rows that touch rows of other chunks.
        |i| ((i % 3000) as u16, 2 * (i / 3000) as u16),
        |i| (edge(i / 7), edge(i / 43)),
    ];
    for (number, place) in places.into_iter().enumerate() {
        for ticks in [0, 1] {
            let mut hits = PixelHits::default();
            (0..7000).for_each(|i| hits.push(i64::from(i * ticks), place(i).0, place(i).1, 1));
            let mut stream =
                PixelStream::open(&crate::device(ORDERS[number]), &config.find, None, 7000).unwrap();
            let mut clusters = PixelClusters::default();
            stream.run(&hits, &mut clusters).unwrap();
            assert!(rows(&clusters) == by_the_reference(&config, &hits), "{number}, {ticks} ticks a hit");
        }
    }
}

/// After an error the stream starts empty.
#[test]
fn another_stream_after_an_error() {
    let Ok((device, faults)) = peloton::gpu::Device::failing(Order::Forward) else { return };
    if crate::is_on_gpu() {
        return;
    }
    let config = TimepixConfig { disorder_us: Some(0.0), ..TimepixConfig::default() };
    let mut hits = PixelHits::default();
    (0..900).for_each(|i| hits.push(100 * i, (i * 7 % 13) as u16, (i * 5 % 11) as u16, 3));
    let expected = on_cpu(&config, &hits).0;
    let mut sequence = PixelDevice::new(device, &config, &layout(), 200, 3).unwrap();
    let piece = PixelBatch { block: PixelBlock { hits: hits.clone(), ..PixelBlock::default() }, end: true };
    let mut errors = 0;
    for call in (1..).step_by(17) {
        faults.fail(call);
        let done = sequence.push(&piece, &mut |_| ());
        let reached = !faults.is_waiting();
        faults.fail(0);
        errors += u32::from(done.is_err());
        assert_eq!(done.is_err(), reached, "call {call}");
        if !reached {
            break;
        }
        let mut clusters = PixelClusters::default();
        sequence.push(&piece, &mut |part| clusters.extend_from(part, 0..part.len())).unwrap();
        assert!(clusters == expected, "after a fault in call {call}");
    }
    assert!(errors > 20, "{errors} errors");
}

/// Few events, since ThreadSanitizer checks every access of the lanes.
#[test]
#[ignore = "runs under ThreadSanitizer, started by another test"]
fn inside_the_sanitizer() {
    let spec = PixelSimSpec { hits: 3000, delay_us: 20.0, ..PixelSimSpec::default() };
    let (mut sim, mut hits) = (PixelSim::new(spec), PixelHits::default());
    while sim.read(hits.len() + 1000, &mut hits) {}
    let config = TimepixConfig { disorder_us: Some(sim.disorder_us()), ..TimepixConfig::default() };
    assert!(on_device(Order::Random(3), &config, &hits, 4096) == on_cpu(&config, &hits));
}
