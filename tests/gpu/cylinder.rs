//! The cylinder kernels on the device under test: the CPU's tracks, bit by bit, for any order of lanes, any slices
//! and any room.
use peloton::cylinder::{
    Builder, CylinderConfig, CylinderInput, CylinderSample, CylinderWorkspace, SeedSource, reconstruct,
};
use peloton::engine::{Executor, Sliced};
use peloton::event::{
    CYLINDER_LAYERS, Counters, CylinderBatch, CylinderTracks, CylinderTruth, Hasher, Hashes, NO_HIT, Outcome,
    Product,
};
use peloton::gpu::cylinder::{Capacity, CylinderStream, GrowingStream};
use peloton::gpu::{DeviceStream, Order, StreamPool};
use peloton::simd::Level;
use peloton::{Error, Status};
use peloton_io::input::{CylinderReader, ReadOptions, Source};
use peloton_sim::CylinderSim;
use proptest::prelude::*;

const ORDERS: [Order; 3] = [Order::Forward, Order::Reverse, Order::Random(7)];
const BUILDERS: [Builder; 2] = [Builder::BestHit, Builder::CloneEngine];

type Sample = (CylinderBatch, CylinderTruth);

fn simulated(text: &str) -> Sample {
    let (mut batch, mut truth) = Sample::default();
    let mut sim = CylinderSim::new(text.parse().unwrap(), 0, None);
    while sim.read(8, &mut batch, &mut truth) > 0 {}
    (batch, truth)
}

/// Hashes, statuses, and counts of losses.
#[derive(Debug, PartialEq)]
struct Found {
    hashes: Hashes,
    status: Vec<Status>,
    dropped: Vec<(&'static str, u64)>,
}

fn found<'a>(pieces: impl Iterator<Item = &'a CylinderTracks>, counters: &Counters) -> Found {
    let (mut hasher, mut status) = (Hasher::new(CylinderTracks::SCHEMA), Vec::new());
    for tracks in pieces {
        hasher.update(tracks);
        status.extend_from_slice(&tracks.status);
    }
    Found { hashes: hasher.finish(), status, dropped: counters.dropped().collect() }
}

fn on_cpu(config: &CylinderConfig, (hits, truth): &Sample) -> Found {
    let mut out = Outcome::default();
    let input = CylinderInput { hits, seeds: &truth.particles };
    let level = Level::choose(None, None).unwrap();
    let mut workspace = CylinderWorkspace::default();
    reconstruct(level, config, input, 0..hits.len(), &mut workspace, &mut out);
    found([&out.results].into_iter(), &out.counters)
}

/// Room for the largest of these slices.
fn room((hits, truth): &Sample, events: usize) -> Capacity {
    let largest = |starts: &[u32], per_event: usize| {
        let each = starts.chunks(per_event).map(|c| c[0]).chain(starts.last().copied()).collect::<Vec<_>>();
        each.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0) * events
    };
    Capacity {
        events,
        hits: largest(&hits.layer_start, CYLINDER_LAYERS),
        seeds: largest(&truth.particles.start, 1),
    }
}

fn on_device(
    order: Order,
    config: &CylinderConfig,
    sample: &Sample,
    streams: usize,
    capacity: Capacity,
) -> Found {
    let device = crate::device(order);
    let open = || CylinderStream::open(&device, config, capacity);
    twice(StreamPool::new(&device, streams, open).expect("memory"), sample)
}

/// Runs a stream twice: the memory of the first pass must not affect the second pass.
fn twice<T: DeviceStream>(mut pool: StreamPool<T>, sample: &Sample) -> Found {
    let input = CylinderInput { hits: &sample.0, seeds: &sample.1.particles };
    let mut tracks = Sliced::default();
    let passes = [(); 2].map(|()| {
        let counters = pool.try_run(input, &mut tracks).expect("kernels that run");
        found(tracks.products(), &counters)
    });
    let [first, second] = passes;
    assert_eq!(first, second);
    assert_eq!(first.status.len(), sample.0.len(), "every event is accounted for");
    first
}

fn with(builder: Builder) -> CylinderConfig {
    CylinderConfig { builder, ..CylinderConfig::best() }
}

