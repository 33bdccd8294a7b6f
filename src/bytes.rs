//! [`Fields`] reads the little-endian fields of a binary file in order. Its errors name the file, field and offset.

use crate::{Error, Result};

#[cfg(target_endian = "big")]
compile_error!("files are read without a change of byte order: this program needs a little-endian machine");

/// Largest absolute value of a number in a geometry file, in any unit: products of up to four numbers stay finite.
pub const LARGEST: f32 = 1e9;

/// The content of a file in memory, and the name by which error messages refer to the file.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Name of the file.
    pub name: &'a str,
    /// Content of the file.
    pub bytes: &'a [u8],
}

impl<'a> File<'a> {
    /// Makes a `File` from its name and its content.
    pub fn new(name: &'a str, bytes: &'a [u8]) -> Self {
        Self { name, bytes }
    }
}

/// Reads a file field by field. Holds the bytes of the file and the offset of the next field.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    file: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// Starts at the beginning of `bytes`. Error messages contain the file name `file`.
    pub fn new(file: &'a str, bytes: &'a [u8]) -> Self {
        Self { file, bytes, at: 0 }
    }

    /// Returns the number of bytes that have not been read yet.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Returns an error about `field`, which begins at the current offset.
    pub fn wrong(&self, field: &str, message: &str) -> Error {
        Error::format(self.file, format!("`{field}` at byte {}: {message}", self.at))
    }

    /// Reads the next `len` bytes.
    ///
    /// # Errors
    /// Returns [`Error::Format`] if fewer than `len` bytes are left. So do all methods below that read numbers.
    pub fn take(&mut self, field: &str, len: usize) -> Result<&'a [u8]> {
        if len > self.left() {
            return Err(self.wrong(field, &format!("needs {len} bytes, but only {} are left", self.left())));
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, field: &str) -> Result<[u8; N]> {
        Ok(self.take(field, N)?.try_into().expect("`take` returns N bytes"))
    }

    /// Reads one byte.
    pub fn u8(&mut self, field: &str) -> Result<u8> {
        Ok(self.array::<1>(field)?[0])
    }

    /// Reads a u16.
    pub fn u16(&mut self, field: &str) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array(field)?))
    }

    /// Reads a u32.
    pub fn u32(&mut self, field: &str) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(field)?))
    }

    /// Reads an i32.
    pub fn i32(&mut self, field: &str) -> Result<i32> {
        Ok(i32::from_le_bytes(self.array(field)?))
    }

    /// Reads a u64.
    pub fn u64(&mut self, field: &str) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(field)?))
    }

    /// Reads an f32, which may be infinite or NaN.
    pub fn f32(&mut self, field: &str) -> Result<f32> {
        Ok(f32::from_le_bytes(self.array(field)?))
    }

    /// Reads an f64, which may be infinite or NaN.
    pub fn f64(&mut self, field: &str) -> Result<f64> {
        Ok(f64::from_le_bytes(self.array(field)?))
    }

    /// Reads `count` values of type u32.
    pub fn u32s(&mut self, field: &str, count: usize) -> Result<Vec<u32>> {
        let bytes = self.take(field, count.saturating_mul(4))?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|&four| u32::from_le_bytes(four)).collect())
    }

    /// Reads `count` values of type f32. Fails unless all are numbers of at most [`LARGEST`] in absolute value.
    pub fn f32s(&mut self, field: &str, count: usize) -> Result<Vec<f32>> {
        let start = self.clone();
        let values: Vec<_> = self.u32s(field, count)?.into_iter().map(f32::from_bits).collect();
        match values.iter().position(|value| value.is_nan() || value.abs() > LARGEST) {
            Some(at) => Err(start.wrong(field, &format!("value {at} is {:e}", values[at]))),
            None => Ok(values),
        }
    }

    /// Reads a u32. Fails unless the value is one of `allowed`.
    pub fn expect_u32(&mut self, field: &str, allowed: &[u32]) -> Result<u32> {
        let start = self.clone();
        let value = self.u32(field)?;
        if allowed.contains(&value) {
            return Ok(value);
        }
        Err(start.wrong(field, &format!("{value}, expected {allowed:?}")))
    }

    /// Reads a u64: the length of the array that follows in the file. Fails unless the value is `expected`.
    pub fn expect_u64(&mut self, field: &str, expected: u64) -> Result<()> {
        let start = self.clone();
        let value = self.u64(field)?;
        if value == expected {
            return Ok(());
        }
        Err(start.wrong(field, &format!("{value}, expected {expected}")))
    }

    /// Fails unless all bytes of the file have been read.
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
        assert_eq!(error, "a.bin: `size` at byte 4: needs 8 bytes, but only 4 are left");
        let error = fields.clone().expect_u32("n", &[1, 2]).unwrap_err().to_string();
        assert!(error.starts_with("a.bin: `n` at byte 4: ") && error.ends_with("expected [1, 2]"), "{error}");
        assert!(fields.end().is_err());
        assert!(fields.u32s("huge", usize::MAX).is_err());
        fields.take("rest", 4).unwrap();
        fields.end().unwrap();
    }
}
