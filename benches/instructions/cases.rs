//! The counted cases: each kernel on simulated events of a fixed seed, level by level.

use crate::callgrind::NOT_STORED;
use crate::steps::{STATE, TO_PLANES, TO_RADII, Tracks};
use peloton::chain::{UtDetector, VeloUt};
use peloton::cylinder::{Builder, Cylinder, CylinderConfig, CylinderInput, CylinderSample, fit_particles};
use peloton::dispatch_usual;
use peloton::engine::{Batch, Engine, Sequence};
use peloton::event::{CylinderTracks, Layout, Outcome, PixelHits, RawBatch, VeloBatch};
use peloton::kalman::matriplex::Matriplex;
use peloton::long::{Bending, LongConfig, LongUt};
use peloton::scifi::{SciFi, SciFiConfig, SciFiGeometry, SciFiHits};
use peloton::simd::{Isa, Level};
use peloton::timepix::{Chain, TimepixConfig};
use peloton::ut::{UtConfig, UtGeometry, UtHits, UtTables};
use peloton::velo::{Velo, VeloBanks, VeloConfig, VeloInputBatch, VeloSensors};
use peloton_sim::timepix::{PixelSim, PixelSimSpec};
use peloton_sim::{CylinderSim, LhcbDetector, LhcbReader, SimReader, SimSpec};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

/// Polarity of the magnet in the simulated events.
pub const POLARITY: f32 = -1.0;

/// A case to count.
pub struct Case {
    pub name: String,
    /// Stages that the clock measures separately, in order; none if the case has one number.
    pub stages: Vec<&'static str>,
    pub work: Box<dyn FnMut()>,
}

/// Returns the levels that valgrind can run, with their usual gangs, as far as the CPU has them.
fn levels() -> impl Iterator<Item = Level> {
    let isas = [Isa::Scalar, Isa::Avx2];
    isas.into_iter().filter_map(|isa| Level::choose(Some(isa), None).ok())
}

/// Returns all cases; their inputs are made here and not counted.
pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    velo(&mut cases);
    decoders(&mut cases);
    cylinder(&mut cases);
    kalman(&mut cases);
    timepix(&mut cases);
    cases
}

