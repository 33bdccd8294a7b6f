//! The counted cases: each kernel on simulated events of a fixed seed, level by level.

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
use std::sync::Arc;

/// Polarity of the magnet in the simulated events.
const POLARITY: f32 = -1.0;

/// Name of a stage that is too short to be compared.
pub const NOT_STORED: &str = "-";

/// What is counted.
pub type Work = Box<dyn FnMut()>;

/// A case to count.
pub struct Case {
    pub name: String,
    /// Stages that end with the clock's laps, in order; none if the case has one number.
    pub stages: Vec<&'static str>,
    /// Makes the input, which is not counted.
    pub prepare: Box<dyn FnOnce() -> Work>,
}

impl Case {
    /// Returns a case with one number.
    pub fn whole<W: FnMut() + 'static>(name: String, prepare: impl FnOnce() -> W + 'static) -> Self {
        Self { name, stages: Vec::new(), prepare: Box::new(|| Box::new(prepare())) }
    }
}

/// Returns the levels that valgrind can run, with their usual gangs, as far as the CPU has them.
fn levels() -> impl Iterator<Item = Level> {
    let isas = [Isa::Scalar, Isa::Avx2];
    isas.into_iter().filter_map(|isa| Level::choose(Some(isa), None).ok())
}

/// Returns all cases.
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
fn sequence<B: Batch + 'static, S: Into<Sequence>>(
    name: &str,
    stages: &[&'static str],
    batch: fn() -> B,
    make: impl Fn(Level) -> S + Copy + 'static,
    cases: &mut Vec<Case>,
) {
    for level in levels() {
        let prepare = move || {
            let (engine, batch) = (Engine::new(make(level)), batch());
            let (mut workspace, mut results) = (engine.workspace(), engine.products());
            move || {
                engine.run(batch.events(), &mut workspace, &mut results).expect("events of this sequence");
            }
        };
        cases.push(Case { stages: stages.to_vec(), ..Case::whole(format!("{name}, {level}"), prepare) });
    }
}

fn velo(cases: &mut Vec<Case>) {
    let batch = || {
        let spec: SimSpec = "sim:velo,events=4,seed=1".parse().expect("a simulation");
        let mut batch = VeloBatch::default();
        SimReader::new(spec).read(4, &mut batch, &mut Vec::new()).expect("events");
        VeloInputBatch::Hits(batch)
    };
    let make = |level| Velo::new(level, VeloConfig::default()).expect("a sequence");
    // Two events at a time.
    sequence("velo", &["sort", "find", "fit"].repeat(2), batch, make, cases);
}

pub fn raw_events(spec: &str) -> RawBatch {
    let (ut, scifi) = (UtGeometry::nominal(), SciFiGeometry::nominal());
    let detector = LhcbDetector { ut: &ut, scifi: &scifi, polarity: POLARITY };
    let mut batch = RawBatch::default();
    let mut reader = LhcbReader::new(spec.parse().expect("a simulation"), 0, None);
    reader.read(usize::MAX, &detector, &mut batch, &mut Vec::new()).expect("events");
    batch
}

fn retina() -> RawBatch {
    raw_events("sim:lhcb,events=3,seed=1")
}

fn superpixels() -> RawBatch {
    raw_events("sim:lhcb,events=3,seed=1,velo=superpixel")
}

/// Returns the sequence of the Velo on raw banks.
pub fn velo_of_banks(level: Level) -> Velo {
    let velo = Velo::new(level, VeloConfig::default()).expect("a sequence");
    velo.with_sensors(Arc::new(VeloSensors::nominal()), VeloBanks::Auto)
}

/// Returns the UT at the simulated polarity.
pub fn nominal_ut() -> UtDetector {
    UtDetector { geometry: Arc::new(UtGeometry::nominal()), tables: UtTables::nominal(), polarity: POLARITY }
}

/// Returns the sequence from raw banks to tracks through Velo and UT.
pub fn velo_ut(level: Level) -> Sequence {
    VeloUt::sequence(velo_of_banks(level), &nominal_ut(), UtConfig::default()).expect("a sequence")
}

