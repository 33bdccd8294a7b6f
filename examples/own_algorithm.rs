//! Puts a user's algorithm into the sequence `long`. It selects the Velo tracks with many hits: only these are matched
//! with SciFi tracks. Run the example with `cargo run --release --example own_algorithm`.
//!
//! ```text
//! velo_tracks --> sure_velo_tracks --.
//! scifi_hits  --> scifi_tracks  -----+--> long_tracks
//! ```

use peloton::Result;
use peloton::engine::{Algorithm, AlgorithmInfo, Engine, Handle, Sequence, Slice, Stage};
use peloton::event::{LongTracks, Outcome, RawBatch, StageClock, VeloTracks};
use peloton::long::{Bending, Long, LongConfig};
use peloton::scifi::{SciFi, SciFiConfig, SciFiGeometry};
use peloton::simd::Level;
use peloton::velo::{VELO_TRACKS, Velo, VeloBanks, VeloConfig, VeloSensors};
use peloton_sim::{LhcbDetector, LhcbReader};
use std::sync::Arc;

/// Polarity of the simulated magnet: down.
const POLARITY: f32 = -1.0;

/// Keeps the Velo tracks with at least `min_hits` hits.
#[derive(Debug)]
struct SureTracks {
    level: Level,
    min_hits: usize,
}

const STAGES: &[Stage] =
    &[Stage { name: "sure tracks", input: "Velo tracks", output: "Velo tracks with many hits", parts: &[] }];

impl Algorithm for SureTracks {
    const INFO: &'static AlgorithmInfo = &AlgorithmInfo {
        detector: "velo",
        reads: &[VELO_TRACKS],
        makes: Handle::of::<VeloTracks>("sure_velo_tracks"),
        stages: STAGES,
        stages_in_chain: STAGES,
    };

    type Output = VeloTracks;
    type Scratch = ();

    fn level(&self) -> Level {
        self.level
    }

    fn run(&self, slice: Slice<'_>, _scratch: &mut (), out: &mut Outcome<VeloTracks>) {
        let (tracks, mut clock): (&VeloTracks, _) = (slice.product(0), StageClock::start());
        let Outcome { results, counters } = out;
        for event in 0..slice.range().len() {
            for track in tracks.of_event(event) {
                let hits = tracks.hits_of(track);
                counters.stages[0].items_in += 1;
                if hits.len() >= self.min_hits {
                    results.hits.extend_from_slice(hits);
                    results.hit_start.push(results.hits.len() as u32);
                    copy_fit(results, tracks, track);
                    counters.stages[0].items_out += 1;
                }
            }
            results.track_start.push(results.hit_start.len() as u32 - 1);
            results.status.push(tracks.status[event]);
        }
        clock.lap(&mut counters.stages[0]);
    }
}

/// Appends the results of the fit of a track.
fn copy_fit(to: &mut VeloTracks, from: &VeloTracks, track: usize) {
    to.chi2.push(from.chi2[track]);
    to.backward.push(from.backward[track]);
    for (to, from) in [(&mut to.beam, &from.beam), (&mut to.end, &from.end)] {
        to.columns_mut().into_iter().zip(from.columns()).for_each(|(to, from)| to.push(from[track]));
    }
}

/// Returns the sequence `long` with this algorithm before the matching; the kept Velo tracks are results, too.
fn sequence(level: Level, min_hits: usize) -> Result<Sequence> {
    let velo = Velo::new(level, VeloConfig::default())?;
    let velo = velo.with_sensors(Arc::new(VeloSensors::nominal()), VeloBanks::Auto);
    let geometry = Arc::new(SciFiGeometry::nominal());
    let scifi = SciFi::new(level, SciFiConfig::default(), geometry, POLARITY)?;
    let long = Long::new(scifi.clone(), LongConfig::default(), Bending::nominal(POLARITY))?;
    Sequence::new("long with sure tracks", velo)?
        .with(SureTracks { level, min_hits })?
        .with(scifi.hits())?
        .with(scifi)?
        .with_reads(long, &["sure_velo_tracks", "scifi_tracks"])?
        .writing(&["long_tracks", "sure_velo_tracks"])
}

