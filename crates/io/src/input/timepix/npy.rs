//! Records of hits: NumPy files of a structured array, and bare records of 16 bytes.

use super::{Decode, Output};

/// Longest header of a NumPy file, bytes.
const MAX_HEADER: usize = 1 << 16;
/// Largest record, bytes.
const MAX_RECORD: usize = 1 << 12;

/// A field of a record: where it begins, its bytes, and whether it is signed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Field {
    start: usize,
    bytes: usize,
    signed: bool,
}

impl Field {
    fn read(&self, record: &[u8]) -> i64 {
        let mut wide = [0; 8];
        wide[..self.bytes].copy_from_slice(&record[self.start..self.start + self.bytes]);
        let shift = 64 - 8 * self.bytes as u32;
        let value = i64::from_le_bytes(wide) << shift;
        if self.signed { value >> shift } else { (value as u64 >> shift) as i64 }
    }
}

/// How records are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    size: usize,
    /// Time, x, y, time over threshold.
    fields: [Field; 4],
}

pub(super) struct Records {
    /// None until the header of a NumPy file is read.
    shape: Option<Shape>,
    /// A header that cannot be used: everything after it is passed over.
    broken: bool,
}

impl Records {
    /// Time in ticks (i64), x, y, ToT (u16), two bytes unused.
    pub fn hits16() -> Self {
        let field = |start, bytes, signed| Field { start, bytes, signed };
        let fields = [field(0, 8, true), field(8, 2, false), field(10, 2, false), field(12, 2, false)];
        Self { shape: Some(Shape { size: 16, fields }), broken: false }
    }

    pub fn npy() -> Self {
        Self { shape: None, broken: false }
    }
}

impl Decode for Records {
    fn decode(&mut self, bytes: &[u8], to: &mut Output<'_>) -> usize {
        if self.broken {
            return bytes.len();
        }
        let Some(shape) = self.shape else {
            let Some((length, shape)) = header(bytes) else { return 0 };
            self.broken = shape.is_none();
            to.counts.malformed += u64::from(self.broken);
            to.counts.control += 1;
            self.shape = shape;
            return length + self.decode(&bytes[length..], to);
        };
        let records = bytes.chunks_exact(shape.size);
        let used = bytes.len() - records.remainder().len();
        for record in records {
            to.row(shape.fields.map(|field| field.read(record)));
        }
        used
    }

    fn finish(&mut self, rest: &[u8], to: &mut Output<'_>) {
        to.counts.malformed += u64::from(!rest.is_empty());
    }
}

/// Length of the header and what it says; none while it is not there as a whole.
fn header(bytes: &[u8]) -> Option<(usize, Option<Shape>)> {
    let &[_, _, _, _, _, _, version, _, a, b, ..] = bytes else { return None };
    let (start, length) = match version {
        1 => (10, usize::from(u16::from_le_bytes([a, b]))),
        _ => (12, u32::from_le_bytes([a, b, *bytes.get(10)?, *bytes.get(11)?]) as usize),
    };
    if length > MAX_HEADER {
        return Some((bytes.len(), None));
    }
    let text = bytes.get(start..start + length)?;
    Some((start + length, std::str::from_utf8(text).ok().and_then(shape)))
}

/// Reads `{'descr': [('t', '<i8'), ...], 'fortran_order': False, ...}`.
fn shape(text: &str) -> Option<Shape> {
    let list = text.split_once("'descr':")?.1.trim_start().strip_prefix('[')?;
    let list = &list[..list.find(']')?];
    let mut shape = Shape { size: 0, fields: [Field::default(); 4] };
    for pair in list.split('(').skip(1) {
        let mut quoted = pair.split('\'').skip(1).step_by(2);
        let (name, kind) = (quoted.next()?, quoted.next()?);
        let little = kind.strip_prefix(['<', '|'])?;
        let bytes: usize = little.get(1..)?.parse().ok()?;
        let signed = little.starts_with('i');
        let place = match name {
            "t" | "time" => Some(0),
            "x" => Some(1),
            "y" => Some(2),
            "tot" => Some(3),
            _ => None,
        };
        if let Some(place) = place {
            if !little.starts_with(['i', 'u']) || !(1..=8).contains(&bytes) {
                return None;
            }
            shape.fields[place] = Field { start: shape.size, bytes, signed };
        }
        shape.size = shape.size.checked_add(bytes).filter(|size| *size <= MAX_RECORD)?;
    }
    let complete = shape.fields.iter().all(|field| field.bytes > 0);
    complete.then_some(shape)
}

#[cfg(test)]
mod tests {
    use super::super::clock::Timeline;
    use super::super::{PixelCounts, decoded};
    use super::*;
    use peloton::event::{Layout, PixelBlock};

    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn decode(mut decoder: Records, bytes: &[u8]) -> (PixelBlock, PixelCounts) {
        let layout = Layout::single(256, 256).unwrap();
        decoded(&mut decoder, Timeline::unchecked(), &layout, bytes, 7)
    }

    #[test]
    fn fields_are_found_by_name() {
        let header = "{'descr': [('chip', '|u1'), ('tot', '<u4'), ('x', '|u1'), ('y', '<i2'), ('t', '<i8')], \
                      'fortran_order': False, 'shape': (1,), }\n";
        let mut data = vec![3];
        data.extend(70_000u32.to_le_bytes());
        data.push(200);
        data.extend(17i16.to_le_bytes());
        data.extend((-12345i64).to_le_bytes());
        data.extend([0; 5]);
        let (block, counts) = decode(Records::npy(), &npy(header, &data));
        assert_eq!(block.hits.get(0), (-12345, 200, 17, 65535));
        assert_eq!((counts.hits, counts.malformed), (1, 1));
    }

    #[test]
    fn bare_records() {
        let mut data = Vec::new();
        data.extend(99i64.to_le_bytes());
        [5u16, 300, 7, 0].iter().for_each(|value| data.extend(value.to_le_bytes()));
        data.extend(i64::MIN.to_le_bytes());
        data.extend([0; 8]);
        let (block, counts) = decode(Records::hits16(), &data);
        assert_eq!((block.hits.len(), counts.outside, counts.malformed), (0, 1, 1));
    }

    #[test]
    fn headers_that_cannot_be_used_are_counted() {
        for header in ["", "{'descr': '<f8'}", "{'descr': [('t', '<f8'), ('x', '<u2')]}", "{'descr': [('t"] {
            let (block, counts) = decode(Records::npy(), &npy(header, &[1; 64]));
            assert_eq!((block.hits.len(), counts.malformed), (0, 1), "{header}");
        }
    }
}
