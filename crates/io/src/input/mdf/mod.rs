//! MDF: LHCb's files of whole events as the detector sent them. A file is one record after another:
//!
//! ```text
//! u32 size x 3 | u32 checksum | u8 compression, header, data type, spare | sub-header (28 bytes) | body
//! ```
//! and the body, after decompression, one raw bank after another, each at a multiple of four bytes:
//!
//! ```text
//! u16 0xCBCB | u16 length with header | u8 type, version | u16 source | payload, padded
//! ```
//! Source: LHCb's MDF and RawEvent formats, header version 3.

mod banks;
mod compression;
mod index;
mod record;
mod truth;
mod write;

pub(super) use banks::HEADER;
pub use banks::{Bank, Banks, odin_numbers};
pub use compression::{Compression, MAX_BODY, compress, decompress};
pub use index::event_starts;
pub use record::{Record, RecordHeader, checksum, whole_records};
pub(super) use record::{Records, looks_like_record};
pub use truth::{HitsOf, Vertex, decode_mc, decode_vertices};
pub use write::{put_bank, write_record};

/// Numbers of raw bank types that are read here beside those of [`BankKind`](peloton::event::BankKind).
pub mod bank_type {
    /// Run, event number and clock.
    pub const ODIN: u8 = 16;
    /// True particles of a simulated event, in pieces.
    pub const MC_TRACKS: u8 = 32;
    /// True vertices of a simulated event.
    pub const MC_VERTICES: u8 = 33;
    /// Faults of the readout: a fragment throttled, mistimed (three kinds), missing or truncated.
    pub const DAQ_ERRORS: std::ops::RangeInclusive<u8> = 89..=94;
}
