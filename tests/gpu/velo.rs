//! The Velo kernels on the device under test: the CPU's tracks, bit by bit, for any order of lanes, any slices and
//! any room.
use crate::common::{hostile, simulated};
use peloton::engine::{Engine, Events, Sliced};
use peloton::event::{Counters, Hasher, Hashes, Product, RawBatch, VeloBatch, VeloTracks};
use peloton::gpu::velo::{Capacity, VeloStream};
use peloton::gpu::{Order, StreamPool};
use peloton::simd::Level;
use peloton::velo::reference::{self, Fault};
use peloton::velo::{Preset, Velo, VeloBanks, VeloConfig};
use peloton::{Error, Status};
use peloton_io::input::Geometry;
use peloton_sim::{LhcbDetector, LhcbReader, SimReader};
use proptest::prelude::*;
use std::sync::Arc;

const ORDERS: [Order; 3] = [Order::Forward, Order::Reverse, Order::Random(7)];

/// Hashes, statuses and counts of events that went through streams.
struct Found {
    hashes: Hashes,
    tracks: usize,
    status: Vec<Status>,
    counters: Counters,
}

fn velo(config: &VeloConfig) -> Velo {
    Velo::new(Level::choose(None, None).expect("a level"), config.clone()).expect("a configuration")
}

fn on_device(
    order: Order,
    config: &VeloConfig,
    batch: &VeloBatch,
    streams: usize,
    capacity: Capacity,
) -> Found {
    run_on_device(order, &velo(config), batch.view().into(), streams, capacity)
}

fn run_on_device(order: Order, velo: &Velo, events: Events<'_>, streams: usize, capacity: Capacity) -> Found {
    let device = crate::device(order);
    let open = || VeloStream::open(&device, velo, capacity);
    let mut pool = StreamPool::new(&device, streams, open).expect("memory");
    let mut tracks = Sliced::default();
    let mut before = None;
    // Twice, where this is fast: the memory of the first pass must not affect the second pass.
    for _ in 0..if events.len() < 100 { 2 } else { 1 } {
        let counters = pool.try_run(events, &mut tracks).expect("kernels that run");
        assert_eq!(counters.events(), events.len() as u64, "every event is accounted for");
        let hashes = hash(tracks.products());
        assert_eq!(*before.get_or_insert(hashes), hashes, "the second pass is like the first one");
    }
    let status = tracks.products().flat_map(|tracks: &VeloTracks| tracks.status.clone()).collect();
    Found { hashes: hash(tracks.products()), tracks: tracks.tracks(), status, counters: tracks.counters() }
}

fn hash<'a>(slices: impl Iterator<Item = &'a VeloTracks>) -> Hashes {
    let mut hasher = Hasher::new(VeloTracks::SCHEMA);
    slices.for_each(|tracks| hasher.update(tracks));
    hasher.finish()
}

#[test]
fn real_and_simulated_events_give_the_bits_of_the_cpu() {
    for (name, batch) in crate::common::samples() {
        let config = VeloConfig::default();
        let (expected, count) = crate::common::hashes(&Engine::new(velo(&config)), batch.view());
        // Real events in the two orders that differ most; all orders take a minute.
        for &order in &ORDERS[..if batch.len() < 100 { 3 } else { 2 }] {
            let capacity = Capacity::new(16, &config);
            let found = on_device(order, &config, &batch, 2, capacity);
            assert_eq!(found.tracks, count, "{name}, {order:?}");
            assert_eq!(found.hashes, expected, "{name}, {order:?}");
        }
    }
}

#[test]
fn a_fault_would_be_noticed() {
    let (mut config, batch) = (VeloConfig::default(), simulated(20, 3));
    // Many tracks share exactly half of their hits; no tracks share exactly the preset's limit.
    config.best.shared_hits = 0.5;
    let found = on_device(Order::Forward, &config, &batch, 1, Capacity::new(8, &config)).hashes;
    assert_eq!(hash([reference::reconstruct(&config, batch.view())].iter()), found);
    for fault in [Fault::CloneAtLimit, Fault::Farthest] {
        let wrong = reference::reconstruct_with(fault, &config, batch.view());
        assert_ne!(hash([wrong].iter()).int, found.int, "{fault:?}");
    }
}