#[test]
fn simulated_events_give_the_bits_of_the_cpu() {
    let samples = [
        simulated("sim:cylinder,events=3,tracks=300,seed=3"),
        simulated("sim:cylinder,events=2,tracks=250,seed=4,inefficiency=0.2,noise=2000"),
        simulated("sim:cylinder,events=5,tracks=1,seed=5,inefficiency=0.6"),
        simulated("sim:cylinder,events=1,tracks=0,seed=5"),
    ];
    let mut dropped = 0;
    for sample in &samples {
        for (preset, builder) in [0, 1].into_iter().flat_map(|preset| BUILDERS.map(|b| (preset, b))) {
            let mut config = CylinderConfig { builder, ..CylinderConfig::default() };
            if preset == 1 {
                config = with(builder);
                config.build.hits_in_window = 2;
            }
            let expected = on_cpu(&config, sample);
            dropped += expected.dropped.len();
            for order in ORDERS {
                let found = on_device(order, &config, sample, 2, room(sample, 2));
                assert_eq!(found, expected, "{builder}, {order:?}");
            }
        }
    }
    assert!(dropped > 0, "hits beyond the room of a window are counted");
}

#[test]
fn the_toy_file_gives_the_bits_of_the_cpu() {
    let Some(folder) = crate::common::data() else { return };
    let source = Source::Path(folder.join("cylinder/toy_2x2k.bin.zst"));
    let options = ReadOptions { truth: true, ..ReadOptions::default() };
    let mut reader = CylinderReader::open(&[source], options).unwrap();
    let mut sample = Sample::default();
    while reader.read(8, &mut sample.0, &mut sample.1).unwrap() > 0 {}
    assert_eq!((sample.0.len(), sample.1.particles.len()), (2, 4000));
    for builder in BUILDERS {
        let expected = on_cpu(&with(builder), &sample);
        for order in ORDERS {
            assert_eq!(on_device(order, &with(builder), &sample, 1, room(&sample, 2)), expected, "{order:?}");
        }
    }
}

#[test]
fn any_number_of_candidates() {
    let sample = simulated("sim:cylinder,events=1,tracks=150,seed=8,inefficiency=0.3,noise=12000");
    let mut hashes = Vec::new();
    for candidates in [1, 2, 7, 8, 9, 16, 17, 32] {
        let mut config = with(Builder::CloneEngine);
        (config.build.candidates, config.build.holes, config.build.chi2) = (candidates, 3, 60.0);
        (config.build.window_phi, config.build.window_z) = (0.1, 4.0);
        let expected = on_cpu(&config, &sample);
        let found = on_device(Order::Random(candidates), &config, &sample, 1, room(&sample, 1));
        assert_eq!(found, expected, "{candidates} candidates");
        hashes.push(found.hashes.int);
    }
    hashes.dedup();
    assert!(hashes.len() >= 3, "the number of candidates matters: {hashes:?}");
}

/// The comparison notices a changed formula or rule.
#[test]
fn a_difference_would_be_noticed() {
    let sample = simulated("sim:cylinder,events=1,tracks=100,seed=2,inefficiency=0.1,noise=500");
    let config = with(Builder::CloneEngine);
    let found = on_device(Order::Forward, &config, &sample, 1, room(&sample, 1));
    let mut holes = config.clone();
    holes.build.holes = 1;
    assert_ne!(on_cpu(&holes, &sample).hashes.int, found.hashes.int);
    let field = CylinderConfig { field: config.field.next_up(), ..config };
    assert_ne!(on_cpu(&field, &sample).hashes.output, found.hashes.output);
}

/// Without room for a slice halves of it are tried; an event that does not fit alone passes through and is counted.
#[test]
fn too_little_room() {
    let mut sample = simulated("sim:cylinder,events=3,tracks=80,seed=1");
    let more = simulated("sim:cylinder,events=1,tracks=200,seed=2");
    append(&mut sample, &more);
    let config = with(Builder::CloneEngine);
    let expected = on_cpu(&config, &sample);
    let one = room(&sample, 1);
    for capacity in [Capacity { events: 4, ..one }, Capacity { events: 4, hits: 1 << 20, ..one }] {
        assert_eq!(on_device(Order::Forward, &config, &sample, 2, capacity), expected);
    }
    for capacity in [Capacity { hits: one.hits - 1, ..one }, Capacity { seeds: 100, ..one }] {
        let found = on_device(Order::Forward, &config, &sample, 2, capacity);
        assert_eq!(found.status, [Status::Ok, Status::Ok, Status::Ok, Status::TooManyHits]);
        assert_eq!(found.dropped, [("too_many_hits", 1)]);
    }
}

