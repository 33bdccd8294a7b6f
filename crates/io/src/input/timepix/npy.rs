//! Decodes records of hits: NumPy files of a structured array, and records of 16 bytes without a header.

use super::hit_columns::{Roles, TimeUnit, Values};
use super::npy_header::{self, Field, Header};
use super::{Decode, Output};

/// Layout of records.
#[derive(Debug, Clone, PartialEq)]
struct Shape {
    size: usize,
    time: Field,
    unit: TimeUnit,
    /// Whether times are floating-point numbers.
    is_float: bool,
    x: Field,
    y: Field,
    tot: Field,
    chip: Option<Field>,
}

impl Shape {
    fn of(header: &Header, roles: &Roles) -> Self {
        let field = |place: usize| header.fields[place];
        Self {
            size: header.size,
            time: field(roles.time),
            unit: roles.unit,
            is_float: header.columns[roles.time].values == Values::Floats,
            x: field(roles.x),
            y: field(roles.y),
            tot: field(roles.tot),
            chip: roles.chip.map(field),
        }
    }

    /// Passes on the hit of a record. A record with a missing value (NaT, NaN) or a value that is too large is malformed.
    #[inline]
    fn row(&self, record: &[u8], to: &mut Output<'_>) {
        let time = if self.is_float {
            self.time.float(record).and_then(|time| self.unit.ticks_of_float(time))
        } else {
            self.time.whole(record).and_then(|time| self.unit.ticks(time))
        };
        let chip = self.chip.map_or(Some(0), |chip| chip.whole(record));
        let pixel = [self.x, self.y, self.tot].map(|field| field.whole(record));
        match (time, chip, pixel) {
            (Some(time), Some(chip), [Some(x), Some(y), Some(tot)]) => to.row(chip, [time, x, y, tot]),
            _ => to.counts.malformed += 1,
        }
    }
}

pub(super) struct Records {
    /// None until the header of a NumPy file is read.
    shape: Option<Shape>,
    /// Unit of times without a unit.
    unit: Option<TimeUnit>,
    /// Whether the header cannot be used: everything after it is skipped.
    broken: bool,
    /// Number of records so far; `promised` is their number in the header.
    records: u64,
    promised: Option<u64>,
}

impl Records {
    /// A decoder of records without a header: time in ticks (i64); x, y, ToT (u16); two unused bytes.
    pub fn hits16() -> Self {
        let field = |start, bytes, signed| Field { start, bytes, signed, is_big_endian: false };
        let shape = Shape {
            size: 16,
            time: field(0, 8, true),
            unit: TimeUnit::TICK,
            is_float: false,
            x: field(8, 2, false),
            y: field(10, 2, false),
            tot: field(12, 2, false),
            chip: None,
        };
        Self { shape: Some(shape), ..Self::npy(None) }
    }

    /// A decoder of a NumPy file; `unit` is the unit of times if the file gives none.
    pub fn npy(unit: Option<TimeUnit>) -> Self {
        Self { shape: None, unit, broken: false, records: 0, promised: None }
    }
}

/// The roles of the columns of a NumPy file. Whole numbers without a unit are ticks, as always in such files.
///
/// # Errors
/// A message, for columns that are not understood.
pub(super) fn roles(header: &Header, unit: Option<TimeUnit>) -> Result<Roles, String> {
    Roles::find(&header.columns, unit, Some(TimeUnit::TICK))
}

impl Decode for Records {
    fn decode(&mut self, bytes: &[u8], to: &mut Output<'_>) -> usize {
        if self.broken {
            return bytes.len();
        }
        let Some(shape) = &self.shape else {
            let Some((length, header)) = npy_header::read(bytes) else { return 0 };
            let found = header.and_then(|header| {
                let roles = roles(&header, self.unit)?;
                Ok((Shape::of(&header, &roles), header.records))
            });
            to.counts.control += 1;
            match found {
                Ok((shape, promised)) => (self.shape, self.promised) = (Some(shape), promised),
                Err(_) => {
                    self.broken = true;
                    to.counts.malformed += 1;
                }
            }
            return length + self.decode(&bytes[length..], to);
        };
        let records = bytes.chunks_exact(shape.size);
        let used = bytes.len() - records.remainder().len();
        self.records += records.len() as u64;
        for record in records {
            shape.row(record, to);
        }
        used
    }

    fn finish(&mut self, rest: &[u8], to: &mut Output<'_>) {
        let is_short = self.promised.is_some_and(|promised| self.records < promised);
        to.counts.malformed += u64::from(!rest.is_empty() || is_short);
    }
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
        let layout = Layout::apart(4, 256, 256).unwrap();
        decoded(&mut decoder, Timeline::unchecked(), &layout, bytes, 7)
    }

    #[test]
    fn fields_are_found_by_name() {
        let header = "{'descr': [('chip', '|u1'), ('tot', '<u4'), ('x', '|u1'), ('y', '<i2'), ('t', '<i8')], \
                      'fortran_order': False, 'shape': (1,), }\n";
        let mut data = vec![1];
        data.extend(70_000u32.to_le_bytes());
        data.push(200);
        data.extend(17i16.to_le_bytes());
        data.extend((-12345i64).to_le_bytes());
        data.extend([0; 5]);
        let (block, counts) = decode(Records::npy(None), &npy(header, &data));
        assert_eq!(block.hits.get(0), (-12345, 258 + 200, 17, 65535));
        assert_eq!((counts.hits, counts.malformed), (1, 1));
    }

    #[test]
    fn big_endian_numbers_floats_and_durations_are_read() {
        let header =
            "{'descr': [('x', '>u2'), ('y', '>i4'), ('tot', '|u1'), ('t_ns', '>f8')], 'shape': (2,)}";
        let record = |t: f64| [&[0, 200, 0, 0, 0, 17, 9][..], &t.to_be_bytes()].concat();
        let (block, counts) =
            decode(Records::npy(None), &npy(header, &[record(2.5), record(f64::NAN)].concat()));
        assert_eq!((block.hits.get(0), counts.hits, counts.malformed), ((2, 200, 17, 9), 1, 1));
        let header =
            "{'descr': [('time', '<m8[25ns]'), ('x', '|u1'), ('y', '|u1'), ('', '|V3'), ('tot', '|u1')]}";
        let record = |t: i64| [&t.to_le_bytes()[..], &[1, 2, 0, 0, 0, 3]].concat();
        let (block, counts) =
            decode(Records::npy(None), &npy(header, &[record(-2), record(i64::MIN)].concat()));
        assert_eq!((block.hits.get(0), counts.hits, counts.malformed), ((-32, 1, 2, 3), 1, 1));
    }

    #[test]
    fn a_unit_that_is_named_counts_where_the_file_says_none() {
        let header = "{'descr': [('t', '<u8'), ('x', '|u1'), ('y', '|u1'), ('tot', '|u1')], 'shape': (3,)}";
        let record = |t: u64| [&t.to_le_bytes()[..], &[1, 2, 3]].concat();
        let bytes = npy(header, &[record(100), record(u64::MAX)].concat());
        let (block, counts) = decode(Records::npy("ns".parse().ok()), &bytes);
        // One time is too large, and a record is missing.
        assert_eq!((&block.hits.time[..], counts.malformed), (&[64][..], 2));
        assert_eq!(decode(Records::npy(None), &bytes).0.hits.time[..], [100]);
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
            let (block, counts) = decode(Records::npy(None), &npy(header, &[1; 64]));
            assert_eq!((block.hits.len(), counts.malformed), (0, 1), "{header}");
        }
    }
}
