//! The simulated Velo: always the same bytes, and similar to the real sample.
use peloton::event::{Particle, TruthEvent, VELO_MODULES, VeloBatch, VeloEvent};
use peloton::velo::geometry::{MODULE_Z, PLANE_OFFSET};
use peloton_io::input::{ReadOptions, VeloReader, write_velo_json};
use peloton_sim::{SimReader, SimSpec, simulate_velo};
use std::collections::BTreeMap;
use std::io::Cursor;
use xxhash_rust::xxh3::xxh3_64;

fn spec(text: &str) -> SimSpec {
    text.parse().unwrap()
}

fn sample(text: &str) -> (VeloBatch, Vec<TruthEvent>) {
    let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
    let mut reader = SimReader::new(spec(text));
    while reader.read(16, &mut batch, &mut truth).unwrap() > 0 {}
    (batch, truth)
}

fn as_text(batch: &VeloBatch, truth: &[TruthEvent]) -> Vec<u8> {
    let mut text = Vec::new();
    for (event, truth) in truth.iter().enumerate() {
        write_velo_json(batch.view().event(event), Some(truth), &mut text).unwrap();
    }
    text
}

/// Every bit of a sample.
fn as_bytes(batch: &VeloBatch, truth: &[TruthEvent]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for column in [&batch.x, &batch.y, &batch.z] {
        column.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
    }
    batch.module_start.iter().for_each(|start| bytes.extend(start.to_le_bytes()));
    for particle in truth.iter().flat_map(|event| &event.particles) {
        let numbers = [particle.p, particle.pt, particle.eta, particle.phi, particle.charge];
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        particle.origin.iter().flatten().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(particle.key.to_le_bytes());
        bytes.extend(particle.pid.to_le_bytes());
        let flags = [
            particle.is_long,
            particle.is_down,
            particle.has_ut,
            particle.from_beauty,
            particle.from_charm,
            particle.from_strange,
        ];
        bytes.extend(flags.map(u8::from));
        particle.hits.iter().for_each(|hit| bytes.extend(hit.to_le_bytes()));
    }
    bytes
}

/// The simulation gives the same bytes on every machine: a changed hash means a changed simulation, and a
/// difference between machines is a bug.
const SAMPLE_HASH: u64 = 0x5FC2_C6DF_90DF_B26A;

#[test]
fn one_seed_gives_one_sample() {
    let (batch, truth) = sample("sim:velo,events=5,seed=42");
    let bytes = as_bytes(&batch, &truth);
    let found = xxh3_64(&bytes);
    assert_eq!(found, SAMPLE_HASH, "{found:#x}, {} hits", batch.x.len());
    let (other, other_truth) = sample("sim:velo,events=5,seed=43");
    assert_ne!(bytes, as_bytes(&other, &other_truth));
}

#[test]
fn events_do_not_depend_on_one_another() {
    let (all, truth) = sample("sim:velo,events=8,seed=3");
    let mut part = VeloBatch::default();
    let mut part_truth = Vec::new();
    let mut reader = SimReader::new(spec("sim:velo,events=8,seed=3")).with_range(5, Some(2));
    assert_eq!(reader.read(99, &mut part, &mut part_truth).unwrap(), 2);
    assert_eq!(reader.read(99, &mut part, &mut part_truth).unwrap(), 0);
    assert_eq!(part_truth, truth[5..7]);
    assert_eq!(part.event_id, [5, 6]);
    for event in 0..2 {
        let (a, b) = (part.view().event(event), all.view().event(event + 5));
        assert_eq!((a.x, a.y, a.z), (b.x, b.y, b.z));
    }
    let (more, _) = sample("sim:velo,events=9,seed=3");
    assert_eq!(more.x[..all.x.len()], all.x[..], "more events do not change the first ones");
    let beyond =
        SimReader::new(spec("sim:velo,events=8")).with_range(9, None).read(9, &mut part, &mut part_truth);
    assert_eq!(beyond.unwrap(), 0);
}

