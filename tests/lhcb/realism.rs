//! `realism=1` of the LHCb-like simulation: the number of SciFi layers with a hit of a particle, against full simulation.

use crate::common::data;
use crate::common::decoding::seven_events;
use crate::common::geometry::Detector;
use peloton_io::input::EventNote;
use peloton_sim::{LhcbReader, SimulatedEvent};
use peloton_truth::{HitsOf, decode_mc};
use std::collections::{BTreeMap, BTreeSet};

/// Of the 244 particles of the seven public events, the numbers with hits in 12, 11, 10 and fewer layers.
const SEVEN: [usize; 4] = [135, 78, 24, 7];

fn events(spec: &str) -> Vec<SimulatedEvent> {
    let geometry = Detector::nominal();
    let detector = geometry.to_fly_through();
    let mut reader = LhcbReader::new(spec.parse().unwrap(), 0, None);
    std::iter::from_fn(|| reader.next(&detector)).collect()
}

fn notes(spec: &str) -> Vec<EventNote> {
    let mut batch = Default::default();
    events(spec).iter().map(|event| event.push(&mut batch)).collect()
}

/// Long particles above 5 GeV/c, no electrons, with hits in 12, 11, 10 and fewer layers.
fn layers(notes: &[EventNote]) -> [usize; 4] {
    let mut counts = [0; 4];
    for note in notes {
        let of = |hits_of| decode_mc(note.truth.as_ref().unwrap(), hits_of).unwrap();
        for particle in of(HitsOf::SciFi).particles {
            let is_inside = particle.eta > 2.0 && particle.eta < 5.0;
            if particle.is_long && is_inside && particle.p > 5.0 && !particle.is_electron() {
                let layers: BTreeSet<u32> = particle.hits.iter().map(|id| id >> 16 & 0xF).collect();
                counts[(12 - layers.len()).min(3)] += 1;
            }
        }
    }
    counts
}

fn shares(counts: [usize; 4]) -> [f64; 4] {
    counts.map(|count| count as f64 / counts.iter().sum::<usize>() as f64)
}

#[test]
fn the_seven_events_have_these_layers() {
    let Some(data) = data() else { return };
    let (_, _, _, notes) = seven_events(&data).next().unwrap();
    assert_eq!(layers(&notes), SEVEN);
}

/// The shares agree with the seven events within two standard errors, and do not without `realism`.
#[test]
fn particles_have_as_many_layers_as_in_full_simulation() {
    let (seven, of_seven) = (shares(SEVEN), SEVEN.iter().sum::<usize>() as f64);
    let far = |spec: &str| {
        let found = shares(layers(&notes(spec)));
        println!("{spec}: {found:.3?}, full simulation {seven:.3?}");
        let errors = seven.map(|share| (share * (1.0 - share) / of_seven).sqrt());
        (0..4).filter(|&i| (found[i] - seven[i]).abs() > 2.0 * errors[i]).count()
    };
    assert_eq!(far("sim:lhcb,events=300,seed=5000,realism=1"), 0);
    assert!(far("sim:lhcb,events=300,seed=5000") > 1);
}

/// Without one of the three effects, more particles have hits in all layers.
#[test]
fn each_effect_takes_hits() {
    let all = |keys: &str| shares(layers(&notes(&format!("sim:lhcb,events=300,seed=5000,{keys}"))))[0];
    let with_all = all("realism=1");
    for (off, least) in
        [("scifi_efficiency=0.985", 0.04), ("weak_sipms=0", 0.015), ("dead_channels=0", 0.005)]
    {
        let more = all(&format!("realism=1,{off}")) - with_all;
        println!("{off}: {more:+.3} of the particles have hits in all layers");
        assert!(more > least, "{off}: {more}");
    }
}

/// Dead channels are the same in all events: if half are dead, half of the busy channels never have a hit.
#[test]
fn dead_channels_stay_dead() {
    let hits = |keys: &str| {
        let mut counts = BTreeMap::<u32, usize>::new();
        for note in notes(&format!("sim:lhcb,events=150,{keys}")) {
            let truth = decode_mc(note.truth.as_ref().unwrap(), HitsOf::SciFi).unwrap();
            let ids = truth.particles.iter().flat_map(|particle| &particle.hits);
            ids.for_each(|id| *counts.entry(*id).or_default() += 1);
        }
        counts
    };
    let (all, alive) = (hits("seed=1"), hits("seed=2,dead_channels=0.5"));
    let busy: Vec<u32> = all.into_iter().filter(|(_, count)| *count > 8).map(|(id, _)| id).collect();
    let seen = busy.iter().filter(|id| alive.contains_key(id)).count();
    println!("{seen} of {} channels are alive", busy.len());
    assert!(busy.len() > 1000 && (45..55).contains(&(100 * seen / busy.len())), "{seen} of {}", busy.len());
}

#[test]
fn realism_is_off_unless_it_is_asked_for() {
    assert!(events("sim:lhcb,events=3,seed=7") == events("sim:lhcb,events=3,seed=7,realism=0"));
    assert!(events("sim:lhcb,events=3,seed=7") != events("sim:lhcb,events=3,seed=7,realism=1"));
}
