//! Messages about lost events and lost pixel hits: their number, the main reason, and the option to check. [`WAYS`]
//! lists all reasons why hits are lost.

use super::{count, grouped};
use peloton_io::input::MaxBad;
use peloton_io::input::timepix::PixelCounts;
use serde_json::{Map, Value};

/// Shares above this are worth a warning, per cent.
const WORTH_TELLING: u64 = 1;

/// Key of a summary's list of chips that have hits but are not in the layout.
pub const OUTSIDE_CHIPS: &str = "outside_chips";

/// A reason why hits are lost.
pub struct Way {
    /// Key of the reason among the counts of dropped hits.
    pub key: &'static str,
    /// Returns the number of hits that were lost for this reason while reading; none if the loss is after reading.
    pub of_input: Option<fn(&PixelCounts) -> u64>,
    /// Words of the message that follow the number of hits.
    words: &'static str,
    /// Option, or other cause, that the message refers to.
    look_at: &'static str,
    /// Whether the user requested this loss.
    is_wanted: bool,
    /// Whether the lost items were certainly hits: an unreadable word or line may be anything else.
    is_certain: bool,
}

const fn of_input(
    key: &'static str,
    count: fn(&PixelCounts) -> u64,
    words: &'static str,
    look_at: &'static str,
) -> Way {
    Way { key, of_input: Some(count), words, look_at, is_wanted: false, is_certain: true }
}

const fn unreadable(key: &'static str, count: fn(&PixelCounts) -> u64, words: &'static str) -> Way {
    Way { is_certain: false, ..of_input(key, count, words, "--format") }
}

const fn of_work(key: &'static str, words: &'static str, look_at: &'static str, is_wanted: bool) -> Way {
    Way { key, of_input: None, words, look_at, is_wanted, is_certain: true }
}

/// All reasons why hits are lost.
pub const WAYS: &[Way] = &[
    of_input(
        "outside_sensor",
        |counts| counts.outside,
        "lie on chips or pixels that the sensor does not have",
        "--layout",
    ),
    unreadable("malformed", |counts| counts.malformed, "contradict their format"),
    unreadable("unknown_words", |counts| counts.unknown, "are in words of unknown kinds"),
    unreadable("damaged_words", |counts| counts.damaged, "are in damaged chunks"),
    of_input(
        "implausible_times",
        |counts| counts.implausible,
        "have times that contradict their neighbours",
        "--disorder-us, --toa-bits",
    ),
    of_input(
        "lost_by_device",
        |counts| counts.lost_by_device,
        "were lost by the device, which counted them",
        "the rate of the device",
    ),
    // Ways to lose hits after reading.
    of_work(TOO_FAST, "came faster than they were clustered", "--when-full", false),
    of_work("late_hits", "came too late to be sorted by time", "--disorder-us", false),
    of_work("lost_hits", "were lost by a fault of this program", "internal_fault among the counts", false),
    of_work("masked_hits", "lie on masked pixels", "--mask-hot", true),
    of_work("filtered_hits", "are in clusters that the filter removed", "--filter", true),
];

/// Key of hits that arrived faster than they were processed.
pub const TOO_FAST: &str = "input_too_fast";

impl Way {
    /// Whether hits are lost in this way before the clustering begins.
    fn is_before_work(&self) -> bool {
        self.of_input.is_some() || self.key == TOO_FAST
    }
}

/// Counts of the hits of a stream.
pub struct HitFlow<'a> {
    /// Number of input hits.
    pub read: u64,
    /// Number of hits in the results.
    pub left: u64,
    /// Returns the number of hits dropped for the reason with this key.
    pub dropped: &'a dyn Fn(&str) -> u64,
    /// Chips that have hits but are not in the layout.
    pub chips: Vec<u64>,
}

/// Messages about the lost hits of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// A line with the number of lost hits and the main reason.
    pub warning: Option<String>,
    /// The reason why the job failed, if it failed.
    pub failure: Option<String>,
}

