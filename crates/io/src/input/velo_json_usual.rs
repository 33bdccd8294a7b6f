//! Reads the usual form of a Velo JSON event in one pass. In this form, each key is known and occurs once, numbers have
//! no exponent, and the only white space is one space after a comma or colon. The general parser reads other forms.
//!
//! Both parsers give the same values. This parser skips the truth, but checks it as the general parser does.

use super::digits::{WORD, bytes_equal, number_of, others, values};
use super::velo_json_columns::Columns;

/// Powers of 1/10.
const PARTS: [f64; WORD] = [1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7];
/// Largest length of a number that is read, bytes: shorter numbers cannot be too large.
const MAX_NUMBER: usize = 18;

/// State before a byte in lists of numbers.
#[derive(Clone, Copy)]
enum State {
    /// A byte that cannot be in a list of numbers.
    Wrong,
    /// A number of which only the 0 was read: a point may follow, but no digit.
    Zero,
    Whole,
    Point,
    Fraction,
    Minus,
    Comma,
    Open,
    Close,
}

/// Number of bits of a state.
const STATE_BITS: u64 = 6;

/// For each byte, the next states: the bits at the position of the old state are the position of the new one. So a step
/// is one shift.
const NEXT: [u64; 256] = {
    use State::*;
    let mut table = [0; 256];
    let states = [Wrong, Zero, Whole, Point, Fraction, Minus, Comma, Open, Close];
    let mut byte = 0;
    while byte < table.len() {
        let mut at = 0;
        while at < states.len() {
            let next = match (states[at], byte as u8) {
                (Minus | Comma | Open, b'0') => Zero,
                (Minus | Comma | Open | Whole, b'0'..=b'9') => Whole,
                (Zero | Whole, b'.') => Point,
                (Point | Fraction, b'0'..=b'9') => Fraction,
                (Comma | Open, b'-') => Minus,
                (Comma | Open, b'[') => Open,
                (Zero | Whole | Fraction | Close, b',') => Comma,
                (Zero | Whole | Fraction | Close | Open, b']') => Close,
                (Comma, b' ') => Comma,
                _ => Wrong,
            };
            table[byte] |= (next as u64 * STATE_BITS) << (at as u64 * STATE_BITS);
            at += 1;
        }
        byte += 1;
    }
    table
};

/// The hits of an event in the usual form; none for any other text.
pub(super) fn usual_event(text: &[u8]) -> Option<Columns> {
    let mut text = Text { bytes: text, at: 0 };
    let mut columns = Columns::default();
    let mut has_truth = false;
    // Estimated number of values: half of the text may be truth.
    let room = text.bytes.len() / 16;
    text.take(b'{')?;
    loop {
        let key = text.string()?;
        text.take(b':')?;
        text.pass_space();
        match key {
            b"x" => text.new_floats(&mut columns.x, room)?,
            b"y" => text.new_floats(&mut columns.y, room)?,
            b"z" => text.new_floats(&mut columns.z, room)?,
            b"module_prefix_sum" => text.new_integers(&mut columns.sums)?,
            b"description" => drop(text.string()?),
            b"montecarlo" if !std::mem::replace(&mut has_truth, true) => text.truth()?,
            _ => return None,
        }
        if !text.goes_on(b'}')? {
            break;
        }
    }
    let is_whole = text.at == text.bytes.len();
    is_whole.then_some(columns)
}

