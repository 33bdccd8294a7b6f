//! The kernels against their naive twin: every level gives the reference's tracks, bit for bit.
use crate::common::levels_in_turn;
use peloton::event::{Counters, Outcome, VELO_MODULES, VeloBatch, VeloTracks, difference};
use peloton::simd::Level;
use peloton::velo::geometry::MODULE_Z;
use peloton::velo::reference::{self, Fault};
use peloton::velo::{Preset, VeloConfig, VeloWorkspace, reconstruct};
use peloton::{Error, Status};
use peloton_sim::{SimSpec, simulate_velo};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

/// The first difference between two results, and its event.
fn first_difference(a: &VeloTracks, b: &VeloTracks) -> Option<String> {
    assert_eq!(a.events(), b.events());
    (0..a.events()).find_map(|event| Some(format!("event {event}: {}", difference(a, event, b, event)?)))
}

/// The kernel's result, made in slices of `slice` events, and its counters.
fn in_slices(level: Level, config: &VeloConfig, batch: &VeloBatch, slice: usize) -> (VeloTracks, Counters) {
    let (mut workspace, mut out) = (VeloWorkspace::default(), Outcome::default());
    for first in (0..batch.len()).step_by(slice) {
        let range = first..batch.len().min(first + slice);
        reconstruct(level, config, batch.view(), range, &mut workspace, &mut out);
    }
    (out.results, out.counters)
}

/// The first difference from the reference's tracks, on the first of these levels with a difference.
fn departure(
    levels: Vec<Level>,
    config: &VeloConfig,
    batch: &VeloBatch,
    expected: &VeloTracks,
) -> Option<String> {
    let mut dropped: Option<Vec<_>> = None;
    levels.into_iter().find_map(|level| {
        let (tracks, counters) = in_slices(level, config, batch, batch.len().max(1));
        if let Some(what) = first_difference(expected, &tracks) {
            return Some(format!("{level}: {what}"));
        }
        let here: Vec<_> = counters.dropped().collect();
        let before = dropped.get_or_insert_with(|| counters.dropped().collect());
        (*before != here).then(|| format!("{level}: dropped {here:?} and {before:?}"))
    })
}

/// Checks every level against the reference, and that each planted fault is noticed.
#[track_caller]
fn check(config: &VeloConfig, batch: &VeloBatch, faults: &[Fault]) -> VeloTracks {
    check_on(Level::supported(), config, batch, faults)
}

/// Checks these levels against the reference, and that each planted fault is noticed.
#[track_caller]
fn check_on(levels: Vec<Level>, config: &VeloConfig, batch: &VeloBatch, faults: &[Fault]) -> VeloTracks {
    let expected = reference::reconstruct(config, batch.view());
    assert_eq!(departure(levels.clone(), config, batch, &expected), None);
    for &fault in faults {
        let mut config = config.clone();
        if fault == Fault::CloneAtLimit {
            // Many tracks share exactly half of their hits; no tracks share exactly the preset's limit.
            config.best.shared_hits = 0.5;
        }
        let wrong = reference::reconstruct_with(fault, &config, batch.view());
        assert!(departure(levels.clone(), &config, batch, &wrong).is_some(), "{fault:?} went unnoticed");
    }
    expected
}

/// Faults that show in events without hits at the same place.
fn fault_seen_in(preset: Preset) -> &'static [Fault] {
    match preset {
        Preset::Best | Preset::TwoPass => &[Fault::CloneAtLimit, Fault::Farthest],
        Preset::Fast | Preset::Paper | Preset::PaperLiteral | Preset::Forwarding => &[Fault::Farthest],
    }
}

fn simulated(events: u64) -> VeloBatch {
    let mut batch = VeloBatch::default();
    for number in 0..events {
        simulate_velo(&SimSpec::default(), number, &mut batch);
    }
    batch
}

/// On the usual gangs: `every_isa` compares the others with scalar code on a quarter of these events.
#[test]
fn real_events() -> Result<(), Error> {
    let Some(data) = crate::common::data() else { return Ok(()) };
    let (batch, _) = crate::common::read_all(&data.join("velo/public200.ndjson.zst"));
    assert_eq!(batch.len(), 200);
    let (ten, _) = crate::common::reference10().expect("beside the others");
    for preset in Preset::ALL {
        let config = VeloConfig::preset(preset);
        let tracks = check_on(Level::usual(), &config, &batch, fault_seen_in(preset));
        assert!(tracks.tracks() > 200 * 100, "{} tracks", tracks.tracks());
        check_on(Level::usual(), &config, &ten, &[]);
    }
    Ok(())
}

