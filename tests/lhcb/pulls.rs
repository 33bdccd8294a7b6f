//! States and momenta of Velo-UT, SciFi and long tracks of simulated events against the truth, in each bin of momentum. The
//! events were not used for any choice. Errors of momenta are right to a tenth in `best` and of long tracks. Limits are wider
//! where a fit has known omissions (docs/algorithms.md): momenta of `hlt1` and `paper` are 5 to 7 % too large, as published, so
//! that scattering is underestimated; slopes at 3 to 5 GeV/c scatter more than a straight line allows.

use crate::common::data;
use crate::common::decoding::seven_events;
use crate::common::geometry::Detector;
use peloton::engine::{Engine, Sequence};
use peloton::event::{LongTracks, Outcome, Product, RawBatch, SciFiTracks, TruthEvent, VeloUtTracks};
use peloton::long::{Bending, Long, LongConfig, LongPreset, LongUt};
use peloton::scifi::{SciFi, SciFiConfig};
use peloton::simd::Level;
use peloton::ut::UtPreset;
use peloton::velo::{Preset, Velo, VeloBanks, VeloConfig};
use peloton_io::input::EventNote;
use peloton_sim::LhcbReader;
use peloton_truth::{
    Checker, FittedState, HitsOf, Measured, MomentumReport, Place, Rules, StatePull, StatePulls, decode_mc,
};
use std::ops::Range;
use std::sync::OnceLock;

struct Sample {
    raw: RawBatch,
    truth: Vec<TruthEvent>,
}

impl Sample {
    /// The events of all tests of this file, made once.
    fn shared(detector: &Detector) -> &'static Self {
        static SHARED: OnceLock<Sample> = OnceLock::new();
        SHARED.get_or_init(|| Self::of(detector, 5100..5150))
    }

    /// 20 events of each seed.
    fn of(detector: &Detector, seeds: Range<u64>) -> Self {
        let (mut raw, mut notes) = (RawBatch::default(), Vec::<EventNote>::new());
        for seed in seeds {
            let spec = format!("sim:lhcb,events=20,seed={seed}").parse().unwrap();
            let mut reader = LhcbReader::new(spec, 0, None).with_threads(2);
            reader.read(20, &detector.to_fly_through(), &mut raw, &mut notes).unwrap();
        }
        Self { truth: truth_of(&notes), raw }
    }

    fn run<P: Product>(&self, sequence: impl Into<Sequence>) -> P {
        let engine = Engine::new(sequence);
        let mut out = Outcome::default();
        engine.try_run(self.raw.view(), &mut engine.workspace(), &mut out).unwrap();
        out.results
    }

    /// The pulls of tracks, from functions for the tracks of an event, their hits, and their states.
    fn pulls<'a>(
        &self,
        rules: Rules,
        of_event: impl Fn(usize) -> Range<usize>,
        hits: impl Fn(usize) -> &'a [u32],
        states: impl Fn(usize) -> Vec<FittedState>,
    ) -> Vec<StatePull> {
        let (mut checker, mut pulls) = (Checker::new(rules), StatePulls::default());
        for (event, truth) in self.truth.iter().enumerate() {
            let tracks = of_event(event);
            checker.event(truth, tracks.clone().map(&hits));
            let states: Vec<Vec<FittedState>> = tracks.map(&states).collect();
            let matches = checker.true_tracks().zip(checker.found());
            pulls.event(&truth.particles, matches, |track| &states[track]);
        }
        pulls.report()
    }
}

/// Limits of pulls: widths of q/p and of all others, the mean of q/p, and the share beyond five sigma.
#[derive(Clone)]
struct Limits {
    qop: Range<f64>,
    others: Range<f64>,
    mean_qop: f64,
    far: f64,
    /// The share for x and its slope at 3 to 5 GeV/c: some particles scatter off a nucleus within the SciFi by more than their
    /// covariance. The search by rows finds more of them than the search by triplets (43 % of the slopes that it alone finds).
    far_soft: f64,
}

