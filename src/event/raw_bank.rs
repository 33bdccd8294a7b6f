//! [`RawBank`]: one raw bank of a batch.

/// One raw bank: position of its payload, and its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawBank {
    /// Index of the first word of the payload in the words of the batch (no unit).
    pub first: u32,
    /// Length of the payload in bytes; the last word is padded with zeros (no unit).
    pub bytes: u16,
    /// Number of the readout board (no unit).
    pub source: u16,
    /// Version of the encoding (no unit).
    pub version: u8,
}