#[test]
fn simulated_events() {
    let batch = simulated(40);
    for preset in Preset::ALL {
        let tracks = check(&VeloConfig::preset(preset), &batch, fault_seen_in(preset));
        assert!(tracks.tracks() > 40 * 50, "{} tracks", tracks.tracks());
    }
}

#[test]
fn slices_make_no_difference() {
    let batch = simulated(70);
    for (number, config) in Preset::ALL.map(VeloConfig::preset).into_iter().enumerate() {
        let expected = reference::reconstruct(&config, batch.view());
        for (turn, slice) in [1, 7, 64].into_iter().enumerate() {
            for level in levels_in_turn(number + turn) {
                let (tracks, _) = in_slices(level, &config, &batch, slice);
                assert_eq!(first_difference(&expected, &tracks), None, "{level}, slices of {slice}");
            }
        }
    }
}

/// A particle that scatters in a module by more than the search allows gives two tracks, which are joined.
#[test]
fn parts_of_a_scattered_particle_are_one_track() {
    let hit = |pair: usize, kink: f32| {
        let z = module_z(2 * pair + 1);
        let x = 0.1 * z + if pair < 15 { kink * (z - module_z(31)) } else { 0.0 };
        (2 * pair + 1, [x, 0.5 * x, z])
    };
    let event = |kink| (11..=18).map(|pair| hit(pair, kink)).collect::<Vec<_>>();
    // The search follows a kink of 0.004; a kink of 0.03 gives two tracks.
    let batch = batch_of(&[0.004, 0.0065, 0.03].map(event));
    let lengths = |join_chi2| {
        let mut config = VeloConfig::default();
        config.best.join_chi2 = join_chi2;
        let tracks = check(&config, &batch, &[]);
        let starts = &tracks.hit_start;
        let lengths = |event: usize| {
            let of = tracks.track_start[event] as usize..tracks.track_start[event + 1] as usize;
            of.map(|track| starts[track + 1] - starts[track]).collect::<Vec<_>>()
        };
        [0, 1, 2].map(lengths)
    };
    assert_eq!(lengths(50.0), [vec![8], vec![8], vec![4, 4]]);
    assert_eq!(lengths(0.0), [vec![8], vec![4, 4], vec![4, 4]]);
}

/// Three hits on a line that passes near the beam between the second and the third hit are no track.
#[test]
fn no_triplet_passes_the_beam() {
    let event = |x: f32| {
        let hit = |step: usize| {
            let module = 25 - 2 * step;
            (module, [x - 15.0 * step as f32, 1.5, module_z(module)])
        };
        [0, 1, 2].map(hit).to_vec()
    };
    let batch = batch_of(&[37.0, 22.0].map(event));
    let tracks = check(&VeloConfig::default(), &batch, &[]);
    assert_eq!(&tracks.track_start[..], [0, 1, 1]);
}

/// Hits may have any z, so a track's first and last hit may be one denormal number apart: its fit stays finite.
#[test]
fn tracks_of_no_length() {
    let pair = |pair: usize, x: f32, z: f32| (2 * pair + 1, [x, 0.5 * x, z]);
    let event = |off: f32| {
        let (top, middle, low) = (pair(12, 10.0, 0.0), pair(11, 9.0, -12.5), pair(10, 8.0, -25.0));
        vec![top, middle, low, pair(5, 10.0 + off, f32::from_bits(1))]
    };
    let batch = batch_of(&[event(0.0), event(0.001), event(-0.001)]);
    for preset in Preset::ALL {
        let tracks = check(&VeloConfig::preset(preset), &batch, &[]);
        if preset == Preset::Best {
            assert_eq!(tracks.tracks(), 3);
            assert_eq!(tracks.hits[..4], [3, 2, 1, 0], "the track goes back to where it began");
            assert!(tracks.beam.x.iter().all(|x| x.is_finite()), "{:?}", tracks.beam.x);
        }
    }
}

/// A hit: module, x, y, z.
type Hit = (usize, [f32; 3]);