impl Limits {
    /// Fails unless all pulls at a place are within these limits.
    fn check(&self, name: &str, pulls: &[StatePull], place: &str) {
        let mut rows = 0;
        for pull in pulls.iter().filter(|pull| pull.place == place) {
            println!("{name}: {pull:?}");
            let is_qop = pull.parameter == "q/p";
            let (widths, mean) = if is_qop { (&self.qop, self.mean_qop) } else { (&self.others, 0.1) };
            let is_soft = ["x", "tx"].contains(&pull.parameter) && pull.p_to == Some(5.0);
            let far = if is_soft { self.far_soft } else { self.far };
            assert!(pull.tracks > 200 && widths.contains(&pull.width), "{name}: {pull:?}");
            assert!(pull.mean.abs() < mean && pull.far < far, "{name}: {pull:?}");
            rows += 1;
        }
        assert!(rows >= 20, "{name}: {rows}");
    }
}

fn truth_of(notes: &[EventNote]) -> Vec<TruthEvent> {
    let of = |note: &EventNote| decode_mc(note.truth.as_ref().expect("truth"), HitsOf::All).unwrap();
    notes.iter().map(of).collect()
}

fn level() -> Level {
    Level::choose(None, None).unwrap()
}

fn scifi(detector: &Detector) -> SciFi {
    let config = SciFiConfig::default();
    let scifi = SciFi::new(level(), config, detector.scifi.clone(), detector.polarity).unwrap();
    scifi.with_bending(detector.bending)
}

#[test]
fn errors_of_tracks_into_the_ut_are_within_limits() {
    let detector = Detector::nominal();
    let sample = Sample::shared(&detector);
    let best = Limits { qop: 0.9..1.1, others: 0.85..1.33, mean_qop: 0.3, far: 0.02, far_soft: 0.02 };
    let hlt1 = Limits { qop: 0.95..1.25, others: 0.85..1.4, mean_qop: 0.6, far: 0.025, far_soft: 0.025 };
    let paper = Limits { qop: 0.95..1.3, others: 0.8..1.45, mean_qop: 0.65, far: 0.025, far_soft: 0.025 };
    for (preset, limits) in [(UtPreset::Best, best), (UtPreset::Hlt1, hlt1), (UtPreset::Paper, paper)] {
        let tracks: VeloUtTracks = sample.run(detector.velo_ut(level(), preset));
        let pulls = sample.pulls(
            Rules::LhcbUt,
            |event| tracks.of_event(event),
            |track| &tracks.hits[tracks.hit_start[track] as usize..tracks.hit_start[track + 1] as usize],
            |track| vec![FittedState::of_ut(&tracks, track)],
        );
        limits.check(&preset.to_string(), &pulls, "ut");
    }
}

#[test]
fn errors_of_tracks_in_the_scifi_are_within_limits() {
    let detector = Detector::nominal();
    let sample = Sample::shared(&detector);
    let tracks: SciFiTracks = sample.run(scifi(&detector));
    let states = |scale: f64| {
        let scaled = move |state: FittedState| {
            let qop = state.qop.map(|[value, sigma]| [value, scale * sigma]);
            FittedState { sigma: state.sigma.map(|sigma| scale * sigma), qop, ..state }
        };
        let tracks = &tracks;
        sample.pulls(
            Rules::LhcbSeed,
            |event| tracks.of_event(event),
            |track| tracks.hits_of(track),
            move |track| {
                vec![scaled(FittedState::of_scifi(&tracks.state, track, Some(tracks.var_qop[track])))]
            },
        )
    };
    let limits = Limits { qop: 0.9..1.1, others: 0.95..1.35, mean_qop: 0.15, far: 0.03, far_soft: 0.05 };
    limits.check("scifi", &states(1.0), "scifi");
    // Errors that are a third too small, or half too large, are noticed in every bin.
    for scale in [0.67, 1.5] {
        let wrong = states(scale);
        let is_noticed = |pull: &StatePull| {
            let widths = if pull.parameter == "q/p" { &limits.qop } else { &limits.others };
            !widths.contains(&pull.width)
        };
        assert!(wrong.len() >= 25 && wrong.iter().all(is_noticed), "{scale}: {wrong:?}");
    }
}

