//! MDF: LHCb's files of whole events as sent by the detector. A file is one record after another:
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
mod nominal;
mod record;
mod truth;
mod write;

pub(super) use banks::HEADER as BANK_HEADER;
pub use banks::{Bank, Banks, odin_numbers};
pub use compression::{Compression, MAX_BODY, compress, decompress, unpacked_size};
pub use index::event_starts;
pub use nominal::{is_nominal, nominal_bank, put_nominal};
pub use peloton::lhcb::checksum::checksum;
pub(super) use record::{BEFORE_BODY, Cut, Record, Records, checked, looks_like_record};
pub use record::{RecordHeader, whole_records};
pub use truth::{HitsOf, Vertex, decode_mc, decode_vertices};
pub use write::{put_bank, write_record};

/// Numbers of raw bank types in addition to [`BankKind`](peloton::event::BankKind).
pub mod bank_type {
    /// Run, event number and clock.
    pub const ODIN: u8 = 16;
    /// True particles of a simulated event, in pieces.
    pub const MC_TRACKS: u8 = 32;
    /// True vertices of a simulated event.
    pub const MC_VERTICES: u8 = 33;
    /// A bank for tests, without a detector. It marks events simulated with the nominal detector:
    /// [`put_nominal`](super::put_nominal).
    pub const TEST: u8 = 51;

    /// Whether a bank of this type reports an error: a fault of the readout (a fragment throttled 89, mistimed 90,
    /// 91, 94, missing 92, truncated 93, malformed 95, of another event 96, lost in a full buffer 100, of a wrong
    /// size 101), or the error bank of a detector (Velo 29, muons 50, UT 68, calorimeter 78, RICH 81, Plume 86, SciFi
    /// 88). LHCb's own filter of damaged events checks the same types.
    pub const fn is_error(code: u8) -> bool {
        matches!(code, 89..=96 | 100 | 101) || is_detector_error(code)
    }

    /// Whether a bank of this type is the error bank of a detector.
    pub const fn is_detector_error(code: u8) -> bool {
        matches!(code, 29 | 50 | 68 | 78 | 81 | 86 | 88)
    }
}
