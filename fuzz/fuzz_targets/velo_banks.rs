//! Velo banks: the decoder on two levels and the naive reference agree on any bytes.
#![no_main]

mod banks;

use libfuzzer_sys::fuzz_target;
use peloton::event::{BankKind, Outcome, VeloBatch};
use peloton::velo::{DecodeScratch, VeloBanks, VeloDecoder, VeloSensors, decode, decode_reference};
use std::sync::LazyLock;

static SENSORS: LazyLock<VeloSensors> = LazyLock::new(|| {
    let mut words = Vec::new();
    for (len, step) in [(52, 12.5), (768, 0.055), (768, 0.0)] {
        words.extend([len, 0]);
        words.extend((0..len).map(|i| (i as f32 * step + 0.055f32).to_bits()));
    }
    words.extend([208, 0, 12, 0]);
    words.extend((0..208 * 12).map(|i| (i as f32 * 0.37 - 99.0).to_bits()));
    VeloSensors::parse("made up", &banks::bytes(&words)).expect("sensors")
});

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let kind = if first % 2 == 0 { BankKind::VeloRetina } else { BankKind::VeloSuperpixel };
    let raw = banks::event(kind, rest, u16::from);
    let mut expected = VeloBatch::default();
    decode_reference(&SENSORS, VeloBanks::Auto, &raw.view().event(0), 0, &mut expected);
    for level in banks::levels() {
        let (mut scratch, mut out) = (DecodeScratch::default(), Outcome::<VeloBatch>::default());
        let decoder = VeloDecoder { sensors: &SENSORS, banks: VeloBanks::Auto };
        decode(level, decoder, raw.view(), 0..1, &mut scratch, &mut out);
        let out = out.results;
        assert_eq!(out.status, expected.status);
        assert!(out.id == expected.id && out.module_start == expected.module_start);
        assert!(out.x == expected.x && out.y == expected.y && out.z == expected.z);
    }
});
