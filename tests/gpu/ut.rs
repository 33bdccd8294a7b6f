//! The lane programs of the UT on the device under test: the CPU's tracks, bit by bit, for any order of threads.

use crate::common::data;
use crate::common::geometry::Detector;
use crate::common::read_raw;
use crate::common::ut::{Events, Sample, everything, hostile, layout};
use peloton::Error;
use peloton::event::{Outcome, UtBatch, VeloTracks, VeloUtTracks, difference};
use peloton::gpu::Order;
use peloton::gpu::ut::UtStream;
use peloton::simd::Level;
use peloton::ut::{UtConfig, UtFindWorkspace, UtLayout, UtPreset, find};

/// Presets that devices run, the extremes of the paper's preset, and a preset that keeps every combination of hits.
fn configs() -> Vec<UtConfig> {
    let presets = [UtPreset::Hlt1, UtPreset::Hlt1Unrestricted, UtPreset::Paper];
    let mut configs: Vec<_> = presets.map(UtConfig::preset).into();
    for (sectors, candidates) in [(1, 1), (3, 2), (5, 16)] {
        configs.push(UtConfig { sectors, candidates, ..UtConfig::preset(UtPreset::Paper) });
    }
    configs.push(everything(UtPreset::Paper));
    configs
}

/// Searches on the CPU and on the device in these orders; fails when any bit or count differs. Returns the number of tracks.
fn compare(layout: &UtLayout, events: &Events, orders: &[Order]) -> usize {
    let mut tracks = 0;
    for config in configs() {
        let mut expected = Outcome::default();
        let level = Level::choose(None, None).expect("a level");
        find(level, &config, layout, events.input(&config), &mut UtFindWorkspace::default(), &mut expected);
        for &order in orders {
            let found = on_device(order, &config, layout, events);
            assert_eq!(found.results.status, expected.results.status);
            for event in 0..expected.results.status.len() {
                let found = difference(&found.results, event, &expected.results, event);
                assert_eq!(found, None, "{order:?}, event {event}, {config:?}");
            }
            assert!(found.counters.dropped().eq(expected.counters.dropped()), "{order:?}, {config:?}");
            assert_eq!(items(&found)[1..], items(&expected)[1..], "{order:?}, {config:?}");
        }
        tracks += expected.results.tracks();
    }
    tracks
}

/// Numbers of items into and out of each stage.
fn items(outcome: &Outcome<VeloUtTracks>) -> Vec<[u64; 2]> {
    outcome.counters.stages.iter().map(|stage| [stage.items_in, stage.items_out]).collect()
}

/// Runs one stream twice: the memory of the first pass must not affect the second pass.
fn on_device(order: Order, config: &UtConfig, layout: &UtLayout, events: &Events) -> Outcome<VeloUtTracks> {
    let mut stream = UtStream::open(&crate::device(order), config, layout).expect("memory");
    let mut run = || {
        let mut out = Outcome::default();
        stream.run(&events.velo, &events.groups, &mut out).expect("kernels that run");
        out
    };
    let (first, second) = (run(), run());
    assert_eq!(first.results, second.results);
    second
}

const ORDERS: [Order; 3] = [Order::Forward, Order::Reverse, Order::Random(7)];

#[test]
fn simulated_events_give_the_bits_of_the_cpu() {
    let detector = Detector::nominal();
    // More events than a slice has.
    let (raw, _) = detector.simulated(140, 17);
    let sample = Sample::new(&detector, &raw);
    let tracks = compare(&sample.layout, &sample.events, &ORDERS[2..]);
    assert!(tracks > 20_000, "{tracks}");
}

#[test]
fn real_events_give_the_bits_of_the_cpu() {
    let Some(data) = data() else { return };
    let detector = Detector::open(&data.join("lhcb/geometry"));
    let (raw, _) = read_raw(&data.join("lhcb/minbias_retina_truth.mdf"));
    let sample = Sample::new(&detector, &raw);
    let tracks = compare(&sample.layout, &sample.events, &ORDERS);
    assert!(tracks > 1000, "{tracks}");
}

#[test]
fn hostile_events_give_the_bits_of_the_cpu() {
    let detector = Detector::nominal();
    let (events, _) = hostile(&detector);
    let tracks = compare(&layout(&detector), &events, &ORDERS);
    assert!(tracks > 200, "{tracks}");
}

#[test]
fn without_events_or_with_another_choice() {
    let layout = layout(&Detector::nominal());
    let device = crate::device(Order::Forward);
    let open = |preset| UtStream::open(&device, &UtConfig::preset(preset), &layout);
    let mut out = Outcome::default();
    let run =
        |stream: &mut UtStream, out: &mut _| stream.run(&VeloTracks::default(), &UtBatch::default(), out);
    run(&mut open(UtPreset::Hlt1).expect("memory"), &mut out).expect("nothing to do");
    assert_eq!(out.results.status.len(), 0);
    let refused = open(UtPreset::Best).err().expect("a search that devices lack");
    assert!(matches!(&refused, Error::Unsupported(message) if message.contains("hlt1")), "{refused}");
}
