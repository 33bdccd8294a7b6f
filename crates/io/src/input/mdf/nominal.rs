//! The bank that marks events as simulated with the nominal detector.
//!
//! ```text
//! type 51 (LHCb's TestDet, which other readers pass over) | version 1 | source 0 | payload: ASCII `peloton nominal detector`
//! ```

use super::{Bank, bank_type, put_bank};
use std::io::Result;

const VERSION: u8 = 1;
const PAYLOAD: &[u8] = b"peloton nominal detector";

/// The bank that marks an event as simulated with the nominal detector.
pub fn nominal_bank() -> Bank<'static> {
    Bank { kind: bank_type::TEST, version: VERSION, source: 0, payload: PAYLOAD }
}

/// Whether a bank of this type, version and payload marks its event as simulated with the nominal detector.
pub fn is_nominal(kind: u8, version: u8, payload: &[u8]) -> bool {
    kind == bank_type::TEST && version == VERSION && payload == PAYLOAD
}

/// Appends the bank of `nominal_bank` to the body of a record.
///
/// # Errors
/// As [`put_bank`].
pub fn put_nominal(body: &mut Vec<u8>) -> Result<()> {
    put_bank(body, &nominal_bank())
}
