//! Every command tells how it gets on, for every sequence: what it does, with how many of what, and when it is over.

use peloton::simd::Isa;
use peloton_job::{
    Cancel, CheckOptions, Host, Plan, Progress, Request, SequenceName, Simulation, Work, check, compare, run,
    simulate, throughput, tune,
};
use std::sync::Mutex;
use std::time::Duration;

/// What was told: the works, how many items of each are done, whether it is over.
#[derive(Default)]
struct Heard(Mutex<Vec<(Work, u64, bool)>>);

impl Progress for Heard {
    fn begin(&self, work: Work) {
        self.0.lock().unwrap().push((work, 0, false));
    }

    fn advance(&self, items: u64) {
        self.0.lock().unwrap().last_mut().expect("work has begun").1 += items;
    }

    fn end(&self) {
        self.0.lock().unwrap().last_mut().expect("work has begun").2 = true;
    }
}

/// What a job tells; all works must have come to their ends.
fn told(job: impl FnOnce(Host<'_>)) -> Vec<(&'static str, &'static str, Option<u64>, u64)> {
    let (heard, cancel) = (Heard::default(), Cancel::default());
    job(Host { progress: &heard, cancel: &cancel });
    let works = heard.0.into_inner().unwrap();
    assert!(works.iter().all(|(.., is_over)| *is_over), "{works:?}");
    works.into_iter().map(|(Work { what, of, items }, done, _)| (what, of, items, done)).collect()
}

fn request(sequence: SequenceName, input: &str) -> Request {
    let mut request = Request { inputs: vec![input.into()], ..Request::default() };
    request.config.sequence = sequence;
    request.config.threads = Some(1);
    request
}

#[test]
fn every_command_tells_how_it_gets_on() {
    use SequenceName::{Cylinder, Long, LongUt, SciFi, SciFiHits, Timepix, Ut, Velo, VeloUt};
    for (sequence, input, of, items) in [
        (Velo, "sim:velo,events=3", "events", 3),
        (Ut, "sim:lhcb,events=2", "events", 2),
        (SciFi, "sim:lhcb,events=2", "events", 2),
        (SciFiHits, "sim:lhcb,events=2", "events", 2),
        (VeloUt, "sim:lhcb,events=2", "events", 2),
        (Long, "sim:lhcb,events=2", "events", 2),
        (LongUt, "sim:lhcb,events=2", "events", 2),
        (Timepix, "sim:timepix,hits=3000", "hits", 3000),
        (Cylinder, "sim:cylinder,events=2,tracks=50", "events", 2),
    ] {
        let request = request(sequence, input);
        let begins = |works: Vec<(&str, &str, Option<u64>, u64)>, what: &str| {
            let (name, unit, expected, done) = works[0];
            assert_eq!((name, unit, expected), (what, of, Some(items)), "{sequence}");
            // A simulation of pixel hits ends with a whole cluster.
            assert!(done >= items && done < items + 1000, "{sequence}: {done}");
            works.len()
        };
        begins(told(|host| drop(run(&request, None, host).unwrap())), "reconstructing");
        begins(told(|host| drop(compare(&request, ["", "isa=scalar"], host).unwrap())), "reconstructing");
        if !matches!(sequence, Ut | SciFiHits) {
            begins(
                told(|host| drop(check(&request, &CheckOptions::default(), host).unwrap())),
                "reconstructing",
            );
        }
        let plan = Plan { copies: 1, passes: Some(3), time: Duration::ZERO };
        let works = told(|host| drop(throughput(&request, plan, false, host).unwrap()));
        assert_eq!(works[1], ("measuring", "passes", Some(3), 3), "{sequence}");
        begins(works, "reading");
        let mut scanned = request.clone();
        scanned.config.isa = Some(Isa::Scalar);
        let works = told(|host| drop(tune(&scanned, plan, host).unwrap()));
        assert_eq!(works[1], ("measuring", "passes", Some(3), 3), "{sequence}");
        begins(works, "reading");
    }
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (detector, name, of, items) in [
        ("velo", "progress.ndjson", "events", 3),
        ("lhcb", "progress.mdf", "events", 2),
        ("cylinder,tracks=50", "progress.bin", "events", 2),
        ("timepix", "progress.tpx3", "hits", 3000),
    ] {
        let detector = detector.to_string();
        let what = Simulation { detector, events: items, seed: 1, geometry: None, threads: 1 };
        let works = told(|host| drop(simulate(&what, &folder.join(name), host).unwrap()));
        let (name, unit, expected, done) = works[0];
        assert_eq!((name, unit, expected), ("simulating", of, Some(items)));
        assert!(done >= items && done < items + 1000);
    }
}
