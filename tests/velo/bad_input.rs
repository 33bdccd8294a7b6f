//! Bad hits: a clear error or a status for the event, every loss is counted, and neighbouring events are not affected.

use peloton::event::{Counters, Outcome, VELO_MODULES, VeloBatch, VeloEvents, VeloTracks};
use peloton::simd::Level;
use peloton::velo::geometry::MODULE_Z;
use peloton::velo::{Preset, Velo, VeloConfig, VeloWorkspace, reconstruct};
use peloton::{Error, Status};
use peloton_sim::{SimSpec, simulate_velo};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Columns of `hits` hits at one point, given to the modules by `module_of`, which must not fall.
fn push_pile(batch: &mut VeloBatch, hits: usize, module_of: impl Fn(usize) -> usize) {
    let mut starts = vec![0u32; VELO_MODULES + 1];
    (0..hits).for_each(|hit| starts[module_of(hit) + 1] += 1);
    (0..VELO_MODULES).for_each(|module| starts[module + 1] += starts[module]);
    let z: Vec<_> = (0..hits).map(|hit| MODULE_Z[module_of(hit)] as f32).collect();
    batch.push_event(0, &vec![10.0; hits], &vec![5.0; hits], &z, &starts);
}

fn run(preset: Preset, batch: &VeloBatch) -> (VeloTracks, Counters) {
    let mut out = Outcome::default();
    let level = Level::choose(None, None).unwrap();
    let (config, mut workspace) = (VeloConfig::preset(preset), VeloWorkspace::default());
    reconstruct(level, &config, batch.view(), 0..batch.len(), &mut workspace, &mut out);
    let Outcome { results: out, counters } = out;
    assert_eq!(out.events(), batch.len());
    assert_eq!(out.track_start.len(), batch.len() + 1);
    (out, counters)
}

fn dropped(counters: &Counters, reason: &str) -> u64 {
    counters.dropped().find(|(name, _)| *name == reason).map_or(0, |(_, count)| count)
}

#[test]
fn columns_that_do_not_belong_together_are_refused() {
    let starts = [vec![0u32; VELO_MODULES], vec![2]].concat();
    let with = |at: usize, value: u32| {
        let mut starts = starts.clone();
        starts[at] = value;
        starts
    };
    let (two, one, ok) = ([1.0f32, 2.0], [1.0f32], [Status::Ok]);
    assert!(VeloEvents::new(&two, &two, &two, &[0, 1], &starts, &ok).is_ok());
    assert!(VeloEvents::new(&[], &[], &[], &[], &[0], &[]).is_ok_and(|events| events.is_empty()));
    let refused = |[x, y, z]: [&[f32]; 3], id: &[u32], starts: &[u32], status: &[Status], words: &str| {
        let result = VeloEvents::new(x, y, z, id, starts, status);
        assert!(matches!(&result, Err(Error::Columns(text)) if text.contains(words)), "{words}: {result:?}");
    };
    for place in 0..3 {
        let mut columns = [&two[..]; 3];
        columns[place] = &one;
        refused(columns, &[0, 1], &starts, &ok, "one length");
    }
    refused([&two; 3], &[0], &starts, &ok, "one length");
    refused([&two; 3], &[0, 1], &starts[1..], &ok, "53 are needed for 1");
    refused([&two; 3], &[0, 1], &[], &[], "1 are needed for 0");
    refused([&two; 3], &[0, 1], &starts, &[], "1 are needed for 0");
    refused([&two; 3], &[0, 1], &with(7, 1), &ok, "falls");
    refused([&two; 3], &[0, 1], &with(7, u32::MAX), &ok, "falls");
    refused([&two; 3], &[0, 1], &with(VELO_MODULES, 3), &ok, "begin at 0 and end at 2 hits");
    refused([&two; 3], &[0, 1], &with(VELO_MODULES, 1), &ok, "begin at 0 and end at 2 hits");
    refused([&two; 3], &[0, 1], &[2; VELO_MODULES + 1], &ok, "begin at 0 and end at 2 hits");
}

