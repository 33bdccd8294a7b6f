//! [`EventChoice`]: the choice of events to draw.

use crate::EventRange;
use peloton::{Error, Result};
use std::str::FromStr;

/// The events to draw: event `K`, or the events `A..B` from A to B - 1, counted from 0 over all inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventChoice {
    /// Number of the first event.
    pub first: usize,
    /// Number of events.
    pub count: usize,
}

impl EventChoice {
    /// Returns the number of the event, if only one event is chosen.
    ///
    /// # Errors
    /// Returns [`Error::Config`] with the reason `why` when several events are chosen.
    pub fn single(self, why: &str) -> Result<u64> {
        match self.count {
            1 => Ok(self.first as u64),
            count => Err(Error::Config(format!("--event: {why}, not {count}"))),
        }
    }

    /// Returns the events as a range.
    pub fn range(self) -> EventRange {
        EventRange { first: self.first, count: Some(self.count) }
    }
}

impl FromStr for EventChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::Config(format!("`{text}` is neither a number, such as 3, nor a range A..B, such as 0..10"))
        };
        let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        let Some((first, end)) = text.split_once("..") else {
            return Ok(Self { first: number(text)?, count: 1 });
        };
        let (first, end) = (number(first)?, number(end)?);
        match end.checked_sub(first).filter(|count| *count > 0) {
            Some(count) => Ok(Self { first, count }),
            None => Err(Error::Config(format!("`{text}` has no event in it: B must be more than A"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges() {
        let choice = |text: &str| text.parse::<EventChoice>();
        assert_eq!(choice("7").unwrap(), EventChoice { first: 7, count: 1 });
        assert_eq!(choice("2..5").unwrap(), EventChoice { first: 2, count: 3 });
        for wrong in ["", "-1", "3..3", "5..2", "a..b", "1..", "..4", "1...4"] {
            assert!(choice(wrong).is_err(), "{wrong}");
        }
        assert!(choice("2..5").unwrap().single("one").is_err());
    }
}