fn batch_of<'a>(events: impl IntoIterator<Item = &'a Vec<Hit>>) -> VeloBatch {
    let mut batch = VeloBatch::default();
    for (number, hits) in events.into_iter().enumerate() {
        let mut hits = hits.clone();
        hits.sort_by_key(|hit| hit.0);
        let starts: Vec<_> =
            (0..=VELO_MODULES).map(|module| hits.partition_point(|hit| hit.0 < module) as u32).collect();
        let [x, y, z] = [0, 1, 2].map(|axis| hits.iter().map(|hit| hit.1[axis]).collect::<Vec<_>>());
        batch.push_event(number as u64, &x, &y, &z, &starts);
    }
    batch
}

fn module_z(module: usize) -> f32 {
    MODULE_Z[module] as f32
}

/// A particle from near the beam line: hits in the modules of one side, off by `spread` mm or nothing.
fn particle() -> impl Strategy<Value = Vec<Hit>> {
    let origin = [-1.0f32..1.0, -1.0f32..1.0, -150.0f32..150.0];
    let spread = prop_oneof![Just(0.0f32), Just(0.01), Just(0.1)];
    let slope = || prop_oneof![-0.4f32..0.4, -0.05f32..0.05];
    let offsets = prop::collection::vec((-1.0f32..1.0, -1.0f32..1.0, 0u8..8), 26);
    (origin, [slope(), slope()], spread, 0usize..26, 3usize..14, offsets).prop_map(
        |([x0, y0, z0], [tx, ty], spread, first, pairs, offsets)| {
            let mut hits = Vec::new();
            for (pair, (dx, dy, luck)) in offsets.into_iter().enumerate().skip(first).take(pairs) {
                let module = 2 * pair + usize::from(tx * (module_z(2 * pair) - z0) > 0.0);
                let dz = module_z(module) - z0;
                let (x, y) = (x0 + tx * dz + spread * dx, y0 + ty * dz + spread * dy);
                let hit = (module, [x, y, module_z(module)]);
                // Doubled and missed hits.
                hits.extend(std::iter::repeat_n(hit, [0, 1, 1, 1, 1, 1, 1, 2][luck as usize]));
            }
            hits
        },
    )
}

/// Hits along x < 0, y = 0 and x > 0, y = 0, where phi wraps on one of its scales.
fn at_the_wrap() -> impl Strategy<Value = Vec<Hit>> {
    let y = prop_oneof![
        Just(0.0f32),
        Just(-0.0),
        Just(1e-45),
        Just(-1e-45),
        Just(1e-6),
        Just(-1e-6),
        -0.02f32..0.02
    ];
    let side = prop_oneof![Just(-1.0f32), Just(1.0)];
    (side, 0.0f32..0.3, 0usize..22, prop::collection::vec(y, 4)).prop_map(|(side, slope, first, ys)| {
        let hit = |(i, y): (usize, &f32)| {
            let module = 2 * (first + i) + usize::from(side > 0.0);
            (module, [side * (5.0 + slope * (module_z(module) - module_z(0))), *y, module_z(module)])
        };
        ys.iter().enumerate().map(hit).collect()
    })
}

/// Coordinates that are in range but unusual.
fn odd_coordinate() -> impl Strategy<Value = f32> {
    let odd =
        [0.0, -0.0, 1e-45, -1e-45, 1e-38, -3e-39, 1e-20, 1000.0, -1000.0, 999.99, 5.0, f32::MIN_POSITIVE];
    prop_oneof![prop::sample::select(odd.to_vec()), -50.0f32..50.0, (-4i8..4).prop_map(f32::from)]
}

/// Hits with any coordinates, z too.
fn odd_hits() -> impl Strategy<Value = Vec<Hit>> {
    let hit = (0..VELO_MODULES, [odd_coordinate(), odd_coordinate(), odd_coordinate()], any::<bool>());
    let on_plane = |(module, [x, y, z], at_module): (usize, [f32; 3], bool)| {
        (module, [x, y, if at_module { module_z(module) } else { z }])
    };
    prop::collection::vec(hit.prop_map(on_plane), 1..24)
}

/// Up to 300 hits of one module: on top of one another, or all around.
fn crowd() -> impl Strategy<Value = Vec<Hit>> {
    let size = prop_oneof![2usize..40, Just(300)];
    (0..VELO_MODULES, size, 0.0f32..30.0, 0.0f32..7.0, any::<bool>()).prop_map(
        |(module, size, radius, angle, around)| {
            let place = |i: usize| {
                let angle = angle + if around { i as f32 * 0.021 } else { 0.0 };
                [radius * libm::cosf(angle), radius * libm::sinf(angle), module_z(module)]
            };
            (0..size).map(|i| (module, place(i))).collect()
        },
    )
}

