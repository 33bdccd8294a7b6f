//! Any hits, with times as far apart as a word allows: the chain with two algorithms and with three workers.
#![no_main]

use peloton::event::{Layout, PixelClusters, PixelHits};
use peloton::simd::{Isa, Level};
use peloton::timepix::{Algorithm, FindConfig, TimepixConfig, Workers};
use std::cell::RefCell;

/// Side of the sensor.
const SIDE: u16 = 8;
/// Algorithms and numbers of workers.
const KINDS: [(Algorithm, usize); 3] = [(Algorithm::Fast, 1), (Algorithm::Open, 1), (Algorithm::Fast, 3)];

thread_local! {
    static CHAINS: RefCell<Option<[Workers; 3]>> = const { RefCell::new(None) };
}

fn workers((algorithm, workers): (Algorithm, usize)) -> Workers {
    let find = FindConfig { algorithm, ..FindConfig::default() };
    let config = TimepixConfig { find, disorder_us: Some(1.0), capacity: 64, ..TimepixConfig::default() };
    let layout = Layout::single(SIDE.into(), SIDE.into()).expect("a sensor");
    Workers::new(&config, Level::new(Isa::Scalar, 1).expect("scalar code"), &layout, workers)
        .expect("workers")
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let [block, bytes @ ..] = bytes else { return };
    let mut hits = PixelHits::default();
    let mut time = 0i64;
    for record in bytes.chunks_exact(4) {
        let [step, scale, place, tot] = [record[0], record[1], record[2], record[3]].map(u16::from);
        // Steps of all sizes, forwards and backwards.
        time = time.wrapping_add(i64::from(step as u8 as i8) << (scale % 64));
        hits.push(time, place % SIDE, place / SIDE % SIDE, tot);
    }
    CHAINS.with_borrow_mut(|chains| {
        let chains = chains.get_or_insert_with(|| KINDS.map(workers));
        let found = chains.each_mut().map(|chain| {
            let before = chain.counts();
            let mut all = PixelClusters::default();
            for start in (0..hits.len()).step_by(usize::from(*block) + 1) {
                let mut part = PixelHits::default();
                part.extend_from(&hits, start..hits.len().min(start + usize::from(*block) + 1), 0);
                chain.push(&part, false).iter().for_each(|part| all.extend_from(part, 0..part.len()));
            }
            let last = chain.push(&PixelHits::default(), true);
            last.iter().for_each(|part| all.extend_from(part, 0..part.len()));
            let counts = chain.counts();
            assert_eq!(counts.hits_in - before.hits_in, hits.len() as u64);
            assert_eq!(counts.hits_out - before.hits_out, all.hits.len() as u64);
            assert_eq!((counts.hits_in, chain.waiting()), (counts.hits_out + counts.late, 0));
            (all, counts.forced - before.forced)
        });
        // Cuts because of a full buffer depend on the moment; without such cuts all clusters agree.
        if found.iter().all(|(_, forced)| *forced == 0) {
            assert!(found.iter().all(|(clusters, _)| *clusters == found[0].0));
        }
    });
});
