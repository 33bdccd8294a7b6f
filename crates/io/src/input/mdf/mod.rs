//! MDF: LHCb's format for files of whole events as sent by the detector. A file is a sequence of records:
//!
//! ```text
//! u32 size x 3 | u32 checksum | u8 compression, header, data type, spare | sub-header (28 bytes) | body
//! ```
//! The body of a record, after decompression, is a sequence of raw banks, each at a multiple of four bytes:
//!
//! ```text
//! u16 0xCBCB | u16 length with header | u8 type, version | u16 source | payload, padded
//! ```
//! These are LHCb's MDF and RawEvent formats, with header version 3.

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

/// Numbers of the raw bank types that are not in [`BankKind`](peloton::event::BankKind).
pub mod bank_type {
    /// Type of the ODIN bank: run number, event number and time.
    pub const ODIN: u8 = 16;
    /// Type of banks with the true particles of a simulated event, split into one or more banks.
    pub const MC_TRACKS: u8 = 32;
    /// Type of banks with the true vertices of a simulated event.
    pub const MC_VERTICES: u8 = 33;
    /// Type of LHCb's test banks, without detector data. [`put_nominal`](super::put_nominal) writes a bank of this type
    /// that marks an event as simulated with the nominal detector.
    pub const TEST: u8 = 51;

    /// Whether a bank of this type reports an error. Either the readout reports a fragment of data that was throttled
    /// (type 89), mistimed (90, 91, 94), missing (92), truncated (93), malformed (95), of another event (96), lost in a
    /// full buffer (100) or of a wrong size (101); or a detector reports an error: Velo 29, muons 50, UT 68,
    /// calorimeter 78, RICH 81, Plume 86, SciFi 88. LHCb's filter of damaged events checks the same types.
    pub const fn is_error(code: u8) -> bool {
        matches!(code, 89..=96 | 100 | 101) || is_detector_error(code)
    }

    /// Whether a bank of this type is the error bank of a detector.
    pub const fn is_detector_error(code: u8) -> bool {
        matches!(code, 29 | 50 | 68 | 78 | 81 | 86 | 88)
    }
}
