//! UT banks: the decoder on two levels and the naive reference agree on any bytes.
#![no_main]

mod banks;

use libfuzzer_sys::fuzz_target;
use peloton::bytes::File;
use peloton::event::{BankKind, Outcome, UtBatch};
use peloton::ut::{UtGeometry, UtScratch, decode, decode_reference};
use std::sync::LazyLock;

static GEOMETRY: LazyLock<UtGeometry> = LazyLock::new(|| {
    // Boards of the older generation read six sectors each, in the order of their numbers.
    let regions = [84, 80, 84, 84, 80, 84, 98, 80, 98, 98, 80, 98];
    let mut records: Vec<[u32; 4]> = Vec::new();
    for (at, sectors) in (0..).zip(regions) {
        records.extend((0..sectors).map(|s| [at / 6 + 1, at % 6 / 3 + 1, at % 3 + 1, s + 1]));
    }
    records.resize(1050, [0; 4]);
    let mut boards = vec![175];
    boards.extend([512; 175]);
    (0..4).for_each(|column| boards.extend(records.iter().map(|record| record[column])));
    boards.extend((0..1050).map(|i| if i < 1048 { 0x10000 + 1024 * i } else { 0 }));
    let plane = |s: usize| [248, 496, 772, 1048].iter().position(|end| s < *end).unwrap_or(3);
    let groups = |s: usize| [20, 20, 22, 22][plane(s)];
    let mut sectors = vec![1048u32];
    sectors.extend([1; 1048]);
    let columns: [&dyn Fn(usize) -> f32; 9] = [
        &|_| 0.19,
        &|_| 97.0,
        &|s| if s % 5 == 0 { -0.19 } else { 0.19 },
        &|s| [0.0, -0.0165, 0.0165, 0.0][plane(s)],
        &|_| 0.0,
        &|s| 90.0 * (s % groups(s)) as f32 - 900.0 + (s % 2) as f32,
        &|s| 5.0 * (s / groups(s)) as f32 - 100.0,
        &|s| if s % 3 == 0 { -2500.0 } else { 2500.0 },
        &|_| 1.0,
    ];
    columns.iter().for_each(|of| sectors.extend((0..1048).map(|s| of(s).to_bits())));
    let (boards, sectors) = (banks::bytes(&boards), banks::bytes(&sectors));
    UtGeometry::parse(File::new("boards", &boards), File::new("sectors", &sectors)).expect("a geometry")
});

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let raw = banks::event(BankKind::Ut, rest, |number| u16::from(number) | u16::from(first) << 8);
    let mut expected = UtBatch::default();
    decode_reference(&GEOMETRY, &raw.view().event(0), &mut expected);
    for level in banks::levels() {
        let mut out = Outcome::default();
        decode(level, &GEOMETRY, raw.view(), 0..1, &mut UtScratch::default(), &mut out);
        assert!(out.results == expected);
    }
});