/// A hit with a coordinate that no detector gives.
fn rotten_hit() -> impl Strategy<Value = Vec<Hit>> {
    let rotten = [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -f32::MAX, 1000.1];
    (0..VELO_MODULES, prop::sample::select(rotten.to_vec()), 0usize..3).prop_map(|(module, value, axis)| {
        let mut place = [1.0, 1.0, module_z(module)];
        place[axis] = value;
        vec![(module, place)]
    })
}

fn event() -> impl Strategy<Value = Vec<Hit>> {
    let part = prop_oneof![
        60 => particle(),
        8 => at_the_wrap(),
        4 => odd_hits(),
        4 => crowd(),
    ];
    let clean = prop::collection::vec(part, 0..30).prop_map(|parts| parts.concat());
    let rotten = (clean, rotten_hit(), 0u8..16);
    rotten.prop_map(|(hits, rotten, luck)| if luck == 0 { [hits, rotten].concat() } else { hits })
}

const BATCHES: u32 = 20;
const EVENTS: usize = 100;

/// Default limits, and limits that cut lists short and refuse events.
fn configs(preset: Preset) -> impl Strategy<Value = VeloConfig> {
    prop_oneof![Just((20_000, 2_000, 128)), Just((400, 320, 9)), Just((20_000, 299, 1))].prop_map(
        move |(hits, hits_in_module, candidates)| {
            let mut config = VeloConfig::preset(preset);
            config.limits.hits = hits;
            config.limits.hits_in_module = hits_in_module;
            config.limits.candidates_in_window = candidates;
            config
        },
    )
}

#[test]
fn any_events_best() {
    any_events(Preset::Best);
}

#[test]
fn any_events_fast() {
    any_events(Preset::Fast);
}

#[test]
fn any_events_paper() {
    any_events(Preset::Paper);
}

#[test]
fn any_events_paper_literal() {
    any_events(Preset::PaperLiteral);
}

#[test]
fn each_switch_of_paper() {
    let batch = simulated(40);
    let tracks = [(false, false), (true, false), (false, true)].map(|(fit, angle)| {
        let mut config = VeloConfig::preset(Preset::Paper);
        (config.paper.seed_by_fit, config.paper.forward_by_angle) = (fit, angle);
        check(&config, &batch, &[Fault::Farthest])
    });
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        assert!(first_difference(&tracks[a], &tracks[b]).is_some(), "{a} and {b} are the same");
    }
}

#[test]
fn any_events_forwarding() {
    any_events(Preset::Forwarding);
}

/// Compares 2,000 events; proptest shrinks a difference to its events, parts and hits.
fn any_events(preset: Preset) {
    let settings = ProptestConfig { cases: BATCHES, failure_persistence: None, ..ProptestConfig::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut seen = std::collections::BTreeMap::<Status, usize>::new();
    let (seen_so_far, faults) = (std::cell::RefCell::new(&mut seen), std::cell::Cell::new(0));
    let (number, departed) = (std::cell::Cell::new(0), std::cell::Cell::new(false));
    let case = (configs(preset), prop::collection::vec(event(), EVENTS));
    TestRunner::new_with_rng(settings, rng)
        .run(&case, |(config, events)| {
            let batch = batch_of(&events);
            let expected = reference::reconstruct(&config, batch.view());
            let found = departure(levels_in_turn(number.get()), &config, &batch, &expected);
            // Proptest shrinks a failure on the levels that found it.
            departed.set(departed.get() || found.is_some());
            number.set(number.get() + usize::from(!departed.get()));
            prop_assert_eq!(found, None);
            for &status in &expected.status {
                *seen_so_far.borrow_mut().entry(status).or_default() += 1;
            }
            let wrong = reference::reconstruct_with(Fault::LastOfEquals, &config, batch.view());
            faults.set(faults.get() + u32::from(first_difference(&expected, &wrong).is_some()));
            Ok(())
        })
        .unwrap();
    // All statuses occurred, and hits at the same place distinguish the first from the last of equals.
    assert_eq!(seen.values().sum::<usize>(), BATCHES as usize * EVENTS);
    for status in [Status::NotFinite, Status::OutOfRange, Status::TooManyHits, Status::TooManyHitsInModule] {
        assert!(seen.get(&status).is_some_and(|&events| events > 10), "{status:?}: {seen:?}");
    }
    assert!(seen[&Status::Ok] > 1_500, "{seen:?}");
    assert!(faults.get() > BATCHES / 2, "noticed in {} of {BATCHES} batches", faults.get());
}
