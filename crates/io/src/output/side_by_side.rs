//! [`SideBySide`]: formats pieces of text on any number of threads, and writes the pieces in order.

use peloton::engine::Spread;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Formats pieces of text in parallel. The texts of all pieces of one call are in memory at once.
pub struct SideBySide {
    threads: Arc<dyn Spread>,
    // Only the thread that has piece i locks entry i, so no thread waits. The mutex proves this to the compiler.
    texts: Vec<Mutex<Text>>,
}

#[derive(Debug)]
struct Text {
    bytes: Vec<u8>,
    done: io::Result<()>,
}

impl fmt::Debug for SideBySide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SideBySide").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl SideBySide {
    /// Creates a formatter that uses these threads.
    pub fn new(threads: Arc<dyn Spread>) -> Self {
        Self { threads, texts: Vec::new() }
    }

    /// Calls `format` with the number of each piece and an empty text to fill, and writes the texts to `to` in order.
    ///
    /// # Errors
    /// The first error of `to` or `format`, in the order of the pieces. Pieces before the error are written.
    pub fn write(
        &mut self,
        pieces: usize,
        to: &mut dyn Write,
        format: &(dyn Fn(usize, &mut Vec<u8>) -> io::Result<()> + Sync),
    ) -> io::Result<()> {
        let text = || Mutex::new(Text { bytes: Vec::new(), done: Ok(()) });
        self.texts.resize_with(self.texts.len().max(pieces), text);
        self.threads.spread(pieces, &|number| {
            let text = &mut *self.texts[number].lock().unwrap_or_else(PoisonError::into_inner);
            text.bytes.clear();
            text.done = format(number, &mut text.bytes);
        });
        self.texts[..pieces].iter_mut().try_for_each(|text| {
            let text = text.get_mut().unwrap_or_else(PoisonError::into_inner);
            to.write_all(&text.bytes)?;
            std::mem::replace(&mut text.done, Ok(()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::engine::{CommonThreads, ThisThread};

    #[test]
    fn pieces_come_in_order_up_to_the_first_error() {
        for threads in [Arc::new(ThisThread) as Arc<dyn Spread>, Arc::new(CommonThreads)] {
            let mut texts = SideBySide::new(threads);
            for pieces in [0, 3, 100, 7] {
                let mut to = Vec::new();
                texts.write(pieces, &mut to, &|piece, text| write!(text, "{piece},")).unwrap();
                let expected: String = (0..pieces).map(|piece| format!("{piece},")).collect();
                assert_eq!(to, expected.as_bytes());
            }
            let mut to = Vec::new();
            let fail = |piece: usize, text: &mut Vec<u8>| match piece {
                5.. => Err(io::Error::other("no")),
                _ => write!(text, "{piece},"),
            };
            assert!(texts.write(9, &mut to, &fail).is_err());
            assert_eq!(to, b"0,1,2,3,4,");
        }
    }
}
