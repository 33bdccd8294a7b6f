//! [`MaxBad`]: the largest number or share of lost events with which a job still succeeds.

use peloton::{Error, Result};
use std::{fmt, str::FromStr};

/// The largest number or share of events, or pixel hits, that a job may lose and still succeed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MaxBad {
    /// A number of events or hits.
    Count(u64),
    /// A share of all events or hits, 0 to 100 %.
    Percent(f64),
}

impl MaxBad {
    /// Whether a job that lost `bad` of `all` events or hits succeeds.
    pub fn allows(self, bad: u64, all: u64) -> bool {
        match self {
            Self::Count(most) => bad <= most,
            Self::Percent(percent) => 100.0 * bad as f64 <= percent * all as f64,
        }
    }

    /// Whether a job succeeds even if it lost all events or hits.
    pub fn allows_all(self) -> bool {
        self == Self::Percent(100.0)
    }
}

impl FromStr for MaxBad {
    type Err = Error;

    /// Reads `20` or `1%`.
    ///
    /// # Errors
    /// [`Error::Config`] for text that is neither a whole number nor a share from 0 to 100 %.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = |words: &str| Error::Config(format!("`{text}` is not {words}"));
        match text.strip_suffix('%') {
            Some(percent) => {
                let percent =
                    percent.trim_end().parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
                percent.map(Self::Percent).ok_or_else(|| wrong("a share from 0% to 100%"))
            }
            None => {
                let count = text.parse().map(Self::Count);
                count.map_err(|_| wrong("a whole number from 0 or a share such as 1%"))
            }
        }
    }
}

impl fmt::Display for MaxBad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_share_and_a_number_a_count() {
        let read = |text: &str| text.parse::<MaxBad>();
        for (text, all, most) in
            [("3", 10, 3), ("0", 10, 0), ("1%", 200, 2), ("29%", 100, 29), ("0.5 %", 1000, 5)]
        {
            let max = read(text).unwrap();
            assert!(max.allows(most, all) && !max.allows(most + 1, all), "{text}");
            assert_eq!(read(&max.to_string()).unwrap(), max);
        }
        let all = read("100%").unwrap();
        assert!(all.allows(7, 7) && all.allows_all() && !read("99.9%").unwrap().allows_all());
        assert!(!read("100").unwrap().allows_all());
        for wrong in ["", "-1", "1.5", "nan", "few", "%", "-1%", "nan%", "100.1%", "inf%", "1%%"] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("`{wrong}` is not a ")), "{error}");
        }
    }
}