/// The checker's report of the momenta of tracks in the SciFi.
fn momenta(truth: &[TruthEvent], tracks: &SciFiTracks) -> MomentumReport {
    let mut checker = Checker::new(Rules::LhcbSeed);
    for (event, truth) in truth.iter().enumerate() {
        let measured = |track: usize| {
            let (qop, variance) = (tracks.state.qop[track], tracks.var_qop[track]);
            let slopes = [tracks.state.tx[track], tracks.state.ty[track]];
            (tracks.hits_of(track), Some(Measured::new(qop, Some(variance), slopes)))
        };
        checker.measured_event(truth, tracks.of_event(event).map(measured));
    }
    checker.report().momentum.expect("momenta")
}

/// The median was once 3 % low. The median must be right to 0.3 % for both polarities, and in bins to 0.5 %.
#[test]
fn momenta_of_tracks_in_the_scifi_have_the_right_median() {
    let down = Detector::nominal();
    let mut up = down.clone();
    up.polarity = -down.polarity;
    up.bending = Bending::nominal(up.polarity);
    for (detector, sample) in [(&down, Sample::shared(&down)), (&up, &Sample::of(&up, 5150..5160))] {
        let momenta = momenta(&sample.truth, &sample.run(scifi(detector)));
        println!("polarity {}: {momenta:?}", detector.polarity);
        assert!(momenta.all.tracks > 10_000 && momenta.all.median.unwrap().abs() < 0.003);
        for bin in momenta.bins.iter().filter(|bin| bin.low >= 3.0 && bin.tracks > 100) {
            // Twice the standard error of the median of a normal distribution.
            let error = 2.5 * bin.half_width.unwrap() / (bin.tracks as f64).sqrt();
            assert!(bin.median.unwrap().abs() < 0.005 + error, "{bin:?}");
            assert!(bin.right_charge_rate.unwrap() > 0.97, "{bin:?}");
        }
        let pulls = momenta.all.pull_width.unwrap();
        assert!((0.9..1.1).contains(&pulls), "{pulls}");
    }
}

/// On the seven public events, which were not used for any fit.
#[test]
fn momenta_of_the_seven_events_have_the_right_median() {
    let Some(data) = data() else { return };
    let (_, geometry, raw, notes) = seven_events(&data).next().unwrap();
    let sample = Sample { truth: truth_of(&notes), raw };
    let all = momenta(&sample.truth, &sample.run(scifi(&Detector::open(&geometry)))).all;
    let error = 1.2533 * all.half_width.unwrap() / (all.tracks as f64).sqrt();
    println!("median {:?}, standard error {error}, {all:?}", all.median);
    assert!(all.tracks > 300 && all.median.unwrap().abs() < 2.0 * error);
}

#[test]
fn errors_of_long_tracks_are_within_limits() {
    let detector = Detector::nominal();
    let sample = Sample::shared(&detector);
    let velo = Velo::new(level(), VeloConfig::preset(Preset::Best)).unwrap();
    let velo = velo.with_sensors(detector.velo.clone(), VeloBanks::Auto);
    let (config, bending) = (LongConfig::preset(LongPreset::Best), Bending::nominal(detector.polarity));
    let (ut, parts) = (detector.ut_detector(), (velo.clone(), scifi(&detector)));
    let long = Long::sequence(velo, scifi(&detector), config.clone(), bending).unwrap();
    let long_ut = LongUt::sequence(parts.0, &ut, parts.1, config, bending).unwrap();
    for (name, tracks) in [("long", sample.run(long)), ("long-ut", sample.run(long_ut))] {
        check_long(sample, name, &tracks);
    }
}

fn check_long(sample: &Sample, name: &str, tracks: &LongTracks) {
    let pulls = sample.pulls(
        Rules::LhcbLong,
        |event| tracks.of_event(event),
        |track| tracks.hits_of(track),
        |track| {
            let qop = Some(tracks.var_qop[track]);
            vec![
                FittedState::of_velo(Place::Beam, &tracks.beam, track),
                FittedState::of_scifi(&tracks.scifi, track, qop),
            ]
        },
    );
    // The width of q/p above 30 GeV/c, of some 3,800 tracks, is known to 1.2 %. It is 1.08 (1.05 before rivals): pairs that are
    // further apart are accepted, too.
    let limits = Limits { qop: 0.93..1.09, others: 0.95..1.35, mean_qop: 0.1, far: 0.03, far_soft: 0.05 };
    limits.check(name, &pulls, "scifi");
}
