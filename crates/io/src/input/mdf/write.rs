//! Writes MDF records and raw banks.

use super::banks::Bank;
use super::checksum;
use super::compression::{Compression, compress};
use super::record::{BEFORE_BODY, CHECKED, RecordHeader, head};
use std::io::{Error, ErrorKind, Result, Write};

/// Appends a bank to the body of a record, and pads it with zeros to a multiple of four bytes.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for a payload of more than 65,527 bytes, the largest in a bank.
pub fn put_bank(body: &mut Vec<u8>, bank: &Bank<'_>) -> Result<()> {
    let header = bank.header().ok_or_else(|| Error::new(ErrorKind::InvalidInput, "the bank is too long"))?;
    body.extend(header);
    body.extend(bank.payload);
    body.resize(body.len().next_multiple_of(4), 0);
    Ok(())
}

/// Writes a record with its checksum. `body` holds banks that [`put_bank`] appended.
///
/// # Errors
/// Errors of `writer`, and [`ErrorKind::InvalidInput`] for a record of more than 4 GiB.
pub fn write_record(
    writer: &mut dyn Write,
    header: &RecordHeader,
    body: &[u8],
    compression: Option<Compression>,
) -> Result<()> {
    let packed = compression.map(|method| compress(body, method)).transpose()?;
    let body = packed.as_deref().unwrap_or(body);
    let size = u32::try_from(BEFORE_BODY + body.len())
        .map_err(|_| Error::new(ErrorKind::InvalidInput, "the event is too long"))?;
    let mut record = head(size, 0, u8::from(compression.is_some())).to_vec();
    record.extend(header.to_bytes());
    record.extend(body);
    let sum = checksum(&record[CHECKED..]);
    record[12..16].copy_from_slice(&sum.to_le_bytes());
    writer.write_all(&record)
}