impl HitFlow<'_> {
    /// Decides whether lost hits cause a warning or a failure. Losses above 1 % of hits, or on chips outside of the
    /// layout, cause a warning. The job fails if no hit is left, or if more hits are lost than `max_bad` allows (hits
    /// that masks and filters removed do not count); it never fails if `max_bad` allows all losses.
    pub fn judge(&self, max_bad: Option<MaxBad>) -> Verdict {
        let lost_in = |way: &Way| (self.dropped)(way.key);
        let sum = |is_it: &dyn Fn(&Way) -> bool| {
            WAYS.iter().filter(|way| is_it(way)).map(lost_in).fold(0, u64::saturating_add)
        };
        let certain = self.read.saturating_add(sum(&|way| way.is_before_work() && way.is_certain));
        if certain == 0 {
            // The reader reports an input of another format.
            return Verdict::default();
        }
        let all = self.read.saturating_add(sum(&Way::is_before_work));
        let (lost, unwanted) = (sum(&|_| true), sum(&|way| !way.is_wanted));
        let largest = WAYS.iter().filter(|way| lost_in(way) > 0).max_by_key(|way| lost_in(way));
        let Some(largest) = largest else { return Verdict::default() };
        let is_much = lost.saturating_mul(100) > all.saturating_mul(WORTH_TELLING) || !self.chips.is_empty();
        let told = |head: String| format!("{head}{}: see {}", self.words(largest), largest.look_at);
        let share =
            format!("{} of {} ({:.1} %)", grouped(lost), count(all as usize, "hit"), percent(lost, all));
        let warning = match lost_in(largest) {
            most if most < lost => told(format!("{share} are lost; the most, {}, ", grouped(most))),
            _ => told(format!("{share} ")),
        };
        if self.left == 0 && !max_bad.is_some_and(MaxBad::allows_all) {
            let failure = format!("no hit is left in the results: {warning}");
            return Verdict { warning: None, failure: Some(failure) };
        }
        let failure = max_bad.filter(|max| !max.allows(unwanted, all)).map(|max| {
            format!(
                "{} of {} are lost, more than --max-bad {max}",
                grouped(unwanted),
                count(all as usize, "hit")
            )
        });
        Verdict { warning: (is_much || failure.is_some()).then_some(warning), failure }
    }

    /// Returns the words for hits that were lost in this way.
    fn words(&self, way: &Way) -> String {
        if way.key == "outside_sensor" && !self.chips.is_empty() {
            let plural = if self.chips.len() == 1 { "" } else { "s" };
            return format!("lie on chip{plural} {}, which the layout does not have", ranges(&self.chips));
        }
        way.words.into()
    }
}

fn percent(part: u64, all: u64) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

/// Formats numbers in rising order; consecutive numbers become one range.
fn ranges(numbers: &[u64]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let run = |run: &[u64]| match run {
        [one] => one.to_string(),
        [first, last] => format!("{first}, {last}"),
        run => format!("{} to {}", run[0], run[run.len() - 1]),
    };
    runs.map(run).collect::<Vec<_>>().join(", ")
}

/// Returns the chips in a summary that have hits but are not in the layout.
pub fn outside_chips(facts: &Map<String, Value>) -> Vec<u64> {
    let chips = facts.get(OUTSIDE_CHIPS).and_then(Value::as_array);
    chips.into_iter().flatten().filter_map(Value::as_u64).collect()
}

/// Returns why a job fails if `bad` of `events` events could not be reconstructed; none if it does not fail.
pub fn bad_events_failure(bad: u64, events: u64, max_bad: Option<MaxBad>) -> Option<String> {
    match max_bad {
        Some(max) if max.allows_all() => None,
        _ if bad > 0 && bad == events => Some("no event could be reconstructed".into()),
        Some(max) if !max.allows(bad, events) => {
            let events = count(events as usize, "event");
            Some(format!("{bad} of {events} could not be reconstructed, more than --max-bad {max}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(read: u64, left: u64, dropped: &[(&str, u64)], chips: &[u64], max: &str) -> Verdict {
        let of = |key: &str| dropped.iter().find(|(name, _)| *name == key).map_or(0, |(_, count)| *count);
        HitFlow { read, left, dropped: &of, chips: chips.into() }.judge(max.parse().ok())
    }

    #[test]
    fn more_than_a_percent_is_told_with_the_largest_loss() {
        assert_eq!(judge(1000, 990, &[("late_hits", 10)], &[], ""), Verdict::default());
        let late = judge(1000, 989, &[("late_hits", 11)], &[], "");
        assert_eq!(
            late.warning.as_deref(),
            Some("11 of 1,000 hits (1.1 %) came too late to be sorted by time: see --disorder-us")
        );
        assert_eq!(late.failure, None);
        let both = judge(900, 700, &[("late_hits", 200), ("outside_sensor", 100)], &[], "");
        let words = "300 of 1,000 hits (30.0 %) are lost; the most, 200, came too late";
        assert!(both.warning.as_ref().unwrap().starts_with(words), "{both:?}");
        // Few hits are lost, but all hits of some chips.
        let chips = judge(9999, 9999, &[("outside_sensor", 1)], &[4, 5, 6, 9], "").warning.unwrap();
        assert!(
            chips.contains("lie on chips 4 to 6, 9, which the layout does not have: see --layout"),
            "{chips}"
        );
    }

    #[test]
    fn limits_are_for_what_nobody_asked_for() {
        let lost = [("late_hits", 20), ("filtered_hits", 500)];
        assert_eq!(judge(1000, 480, &lost, &[], "2%").failure, None);
        let failure = judge(1000, 480, &lost, &[], "19").failure.unwrap();
        assert_eq!(failure, "20 of 1,000 hits are lost, more than --max-bad 19");
    }

    #[test]
    fn nothing_left_is_a_failure_unless_everything_may_be_lost() {
        let all = [("filtered_hits", 50)];
        for max in ["", "50", "99%"] {
            let Verdict { warning, failure } = judge(50, 0, &all, &[], max);
            assert!(warning.is_none() && failure.as_ref().unwrap().contains("see --filter"), "{failure:?}");
        }
        let allowed = judge(50, 0, &all, &[], "100%");
        assert!(allowed.failure.is_none() && allowed.warning.is_some());
        for none in [&[][..], &[("unknown_words", 7)]] {
            assert_eq!(judge(0, 0, none, &[], ""), Verdict::default());
        }
    }
}
