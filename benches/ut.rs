//! Speed of the search for UT hits of Velo tracks (store if there is one, windows, tracklets): the seven public LHCb events, or
//! simulated events. CPU time of one thread, and events/s.
//!
//! `cargo bench --bench ut` measures the preset `hlt1` on each level (`levels/`), the presets on the level chosen by default
//! (`presets/`), and the gain of a second thread by the wall clock for the sequence `velo-ut`, preset `best`, from raw banks
//! (`scaling/`). The row `paper, one track after another` has the paper's form for CPUs, in scalar code that finds the same
//! tracks. A filter such as `-- presets` selects rows. Rows are measured in turns, in several rounds: compare rows of one
//! round.

mod common;

use common::{Apart, Work, criterion, data, in_turns, on_one_and_two, say_events, scaling};
use criterion::Throughput;
use peloton::chain::{UtDetector, VeloUt};
use peloton::engine::Engine;
use peloton::event::{Outcome, RawBatch, UtBatch, UtCellHits, VeloTracks, VeloUtTracks, difference};
use peloton::simd::{Isa, Level};
use peloton::ut::reference::per_track;
use peloton::ut::{
    UtConfig, UtFindInput, UtFindWorkspace, UtHitsIn, UtLayout, UtPreset, UtScratch, decode, decode_by_cell,
    find,
};
use peloton::velo::{Velo, VeloBanks, VeloConfig};
use peloton_io::input::{Geometry, RawReader, ReadOptions, Source};
use peloton_sim::{LhcbDetector, LhcbReader};
use std::sync::Arc;

/// Events, and the inputs of the search.
struct Sample {
    raw: RawBatch,
    sensors: Arc<peloton::velo::VeloSensors>,
    detector: UtDetector,
    layout: UtLayout,
    velo: VeloTracks,
    hits: UtBatch,
    cells: UtCellHits,
}

impl Sample {
    fn read() -> Self {
        let mut raw = RawBatch::default();
        let mut notes = Vec::new();
        let geometry = match data("lhcb") {
            Some(folder) => {
                say_events("the seven public ones");
                let file = Source::Path(folder.join("minbias_retina_truth.mdf"));
                let mut reader = RawReader::open(&[file], ReadOptions::default()).expect("events");
                while reader.read(64, &mut raw, &mut notes).expect("events") > 0 {}
                Geometry::Folder(folder.join("geometry"))
            }
            None => {
                let (spec, nominal) = ("sim:lhcb,events=20,seed=1", Geometry::Nominal);
                say_events(spec);
                let (ut, scifi) = (nominal.ut().expect("geometry"), nominal.scifi().expect("geometry"));
                let polarity = nominal.polarity().expect("geometry");
                let detector = LhcbDetector { ut: &ut, scifi: &scifi, polarity };
                let mut reader = LhcbReader::new(spec.parse().expect("a simulation"), 0, None);
                reader.read(usize::MAX, &detector, &mut raw, &mut notes).expect("events");
                nominal
            }
        };
        let detector = UtDetector {
            geometry: Arc::new(geometry.ut().expect("geometry")),
            tables: geometry.ut_tables().expect("geometry"),
            polarity: geometry.polarity().expect("geometry"),
        };
        let sensors = Arc::new(geometry.velo().expect("geometry"));
        let level = Level::choose(None, None).expect("a level");
        let search = velo(level, &sensors);
        let velo_z = search.config().fit.end_z;
        let engine = Engine::new(search);
        let (mut velo, mut hits, mut cells) = (Outcome::default(), Outcome::default(), Outcome::default());
        let (events, all) = (raw.view(), 0..raw.len());
        engine.try_run(events, &mut engine.workspace(), &mut velo).expect("raw banks");
        let mut scratch = UtScratch::default();
        decode(level, &detector.geometry, events, all.clone(), &mut scratch, &mut hits);
        let layout = UtLayout::new(&detector.geometry, detector.tables.clone(), detector.polarity, velo_z);
        let layout = layout.expect("states before the UT");
        decode_by_cell(level, (&detector.geometry, &layout), events, all, &mut scratch, &mut cells);
        let (velo, hits, cells) = (velo.results, hits.results, cells.results);
        Self { raw, sensors, detector, layout, velo, hits, cells }
    }

