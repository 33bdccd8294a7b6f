//! Iterates over the raw banks in the body of an MDF record.

use peloton::Status;

/// The first two bytes of every bank.
const MAGIC: u16 = 0xCBCB;
/// Bytes of a bank's header.
pub(in crate::input) const HEADER: usize = 8;

/// One raw bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bank<'a> {
    /// Type of the bank, such as a detector's data.
    pub kind: u8,
    /// Version of the payload's encoding.
    pub version: u8,
    /// Number of the readout board.
    pub source: u16,
    /// The data of the bank, without header and padding.
    pub payload: &'a [u8],
}

impl Bank<'_> {
    /// The header of this bank.
    pub(super) fn header(&self) -> Option<[u8; HEADER]> {
        let length = u16::try_from(self.payload.len() + HEADER).ok()?;
        let [m, l, s] = [MAGIC, length, self.source].map(u16::to_le_bytes);
        Some([m[0], m[1], l[0], l[1], self.kind, self.version, s[0], s[1]])
    }
}

/// Iterator over the banks of a body. After a fault, the iterator continues at the next complete bank, if there is any.
#[derive(Debug, Clone)]
pub struct Banks<'a> {
    whole: &'a [u8],
    body: &'a [u8],
    at: usize,
}

impl<'a> Banks<'a> {
    /// An iterator over all banks of a body.
    pub fn new(body: &'a [u8]) -> Self {
        Self { whole: body, body, at: 0 }
    }

    /// Byte of the body at which the last returned bank, or the last fault, begins.
    pub fn at(&self) -> usize {
        self.at
    }

    fn cut(&mut self) -> Result<Bank<'a>, Status> {
        self.at = self.whole.len() - self.body.len();
        let bank = self.cut_here();
        if bank.is_err() {
            self.body = self.behind_fault();
        }
        bank
    }

    /// The bytes after a bank with a wrong header: from the first multiple of four bytes at which a complete bank begins,
    /// followed by another bank or the end.
    fn behind_fault(&self) -> &'a [u8] {
        let is_bank = |at: &usize| {
            let mut banks = Self::new(&self.whole[*at..]);
            banks.cut_here().is_ok() && (banks.body.is_empty() || banks.cut_here().is_ok())
        };
        let place = (self.at + 4..self.whole.len()).step_by(4).find(is_bank);
        place.map_or(&[], |at| &self.whole[at..])
    }

    fn cut_here(&mut self) -> Result<Bank<'a>, Status> {
        let body = std::mem::take(&mut self.body);
        let header = body.first_chunk::<HEADER>().ok_or(Status::TruncatedBank)?;
        let pair = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        if pair(0) != MAGIC {
            return Err(Status::BadBank);
        }
        let length = pair(2) as usize;
        if length < HEADER {
            return Err(Status::BadBank);
        }
        let payload = body.get(HEADER..length).ok_or(Status::TruncatedBank)?;
        // The padding of the last bank may be missing.
        self.body = body.get(length.next_multiple_of(4)..).unwrap_or_default();
        Ok(Bank { kind: header[4], version: header[5], source: pair(6), payload })
    }
}

/// Run number and event number in a bank of type [`ODIN`](super::bank_type::ODIN). None when the payload is too short.
pub fn odin_numbers(version: u8, payload: &[u8]) -> Option<(u32, u64)> {
    let word = |at: usize| Some(u32::from_le_bytes(*payload.get(4 * at..)?.first_chunk()?));
    // Since version 7 the number of the event is at the end, lower half first.
    let [high, low] = if version < 7 { [3, 4] } else { [9, 8] };
    Some((word(0)?, u64::from(word(high)?) << 32 | u64::from(word(low)?)))
}

impl<'a> Iterator for Banks<'a> {
    type Item = Result<Bank<'a>, Status>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.body.is_empty()).then(|| self.cut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::mdf::put_bank;

    #[test]
    fn what_is_put_in_comes_out() {
        let payloads: [&[u8]; 4] = [&[], &[1], &[1, 2, 3, 4], &[5; 7]];
        let mut body = Vec::new();
        for (i, payload) in payloads.iter().enumerate() {
            let bank = Bank { kind: i as u8, version: 9, source: 500 + i as u16, payload };
            put_bank(&mut body, &bank).unwrap();
        }
        assert_eq!(body.len() % 4, 0);
        let banks: Vec<_> = Banks::new(&body).map(Result::unwrap).collect();
        assert_eq!(banks.len(), 4);
        for (i, bank) in banks.iter().enumerate() {
            assert_eq!((bank.kind, bank.version, bank.source), (i as u8, 9, 500 + i as u16));
            assert_eq!(bank.payload, payloads[i]);
        }
    }

    #[test]
    fn faults_end_the_banks() {
        let mut body = Vec::new();
        put_bank(&mut body, &Bank { kind: 63, version: 2, source: 1, payload: &[7; 12] }).unwrap();
        fn of(body: &[u8]) -> Vec<Result<Bank<'_>, Status>> {
            Banks::new(body).collect()
        }
        assert_eq!(of(&body[..18]), [Err(Status::TruncatedBank)]);
        assert_eq!(of(&body[..5]), [Err(Status::TruncatedBank)]);
        let mut bad = body.clone();
        bad[0] = 0;
        assert_eq!(of(&bad), [Err(Status::BadBank)]);
        let mut short = body.clone();
        short[2] = 7;
        assert_eq!(of(&short), [Err(Status::BadBank)]);
        let mut twice = body.clone();
        twice.extend(&body[..10]);
        assert_eq!(of(&twice).len(), 2);
        assert_eq!(of(&twice)[1], Err(Status::TruncatedBank));
    }
}