#[test]
fn files_hold_the_sample_exactly() {
    let (batch, mut truth) = sample("sim:velo,events=4,seed=9");
    let options = ReadOptions { strict: true, truth: true, ..ReadOptions::default() };
    let text = as_text(&batch, &truth);
    let mut reader = VeloReader::from_stream("simulated", Cursor::new(text), options);
    let (mut again, mut again_truth) = (VeloBatch::default(), Vec::new());
    assert_eq!(reader.read(99, &mut again, &mut again_truth).unwrap(), 4);
    assert!(again.x == batch.x && again.y == batch.y && again.z == batch.z);
    assert_eq!((&again.module_start, &again.id), (&batch.module_start, &batch.id));
    // The format has no place for origins and exits.
    for particle in truth.iter_mut().flat_map(|event| &mut event.particles) {
        (particle.origin, particle.states) = (None, Default::default());
    }
    assert!(again_truth == truth);
}

#[test]
fn hits_lie_on_the_sensors() {
    let (batch, _) = sample("sim:velo,events=30,seed=11,noise=50");
    let view = batch.view();
    for event in (0..30).map(|event| view.event(event)) {
        for (module, nominal) in MODULE_Z.iter().enumerate() {
            for hit in event.module(module) {
                let offset = f64::from(event.z[hit]) - nominal;
                assert!((offset.abs() - PLANE_OFFSET).abs() < 1e-4, "{offset}");
                let x = if module % 2 == 0 { event.x[hit] } else { -event.x[hit] };
                assert!((-50.0..22.9).contains(&x) && event.y[hit].abs() < 50.7, "{module}: {x}");
                assert!(event.x[hit].hypot(event.y[hit]) > 5.09);
            }
        }
    }
}

#[test]
fn parameters_do_what_they_say() {
    let mean = |text: &str| {
        let (batch, truth) = sample(text);
        let beauty = truth.iter().flat_map(|event| &event.particles).filter(|p| p.from_beauty).count();
        (batch.x.len() as f64 / truth.len() as f64, beauty)
    };
    let (normal, beauty) = mean("sim:velo,events=60,seed=5");
    let (quiet, none) = mean("sim:velo,events=60,seed=5,pileup=1,signal=none");
    let (noisy, _) = mean("sim:velo,events=60,seed=5,noise=1002");
    let (blind, _) = mean("sim:velo,events=60,seed=5,efficiency=0.5,noise=0");
    assert!(beauty > 200 && none == 0, "{beauty} {none}");
    assert!(quiet < 0.35 * normal, "{quiet} {normal}");
    assert!((noisy - normal - 1000.0).abs() < 300.0, "{noisy} {normal}");
    assert!((blind / normal - 0.5).abs() < 0.1, "{blind} {normal}");
    let (nothing, _) = mean("sim:velo,events=3,pileup=0,signal=none,noise=0");
    assert_eq!(nothing, 0.0);
}

#[test]
fn extremes_are_simulated_too() {
    let busiest = spec("sim:velo,pileup=200,noise=1000,efficiency=1");
    let mut batch = VeloBatch::default();
    let truth = simulate_velo(&busiest, u64::MAX, &mut batch);
    assert!(batch.x.len() > 40_000 && truth.particles.len() > 5000, "{}", batch.x.len());
    assert!(batch.x.iter().chain(batch.y.iter()).all(|value| value.is_finite()));
}

/// Sums over particles and hits by name, and values whose distributions are compared.
#[derive(Default)]
struct Sums {
    found: BTreeMap<&'static str, f64>,
    residuals: Vec<f64>,
    kinks: Vec<f64>,
    pts: Vec<f64>,
    ps: Vec<f64>,
}

impl Sums {
    fn count(&mut self, name: &'static str, amount: f64) {
        *self.found.entry(name).or_insert(0.0) += amount;
    }

