//! [`Fields`]: reads little-endian fields of a binary file one after another; errors name file, field, offset.

use crate::{Error, Result};

#[cfg(target_endian = "big")]
compile_error!("raw data are little-endian and used in place: this program needs a little-endian machine");

/// Largest number in a geometry, in any unit: products of a few of these stay finite.
pub const LARGEST: f32 = 1e9;

/// A file in memory; messages contain its name.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Name of the file.
    pub name: &'a str,
    /// All of it.
    pub bytes: &'a [u8],
}

impl<'a> File<'a> {
    /// A file of this name.
    pub fn new(name: &'a str, bytes: &'a [u8]) -> Self {
        Self { name, bytes }
    }
}

/// The bytes of a file and how far they have been read.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    file: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// At the beginning of `bytes`; messages contain the name `file`.
    pub fn new(file: &'a str, bytes: &'a [u8]) -> Self {
        Self { file, bytes, at: 0 }
    }

    /// Bytes not yet read.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// An error about `field`, which begins at the present offset.
    pub fn wrong(&self, field: &str, message: &str) -> Error {
        Error::format(self.file, format!("`{field}` at byte {}: {message}", self.at))
    }

    /// The next `len` bytes.
    ///
    /// # Errors
    /// [`Error::Format`] when there are fewer, here and below.
    pub fn take(&mut self, field: &str, len: usize) -> Result<&'a [u8]> {
        if len > self.left() {
            return Err(self.wrong(field, &format!("{len} bytes, but only {} are left", self.left())));
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, field: &str) -> Result<[u8; N]> {
        Ok(self.take(field, N)?.try_into().expect("as long as asked for"))
    }

    /// One byte.
    pub fn u8(&mut self, field: &str) -> Result<u8> {
        Ok(self.array::<1>(field)?[0])
    }

    /// A u16.
    pub fn u16(&mut self, field: &str) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array(field)?))
    }

    /// A u32.
    pub fn u32(&mut self, field: &str) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(field)?))
    }

    /// An i32.
    pub fn i32(&mut self, field: &str) -> Result<i32> {
        Ok(i32::from_le_bytes(self.array(field)?))
    }

    /// A u64.
    pub fn u64(&mut self, field: &str) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(field)?))
    }

    /// An f32, finite or not.
    pub fn f32(&mut self, field: &str) -> Result<f32> {
        Ok(f32::from_le_bytes(self.array(field)?))
    }

    /// An f64, finite or not.
    pub fn f64(&mut self, field: &str) -> Result<f64> {
        Ok(f64::from_le_bytes(self.array(field)?))
    }

    /// `count` values of u32.
    pub fn u32s(&mut self, field: &str, count: usize) -> Result<Vec<u32>> {
        let bytes = self.take(field, count.saturating_mul(4))?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|&four| u32::from_le_bytes(four)).collect())
    }

    /// `count` values of f32, which must be finite and smaller than [`LARGEST`] in size.
    pub fn f32s(&mut self, field: &str, count: usize) -> Result<Vec<f32>> {
        let start = self.clone();
        let values: Vec<_> = self.u32s(field, count)?.into_iter().map(f32::from_bits).collect();
        match values.iter().position(|value| value.is_nan() || value.abs() > LARGEST) {
            Some(at) => Err(start.wrong(field, &format!("value {at} is {:e}", values[at]))),
            None => Ok(values),
        }
    }

    /// A u32 that must be one of `allowed`.
    pub fn expect_u32(&mut self, field: &str, allowed: &[u32]) -> Result<u32> {
        let start = self.clone();
        let value = self.u32(field)?;
        if allowed.contains(&value) {
            return Ok(value);
        }
        Err(start.wrong(field, &format!("{value}, expected {allowed:?}")))
    }

    /// A u64 that must be `expected`: the length of the following array.
    pub fn expect_u64(&mut self, field: &str, expected: u64) -> Result<()> {
        let start = self.clone();
        let value = self.u64(field)?;
        if value == expected {
            return Ok(());
        }
        Err(start.wrong(field, &format!("{value}, expected {expected}")))
    }

    /// Fails unless everything has been read.
    pub fn end(&self) -> Result<()> {
        match self.left() {
            0 => Ok(()),
            left => Err(self.wrong("end of file", &format!("{left} bytes too many"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_file_field_and_offset() {
        let mut bytes = vec![1, 0, 0, 0];
        bytes.extend(f32::NAN.to_le_bytes());
        let mut fields = Fields::new("a.bin", &bytes);
        assert_eq!(fields.u32("n").unwrap(), 1);
        let error = fields.clone().f32s("pitch", 1).unwrap_err().to_string();
        assert_eq!(error, "a.bin: `pitch` at byte 4: value 0 is NaN");
        let error = fields.clone().u64("size").unwrap_err().to_string();
        assert_eq!(error, "a.bin: `size` at byte 4: 8 bytes, but only 4 are left");
        let error = fields.clone().expect_u32("n", &[1, 2]).unwrap_err().to_string();
        assert!(error.starts_with("a.bin: `n` at byte 4: ") && error.ends_with("expected [1, 2]"), "{error}");
        assert!(fields.end().is_err());
        assert!(fields.u32s("huge", usize::MAX).is_err());
        fields.take("rest", 4).unwrap();
        fields.end().unwrap();
    }
}