/// Returns the sequence from raw banks to tracks through all detectors.
pub fn long_ut(level: Level) -> Sequence {
    let fibres = Arc::new(SciFiGeometry::nominal());
    let scifi = SciFi::new(level, SciFiConfig::default(), fibres, POLARITY).expect("a sequence");
    let (velo, bending) = (velo_of_banks(level), Bending::nominal(POLARITY));
    LongUt::sequence(velo, &nominal_ut(), scifi, LongConfig::default(), bending).expect("a sequence")
}

fn decoders(cases: &mut Vec<Case>) {
    type Events = fn() -> RawBatch;
    for (name, batch) in [("velo retina", retina as Events), ("velo superpixels", superpixels)] {
        cases.extend(levels().map(|level| {
            Case::whole(format!("decode {name}, {level}"), move || {
                let (sequence, batch, mut scratch) = (velo_of_banks(level), batch(), Default::default());
                let mut hits = Outcome::<VeloBatch>::default();
                move || {
                    let events = batch.view();
                    let range = 0..batch.len();
                    sequence.decode(events, range, &mut scratch, &mut hits).expect("raw banks");
                }
            })
        }));
    }
    let ut = |level| UtHits::new(level, Arc::new(UtGeometry::nominal()));
    sequence("decode ut", &[], retina, ut, cases);
    let scifi = |level| SciFiHits::new(level, Arc::new(SciFiGeometry::nominal()));
    sequence("decode scifi", &[], retina, scifi, cases);
    sequence("velo-ut", &[], retina, velo_ut, cases);
    sequence("long-ut", &[], retina, long_ut, cases);
}

/// Returns simulated particles in the cylinder.
fn particles() -> CylinderSample {
    let spec = "sim:cylinder,events=1,tracks=500,seed=1".parse().expect("a simulation");
    let mut sample = CylinderSample::default();
    CylinderSim::new(spec, 0, None).read(1, &mut sample.hits, &mut sample.truth);
    sample
}

fn cylinder(cases: &mut Vec<Case>) {
    for (name, builder) in [
        ("cylinder best hit", Builder::BestHit),
        ("cylinder standard", Builder::Standard),
        ("cylinder clone engine", Builder::CloneEngine),
    ] {
        let make = move |level| {
            let config = CylinderConfig { builder, ..CylinderConfig::default() };
            Cylinder::new(level, config).expect("a sequence")
        };
        sequence(name, &[], particles, make, cases);
    }
    cases.extend(levels().map(|level| {
        Case::whole(format!("cylinder fit, {level}"), move || {
            let (sample, config, mut tracks) =
                (particles(), CylinderConfig::default(), CylinderTracks::default());
            move || {
                tracks.clear();
                let input = CylinderInput { hits: &sample.hits, seeds: &sample.truth.particles };
                fit_particles(level, &config, input, 0..1, &mut tracks);
            }
        })
    }));
}

fn kalman(cases: &mut Vec<Case>) {
    const TRACKS: usize = 320;
    let out = || {
        let mut out = Matriplex::default();
        out.resize(STATE, TRACKS);
        out
    };
    cases.extend(levels().map(|level| {
        Case::whole(format!("kalman planes, {level}"), move || {
            let (tracks, mut out) = (Tracks::new(TRACKS, TO_PLANES), out());
            move || dispatch_usual!(level, g => tracks.through::<_, false>(g, &mut out))
        })
    }));
    cases.extend(levels().map(|level| {
        Case::whole(format!("kalman radii, {level}"), move || {
            let (tracks, mut out) = (Tracks::new(TRACKS, TO_RADII), out());
            move || dispatch_usual!(level, g => tracks.through::<_, true>(g, &mut out))
        })
    }));
}

/// Adds the pixel chain, level by level; its search is scalar code, the same on each level.
fn timepix(cases: &mut Vec<Case>) {
    cases.extend(levels().map(|level| Case { name: format!("timepix, {level}"), ..pixels(level, 40_000) }));
}

/// Returns the chain for `count` simulated hits.
pub fn pixels(level: Level, count: u64) -> Case {
    let prepare = move || {
        let mut sim = PixelSim::new(PixelSimSpec { hits: count, ..PixelSimSpec::default() });
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
        move || {
            black_box(chain.push(&hits, true).len());
        }
    };
    let blocks = (count as usize).div_ceil(TimepixConfig::default().block_hits);
    let stages = [NOT_STORED, "sort", "find", "features"].repeat(blocks);
    Case { stages, ..Case::whole("timepix".into(), prepare) }
}
