//! Events with damaged or absent raw banks: lost, or reconstructed from all their other banks.

use crate::common::geometry::Detector;
use crate::common::{Sharing, best_level, hashes_on};
use peloton::Status;
use peloton::chain::VeloUt;
use peloton::engine::{Engine, Sequence};
use peloton::event::{BadBanks, Hashes, RawBatch};
use peloton::long::{Bending, Long, LongConfig, LongPreset, LongUt};
use peloton::scifi::{SciFiHits, SciFiPreset};
use peloton::ut::{UtConfig, UtHits};
use peloton_io::input::mdf::{Bank, Banks, RecordHeader, put_bank, write_record};
use peloton_io::input::{RawReader, ReadOptions};
use peloton_sim::SimulatedEvent;
use std::io::Cursor;

/// Types of raw banks: of the Velo, UT and SciFi.
const VELO: u8 = 73;
const UT: u8 = 66;
const SCIFI: u8 = 64;

#[derive(Clone)]
struct OwnBank {
    kind: u8,
    version: u8,
    source: u16,
    payload: Vec<u8>,
}

/// The raw banks of three simulated events.
fn events(detector: &Detector) -> Vec<Vec<OwnBank>> {
    let spec = "sim:lhcb,events=3,seed=21".parse().expect("a simulation");
    let of_event = |number| {
        let mut record = Vec::new();
        let event = SimulatedEvent::new(&spec, &detector.to_fly_through(), number);
        event.write(&mut record).expect("bytes in memory");
        let own = |bank: Bank<'_>| OwnBank {
            kind: bank.kind,
            version: bank.version,
            source: bank.source,
            payload: bank.payload.to_vec(),
        };
        Banks::new(&record[48..]).map(|bank| own(bank.expect("a whole bank"))).collect()
    };
    (0..3).map(of_event).collect()
}

fn body(banks: &[OwnBank]) -> Vec<u8> {
    let mut body = Vec::new();
    for OwnBank { kind, version, source, payload } in banks {
        let bank = Bank { kind: *kind, version: *version, source: *source, payload };
        put_bank(&mut body, &bank).expect("a bank");
    }
    body
}

/// Reads the events of these bodies with a reader of files.
fn read(bodies: &[Vec<u8>]) -> RawBatch {
    let mut file = Vec::new();
    for body in bodies {
        write_record(&mut file, &RecordHeader::default(), body, None).expect("bytes in memory");
    }
    let mut reader = RawReader::from_stream("events", Cursor::new(file), ReadOptions::default());
    let (mut batch, mut notes) = (RawBatch::default(), Vec::new());
    while reader.read(9, &mut batch, &mut notes).expect("events") > 0 {}
    batch
}

/// Where a bank is damaged, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Damage {
    /// A bank of this type replaces the bank.
    Error(u8),
    Twice,
    /// The bank counts more words than it has.
    Payload,
    /// An unknown version.
    Version,
    /// A length that no bank has.
    Header,
}

impl Damage {
    /// The body of the event with one bank damaged, and of the event without that bank.
    fn apply(self, banks: &[OwnBank], kind: u8, source: u16) -> [Vec<u8>; 2] {
        let at = banks.iter().position(|bank| (bank.kind, bank.source) == (kind, source)).expect("a bank");
        let (mut damaged, mut without) = (banks.to_vec(), banks.to_vec());
        without.remove(at);
        match self {
            Self::Error(kind) => damaged[at].kind = kind,
            Self::Twice => damaged.insert(at, damaged[at].clone()),
            Self::Payload => damaged[at].payload = vec![0xFF; if kind == SCIFI { 2 } else { 8 }],
            Self::Version => damaged[at].version = 99,
            Self::Header => (),
        }
        let mut damaged = body(&damaged);
        if self == Self::Header {
            let before = body(&banks[..at]).len();
            damaged[before + 2..before + 4].copy_from_slice(&5_u16.to_le_bytes());
        }
        [damaged, body(&without)]
    }

    fn status(self) -> Status {
        match self {
            Self::Error(_) => Status::DaqError,
            Self::Twice => Status::DuplicateBank,
            Self::Payload => Status::TruncatedBank,
            Self::Version | Self::Header => Status::BadBank,
        }
    }
}

const DAMAGES: [Damage; 8] = [
    Damage::Error(94),
    Damage::Error(95),
    Damage::Error(101),
    Damage::Error(88),
    Damage::Twice,
    Damage::Payload,
    Damage::Version,
    Damage::Header,
];

/// A sequence with both policies.
fn with_both<S: Into<Sequence>>(make: impl Fn(BadBanks) -> S) -> [Engine; 2] {
    [BadBanks::Event, BadBanks::Bank].map(|policy| Engine::new(make(policy)))
}

/// The statuses of the events, and the hashes of their results.
fn made(engine: &Engine, raw: &RawBatch) -> (Vec<Status>, Hashes) {
    let mut outcome = engine.products();
    engine.run(raw.view(), &mut engine.workspace(), &mut outcome).expect("events");
    let statuses = outcome.first().statuses().to_vec();
    for status in Status::ALL.into_iter().filter(|status| *status != Status::Ok) {
        let counted = outcome.counters.dropped().find(|(name, _)| *name == status.name());
        let of_status = statuses.iter().filter(|of| **of == status).count() as u64;
        assert_eq!(counted.map_or(0, |(_, count)| count), of_status, "{status:?}");
    }
    let sharing = Sharing { threads: 2, slice_events: 2 };
    (statuses, hashes_on(sharing, engine, raw.view()).0)
}