fn append((hits, truth): &mut Sample, (more, more_truth): &Sample) {
    let of_hits = hits.x.len() as u32;
    hits.layer_start
        .extend_from_slice(&more.layer_start[1..].iter().map(|s| s + of_hits).collect::<Vec<_>>());
    let columns =
        [&more.x, &more.y, &more.z, &more.var_r, &more.var_rphi, &more.var_z].map(|column| &column[..]);
    hits.columns_mut().into_iter().zip(columns).for_each(|(to, from)| to.extend_from_slice(from));
    hits.status.extend_from_slice(&more.status);
    let (to, from) = (&mut truth.particles, &more_truth.particles);
    let seeds = to.len() as u32;
    to.start.extend_from_slice(&from.start[1..].iter().map(|s| s + seeds).collect::<Vec<_>>());
    to.vertex.iter_mut().zip(&from.vertex).for_each(|(to, from)| to.extend_from_slice(from));
    to.hits.iter_mut().zip(&from.hits).for_each(|(to, from)| to.extend_from_slice(from));
}

#[test]
fn what_a_device_cannot_do_is_an_error() {
    let device = crate::device(Order::Forward);
    let capacity = Capacity { events: 1, hits: 10, seeds: 1 };
    let open = |config: &CylinderConfig, streams, capacity| {
        let open = || CylinderStream::open(&device, config, capacity);
        StreamPool::new(&device, streams, open).err()
    };
    let best = CylinderConfig::best();
    for config in [
        with(Builder::Standard),
        CylinderConfig { seeds: SeedSource::Hits, ..best.clone() },
        CylinderConfig { material: 0.01, ..best.clone() },
    ] {
        assert!(matches!(open(&config, 1, capacity), Some(Error::Unsupported(_))));
    }
    let wrong =
        [(0, capacity), (1, Capacity { events: 0, ..capacity }), (1, Capacity { hits: 1 << 27, ..capacity })];
    for (streams, capacity) in wrong {
        assert!(matches!(open(&best, streams, capacity), Some(Error::Config(_))));
    }
}

/// A stream that may grow has room for every event, for any initial room.
#[test]
fn streams_grow_with_the_events() {
    let mut sample = simulated("sim:cylinder,events=3,tracks=5,seed=1");
    append(&mut sample, &simulated("sim:cylinder,events=2,tracks=200,seed=2"));
    let config = with(Builder::BestHit);
    let expected = on_cpu(&config, &sample);
    let device = crate::device(Order::Forward);
    let small = Capacity { events: 2, hits: 1, seeds: 1 };
    let open = || GrowingStream::open(device.clone(), &config, small);
    assert_eq!(twice(StreamPool::new(&device, 2, open).unwrap(), &sample), expected);
}

/// Starts of tracks and of hits are sums over stretches of 1,024 items: this test has several stretches of both.
#[test]
fn a_slice_of_many_events_makes_no_difference() {
    let sample = simulated("sim:cylinder,events=1100,tracks=2,seed=3");
    // Few cells, since every event has its own cells.
    let mut config = with(Builder::BestHit);
    (config.bins.phi, config.bins.z_width) = (8, config.bins.z_half);
    let expected = on_cpu(&config, &sample);
    assert_eq!(on_device(Order::Reverse, &config, &sample, 1, room(&sample, 1100)), expected);
}

/// A device is an executor, and reports its kind and its name.
#[test]
fn the_pool_is_an_executor() {
    let (hits, truth) = simulated("sim:cylinder,events=3,tracks=20,seed=1");
    let batch = CylinderSample { hits, truth, event_id: vec![0, 1, 2] };
    let config = with(Builder::BestHit);
    let expected = on_cpu(&config, &(batch.hits.clone(), batch.truth.clone()));
    let device = crate::device(Order::Reverse);
    let open = || CylinderStream::open(&device, &config, Capacity { events: 2, hits: 1000, seeds: 100 });
    let mut executor: Box<dyn Executor> = Box::new(StreamPool::new(&device, 3, open).unwrap());
    let mut tracks = Sliced::default();
    let counters = executor.run(&batch, &mut tracks).unwrap();
    assert_eq!(found(tracks.products(), &counters), expected);
    let machine = executor.machine();
    assert_eq!((machine.isa, machine.gang, machine.threads, machine.slice), (device.kind(), 32, 3, 2));
    assert_eq!(machine.device, Some(device.name()));
    assert!(machine.memory.arena > 3 * 24 * 1000 && machine.memory.staging > 3 * 20 * 1000);
    assert!(executor.take_kernel_times().is_empty(), "no times unless they are asked for");
    executor.time_kernels(true);
    executor.run(&batch, &mut tracks).unwrap();
    let names: Vec<_> = executor.take_kernel_times().into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"cylinder_best_hit") && !names.contains(&"cylinder_clone_8"), "{names:?}");
    assert!(names.ends_with(&["copy_in", "copy_out"]), "{names:?}");
    assert!(executor.take_kernel_times().is_empty());
    let unmatched = CylinderSample { truth: CylinderTruth::default(), ..batch };
    assert!(matches!(executor.run(&unmatched, &mut tracks), Err(Error::Columns(_))));
}

