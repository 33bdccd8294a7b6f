//! Simulated events are the same bytes on any number of threads, from any number on, and in every version.

use peloton::cylinder::CylinderSample;
use peloton::event::{BankKind, PixelHits, RawBatch, TruthEvent, VeloBatch};
use peloton_io::input::mdf::{Banks, RecordHeader, bank_type, put_bank, write_record};
use peloton_io::input::timepix::{PixelFormat, write_hits};
use peloton_io::input::{EventNote, Geometry, write_cylinder, write_velo_json};
use peloton_sim::timepix::PixelSim;
use peloton_sim::{
    CylinderSim, LhcbDetector, LhcbReader, SimReader, SimSpec, SimulatedEvent, in_order, simulate_velo,
};

const THREADS: [usize; 4] = [1, 2, 3, 7];

/// FNV-1a, 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

fn velo(spec: &str, first: u64, count: Option<u64>, threads: usize) -> (VeloBatch, Vec<TruthEvent>) {
    let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
    let reader = SimReader::new(spec.parse().unwrap());
    let mut reader = reader.with_range(first, count).with_threads(threads);
    while reader.read(4, &mut batch, &mut truth).unwrap() > 0 {}
    (batch, truth)
}

fn velo_bytes((batch, truth): &(VeloBatch, Vec<TruthEvent>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (event, truth) in truth.iter().enumerate() {
        write_velo_json(batch.view().event(event), Some(truth), &mut bytes).unwrap();
    }
    bytes
}

/// MDF, event by event.
fn lhcb_bytes(spec: &str, threads: usize) -> Vec<u8> {
    let spec: SimSpec = spec.parse().unwrap();
    let geometry = Geometry::Nominal;
    let (ut, scifi) = (geometry.ut().unwrap(), geometry.scifi().unwrap());
    let detector = LhcbDetector { ut: &ut, scifi: &scifi, polarity: geometry.polarity().unwrap() };
    let make = |(): &mut (), number| SimulatedEvent::new(&spec, &detector, number);
    let mut bytes = Vec::new();
    in_order(0..spec.events, threads, make, |event| event.write(&mut bytes).is_ok()).unwrap();
    bytes
}

/// The same records without what events had not at first: the bank that says that they are of the nominal detector, and banks of
/// boards of the UT and the SciFi without hits.
fn without_new_banks(records: &[u8]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), records);
    while let Some(size) = rest.first_chunk::<4>() {
        let (record, behind) = rest.split_at(u32::from_le_bytes(*size) as usize);
        let mut body = Vec::new();
        for bank in Banks::new(&record[48..]).map(|bank| bank.expect("a whole bank")) {
            let is_of_tracker = [BankKind::Ut, BankKind::SciFi].iter().any(|kind| kind.code() == bank.kind);
            let is_new = bank.kind == bank_type::TEST || is_of_tracker && bank.payload == [0; 4];
            if !is_new {
                put_bank(&mut body, &bank).unwrap();
            }
        }
        let run = u32::from_le_bytes(*record[36..].first_chunk().unwrap());
        write_record(&mut bytes, &RecordHeader { run, ..RecordHeader::default() }, &body, None).unwrap();
        rest = behind;
    }
    bytes
}

/// As the job reads it: banks, and truth.
fn lhcb(spec: &str, first: u64, count: Option<u64>, threads: usize) -> (RawBatch, Vec<EventNote>) {
    let geometry = Geometry::Nominal;
    let (ut, scifi) = (geometry.ut().unwrap(), geometry.scifi().unwrap());
    let detector = LhcbDetector { ut: &ut, scifi: &scifi, polarity: geometry.polarity().unwrap() };
    let (mut batch, mut notes) = (RawBatch::default(), Vec::new());
    let mut reader = LhcbReader::new(spec.parse().unwrap(), first, count).with_threads(threads);
    while reader.read(4, &detector, &mut batch, &mut notes).unwrap() > 0 {}
    (batch, notes)
}

fn cylinder(spec: &str, first: u64, count: Option<u64>, threads: usize) -> CylinderSample {
    let mut sample = CylinderSample::default();
    let mut sim = CylinderSim::new(spec.parse().unwrap(), first, count);
    while sim.read_on(threads, 4, &mut sample.hits, &mut sample.truth).unwrap() > 0 {}
    sample
}

fn cylinder_bytes(sample: &CylinderSample) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_cylinder(&sample.hits, &sample.truth, &mut bytes).unwrap();
    bytes
}