    fn input(&self, config: &UtConfig) -> UtFindInput<'_> {
        let hits = match config.reads_cells() {
            true => UtHitsIn::Cells(&self.cells),
            false => UtHitsIn::Groups(&self.hits),
        };
        UtFindInput { velo: &self.velo, hits }
    }

    /// Returns the search of all events; fails unless it finds the expected tracks.
    fn search(&self, level: Level, preset: UtPreset, expected: Option<&VeloUtTracks>) -> Work<'_> {
        let config = UtConfig::preset(preset);
        let (mut workspace, mut out) = (UtFindWorkspace::default(), Outcome::default());
        let mut work = move |out: &mut Outcome<VeloUtTracks>| {
            out.clear();
            find(level, &config, &self.layout, self.input(&config), &mut workspace, out);
        };
        work(&mut out);
        if let Some(expected) = expected {
            assert_same(expected, &out.results);
        }
        (preset.to_string(), Box::new(move || work(&mut out)))
    }
}

fn velo(level: Level, sensors: &Arc<peloton::velo::VeloSensors>) -> Velo {
    let velo = Velo::new(level, VeloConfig::default()).expect("a sequence");
    velo.with_sensors(sensors.clone(), VeloBanks::Auto)
}

fn assert_same(expected: &VeloUtTracks, found: &VeloUtTracks) {
    for event in 0..expected.status.len() {
        assert_eq!(difference(found, event, expected, event), None, "event {event}");
    }
}

/// Returns all tracks of a preset on a level.
fn tracks(sample: &Sample, level: Level, preset: UtPreset) -> VeloUtTracks {
    let (config, mut out) = (UtConfig::preset(preset), Outcome::default());
    let mut workspace = UtFindWorkspace::default();
    find(level, &config, &sample.layout, sample.input(&config), &mut workspace, &mut out);
    out.results
}

fn main() {
    let sample = Sample::read();
    let usual = Level::choose(None, None).expect("a level");
    let mut criterion_cpu = criterion(common::CpuTime);

    let mut group = criterion_cpu.benchmark_group("levels");
    group.throughput(Throughput::Elements(sample.raw.len() as u64));
    let expected = tracks(&sample, usual, UtPreset::Hlt1);
    let level = |level: Level| {
        let (_, work) = sample.search(level, UtPreset::Hlt1, Some(&expected));
        (level.to_string(), work)
    };
    in_turns(&mut group, &mut Level::supported().into_iter().map(level).collect::<Vec<_>>());
    group.finish();

    let mut group = criterion_cpu.benchmark_group("presets");
    group.throughput(Throughput::Elements(sample.raw.len() as u64));
    let mut rows: Vec<_> =
        UtPreset::ALL.into_iter().map(|preset| sample.search(usual, preset, None)).collect();
    let (config, mut out) = (UtConfig::preset(UtPreset::Paper), VeloUtTracks::default());
    per_track(&config, &sample.layout, &sample.velo, &sample.hits, &mut out);
    assert_same(&tracks(&sample, usual, UtPreset::Paper), &out);
    let (from, scalar) = (&sample, Level::choose(Some(Isa::Scalar), None).expect("a level"));
    let one_after_another = move || {
        out.clear();
        peloton::dispatch_usual!(scalar, _g => per_track(&config, &from.layout, &from.velo, &from.hits, &mut out));
    };
    rows.push(("paper, one track after another".into(), Box::new(one_after_another)));
    in_turns(&mut group, &mut rows);
    group.finish();
    criterion_cpu.final_summary();

    let config = UtConfig::preset(UtPreset::Best);
    let whole = VeloUt::sequence(velo(usual, &sample.sensors), &sample.detector, config);
    let engine = Engine::new(whole.expect("a sequence"));
    let workers = [0, 1].map(|_| Apart::new((engine.workspace(), engine.products())));
    let track = |i: usize| {
        let mut worker = workers[i].lock();
        let (workspace, out) = &mut *worker;
        for _ in 0..20 {
            engine.run(sample.raw.view(), workspace, out).expect("raw banks");
        }
    };
    scaling("scaling", &mut on_one_and_two("velo-ut", &track).into());
}