/// Lists that overlap are refused: kernels would read beyond the hits.
#[test]
fn lists_that_fall_are_refused() {
    let (device, config) = (crate::device(Order::Forward), with(Builder::BestHit));
    let capacity = Capacity { events: 4, hits: 4000, seeds: 100 };
    let refused = |change: &dyn Fn(&mut Sample)| {
        let mut sample = simulated("sim:cylinder,events=3,tracks=20,seed=1");
        change(&mut sample);
        let open = || CylinderStream::open(&device, &config, capacity);
        let mut pool = StreamPool::new(&device, 1, open).unwrap();
        let input = CylinderInput { hits: &sample.0, seeds: &sample.1.particles };
        pool.try_run(input, &mut Sliced::default())
    };
    assert!(refused(&|_| ()).is_ok());
    for changed in [
        refused(&|(hits, _)| hits.layer_start[3] = u32::MAX),
        refused(&|(hits, _)| hits.layer_start[CYLINDER_LAYERS] = 0),
        refused(&|(_, truth)| truth.particles.start[1] = 50),
    ] {
        assert!(matches!(&changed, Err(Error::Columns(what)) if what.ends_with("falls")), "{changed:?}");
    }
}

/// Crowds at one place, impossible hits, broken vertices, missing hits, events with a status.
fn hostile() -> impl Strategy<Value = Sample> {
    let odd = prop::sample::select(vec![f32::NAN, f32::INFINITY, 0.0, -0.0, 1e30, -1e-30, 3e38]);
    let coordinate = prop_oneof![20 => -40.0f32..40.0, 2 => Just(4.0f32), 1 => odd.clone()];
    let variance = prop_oneof![30 => 1e-6f32..1e-2, 1 => odd.clone()];
    let hit = (prop::array::uniform3(coordinate.clone()), prop::array::uniform3(variance), 1usize..40);
    let layers = prop::collection::vec(prop::collection::vec(hit, 0..3), CYLINDER_LAYERS);
    let vertex = prop::array::uniform6(prop_oneof![20 => -3.0f32..3.0, 1 => odd]);
    let seeds = prop::collection::vec((vertex, prop::array::uniform10(0u32..60)), 0..12);
    let status = prop_oneof![9 => Just(Status::Ok), 1 => Just(Status::Corrupt)];
    prop::collection::vec((layers, seeds, status), 0..4).prop_map(|events| {
        let (mut batch, mut truth) = Sample::default();
        for (layers, seeds, status) in events {
            let first = batch.x.len();
            let mut ends = Vec::new();
            for hits in layers {
                for (position, variance, copies) in hits {
                    (0..copies).for_each(|_| batch.push(position, variance));
                }
                batch.end_layer();
                ends.push((batch.x.len() - first) as u32);
            }
            batch.end_event(status);
            for (vertex, numbers) in seeds {
                let on_layer = |layer: usize| {
                    let begin = if layer == 0 { 0 } else { ends[layer - 1] };
                    let hit = begin + numbers[layer];
                    if hit < ends[layer] { hit } else { NO_HIT }
                };
                truth.particles.push(vertex, std::array::from_fn(on_layer));
            }
            truth.particles.end_event();
        }
        (batch, truth)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_events(
        sample in hostile(),
        (order, builder, slice) in (0usize..3, 0usize..2, 1usize..4),
        (candidates, holes, chi2) in (1u32..33, 0u32..8, prop::sample::select(vec![15.0f32, 1e8])),
    ) {
        let mut config = with(BUILDERS[builder]);
        (config.build.candidates, config.build.holes, config.build.chi2) = (candidates, holes, chi2);
        (config.build.window_phi, config.build.window_z, config.bins.phi) = (0.9, 50.0, 8 << (candidates % 4));
        let found = on_device(ORDERS[order], &config, &sample, 1, room(&sample, slice));
        prop_assert_eq!(found, on_cpu(&config, &sample));
    }
}

/// Few events, since ThreadSanitizer checks every access of the lanes.
#[test]
#[ignore = "runs under ThreadSanitizer, started by another test"]
fn inside_the_sanitizer() {
    let sample = simulated("sim:cylinder,events=2,tracks=9,seed=3,noise=100,inefficiency=0.1");
    for builder in BUILDERS {
        let config = with(builder);
        let found = on_device(Order::Random(3), &config, &sample, 1, room(&sample, 2));
        assert_eq!(found, on_cpu(&config, &sample));
    }
}