/// A bad event before, between and after two good events, since two events are searched together: the good events have the same
/// tracks as alone.
#[test]
fn failed_events_leave_their_neighbours_untouched() {
    let spec = SimSpec::default();
    let zeros = vec![0u32; VELO_MODULES + 1];
    let starts = [vec![0u32; VELO_MODULES], vec![2]].concat();
    let (mut falling, mut beyond) = (starts.clone(), starts.clone());
    falling[9] = 3;
    beyond[VELO_MODULES] = 3;
    type Bad<'a> = (Status, Box<dyn Fn(&mut VeloBatch) + 'a>);
    let hit = |x: f32| {
        move |batch: &mut VeloBatch| {
            let starts = [vec![0u32; VELO_MODULES], vec![2]].concat();
            batch.push_event(1, &[1.0, x], &[1.0, 1.0], &[750.0, 750.0], &starts);
        }
    };
    let offsets = |x: &'static [f32], y: &'static [f32], starts: Vec<u32>| {
        move |batch: &mut VeloBatch| batch.push_event(1, x, y, x, &starts)
    };
    let cases: Vec<Bad> = vec![
        (Status::BadOffsets, Box::new(offsets(&[1.0; 2], &[1.0; 2], falling))),
        (Status::BadOffsets, Box::new(offsets(&[1.0; 2], &[1.0; 2], beyond))),
        (Status::BadOffsets, Box::new(offsets(&[1.0; 2], &[1.0; 2], zeros))),
        (Status::BadOffsets, Box::new(offsets(&[1.0; 2], &[1.0; 2], starts[1..].to_vec()))),
        (Status::BadOffsets, Box::new(offsets(&[1.0; 2], &[1.0; 2], Vec::new()))),
        (Status::BadOffsets, Box::new(offsets(&[1.0; 2], &[1.0], starts))),
        (Status::NotFinite, Box::new(hit(f32::NAN))),
        (Status::NotFinite, Box::new(hit(f32::NEG_INFINITY))),
        (Status::OutOfRange, Box::new(hit(1e30))),
        (Status::OutOfRange, Box::new(hit(-1000.1))),
        (Status::TooManyHits, Box::new(|batch| push_pile(batch, 20_001, |hit| hit / 400))),
        (Status::TooManyHitsInModule, Box::new(|batch| push_pile(batch, 2_001, |_| 51))),
        (Status::Corrupt, Box::new(|batch| batch.push_failed(1, Status::Corrupt))),
    ];
    let mut alone = VeloBatch::default();
    simulate_velo(&spec, 0, &mut alone);
    simulate_velo(&spec, 1, &mut alone);
    let simulate = |numbers: Range<u64>, batch: &mut VeloBatch| {
        for number in numbers {
            simulate_velo(&spec, number, batch);
        }
    };
    for ((status, push_bad), place) in cases.iter().flat_map(|case| [0, 1, 2].map(|place| (case, place))) {
        let mut batch = VeloBatch::default();
        simulate(0..place, &mut batch);
        push_bad(&mut batch);
        simulate(place..2, &mut batch);
        let place = place as usize;
        let mut statuses = [Status::Ok; 3];
        statuses[place] = *status;
        for preset in Preset::ALL {
            let (expected, _) = run(preset, &alone);
            assert!(expected.tracks() > 50, "{preset}: {}", expected.tracks());
            let (tracks, counters) = run(preset, &batch);
            assert_eq!(tracks.status, statuses, "{preset}");
            assert_eq!(counters.events(), 3);
            assert_eq!(dropped(&counters, status.name()), 1, "{preset}, {status:?}");
            assert!(tracks.of_event(place).is_empty());
            let starts = [0, 1, 2, 3].map(|event| expected.track_start[event - usize::from(event > place)]);
            assert_eq!(tracks.track_start[..], starts, "{preset}, {status:?}");
            assert_eq!((&tracks.hit_start, &tracks.hits), (&expected.hit_start, &expected.hits));
            assert_eq!((&tracks.chi2, &tracks.backward), (&expected.chi2, &expected.backward));
            assert_eq!((&tracks.beam, &tracks.end), (&expected.beam, &expected.end));
        }
    }
}

#[test]
fn a_million_hits_are_refused_at_once() {
    let mut batch = VeloBatch::default();
    push_pile(&mut batch, 1_000_000, |hit| hit / 20_000);
    for preset in Preset::ALL {
        let start = Instant::now();
        let (tracks, counters) = run(preset, &batch);
        assert_eq!(tracks.status, [Status::TooManyHits], "{preset}");
        assert_eq!((tracks.tracks(), dropped(&counters, "too_many_hits")), (0, 1));
        // The hits are not searched: this takes microseconds.
        assert!(start.elapsed() < Duration::from_secs(1), "{preset}: {:?}", start.elapsed());
    }
}

/// As many hits as are allowed, all at one x and y: every window holds every hit of its pair or module.
#[test]
fn the_fullest_windows_end_and_say_what_they_left_out() {
    let mut batch = VeloBatch::default();
    push_pile(&mut batch, 20_000, |hit| hit / 400);
    for preset in Preset::ALL {
        let start = Instant::now();
        let (tracks, counters) = run(preset, &batch);
        assert_eq!(tracks.status, [Status::Ok], "{preset}");
        let left_out = dropped(&counters, "candidates_in_window");
        println!("{preset}: {left_out} left out, {} tracks, {:?}", tracks.tracks(), start.elapsed());
        assert!(left_out > 1_000_000, "{preset}: {left_out}");
        assert!(start.elapsed() < Duration::from_secs(30), "{preset}: {:?}", start.elapsed());
    }
}

#[test]
fn parameters_that_make_no_sense_are_refused_by_name() {
    type Parameter = fn(&mut VeloConfig) -> &mut f32;
    let parameters: [(&str, [f32; 2], Parameter); 9] = [
        ("paper.seed_window", [0.0, -0.1], |config| &mut config.paper.seed_window),
        ("paper.seed_window_slope", [-1e-9, -0.1], |config| &mut config.paper.seed_window_slope),
        ("paper.forward_window", [0.0, -0.1], |config| &mut config.paper.forward_window),
        ("paper.seed_chi2", [0.0, -0.1], |config| &mut config.paper.seed_chi2),
        ("paper.forward_angle2", [0.0, -0.1], |config| &mut config.paper.forward_angle2),
        ("paper.weak_weight", [0.0, -0.1], |config| &mut config.paper.weak_weight),
        ("forwarding.slope", [0.0, -0.1], |config| &mut config.forwarding.slope),
        ("forwarding.scatter", [0.0, -0.1], |config| &mut config.forwarding.scatter),
        ("forwarding.weak_weight", [0.0, -0.1], |config| &mut config.forwarding.weak_weight),
    ];
    for (key, values, parameter) in parameters {
        for value in values.into_iter().chain([f32::NAN, f32::INFINITY]) {
            let mut config = VeloConfig::default();
            *parameter(&mut config) = value;
            let result = Velo::new(Level::choose(None, None).unwrap(), config);
            assert!(
                matches!(&result, Err(Error::Config(text)) if text.contains(key)),
                "{key} = {value}: {result:?}"
            );
        }
    }
}