/// The hashes are those of files that `peloton simulate` wrote before there were threads; those of `sim:lhcb` are
/// of the material and the resolutions of docs/algorithms.md, "Material before the SciFi", and of a run number that is the
/// seed.
#[test]
fn bytes_are_those_of_the_first_version() {
    for threads in THREADS {
        let bytes = velo_bytes(&velo("sim:velo,events=6,seed=5", 0, None, threads));
        assert_eq!(hash(&bytes), 0x786b_9b4f_c4e4_2a8d, "velo, {threads} threads");
        let bytes = without_new_banks(&lhcb_bytes("sim:lhcb,events=3,seed=5", threads));
        assert_eq!(hash(&bytes), 0x588f_d50c_8729_4cf8, "lhcb, {threads} threads");
        let spec = "sim:lhcb,events=3,seed=5,velo=superpixel,signal=b";
        let bytes = without_new_banks(&lhcb_bytes(spec, threads));
        assert_eq!(hash(&bytes), 0xf574_16ae_abb7_889d, "superpixels, {threads} threads");
        let spec = "sim:cylinder,events=3,seed=5,tracks=1500,inefficiency=0.1,noise=40,material=0.01";
        let bytes = cylinder_bytes(&cylinder(spec, 0, None, threads));
        assert_eq!(hash(&bytes), 0x4eb4_8377_0aa0_5202, "cylinder, {threads} threads");
    }
    for (preset, expected) in [("pion45", 0x60d1_36a4_5073_1b67), ("lead50", 0x3a91_8684_da7c_c0a0)] {
        let spec = format!("sim:timepix,preset={preset},hits=20000,seed=5");
        let (mut sim, mut hits) = (PixelSim::new(spec.parse().unwrap()), PixelHits::default());
        while sim.read(usize::MAX, &mut hits) {}
        let mut bytes = Vec::new();
        write_hits(&hits, PixelFormat::Hits16, &mut bytes).unwrap();
        assert_eq!(hash(&bytes), expected, "{preset}");
    }
}

#[test]
fn a_range_is_a_slice_of_the_whole() {
    let spec = "sim:velo,events=20,seed=9";
    let (whole, whole_truth) = velo(spec, 0, None, 1);
    for threads in THREADS {
        let (part, truth) = velo(spec, 5, Some(10), threads);
        assert_eq!((part.len(), truth.as_slice()), (10, &whole_truth[5..15]), "{threads} threads");
        for event in 0..10 {
            let (one, other) = (part.view().event(event), whole.view().event(5 + event));
            assert_eq!((one.x, one.y, one.z, one.id), (other.x, other.y, other.z, other.id));
        }
        assert_eq!(velo(spec, 18, Some(10), threads).0.len(), 2);
        assert_eq!(velo(spec, 21, None, threads).0.len(), 0);
    }
    let spec = "sim:lhcb,events=20,seed=9";
    let (_, whole) = lhcb(spec, 0, None, 1);
    let (words, _) = lhcb(spec, 5, Some(10), 1);
    for threads in THREADS {
        let (part, notes) = lhcb(spec, 5, Some(10), threads);
        let truth = |note: &EventNote| note.truth.as_ref().map(|truth| truth.tracks.clone());
        assert!(notes.iter().map(truth).eq(whole[5..15].iter().map(truth)), "{threads} threads");
        assert_eq!(part.event_ids(), (5..15).collect::<Vec<u64>>());
        assert_eq!(payloads(&part), payloads(&words), "{threads} threads");
    }
    let spec = "sim:cylinder,events=20,seed=9,tracks=1000,noise=10";
    let whole = cylinder(spec, 0, None, 1);
    for threads in THREADS {
        let part = cylinder(spec, 5, Some(10), threads);
        assert_eq!((part.hits.len(), part.truth.particles.len()), (10, 10_000));
        let first = whole.hits.event(0).len() * 5;
        let hits = part.hits.x.len();
        assert_eq!(part.hits.x[..], whole.hits.x[first..first + hits], "{threads} threads");
        assert_eq!(part.truth.particle_of[..], whole.truth.particle_of[first..first + hits]);
        assert_eq!(part.truth.particles.hits[3][..], whole.truth.particles.hits[3][5000..15_000]);
        assert_eq!(part.truth.particles.start[10], 10_000);
    }
}

/// Every event alone, with a scratch that knows nothing, is what it is after others.
#[test]
fn events_do_not_depend_on_what_a_thread_did_before() {
    let spec: SimSpec = "sim:velo,events=6,seed=5".parse().unwrap();
    let whole = velo("sim:velo,events=6,seed=5", 0, None, 1);
    for number in [5, 0, 3] {
        let mut alone = VeloBatch::default();
        let truth = simulate_velo(&spec, number, &mut alone);
        assert_eq!(truth, whole.1[number as usize]);
        assert_eq!(alone.x[..], *whole.0.view().event(number as usize).x);
    }
    let all = lhcb_bytes("sim:lhcb,events=4,seed=3", 1);
    let mut alone = Vec::new();
    for number in 0..4 {
        let (spec, geometry) = ("sim:lhcb,events=4,seed=3".parse().unwrap(), Geometry::Nominal);
        let (ut, scifi) = (geometry.ut().unwrap(), geometry.scifi().unwrap());
        let detector = LhcbDetector { ut: &ut, scifi: &scifi, polarity: geometry.polarity().unwrap() };
        let mut reader = LhcbReader::new(spec, number, Some(1));
        reader.next(&detector).unwrap().write(&mut alone).unwrap();
    }
    assert_eq!(hash(&alone), hash(&all));
}

/// The payloads of all banks of all events.
fn payloads(batch: &RawBatch) -> Vec<Vec<u32>> {
    let of_event = |number: usize| {
        let event = batch.view().event(number);
        let of_kind = move |kind| event.banks(kind).iter().map(move |bank| event.words(bank).to_vec());
        BankKind::ALL.into_iter().flat_map(of_kind).collect::<Vec<_>>()
    };
    (0..batch.len()).flat_map(of_event).collect()
}