    fn event(&mut self, event: &VeloEvent<'_>, truth: &TruthEvent) {
        let mut module_of = vec![0; event.len()];
        for module in 0..VELO_MODULES {
            module_of[event.module(module)].fill(module);
        }
        let hits = event.len() as f64;
        self.count("hits", hits);
        self.count("hits_squared", hits * hits);
        let mut owners = vec![0; event.len()];
        for particle in &truth.particles {
            particle.hits.iter().for_each(|hit| owners[*hit as usize] += 1);
            let mut hits: Vec<usize> = particle.hits.iter().map(|hit| *hit as usize).collect();
            hits.sort_by(|a, b| event.z[*a].total_cmp(&event.z[*b]));
            self.particle(particle, &hits, &module_of);
            if !particle.is_electron() {
                hits.windows(3).for_each(|triple| self.triple(event, particle, triple));
            }
        }
        self.count("unassociated", owners.iter().filter(|owners| **owners == 0).count() as f64);
        self.count("shared", owners.iter().filter(|owners| **owners > 1).count() as f64);
    }

    fn particle(&mut self, particle: &Particle, hits: &[usize], module_of: &[usize]) {
        self.count("particles", 1.0);
        let modules: Vec<usize> = hits.iter().map(|hit| module_of[*hit]).collect();
        for pair in modules.windows(2) {
            self.count("steps", 1.0);
            let names = ["step_0", "step_1", "step_2", "step_3", "step_4_up"];
            self.count(names[(pair[1] - pair[0]).min(4)], 1.0);
        }
        let both = modules.iter().any(|m| m % 2 == 0) && modules.iter().any(|m| m % 2 == 1);
        self.count("both_sides", f64::from(both));
        if particle.is_electron() {
            self.count("electrons", 1.0);
            return;
        }
        self.count("hadrons", 1.0);
        self.count("hadron_hits", hits.len() as f64);
        self.count("three_hits", f64::from(hits.len() == 3));
        self.count("ten_hits_up", f64::from(hits.len() >= 10));
        self.count("backward", f64::from(particle.eta < 0.0));
        self.count("strange", f64::from(particle.from_strange));
        self.count("long", f64::from(particle.is_long));
        self.count("long_above_5gev", f64::from(particle.is_long && particle.p > 5.0));
        self.count("long_beauty", f64::from(particle.is_long && particle.from_beauty));
        self.pts.push(particle.pt);
        if particle.is_long {
            self.ps.push(particle.p);
        }
    }

    /// Adds the distance of three hits from a line for a fast particle, and the scattering of a slow particle.
    fn triple(&mut self, event: &VeloEvent<'_>, particle: &Particle, triple: &[usize]) {
        let [z0, z1, z2] = [0, 1, 2].map(|i| f64::from(event.z[triple[i]]));
        if z1 - z0 < 20.0 || z2 - z1 < 20.0 {
            return;
        }
        for column in [event.x, event.y] {
            let [c0, c1, c2] = [0, 1, 2].map(|i| f64::from(column[triple[i]]));
            if particle.p > 20.0 {
                self.residuals.push(c1 - c0 - (c2 - c0) * (z1 - z0) / (z2 - z0));
            } else if (0.5..1.0).contains(&particle.p) {
                self.kinks.push((c2 - c1) / (z2 - z1) - (c1 - c0) / (z1 - z0));
            }
        }
    }
}