#[test]
fn streams_and_slices_make_no_difference() {
    let (config, batch) = (VeloConfig::default(), simulated(41, 5));
    let expected = hash([reference::reconstruct(&config, batch.view())].iter());
    for (streams, slice) in [(1, 1), (3, 7), (2, 64)] {
        let found = on_device(Order::Reverse, &config, &batch, streams, Capacity::new(slice, &config));
        assert_eq!(found.hashes, expected, "{streams} streams, slices of {slice}");
    }
}

/// Starts of tracks and hits are sums over stretches of 1,024 events: this test has three stretches.
#[test]
fn a_slice_of_many_events_makes_no_difference() {
    let (config, some) = (VeloConfig::default(), simulated(1, 6));
    let mut batch = VeloBatch::default();
    for number in 0..2100 {
        match number % 700 {
            // At the ends of stretches and within them.
            1..=2 | 323..=324 => batch.append(&some),
            3 => batch.push_failed(number, Status::Corrupt),
            _ => batch.push_failed(number, Status::Ok),
        }
    }
    let (expected, count) = crate::common::hashes(&Engine::new(velo(&config)), batch.view());
    let found = on_device(Order::Reverse, &config, &batch, 1, Capacity::new(2100, &config));
    assert!(count > 1000, "{count} tracks");
    assert_eq!((found.tracks, found.hashes), (count, expected));
}

/// Without room for a whole slice, halves of it are tried: the result is the same.
#[test]
fn too_little_room_for_a_slice_makes_no_difference() {
    let (config, batch) = (VeloConfig::default(), simulated(24, 9));
    let expected = hash([reference::reconstruct(&config, batch.view())].iter());
    let largest = (0..batch.len()).map(|i| batch.view().event(i).len()).max().expect("events");
    let room = Capacity { events: 24, ..Capacity::new(24, &config) };
    for small in [
        Capacity { hits: largest, ..room },
        Capacity { rows: largest, ..room },
        Capacity { output: 160 << 10, ..room },
        Capacity { hits: 3 * largest, rows: largest, output: 160 << 10, ..room },
    ] {
        let found = on_device(Order::Forward, &config, &batch, 2, small);
        assert_eq!(found.hashes, expected, "{small:?}");
    }
}

/// An event that does not fit even alone is passed on without tracks and counted; the others are not affected.
#[test]
fn an_event_that_does_not_fit_passes_through() {
    let (config, batch) = (VeloConfig::default(), simulated(12, 2));
    let mut sizes: Vec<_> = (0..batch.len()).map(|i| batch.view().event(i).len()).collect();
    let room = Capacity::new(4, &config);
    let expected = reference::reconstruct(&config, batch.view());
    let limit = {
        let mut sorted = sizes.clone();
        sorted.sort_unstable();
        sorted[8]
    };
    let found = on_device(Order::Forward, &config, &batch, 2, Capacity { hits: limit, ..room });
    for (i, size) in sizes.drain(..).enumerate() {
        let status = if size > limit { Status::TooManyHits } else { Status::Ok };
        assert_eq!(found.status[i], status, "event {i}");
    }
    let lost: usize =
        (0..12).filter(|&i| found.status[i] != Status::Ok).map(|i| expected.of_event(i).len()).sum();
    assert!(lost > 0);
    assert_eq!(found.tracks, expected.tracks() - lost);
    let dropped: Vec<_> = found.counters.dropped().collect();
    assert_eq!(dropped, [("too_many_hits", 3)]);

    // Room for hardly any candidate.
    let found = on_device(Order::Forward, &config, &batch, 1, Capacity { rows: 8, ..room });
    assert!(found.status.iter().all(|status| *status == Status::TooManyTracks), "{:?}", found.status);
    assert_eq!(
        (found.tracks, found.counters.dropped().collect::<Vec<_>>()),
        (0, vec![("too_many_tracks", 12)])
    );
}

#[test]
fn only_the_best_preset_runs_on_a_device() {
    let device = crate::device(Order::Forward);
    for preset in [Preset::Paper, Preset::Forwarding] {
        let config = VeloConfig::preset(preset);
        let stream = VeloStream::open(&device, &velo(&config), Capacity::new(1, &config));
        assert!(matches!(stream.err(), Some(Error::Unsupported(_))));
    }
    let config = VeloConfig::default();
    let open = || VeloStream::open(&device, &velo(&config), Capacity::new(1, &config));
    assert!(matches!(StreamPool::new(&device, 0, open).err(), Some(Error::Config(_))));
}

