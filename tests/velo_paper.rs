//! The presets `paper` and `forwarding`: their physics, and the same bits from every gang and the reference.
mod common;

use peloton::event::{Counters, TruthEvent, VeloBatch, VeloTracks};
use peloton::simd::Level;
use peloton::truth::{CheckReport, Checker, Rules};
use peloton::velo::geometry::MODULE_Z;
use peloton::velo::{Preset, VeloConfig, VeloWorkspace, paper, reconstruct};
use peloton::{Result, Status};
use std::ops::Range;

fn tracks_of(
    level: Level,
    config: &VeloConfig,
    batch: &VeloBatch,
    slices: &[Range<usize>],
) -> (VeloTracks, Counters) {
    let (mut workspace, mut out, mut counters) = <(VeloWorkspace, VeloTracks, Counters)>::default();
    for slice in slices {
        reconstruct(level, config, batch.view(), slice.clone(), &mut workspace, &mut out, &mut counters);
    }
    (out, counters)
}

fn public200() -> Option<(VeloBatch, Vec<TruthEvent>)> {
    Some(common::read_all(&common::data()?.join("velo/public200.ndjson.zst")))
}

fn physics(preset: Preset, batch: &VeloBatch, truth: &[TruthEvent]) -> CheckReport {
    let level = Level::choose(None, None).unwrap();
    let (tracks, counters) =
        tracks_of(level, &VeloConfig::preset(preset), batch, std::slice::from_ref(&(0..batch.len())));
    let dropped: Vec<_> = counters.dropped().collect();
    assert!(dropped.is_empty(), "{preset}: {dropped:?}");
    let mut checker = Checker::new(Rules::Json);
    for (event, truth) in truth.iter().enumerate() {
        checker.event(truth, tracks.hit_lists(event));
    }
    let report = checker.report();
    println!("{preset}: ghosts {:.4}", report.ghost_rate.unwrap());
    for category in &report.categories {
        println!(
            "{preset}: {} {:.4?} clones {:.4?}",
            category.name, category.efficiency, category.clone_rate
        );
    }
    report
}

/// Efficiencies of four categories, clones and ghosts, in percent.
fn headline(report: &CheckReport) -> [f64; 6] {
    let category = |name: &str| report.categories.iter().find(|category| category.name == name).unwrap();
    let efficiency = |name| category(name).efficiency;
    let rates = [
        efficiency("velo"),
        efficiency("long"),
        efficiency("long>5GeV"),
        efficiency("long_fromb"),
        category("velo").clone_rate,
        report.ghost_rate,
    ];
    rates.map(|rate| 100.0 * rate.unwrap())
}

#[test]
fn paper_has_the_physics_of_its_source() {
    let Some((batch, truth)) = public200() else { return };
    let found = headline(&physics(Preset::Paper, &batch, &truth));
    let expected = [92.8, 98.3, 99.2, 98.3, 1.47, 1.27];
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.5), "{found:.2?}, not {expected:?}");
}

#[test]
fn forwarding_is_a_baseline_worth_beating() {
    let Some((batch, truth)) = public200() else { return };
    let found = headline(&physics(Preset::Forwarding, &batch, &truth));
    let at_least = [88.0, 95.0, 97.0, 95.0];
    assert!(found.iter().zip(at_least).all(|(a, b)| *a > b), "{found:.2?}, not {at_least:?}");
    assert!(found[4] < 4.0 && found[5] < 6.0, "clones, ghosts {found:.2?}");
}

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    /// 0..n
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
    /// -1..1
    fn unit(&mut self) -> f32 {
        self.below(1 << 24) as f32 / (1 << 23) as f32 - 1.0
    }
}

/// Events of straight tracks and noise on a grid of pixels, so coarse that hits coincide and are equally near.
fn random_events(count: usize) -> VeloBatch {
    let mut batch = VeloBatch::default();
    for number in 0..count {
        let mut random = Random(number as u64);
        let mut modules: Vec<Vec<[f32; 3]>> = vec![Vec::new(); MODULE_Z.len()];
        for _ in 0..random.below(60) {
            let [tx, ty, x, y] = [0.3, 0.3, 2.0, 2.0].map(|size| size * random.unit());
            for (module, hits) in modules.iter_mut().enumerate() {
                let z = MODULE_Z[module] as f32 + if random.below(2) == 0 { 0.581 } else { -0.581 };
                let (x, y) = (tx.mul_add(z, x), ty.mul_add(z, y));
                let own_side = (x < 0.0) == module.is_multiple_of(2);
                if own_side && x.hypot(y) < 50.0 && random.below(10) > 0 {
                    let pixel = |at: f32| (at / 0.055).round() * 0.055;
                    hits.push([pixel(x), pixel(y), z]);
                }
            }
        }
        for _ in 0..random.below(60) {
            let module = random.below(MODULE_Z.len() as u64) as usize;
            let at = [50.0 * random.unit(), 50.0 * random.unit(), MODULE_Z[module] as f32];
            modules[module].push(at);
        }
        let starts = modules.iter().scan(0, |sum, hits| {
            *sum += hits.len() as u32;
            Some(*sum)
        });
        let starts: Vec<u32> = std::iter::once(0).chain(starts).collect();
        let [x, y, z] =
            [0, 1, 2].map(|axis| modules.iter().flatten().map(|hit| hit[axis]).collect::<Vec<_>>());
        batch.push_event(number as u64, &x, &y, &z, &starts);
    }
    batch
}