/// Simulates events as raw banks.
fn events(count: usize) -> Result<RawBatch> {
    let (ut, scifi) = (peloton::ut::UtGeometry::nominal(), SciFiGeometry::nominal());
    let detector = LhcbDetector { ut: &ut, scifi: &scifi, polarity: POLARITY };
    let (mut raw, mut notes) = (RawBatch::default(), Vec::new());
    let mut reader = LhcbReader::new("sim:lhcb,events=20,seed=1".parse()?, 0, None);
    reader.read(count, &detector, &mut raw, &mut notes)?;
    Ok(raw)
}

/// Returns the numbers of kept Velo tracks and of long tracks in all events.
fn run(min_hits: usize, raw: &RawBatch) -> Result<[usize; 2]> {
    let engine = Engine::new(sequence(Level::choose(None, None)?, min_hits)?);
    let (mut workspace, mut products) = (engine.workspace(), engine.products());
    engine.run(raw.view(), &mut workspace, &mut products)?;
    let long = products.get().map_or(0, LongTracks::tracks);
    let velo = products.get().map_or(0, VeloTracks::tracks);
    Ok([velo, long])
}

fn main() -> Result<()> {
    let raw = events(20)?;
    for min_hits in [3, 4, 5] {
        let [velo, long] = run(min_hits, &raw)?;
        println!("at least {min_hits} hits: {velo} Velo tracks, {long} long tracks");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::event::Hasher;

    #[test]
    fn an_algorithm_in_the_middle_is_seen_by_those_behind_it() {
        main().unwrap();
        let raw = events(20).unwrap();
        let [all, strict] = [3, 6].map(|min_hits| run(min_hits, &raw).unwrap());
        assert!(strict[0] < all[0] && strict[1] < all[1] && strict[1] > 0, "{all:?} {strict:?}");
        let sequence_of = |min_hits| sequence(Level::choose(None, None).unwrap(), min_hits).unwrap();
        let readers = ["velo_tracks", "scifi_hits", "long_tracks", "sure_velo_tracks"];
        let readers = readers.map(|name| sequence_of(3).last_reader(name));
        assert_eq!(readers, [Some("sure_velo_tracks"), Some("scifi_tracks"), None, None]);
        // An algorithm that keeps every track changes nothing.
        let (level, bending) = (Level::choose(None, None).unwrap(), Bending::nominal(POLARITY));
        let velo = Velo::new(level, VeloConfig::default()).unwrap();
        let velo = velo.with_sensors(Arc::new(VeloSensors::nominal()), VeloBanks::Auto);
        let geometry = Arc::new(SciFiGeometry::nominal());
        let scifi = SciFi::new(level, SciFiConfig::default(), geometry, POLARITY).unwrap();
        let usual = Long::sequence(velo, scifi, LongConfig::default(), bending).unwrap();
        let hashes = [usual, sequence_of(0)].map(|sequence| {
            let (engine, mut out) = (Engine::new(sequence), Outcome::<LongTracks>::default());
            engine.try_run(raw.view(), &mut engine.workspace(), &mut out).unwrap();
            Hasher::of(&out.results)
        });
        assert_eq!(hashes[0], hashes[1]);
    }

    #[test]
    fn products_that_do_not_fit_are_refused_by_name() {
        let level = Level::choose(None, None).unwrap();
        let velo = || Velo::new(level, VeloConfig::default()).unwrap();
        let geometry = Arc::new(SciFiGeometry::nominal());
        let scifi = SciFi::new(level, SciFiConfig::default(), geometry, POLARITY).unwrap();
        let wrong = [
            (Sequence::new("s", velo()).unwrap().with(velo()), "two algorithms make velo_tracks"),
            (Sequence::new("s", velo()).unwrap().with(scifi.clone()), "scifi_tracks needs scifi_hits: put"),
            (
                Sequence::new("s", velo()).unwrap().with_reads(scifi.clone(), &["velo_tracks"]),
                "of another type",
            ),
            (Sequence::new("s", velo()).unwrap().with_reads(scifi, &[]), "reads 1 products, but 0 are named"),
            (Sequence::new("s", velo()).unwrap().writing(&["long_tracks"]), "no algorithm makes long_tracks"),
            (Sequence::new("s", velo()).unwrap().writing(&[]), "at most"),
            (Sequence::new("s", velo()).unwrap().writing(&["velo_tracks", "velo_tracks"]), "at most once"),
        ];
        for (sequence, words) in wrong {
            let error = sequence.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(words), "{error}: {words}");
        }
    }
}