/// Damages a bank of each of these types, `[type, source]`, in each way.
fn check([lost, kept]: &[Engine; 2], events: &[Vec<OwnBank>], places: &[(u8, u16)]) {
    let name = lost.sequence().name();
    let bodies: Vec<_> = events.iter().map(|banks| body(banks)).collect();
    let whole = read(&bodies);
    let (statuses, hashes) = made(lost, &whole);
    assert_eq!((&statuses[..], hashes), (&[Status::Ok; 3][..], made(kept, &whole).1));
    for (kind, source) in places {
        for damage in DAMAGES {
            let what = format!("{name}: {damage:?} of type {kind}, source {source}");
            let [damaged, without] = damage.apply(&events[1], *kind, *source);
            let with = |body: &Vec<u8>| read(&[bodies[0].clone(), body.clone(), bodies[2].clone()]);
            let (damaged, without) = (with(&damaged), with(&without));
            let (statuses, expected) = made(lost, &without);
            assert_eq!(statuses, [Status::Ok, Status::Partial, Status::Ok], "{what}");
            assert_eq!(made(kept, &without), (statuses.clone(), expected), "{what}");
            assert_eq!(made(kept, &damaged), (statuses, expected), "{what}");
            let (statuses, found) = made(lost, &damaged);
            assert_eq!(statuses, [Status::Ok, damage.status(), Status::Ok], "{what}");
            assert_ne!(found, expected, "{what}");
        }
    }
}

#[test]
fn an_event_goes_on_without_its_damaged_bank() {
    let detector = Detector::nominal();
    let events = events(&detector);
    let level = best_level();
    let (velo, scifi) = detector.parts_of_long(level, LongPreset::Best);
    let bending = Bending::nominal(detector.polarity);
    let long = || LongConfig::preset(LongPreset::Best);
    // Boards with hits, and the last boards.
    let (of_velo, of_ut, of_scifi) =
        ([(VELO, 40), (VELO, 207)], [(UT, 3), (UT, 174)], [(SCIFI, 100), (SCIFI, 239)]);
    check(&with_both(|policy| velo.clone().with_bad_banks(policy)), &events, &of_velo);
    check(
        &with_both(|policy| UtHits::new(level, detector.ut.clone()).with_bad_banks(policy)),
        &events,
        &of_ut,
    );
    check(
        &with_both(|policy| SciFiHits::new(level, detector.scifi.clone()).with_bad_banks(policy)),
        &events,
        &of_scifi,
    );
    check(
        &with_both(|policy| detector.scifi(level, SciFiPreset::Best).with_bad_banks(policy)),
        &events,
        &of_scifi,
    );
    check(
        &with_both(|policy| {
            let velo = velo.clone().with_bad_banks(policy);
            VeloUt::sequence(velo, &detector.ut_detector(), UtConfig::default()).expect("a configuration")
        }),
        &events,
        &[of_velo[0], of_ut[0]],
    );
    check(
        &with_both(|policy| {
            let velo = velo.clone().with_bad_banks(policy);
            Long::sequence(velo, scifi.clone().with_bad_banks(policy), long(), bending)
                .expect("a configuration")
        }),
        &events,
        &[of_velo[1], of_scifi[0]],
    );
    check(
        &with_both(|policy| {
            let velo = velo.clone().with_bad_banks(policy);
            let scifi = scifi.clone().with_bad_banks(policy);
            LongUt::sequence(velo, &detector.ut_detector(), scifi, long(), bending).expect("a configuration")
        }),
        &events,
        &[of_velo[0], of_ut[1], of_scifi[1]],
    );
}

#[test]
fn what_other_detectors_lack_is_no_matter() {
    let detector = Detector::nominal();
    let events = events(&detector);
    let only = |kind: u8| -> Vec<Vec<u8>> {
        let of = |banks: &Vec<OwnBank>| banks.iter().filter(|bank| bank.kind == kind).cloned().collect();
        let kept: Vec<Vec<OwnBank>> = events.iter().map(of).collect();
        kept.iter().map(|banks| body(banks)).collect()
    };
    let level = best_level();
    let velo = Engine::new(detector.parts_of_long(level, LongPreset::Best).0);
    assert_eq!(made(&velo, &read(&only(VELO))).0, [Status::Ok; 3]);
    let scifi = Engine::new(detector.scifi(level, SciFiPreset::Best));
    assert_eq!(made(&scifi, &read(&only(SCIFI))).0, [Status::Ok; 3]);
    // A whole detector that is absent leaves nothing to reconstruct, by either policy.
    for engine in with_both(|policy| UtHits::new(level, detector.ut.clone()).with_bad_banks(policy)) {
        assert_eq!(made(&engine, &read(&only(VELO))).0, [Status::MissingBanks; 3]);
    }
}