/// Events to compare on: real ones where there are any, and random ones.
fn samples() -> Vec<VeloBatch> {
    let real = public200().map(|(batch, _)| batch);
    real.into_iter().chain([random_events(300)]).collect()
}

#[test]
fn paper_is_its_reference_bit_for_bit() {
    // The small window cuts lists short, which the reference has to do in the same place.
    for candidates_in_window in [128, 2] {
        let mut config = VeloConfig::preset(Preset::Paper);
        config.limits.candidates_in_window = candidates_in_window;
        for batch in samples() {
            let events = 0..batch.len().min(if candidates_in_window == 2 { 40 } else { 300 });
            let expected = |event: usize, fault: bool| {
                paper::reference::find(&config.paper, candidates_in_window, &batch.view().event(event), fault)
            };
            let all: Vec<_> = events.clone().map(|event| expected(event, false)).collect();
            assert!(events.clone().any(|event| expected(event, true) != all[event]), "faults go unseen");
            for level in Level::supported() {
                let (tracks, _) = tracks_of(level, &config, &batch, std::slice::from_ref(&events));
                for (event, expected) in all.iter().enumerate() {
                    let found: Vec<&[u32]> = tracks.hit_lists(event).collect();
                    assert_eq!(found, *expected, "{level}, event {event}");
                }
            }
        }
    }
}

fn bytes(tracks: &VeloTracks) -> Vec<u32> {
    let mut all = [&tracks.track_start[..], &tracks.hit_start[..], &tracks.hits[..]].concat();
    all.extend(tracks.chi2.iter().map(|value| value.to_bits()));
    for states in [&tracks.beam, &tracks.end] {
        for (_, column) in states.columns() {
            all.extend(column.iter().map(|value| value.to_bits()));
        }
    }
    all
}

#[test]
fn gangs_and_slices_do_not_matter() {
    let batch = samples().swap_remove(0);
    let end = batch.len().min(50);
    for preset in [Preset::Paper, Preset::Forwarding] {
        let config = VeloConfig::preset(preset);
        let whole = std::slice::from_ref(&(0..end)).to_vec();
        let expected = bytes(&tracks_of(Level::supported()[0], &config, &batch, &whole).0);
        for level in Level::supported() {
            for slices in [whole.clone(), vec![0..1, 1..7, 7..end]] {
                let (tracks, _) = tracks_of(level, &config, &batch, &slices);
                assert!(tracks.tracks() > 0 && bytes(&tracks) == expected, "{preset}, {level}, {slices:?}");
            }
        }
    }
}

#[test]
fn hostile_events_are_counted_and_end() -> Result<()> {
    let mut batch = VeloBatch::default();
    let starts = |per_module: u32| (0..=52).map(|module| module * per_module).collect::<Vec<u32>>();
    // All hits in one place; all in a few crowded ones; one that is no number.
    batch.push_event(0, &[-9.0; 52 * 300], &[1.0; 52 * 300], &[0.0; 52 * 300], &starts(300));
    let z: Vec<f32> = MODULE_Z.iter().flat_map(|&z| [z as f32; 300]).collect();
    batch.push_event(1, &[-9.0; 52 * 300], &[1.0; 52 * 300], &z, &starts(300));
    batch.push_event(2, &[f32::NAN; 52], &[1.0; 52], &[0.0; 52], &starts(1));
    batch.push_event(3, &[], &[], &[], &starts(0));
    let level = Level::choose(None, None)?;
    for preset in [Preset::Paper, Preset::Forwarding] {
        let config = VeloConfig::preset(preset);
        let (tracks, counters) = tracks_of(level, &config, &batch, std::slice::from_ref(&(0..batch.len())));
        assert_eq!(tracks.status, [Status::Ok, Status::Ok, Status::NotFinite, Status::Ok], "{preset}");
        let dropped: Vec<_> = counters.dropped().map(|(name, _)| name).collect();
        assert_eq!(dropped, ["not_finite", "candidates_in_window"], "{preset}");
        assert_eq!((tracks.events(), tracks.of_event(3).len()), (4, 0));
    }
    Ok(())
}
