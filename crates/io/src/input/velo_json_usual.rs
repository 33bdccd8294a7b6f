//! Reads the usual form of a Velo JSON event in one pass: known keys, each once, decimal numbers without exponent, no
//! white space but one space behind a comma or a colon. All other forms are left to the general parser, which also
//! reports faults.
//!
//! The values are the same as from the general parser. Truth is skipped, with the same checks as there.

use super::digits::{WORD, bytes_equal, number_of, others, values};
use super::velo_json::Columns;

/// Powers of a tenth.
const PARTS: [f64; WORD] = [1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7];
/// Longest number that is read: no number of as many digits is too large.
const MAX_NUMBER: usize = 18;

/// What stands before a byte in lists of numbers.
#[derive(Clone, Copy)]
enum State {
    /// Something that no list of numbers has.
    Wrong,
    /// A number that began with 0 and may have a point, but no other digit.
    Zero,
    Whole,
    Point,
    Fraction,
    Minus,
    Comma,
    Open,
    Close,
}

/// Bits that hold a state.
const STATE_BITS: u64 = 6;

/// For each byte, the states behind it: at the place of the state before it, the place of the next one. So one shift is a step.
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
    // A number and what is beside it: of the text, half may be truth.
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

    // A function of its own, so that what comes behind a comma does not wait until it is known whether that is a space.
    #[inline(never)]
    fn pass(&mut self) {
        self.at += 1;
    }

    /// Takes a comma, behind which a list goes on, or its end.
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

    /// Plain characters between quotation marks.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let rest = &self.bytes[self.at..];
        let end =
            rest.iter().position(|byte| !matches!(byte, b' '..=b'~') || matches!(byte, b'"' | b'\\'))?;
        self.at += end;
        self.take(b'"')?;
        Some(&rest[..end])
    }

    /// A list whose entries are taken by `entry`.
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

    /// A column of numbers that did not come before.
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

    /// A column of whole numbers that did not come before.
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

    /// Passes over the truth.
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

    /// Passes over lists of numbers in each other.
    fn numbers(&mut self) -> Option<()> {
        let (mut state, mut depth) = (State::Comma as u64 * STATE_BITS, 0u32);
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| {
            state = NEXT[usize::from(*byte)] >> (state % 64);
            depth = depth.wrapping_add(u32::from(*byte == b'[')).wrapping_sub(u32::from(*byte == b']'));
            depth == 0
        })?;
        self.at += end + 1;
        // Without a list around it, a number ends where it begins.
        (end > 0 && state % (1 << STATE_BITS) == State::Close as u64 * STATE_BITS).then_some(())
    }

    /// Takes a number that ends in the next eight bytes.
    #[inline(always)]
    fn short(&mut self) -> Option<Short> {
        let short = Short::at_beginning(self.bytes.get(self.at..)?.first_chunk()?)?;
        self.at += short.length;
        Some(short)
    }

    /// Any other number: digits without a 0 before others, and perhaps a point and more digits.
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

    /// One digit or more.
    fn digits(&mut self) -> Option<usize> {
        let rest = &self.bytes[self.at..];
        let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.at += count;
        (count > 0).then_some(count)
    }
}

/// A number that ends in a word.
struct Short {
    /// The word, in which 0 to 9 are digits, the first one lowest, and a sign is a 0, too.
    digits: u64,
    is_negative: bool,
    /// Bytes before the point.
    whole: usize,
    has_point: bool,
    /// Bytes of the number.
    length: usize,
}

impl Short {
    /// Reads a number. None where the text begins otherwise, or the number is longer than the word.
    #[inline(always)]
    fn at_beginning(text: &[u8; 2 * WORD]) -> Option<Self> {
        let is_negative = text[0] == b'-';
        let sign = if is_negative { 0xFF } else { 0 };
        let word = u64::from_le_bytes(*text.first_chunk().expect("it is half of the text"));
        let digits = values(word) & !sign;
        let (others, points) = (others(digits), bytes_equal(digits, b'.' ^ b'0'));
        let ends = others & !points;
        // What the next number waits for is this alone.
        let length = ends.trailing_zeros() as usize / 8;
        let whole = others.trailing_zeros() as usize / 8;
        let second = (others & others.wrapping_sub(1)).trailing_zeros() as usize / 8;
        let (has_point, first) = (whole < length, usize::from(is_negative));
        // Each of these is rare, and only all of them together are worth a branch.
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
        // The product is off by less than what parts any such number from one half-way between two of single precision, so that it
        // is rounded as the number itself: to that, the distance is one part in 10^7 * 2^25 at least, or the number is exact.
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
