//! Tests that several products of one run equal the products of runs that write one each.

use super::{OutcomeHasher, Reader, SharedResults, Spares, collect, each};
use crate::{Cancel, Config, Host, Request, Silent, run};
use peloton::event::Hashes;

const WRITTEN: [&str; 2] = ["velo_tracks", "long_tracks"];
/// A named sequence, and the same algorithms listed.
const SEQUENCES: [&str; 2] =
    ["sequence = 'long'", "algorithms = ['velo_tracks', 'scifi_hits', 'scifi_tracks', 'long_tracks']"];

fn request(sequence: &str, write: &[&str]) -> Request {
    Request {
        inputs: vec!["sim:lhcb,events=5,seed=1".into()],
        geometry: Some("nominal".into()),
        config: Config::from_toml(&format!("{sequence}\nwrite = {write:?}"), None).unwrap(),
        ..Request::default()
    }
}

/// Calls `work` with a request for two products, a host, and the hashes of each product written alone.
fn with_both(work: impl Fn(&Request, Host<'_>, [Hashes; 2])) {
    let (progress, cancel) = (Silent, Cancel::default());
    let host = Host { progress: &progress, cancel: &cancel };
    for sequence in SEQUENCES {
        let alone = WRITTEN.map(|name| run(&request(sequence, &[name]), None, host).unwrap().hashes);
        assert_ne!(alone[0], alone[1]);
        work(&request(sequence, &WRITTEN), host, alone);
    }
}

fn hashes(results: &SharedResults) -> [Hashes; 2] {
    WRITTEN.map(|name| results.product(name).unwrap().hashes())
}

#[test]
fn jobs_in_memory_have_all_products() {
    with_both(|request, host, alone| {
        let (all, _) = collect(request, host).unwrap();
        assert_eq!((hashes(&all), all.hashes(), all.products()), (alone, alone[0], &WRITTEN[..]));
        let mut events = 0;
        let take = |piece: SharedResults| {
            let [velo, long] = WRITTEN.map(|name| piece.product(name).unwrap().items(0));
            assert_eq!(velo, long);
            events += long;
            Ok(())
        };
        each(request, host, take).unwrap();
        assert_eq!(events, 5);
    });
}

#[test]
fn engines_and_pools_have_all_products() {
    with_both(|request, host, alone| {
        let engine = super::ConfiguredEngine::new(request).unwrap();
        let (mut workspace, mut pool, spares) =
            (engine.workspace(), engine.pool(2).unwrap(), Spares::default());
        for in_pool in [false, true] {
            let mut hashers = [OutcomeHasher::default(), OutcomeHasher::default()];
            let mut reader = Reader::open(request, false, host).unwrap();
            while let Some(read) = reader.read(2).unwrap() {
                let mut outcome = engine.outcome();
                outcome.reuse(&spares);
                match in_pool {
                    true => pool.run(read.events(), &mut outcome).unwrap(),
                    false => engine.run(read.events(), &mut workspace, &mut outcome).unwrap(),
                }
                for (hasher, name) in hashers.iter_mut().zip(WRITTEN) {
                    hasher.add(outcome.product(name).unwrap()).unwrap();
                }
                assert!(hashers[0].add(outcome.product("long_tracks").unwrap()).is_err());
                let error = outcome.product("scifi_tracks").err().unwrap().to_string();
                assert!(error.contains("`scifi_tracks` among velo_tracks, long_tracks"), "{error}");
                let (columns, events) = (outcome.columns().schema(), read.ids().len());
                let shared = outcome.share(&spares);
                assert!(
                    shared.schema().is(columns) && shared.product("long_tracks").unwrap().items(0) == events
                );
            }
            assert_eq!(hashers.map(|hasher| hasher.finish().unwrap()), alone, "in a pool: {in_pool}");
        }
    });
}

#[test]
fn products_are_exported_one_by_one() {
    with_both(|request, host, _| {
        let engine = super::ConfiguredEngine::new(request).unwrap();
        let (mut workspace, mut outcome) = (engine.workspace(), engine.outcome());
        let read = Reader::open(request, false, host).unwrap().read(5).unwrap().unwrap();
        engine.run(read.events(), &mut workspace, &mut outcome).unwrap();
        outcome.set_ids(read.ids());
        let batches = [1, 0, 1].map(|product| outcome.take_arrow(product).unwrap());
        assert_eq!(batches.each_ref().map(|batch| batch.num_rows()), [5, 5, 0]);
        assert_eq!(batches[0]["event_id"].as_ref(), batches[1]["event_id"].as_ref());
        // An outcome with the same products in another order belongs to another sequence.
        let reversed = super::ConfiguredEngine::new(&Request {
            config: Config {
                write: WRITTEN.iter().rev().map(ToString::to_string).collect(),
                ..request.config.clone()
            },
            ..request.clone()
        });
        assert!(reversed.unwrap().run(read.events(), &mut workspace, &mut outcome).is_err());
    });
}