/// Adds a sequence on one batch of events, level by level.
fn sequence<B: Batch, S: Into<Sequence>>(
    name: &str,
    stages: &[&'static str],
    batch: &Rc<B>,
    make: impl Fn(Level) -> S,
    cases: &mut Vec<Case>,
) {
    for level in levels() {
        let (engine, batch) = (Engine::new(make(level)), batch.clone());
        let (mut workspace, mut results) = (engine.workspace(), engine.products());
        let work = move || {
            engine.run(batch.events(), &mut workspace, &mut results).expect("events of this sequence");
        };
        cases.push(Case { name: format!("{name}, {level}"), stages: stages.to_vec(), work: Box::new(work) });
    }
}

fn velo(cases: &mut Vec<Case>) {
    let spec: SimSpec = "sim:velo,events=4,seed=1".parse().expect("a simulation");
    let mut batch = VeloBatch::default();
    SimReader::new(spec).read(4, &mut batch, &mut Vec::new()).expect("events");
    let batch = Rc::new(VeloInputBatch::Hits(batch));
    let make = |level| Velo::new(level, VeloConfig::default()).expect("a sequence");
    sequence("velo", &["sort", "find", "fit"], &batch, make, cases);
}

pub fn raw_events(spec: &str) -> RawBatch {
    let (ut, scifi) = (UtGeometry::nominal(), SciFiGeometry::nominal());
    let detector = LhcbDetector { ut: &ut, scifi: &scifi, polarity: POLARITY };
    let mut batch = RawBatch::default();
    let mut reader = LhcbReader::new(spec.parse().expect("a simulation"), 0, None);
    reader.read(usize::MAX, &detector, &mut batch, &mut Vec::new()).expect("events");
    batch
}

fn decoders(cases: &mut Vec<Case>) {
    let retina = raw_events("sim:lhcb,events=3,seed=1");
    let superpixels = raw_events("sim:lhcb,events=3,seed=1,velo=superpixel");
    for (name, batch) in [("velo retina", &retina), ("velo superpixels", &superpixels)] {
        for level in levels() {
            let sequence = Velo::new(level, VeloConfig::default()).expect("a sequence");
            let sequence = sequence.with_sensors(Arc::new(VeloSensors::nominal()), VeloBanks::Auto);
            let (batch, mut scratch) = (batch.clone(), Default::default());
            let mut hits = Outcome::<VeloBatch>::default();
            let work = move || {
                let events = batch.view();
                let range = 0..batch.len();
                sequence.decode(events, range, &mut scratch, &mut hits).expect("raw banks");
            };
            cases.push(Case {
                name: format!("decode {name}, {level}"),
                stages: Vec::new(),
                work: Box::new(work),
            });
        }
    }
    let batch = Rc::new(retina);
    let geometry = Arc::new(UtGeometry::nominal());
    sequence("decode ut", &[], &batch, |level| UtHits::new(level, geometry.clone()), cases);
    let geometry = Arc::new(SciFiGeometry::nominal());
    sequence("decode scifi", &[], &batch, |level| SciFiHits::new(level, geometry.clone()), cases);
    through_detectors(&batch, cases);
}

/// Adds whole sequences over several detectors.
fn through_detectors(batch: &Rc<RawBatch>, cases: &mut Vec<Case>) {
    let velo = |level| {
        let velo = Velo::new(level, VeloConfig::default()).expect("a sequence");
        velo.with_sensors(Arc::new(VeloSensors::nominal()), VeloBanks::Auto)
    };
    let bending = Bending::nominal(POLARITY);
    let (geometry, tables) = (Arc::new(UtGeometry::nominal()), UtTables::nominal());
    let ut = UtDetector { geometry, tables, polarity: POLARITY };
    let fibres = Arc::new(SciFiGeometry::nominal());
    let velo_ut = |level| VeloUt::sequence(velo(level), &ut, UtConfig::default()).expect("a sequence");
    sequence("velo-ut", &[], batch, velo_ut, cases);
    let long_ut = |level| {
        let scifi = SciFi::new(level, SciFiConfig::default(), fibres.clone(), POLARITY).expect("a sequence");
        LongUt::sequence(velo(level), &ut, scifi, LongConfig::default(), bending).expect("a sequence")
    };
    sequence("long-ut", &[], batch, long_ut, cases);
}

fn cylinder(cases: &mut Vec<Case>) {
    let spec = "sim:cylinder,events=1,tracks=500,seed=1".parse().expect("a simulation");
    let mut sample = CylinderSample::default();
    CylinderSim::new(spec, 0, None).read(1, &mut sample.hits, &mut sample.truth);
    let sample = Rc::new(sample);
    for (name, builder) in [
        ("cylinder best hit", Builder::BestHit),
        ("cylinder standard", Builder::Standard),
        ("cylinder clone engine", Builder::CloneEngine),
    ] {
        let config = CylinderConfig { builder, ..CylinderConfig::default() };
        let make = |level| Cylinder::new(level, config.clone()).expect("a sequence");
        sequence(name, &[], &sample, make, cases);
    }
    for level in levels() {
        let (sample, config, mut tracks) =
            (sample.clone(), CylinderConfig::default(), CylinderTracks::default());
        let work = move || {
            tracks.clear();
            let input = CylinderInput { hits: &sample.hits, seeds: &sample.truth.particles };
            fit_particles(level, &config, input, 0..1, &mut tracks);
        };
        cases.push(Case { name: format!("cylinder fit, {level}"), stages: Vec::new(), work: Box::new(work) });
    }
}

fn kalman(cases: &mut Vec<Case>) {
    const TRACKS: usize = 320;
    let out = || {
        let mut out = Matriplex::default();
        out.resize(STATE, TRACKS);
        out
    };
    for level in levels() {
        let (tracks, mut out) = (Tracks::new(TRACKS, TO_PLANES), out());
        let work = move || dispatch_usual!(level, g => tracks.through::<_, false>(g, &mut out));
        cases.push(Case {
            name: format!("kalman planes, {level}"),
            stages: Vec::new(),
            work: Box::new(work),
        });
    }
    for level in levels() {
        let (tracks, mut out) = (Tracks::new(TRACKS, TO_RADII), out());
        let work = move || dispatch_usual!(level, g => tracks.through::<_, true>(g, &mut out));
        cases.push(Case { name: format!("kalman radii, {level}"), stages: Vec::new(), work: Box::new(work) });
    }
}

/// Adds the pixel chain, level by level; its search is scalar code, the same on each level.
fn timepix(cases: &mut Vec<Case>) {
    cases.extend(levels().map(|level| Case { name: format!("timepix, {level}"), ..pixels(level, 40_000) }));
}

/// Returns the chain for `hits` simulated hits.
pub fn pixels(level: Level, hits: u64) -> Case {
    let mut sim = PixelSim::new(PixelSimSpec { hits, ..PixelSimSpec::default() });
    let mut hits = PixelHits::default();
    while sim.read(usize::MAX, &mut hits) {}
    // Fixed settings, so that the passes are the same on every CPU.
    let config = TimepixConfig {
        disorder_us: Some(sim.disorder_us()),
        sort_digit_bits: Some(9),
        sort_part_hits: Some(1 << 12),
        ..TimepixConfig::default()
    };
    let layout = Layout::single(256, 256).expect("a chip");
    let mut chain = Chain::new(&config, level, &layout).expect("a chain");
    let work = move || {
        black_box(chain.push(&hits, true).len());
    };
    let stages = vec![NOT_STORED, "sort", "find", "features"];
    Case { name: "timepix".into(), stages, work: Box::new(work) }
}