struct Text<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Text<'a> {
    fn next(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    #[inline(always)]
    fn pass_space(&mut self) {
        if self.next() == Some(b' ') {
            self.pass();
        }
    }

    // A separate function, so that the byte after a comma is processed without waiting for the check for a space.
    #[inline(never)]
    fn pass(&mut self) {
        self.at += 1;
    }

    /// Takes a comma, after which a list continues (true), or its end (false).
    #[inline(always)]
    fn goes_on(&mut self, end: u8) -> Option<bool> {
        let byte = self.next()?;
        self.at += 1;
        match byte {
            b',' => self.pass_space(),
            _ if byte == end => return Some(false),
            _ => return None,
        }
        Some(true)
    }

    /// Takes plain characters between quotation marks.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let rest = &self.bytes[self.at..];
        let end =
            rest.iter().position(|byte| !matches!(byte, b' '..=b'~') || matches!(byte, b'"' | b'\\'))?;
        self.at += end;
        self.take(b'"')?;
        Some(&rest[..end])
    }

    /// Takes a list; `entry` takes each entry.
    #[inline(always)]
    fn list(&mut self, mut entry: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        if self.next()? == b']' {
            return self.take(b']');
        }
        loop {
            entry(self)?;
            if !self.goes_on(b']')? {
                return Some(());
            }
        }
    }

    /// Takes a column of numbers, which must not have occurred before.
    fn new_floats(&mut self, column: &mut Option<Vec<f32>>, room: usize) -> Option<()> {
        if column.is_some() {
            return None;
        }
        let values = column.insert(Vec::with_capacity(room));
        self.list(|text| {
            values.push(match text.short() {
                Some(short) => short.value(),
                None => std::str::from_utf8(text.number()?).ok()?.parse().ok()?,
            });
            Some(())
        })
    }

    /// Takes a column of whole numbers, which must not have occurred before.
    fn new_integers(&mut self, column: &mut Option<Vec<i64>>) -> Option<()> {
        if column.is_some() {
            return None;
        }
        let values = column.insert(Vec::new());
        self.list(|text| {
            values.push(std::str::from_utf8(text.number()?).ok()?.parse().ok()?);
            Some(())
        })
    }

    /// Skips the truth.
    fn truth(&mut self) -> Option<()> {
        let mut has = [false; 2];
        self.take(b'{')?;
        loop {
            let key = self.string()?;
            self.take(b':')?;
            self.pass_space();
            let at = usize::from(key == b"particles");
            if std::mem::replace(&mut has[at], true) {
                return None;
            }
            match key {
                b"description" => self.list(|text| text.string().map(drop))?,
                b"particles" => self.numbers()?,
                _ => return None,
            }
            if !self.goes_on(b'}')? {
                return Some(());
            }
        }
    }

    /// Skips nested lists of numbers.
    fn numbers(&mut self) -> Option<()> {
        let (mut state, mut depth) = (State::Comma as u64 * STATE_BITS, 0u32);
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| {
            state = NEXT[usize::from(*byte)] >> (state % 64);
            depth = depth.wrapping_add(u32::from(*byte == b'[')).wrapping_sub(u32::from(*byte == b']'));
            depth == 0
        })?;
        self.at += end + 1;
        // Without a list around it, a number is refused.
        (end > 0 && state % (1 << STATE_BITS) == State::Close as u64 * STATE_BITS).then_some(())
    }

    /// Takes a number that ends in the next eight bytes.
    #[inline(always)]
    fn short(&mut self) -> Option<Short> {
        let short = Short::at_beginning(self.bytes.get(self.at..)?.first_chunk()?)?;
        self.at += short.length;
        Some(short)
    }

    /// Takes any other number: digits without a leading 0, and optionally a point and more digits.
    #[inline(never)]
    fn number(&mut self) -> Option<&'a [u8]> {
        let begin = self.at;
        self.at += usize::from(self.next() == Some(b'-'));
        let whole = self.at;
        let digits = self.digits()?;
        if digits > 1 && self.bytes[whole] == b'0' {
            return None;
        }
        if self.next() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        let number = &self.bytes[begin..self.at];
        (number.len() <= MAX_NUMBER).then_some(number)
    }

    /// Takes one digit or more.
    fn digits(&mut self) -> Option<usize> {
        let rest = &self.bytes[self.at..];
        let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.at += count;
        (count > 0).then_some(count)
    }
}

/// A number that ends within a word.
struct Short {
    /// The values of the digits, first digit in the lowest byte; a sign is a 0, too.
    digits: u64,
    is_negative: bool,
    /// Number of bytes before the point.
    whole: usize,
    has_point: bool,
    /// Number of bytes of the number.
    length: usize,
}

impl Short {
    /// Reads a number. None if the text begins otherwise, or the number is longer than the word.
    #[inline(always)]
    fn at_beginning(text: &[u8; 2 * WORD]) -> Option<Self> {
        let is_negative = text[0] == b'-';
        let sign = if is_negative { 0xFF } else { 0 };
        let word = u64::from_le_bytes(*text.first_chunk().expect("the text has 16 bytes"));
        let digits = values(word) & !sign;
        let (others, points) = (others(digits), bytes_equal(digits, b'.' ^ b'0'));
        let ends = others & !points;
        // The next number depends only on this length.
        let length = ends.trailing_zeros() as usize / 8;
        let whole = others.trailing_zeros() as usize / 8;
        let second = (others & others.wrapping_sub(1)).trailing_zeros() as usize / 8;
        let (has_point, first) = (whole < length, usize::from(is_negative));
        // Each of these cases is rare, so one branch checks all of them together.
        let lacks_digits = (whole == first) | (has_point & (length == whole + 1));
        let has_points = has_point & (second != length);
        let has_zeros = (whole > first + 1) & (text[first] == b'0');
        let goes_on = (whole == WORD) | text[length].is_ascii_digit() | (text[length] == b'.');
        if lacks_digits | has_points | has_zeros | goes_on {
            return None;
        }
        Some(Self { digits, is_negative, whole, has_point, length })
    }

    #[inline(always)]
    fn value(&self) -> f32 {
        let before = self.digits & !(u64::MAX << (8 * self.whole));
        let behind = self.digits >> 8 >> (8 * self.whole) << (8 * self.whole);
        let count = self.length - usize::from(self.has_point);
        // The error of the product is less than the distance of any such number to the middle between two single-precision
        // numbers, so that both are rounded alike. The distance is at least one part in 10^7 * 2^25, or the number is exact.
        let value =
            (f64::from(number_of(before | behind, count)) * PARTS[(count - self.whole) % WORD]) as f32;
        f32::from_bits(value.to_bits() | u32::from(self.is_negative) << 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_rounded_as_quotients() {
        for digits in 0..10_000_000u32 {
            for (power, part) in (0..).zip(PARTS) {
                let quotient = digits as f32 / 10f32.powi(power);
                assert_eq!((f64::from(digits) * part) as f32, quotient, "{digits} / 10^{power}");
            }
        }
    }
}