/// Quantities that are compared with the real sample, by name.
fn features(batch: &VeloBatch, truth: &[TruthEvent]) -> BTreeMap<&'static str, f64> {
    let (events, view, mut sums) = (truth.len() as f64, batch.view(), Sums::default());
    for (number, truth) in truth.iter().enumerate() {
        let event = view.event(number);
        let largest = (0..VELO_MODULES).map(|module| event.module(module).len()).max().unwrap();
        sums.count("largest_module", largest as f64 / events);
        sums.event(&event, truth);
    }
    let Sums { mut found, residuals, kinks, pts, ps } = sums;
    for (name, whole) in [
        ("both_sides", "particles"),
        ("electrons", "particles"),
        ("unassociated", "hits"),
        ("shared", "hits"),
        ("step_0", "steps"),
        ("step_1", "steps"),
        ("step_2", "steps"),
        ("step_3", "steps"),
        ("step_4_up", "steps"),
        ("hadron_hits", "hadrons"),
        ("three_hits", "hadrons"),
        ("ten_hits_up", "hadrons"),
        ("backward", "hadrons"),
        ("strange", "hadrons"),
    ] {
        *found.get_mut(name).unwrap() /= found[whole];
    }
    for name in ["hits", "hits_squared", "particles", "hadrons", "long", "long_above_5gev", "long_beauty"] {
        *found.get_mut(name).unwrap() /= events;
    }
    let spread = (found["hits_squared"] - found["hits"] * found["hits"]).sqrt();
    found.insert("hits_spread", spread);
    let quantile = |mut values: Vec<f64>, at: f64| {
        values.sort_by(f64::total_cmp);
        values[(at * values.len() as f64) as usize]
    };
    // Root mean squares without the tails from decays and wrong clusters.
    let core = |values: Vec<f64>, limit: f64| {
        let kept: Vec<f64> = values.into_iter().filter(|value| value.abs() < limit).collect();
        (kept.iter().map(|value| value * value).sum::<f64>() / kept.len() as f64).sqrt()
    };
    found.insert("residual_above_20gev", core(residuals, 0.08));
    found.insert("kink_below_1gev", core(kinks, 0.01));
    found.insert("pt_median", quantile(pts.clone(), 0.5));
    found.insert("pt_95_percent", quantile(pts, 0.95));
    found.insert("long_p_median", quantile(ps, 0.5));
    found.retain(|name, _| !["hits_squared", "steps", "hadrons"].contains(name));
    found
}

/// The features of the 200 public events (LHCb's full simulation), made by the test below.
fn reference() -> BTreeMap<String, f64> {
    serde_json::from_str(include_str!("../refs/velo_public200_features.json")).unwrap()
}

#[test]
fn the_reference_is_that_of_the_real_sample() {
    let Some(data) = crate::common::data() else { return };
    let (batch, truth) = crate::common::read_all(&data.join("velo/public200.ndjson.zst"));
    let real = features(&batch, &truth);
    let reference = reference();
    assert_eq!(real.len(), reference.len());
    for (name, value) in real {
        assert!((value / reference[name] - 1.0).abs() < 1e-6, "{name}: {value}");
    }
}

/// Largest difference of simulated from real features, relative: from the spread of 200 events, and from the
/// accuracy of the model.
const TOLERANCES: [(&str, f64); 26] = [
    ("hits", 0.08),
    ("hits_spread", 0.15),
    ("particles", 0.08),
    ("largest_module", 0.10),
    ("unassociated", 0.10),
    ("shared", 0.25),
    ("electrons", 0.12),
    ("both_sides", 0.08),
    ("step_0", 0.25),
    ("step_1", 0.15),
    ("step_2", 0.01),
    ("step_3", 0.15),
    ("step_4_up", 0.40),
    ("hadron_hits", 0.03),
    ("three_hits", 0.08),
    ("ten_hits_up", 0.06),
    ("backward", 0.08),
    ("strange", 0.15),
    ("long", 0.08),
    ("long_above_5gev", 0.10),
    ("long_beauty", 0.12),
    ("residual_above_20gev", 0.10),
    ("kink_below_1gev", 0.15),
    ("pt_median", 0.05),
    ("pt_95_percent", 0.08),
    ("long_p_median", 0.12),
];

#[test]
fn simulated_events_resemble_real_ones() {
    let (batch, truth) = sample("sim:velo,events=400,seed=1");
    let simulated = features(&batch, &truth);
    let reference = reference();
    assert_eq!(simulated.len(), TOLERANCES.len());
    let mut report = String::new();
    let mut unlike = false;
    for (name, tolerance) in TOLERANCES {
        let (found, real) = (simulated[name], reference[name]);
        let difference = found / real - 1.0;
        unlike |= difference.abs() > tolerance;
        let mark = if difference.abs() > tolerance { "  <--" } else { "" };
        report += &format!("{name:22} simulated {found:10.4} real {real:10.4} {difference:+8.3}{mark}\n");
    }
    println!("{report}");
    assert!(!unlike, "\n{report}");
}
