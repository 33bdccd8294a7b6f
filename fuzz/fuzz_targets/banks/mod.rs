//! Makes raw banks from arbitrary bytes: `u8 source, u8 version, u8 length`, payload, repeated.

use peloton::Status;
use peloton::event::{BankKind, RawBatch};
use peloton::simd::{Isa, Level};

/// Makes one event from the bytes, with banks of this kind; `source` computes a bank's source number from one byte.
pub fn event(kind: BankKind, mut bytes: &[u8], source: impl Fn(u8) -> u16) -> RawBatch {
    let mut batch = RawBatch::default();
    while let [number, version, length, rest @ ..] = bytes {
        let (payload, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        batch.push_bank(kind, source(*number), version % 9, payload).expect("short banks");
        bytes = rest;
    }
    batch.close_event(0, Status::Ok);
    batch
}

/// Returns two levels: this CPU's usual level, and scalar code.
pub fn levels() -> [Level; 2] {
    let usual = Level::choose(None, None).expect("a level");
    [usual, Level::new(Isa::Scalar, 1).expect("scalar code")]
}

/// Returns the bytes of u32 and f32 values for made-up geometries.
#[allow(dead_code)] // Only some targets make up such geometries.
pub fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
