//! Bank containers, as in Allen: each file holds all banks of one type of one event.
//!
//! ```text
//! u32 n | u32 offset[n + 1], counted from the end of this list | n times: u32 source, payload
//! ```
//! Containers do not store the version of the banks; [`assumed_version`] gives the version in the public containers.

use peloton::bytes::Fields;
use peloton::event::BankKind;
use peloton::{Error, Result};
use std::io::Write;

/// Largest number of banks in a container.
const MAX_BANKS: usize = 4096;

/// Folders of containers, and the kind of their banks.
pub(super) const FOLDERS: [(&str, BankKind); 4] = [
    ("VP", BankKind::VeloSuperpixel),
    ("VPRetinaCluster", BankKind::VeloRetina),
    ("UT", BankKind::Ut),
    ("FTCluster", BankKind::SciFi),
];

/// Version of the banks of this kind in the public containers, which do not store the version.
pub fn assumed_version(kind: BankKind) -> u8 {
    match kind {
        BankKind::VeloSuperpixel => 2,
        BankKind::VeloRetina | BankKind::Ut => 3,
        BankKind::SciFi => 5,
    }
}

/// Reads the banks of a container as (source, payload), in the order of the file. Error messages name `file`.
///
/// # Errors
/// [`Error::Format`] for offsets that decrease or do not end at the end of the file.
pub fn read_container<'a>(file: &'a str, bytes: &'a [u8]) -> Result<Vec<(u16, &'a [u8])>> {
    let mut fields = Fields::new(file, bytes);
    let count = fields.u32("number of banks")? as usize;
    if count > MAX_BANKS {
        return Err(fields.wrong("number of banks", &format!("{count}, at most {MAX_BANKS} are possible")));
    }
    let list = fields.clone();
    let offsets = fields.u32s("offsets", count + 1)?;
    let rising = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
    if offsets[0] != 0 || !rising || offsets[count] as usize != fields.left() {
        let message = format!("the offsets must rise from 0 to {} bytes", fields.left());
        return Err(list.wrong("offsets", &message));
    }
    let mut banks = Vec::with_capacity(count);
    for pair in offsets.windows(2) {
        let before = fields.clone();
        let source = fields.u32("source")?;
        let source = u16::try_from(source).map_err(|_| before.wrong("source", &format!("{source}")))?;
        let len = (pair[1] - pair[0]) as usize;
        let len = len.checked_sub(4).ok_or_else(|| before.wrong("bank", &format!("{len} bytes long")))?;
        banks.push((source, fields.take("payload", len)?));
    }
    fields.end()?;
    Ok(banks)
}

/// Writes a container; each payload is padded with zeros to a multiple of four bytes.
///
/// # Errors
/// Errors of `writer`; [`Error::Columns`] for more banks or bytes than the format can hold.
pub fn write_container(file: &str, banks: &[(u16, &[u8])], writer: &mut dyn Write) -> Result<()> {
    let too_much = || Error::Columns(format!("{file}: too many banks for one container"));
    let mut bytes = u32::try_from(banks.len()).map_err(|_| too_much())?.to_le_bytes().to_vec();
    let mut offset = 0usize;
    let lengths = banks.iter().map(|(_, payload)| 4 + payload.len().next_multiple_of(4));
    for len in std::iter::once(0).chain(lengths) {
        offset += len;
        bytes.extend(u32::try_from(offset).map_err(|_| too_much())?.to_le_bytes());
    }
    for (source, payload) in banks {
        bytes.extend(u32::from(*source).to_le_bytes());
        bytes.extend(*payload);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    writer.write_all(&bytes).map_err(|e| Error::io(file, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(banks: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_container("a.bin", banks, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let banks: [(u16, &[u8]); 3] = [(7, &[1, 2, 3, 4]), (0, &[]), (65535, &[9; 12])];
        assert_eq!(read_container("a.bin", &container(&banks)).unwrap(), banks);
        let empty: [(u16, &[u8]); 0] = [];
        assert_eq!(read_container("a.bin", &container(&empty)).unwrap(), empty);
    }

    #[test]
    fn damage_is_told_with_its_place() {
        let good = container(&[(7, &[1, 2, 3, 4]), (8, &[5; 8])]);
        let cases: [(usize, u8, &str); 4] = [
            (1, 0xFF, "`number of banks`"),
            (8, 200, "`offsets` at byte 4"),
            (8, 2, "`bank`"),
            (18, 1, "`source`"),
        ];
        for (at, value, words) in cases {
            let mut bad = good.clone();
            bad[at] = value;
            let error = read_container("a.bin", &bad).unwrap_err().to_string();
            assert!(error.starts_with("a.bin: ") && error.contains(words), "{error}");
        }
        for cut in 0..good.len() {
            assert!(read_container("a.bin", &good[..cut]).is_err(), "{cut}");
        }
    }
}
