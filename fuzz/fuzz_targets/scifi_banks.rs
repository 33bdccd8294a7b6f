//! SciFi banks: the decoder on two levels and the naive reference agree on any bytes.
#![no_main]

mod banks;

use libfuzzer_sys::fuzz_target;
use peloton::event::{BankKind, Outcome, SciFiBatch};
use peloton::scifi::{SciFiGeometry, SciFiScratch, decode, decode_reference};
use std::sync::LazyLock;

/// Boards in the order of their channels, and boards with links in any order.
static GEOMETRIES: LazyLock<[SciFiGeometry; 2]> = LazyLock::new(|| [made_up(false), made_up(true)]);

fn made_up(map: bool) -> SciFiGeometry {
    let mut words = vec![3u32, 4, 12, 4, 48];
    words.extend([5; 48]);
    words.extend([4, 1024, 240]);
    let first = |board: u32| (16 + board / 5) << 14 | (board % 5) << 11;
    if map {
        words.push(1);
        words.extend(0..240);
        let sipm =
            |board: u32, link: u32| if link < 16 { (first(board) >> 7) + link * 7 % 16 } else { u32::MAX };
        words.extend((0..240).flat_map(|board| (0..24).map(move |link| sipm(board, link))));
    } else {
        words.extend((0..240).map(first));
    }
    words.push(1536);
    let exists = |mat: u32| if mat >> 2 & 7 < 5 { 1.0f32 } else { 0.0 };
    let side = |mat: u32| if mat >> 5 & 1 == 0 { 1.0f32 } else { -1.0 };
    let module = |mat: u32| (4 * (mat >> 2 & 7) + (mat & 3)) as f32;
    let columns: [&dyn Fn(u32) -> f32; 13] = [
        &|mat| side(mat) * (130.0 * module(mat) + 65.0),
        &|mat| 20.0 * module(mat) - 40.0,
        &|mat| 7826.0 + 70.0 * (mat >> 7) as f32,
        &side,
        &|mat| 0.087 * (mat >> 7 & 1) as f32,
        &|_| 0.0003,
        &|mat| -65.16 * exists(mat),
        &|mat| 0.125 * exists(mat),
        &|mat| 0.22 * exists(mat),
        &|mat| 32.7 * exists(mat),
        &|mat| 0.0875 * ((mat >> 7 & 3) % 3) as f32,
        &|_| 0.0036,
        &|_| 0.0,
    ];
    columns.iter().for_each(|of| words.extend((0..1536).map(|mat| of(mat).to_bits())));
    SciFiGeometry::parse("made up", &banks::bytes(&words)).expect("a geometry")
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let geometry = &GEOMETRIES[usize::from(first % 2)];
    let raw = banks::event(BankKind::SciFi, rest, u16::from);
    let mut expected = SciFiBatch::default();
    decode_reference(geometry, &raw.view().event(0), &mut expected);
    for level in banks::levels() {
        let mut out = Outcome::default();
        decode(level, geometry, raw.view(), 0..1, &mut SciFiScratch::default(), &mut out);
        assert!(out.results == expected);
    }
});