/// Raw banks are decoded on the way, by the thread of each stream.
#[test]
fn raw_banks_give_the_bits_of_the_cpu() {
    let (velo, mut raw) = raw_banks(19);
    raw.close_event(100, Status::Corrupt);
    let (expected, count) = crate::common::hashes(&Engine::new(velo.clone()), raw.view());
    assert!(count > 100, "{count} tracks");
    let [some, all] = [3, 20].map(|events| Capacity::new(events, velo.config()));
    // The last device has no room for all hits.
    let mut hits = None;
    for (capacity, streams) in [(some, 2), (all, 1), (Capacity { hits: 20_000, ..all }, 1)] {
        let found = run_on_device(Order::Forward, &velo, raw.view().into(), streams, capacity);
        assert_eq!((found.hashes, found.tracks), (expected, count));
        assert_eq!(found.counters.dropped().collect::<Vec<_>>(), [(Status::Corrupt.name(), 1)]);
        let decoded = found.counters.stages[0].items_out;
        assert!(decoded > 20_000, "{decoded} hits");
        assert_eq!(*hits.get_or_insert(decoded), decoded, "decoding is counted once");
    }
}

/// The sequence, and simulated events as raw banks.
pub fn raw_banks(events: u64) -> (Velo, RawBatch) {
    let geometry = Geometry::Nominal;
    let (ut, scifi) = (geometry.ut().unwrap(), geometry.scifi().unwrap());
    let detector = LhcbDetector { ut: &ut, scifi: &scifi, polarity: geometry.polarity().unwrap() };
    let spec = format!("sim:lhcb,events={events},seed=4");
    let mut reader = LhcbReader::new(spec.parse().unwrap(), 0, None);
    let mut raw = RawBatch::default();
    while let Some(event) = reader.next(&detector) {
        event.push(&mut raw);
    }
    let velo = velo(&VeloConfig::default());
    (velo.with_sensors(Arc::new(geometry.velo().unwrap()), VeloBanks::Auto), raw)
}

#[test]
fn raw_banks_need_sensors() {
    let (device, config) = (crate::device(Order::Forward), VeloConfig::default());
    let open = || VeloStream::open(&device, &velo(&config), Capacity::new(1, &config));
    let mut pool = StreamPool::new(&device, 1, open).unwrap();
    let mut raw = RawBatch::default();
    raw.close_event(0, Status::Corrupt);
    let done = pool.try_run(raw.view(), &mut Sliced::default());
    assert!(matches!(done, Err(Error::Config(_))), "{done:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Crowds, doubled hits, hits at the wrap of phi, absurd numbers, windows cut short.
    #[test]
    fn any_events(batch in hostile::batch(), candidates in prop::sample::select(vec![1u32, 5, 128]), order in 0usize..3) {
        let mut config = VeloConfig::default();
        config.limits.candidates_in_window = candidates;
        config.limits.hits_in_module = 200;
        let expected = reference::reconstruct(&config, batch.view());
        let found = on_device(ORDERS[order], &config, &batch, 1, Capacity::new(6, &config));
        prop_assert_eq!(&found.status, &expected.status);
        prop_assert_eq!(found.hashes, hash([expected].iter()));
    }
}

/// Few events, since ThreadSanitizer checks every access of the lanes.
#[test]
#[ignore = "runs under ThreadSanitizer, started by another test"]
fn inside_the_sanitizer() {
    bits_of_the_cpu(&simulated(2, 5));
}

/// More tracks than a block compares at once, and an event with coordinates that must be refused.
#[test]
#[ignore = "runs under ThreadSanitizer, started by another test"]
fn inside_the_sanitizer_with_crowds() {
    let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
    let spec = "sim:velo,events=3,seed=5,pileup=12".parse().expect("a simulation");
    SimReader::new(spec).read(3, &mut batch, &mut truth).expect("events");
    let last = batch.x.len() - 1;
    (batch.x[last - 70], batch.x[last - 7], batch.x[last]) = (f32::NAN, 1e30, f32::NAN);
    bits_of_the_cpu(&batch);
}

fn bits_of_the_cpu(batch: &VeloBatch) {
    let config = VeloConfig::default();
    let (expected, _) = crate::common::hashes(&Engine::new(velo(&config)), batch.view());
    let found = on_device(Order::Random(3), &config, batch, 1, Capacity::new(4, &config));
    assert_eq!(found.hashes, expected);
}
