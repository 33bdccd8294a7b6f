//! Finds the columns of hits in files that name their columns, and checks their types and the units of times.

use peloton::Error;
use std::{fmt, str::FromStr};

/// Unit of a column of times, as a fraction: `ticks / of` ticks of 1.5625 ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeUnit {
    ticks: i64,
    of: i64,
}

impl TimeUnit {
    /// A tick of 1.5625 ns, the unit of hits' times in memory.
    pub const TICK: Self = Self { ticks: 1, of: 1 };

    /// All units with their names; `clocks` are the coarse clocks of 25 ns.
    pub const NAMES: [(&'static str, TimeUnit); 7] = [
        ("ticks", Self::TICK),
        ("clocks", Self { ticks: 16, of: 1 }),
        ("ps", Self { ticks: 2, of: 3125 }),
        ("ns", Self { ticks: 16, of: 25 }),
        ("us", Self { ticks: 640, of: 1 }),
        ("ms", Self { ticks: 640_000, of: 1 }),
        ("s", Self { ticks: 640_000_000, of: 1 }),
    ];

    /// The unit with this name in files; none for an unknown name.
    pub(super) fn of_file(text: &str) -> Option<Self> {
        match text.trim() {
            "1.5625 ns" => Some(Self::TICK),
            "25 ns" => "clocks".parse().ok(),
            text => text.parse().ok(),
        }
    }

    /// A unit that is `count` times this unit; none if that is impossible.
    pub(super) fn times(self, count: i64) -> Option<Self> {
        let ticks = self.ticks.checked_mul(count).filter(|ticks| (1..1 << 40).contains(ticks))?;
        Some(Self { ticks, of: self.of })
    }

    /// Converts a time to the nearest tick; none when it is too large.
    #[inline]
    pub(super) fn ticks(self, value: i64) -> Option<i64> {
        let Self { ticks, of } = self;
        if of == 1 {
            return value.checked_mul(ticks);
        }
        // The number of parts is odd, so a nearest tick always exists.
        if let Some(twice) = value.checked_mul(2 * ticks).and_then(|twice| twice.checked_add(of)) {
            return Some(twice.div_euclid(2 * of));
        }
        let twice = i128::from(value) * i128::from(2 * ticks) + i128::from(of);
        i64::try_from(twice.div_euclid(i128::from(2 * of))).ok()
    }

    /// Converts a time with a fraction to the nearest tick; none for NaN or when it is too large.
    #[inline]
    pub(super) fn ticks_of_float(self, value: f64) -> Option<i64> {
        let ticks = (value * self.ticks as f64 / self.of as f64).round();
        (ticks.abs() < (1u64 << 62) as f64).then_some(ticks as i64)
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::NAMES.iter().find(|(_, unit)| unit == self) {
            Some((name, _)) => f.pad(name),
            None => write!(f, "{}/{} ticks", self.ticks, self.of),
        }
    }
}

impl FromStr for TimeUnit {
    type Err = Error;

    /// # Errors
    /// [`Error::Config`] that lists the units.
    fn from_str(text: &str) -> peloton::Result<Self> {
        Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, unit)| *unit).ok_or_else(|| {
            let names = Self::NAMES.map(|(name, _)| name).join(", ");
            Error::Config(format!(
                "unknown unit `{text}` of times: choose one of {names} (a tick is 1.5625 ns)"
            ))
        })
    }
}

/// Type of the values of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Values {
    Whole,
    Floats,
    /// Whole numbers whose type gives this unit.
    Durations(TimeUnit),
    /// Another type, as named in messages.
    Other(String),
}

/// A column as its file describes it.
#[derive(Debug, Clone)]
pub(super) struct HitColumn {
    pub name: String,
    pub values: Values,
    /// The unit that the file's metadata give for the column, if any.
    pub unit: Option<String>,
}

/// The columns of a hit's values, by their indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Roles {
    pub time: usize,
    pub unit: TimeUnit,
    pub x: usize,
    pub y: usize,
    pub tot: usize,
    pub chip: Option<usize>,
    /// Whether the file does not give the unit of times, so that `unit` is an assumption.
    pub is_assumed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Time,
    X,
    Y,
    Tot,
    Chip,
}

/// Largest number of columns that a message names; `LETTERS` is the largest number of letters of each.
const NAMED: usize = 8;
const LETTERS: usize = 40;
/// The columns that a file of hits may have, for messages.
const COLUMNS: &str =
    "columns of hits are x, y, tot, chip and a time (t, time or toa), which may have a unit, as in t_ns";

impl Roles {
    /// Finds the columns of hits. `unit` is the unit of times for which the file gives none. If `unit` is none, whole
    /// numbers in a column t or time have the unit `usual`.
    ///
    /// # Errors
    /// A message that names a missing or unusable column.
    pub fn find(
        columns: &[HitColumn],
        unit: Option<TimeUnit>,
        usual: Option<TimeUnit>,
    ) -> Result<Self, String> {
        let mut places = [None; 5];
        let mut unknown = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            match role(&column.name) {
                // The index of a table, which pandas writes as a column: numbers of rows.
                _ if column.name.starts_with("__index_level_") => {}
                None => unknown.push(column.name.as_str()),
                Some((role, _)) => {
                    if let Some(other) = places[role as usize].replace(place) {
                        let [one, two] = [other, place].map(|place: usize| &columns[place].name);
                        return Err(format!("the columns `{one}` and `{two}` have the same meaning"));
                    }
                }
            }
        }
        if !unknown.is_empty() {
            return Err(format!("unknown columns: {} ({COLUMNS})", listed(&unknown)));
        }
        let place = |role: Role, name: &str| {
            places[role as usize].ok_or_else(|| format!("there is no column {name} ({COLUMNS})"))
        };
        let time = place(Role::Time, "of times")?;
        let (x, y, tot) = (place(Role::X, "x")?, place(Role::Y, "y")?, place(Role::Tot, "tot")?);
        let chip = places[Role::Chip as usize];
        for column in [x, y, tot].into_iter().chain(chip).map(|place| &columns[place]) {
            if column.values != Values::Whole {
                let HitColumn { name, values, .. } = column;
                return Err(format!("the column `{name}` holds {values}: whole numbers are required"));
            }
        }
        if let Some(other) =
            columns[tot].unit.as_deref().filter(|unit| !["25 ns", "clocks", "1"].contains(unit))
        {
            return Err(format!(
                "the column `{}` has the unit {other}: clocks of 25 ns are required",
                columns[tot].name
            ));
        }
        let (unit, is_assumed) = match own_unit(&columns[time])? {
            Some(own) if unit.is_none() => (own, false),
            Some(own) => {
                let name = &columns[time].name;
                return Err(format!(
                    "--time-unit is for times without a unit, but the column `{name}` has the unit {own}"
                ));
            }
            None => unit_of_others(&columns[time], unit, usual)?,
        };
        Ok(Self { time, unit, x, y, tot, chip, is_assumed })
    }

    /// A message if the unit of times is an assumption.
    pub fn doubt(&self, columns: &[HitColumn]) -> Option<String> {
        let name = &columns[self.time].name;
        self.is_assumed.then(|| {
            format!(
                "the column `{name}` has no unit and is taken as ticks of 1.5625 ns (--time-unit sets the unit)"
            )
        })
    }
}

/// Lists names for a message.
pub(super) fn listed(names: &[&str]) -> String {
    let quoted = |name: &&str| format!("`{}`", name.chars().take(LETTERS).collect::<String>().escape_debug());
    let all: Vec<_> = names.iter().take(NAMED).map(quoted).collect();
    match names.len().saturating_sub(NAMED) {
        0 => all.join(", "),
        more => format!("{} and {more} more", all.join(", ")),
    }
}

/// The role of a column by its name, and the unit in the name.
fn role(name: &str) -> Option<(Role, Option<TimeUnit>)> {
    let name = name.to_ascii_lowercase();
    let role = match name.as_str() {
        "x" => Role::X,
        "y" => Role::Y,
        "tot" => Role::Tot,
        "chip" => Role::Chip,
        name => {
            let (stem, unit) = name.split_once('_').map_or((name, None), |(stem, unit)| (stem, Some(unit)));
            let unit = unit.map(|unit| unit.parse().ok());
            return match unit {
                _ if !["t", "time", "toa"].contains(&stem) => None,
                None => Some((Role::Time, None)),
                Some(unit) => unit.map(|unit| (Role::Time, Some(unit))),
            };
        }
    };
    Some((role, None))
}

/// The unit of a column of times by its type, its description in the file, or its name.
fn own_unit(column: &HitColumn) -> Result<Option<TimeUnit>, String> {
    let HitColumn { name, values, unit } = column;
    let of_type = match values {
        Values::Durations(unit) => Some(*unit),
        Values::Whole | Values::Floats => None,
        Values::Other(_) => {
            return Err(format!("the column `{name}` holds {values}: numbers or durations are required"));
        }
    };
    let described = match unit {
        Some(text) => {
            let unit = TimeUnit::of_file(text);
            Some(unit.ok_or_else(|| {
                format!("the column `{name}` has the unit `{text}`, which is not understood")
            })?)
        }
        None => None,
    };
    let named = role(name).and_then(|(_, unit)| unit);
    let mut units = [of_type, described, named].into_iter().flatten();
    let first = units.next();
    match (first, units.find(|other| Some(*other) != first)) {
        (Some(one), Some(other)) => Err(format!("the column `{name}` has two units, {one} and {other}")),
        _ => Ok(first),
    }
}

/// The unit of a column of times without its own unit, and whether it is an assumption.
fn unit_of_others(
    column: &HitColumn,
    unit: Option<TimeUnit>,
    usual: Option<TimeUnit>,
) -> Result<(TimeUnit, bool), String> {
    let name = &column.name;
    let may_be_usual = column.values == Values::Whole && !name.eq_ignore_ascii_case("toa");
    match (unit, usual) {
        (Some(unit), _) => Ok((unit, false)),
        (None, Some(usual)) if may_be_usual => Ok((usual, true)),
        _ => Err(format!(
            "the column `{name}` has no unit: set it with --time-unit, such as ns, or ticks of 1.5625 ns"
        )),
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("whole numbers"),
            Self::Floats => f.write_str("numbers with a fraction"),
            Self::Durations(unit) => write!(f, "durations in {unit}"),
            Self::Other(kind) => f.write_str(kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(name: &str) -> TimeUnit {
        name.parse().unwrap()
    }

    fn columns(time: &str, values: Values, said: Option<&str>) -> Vec<HitColumn> {
        let column = |name: &str, values, unit: Option<&str>| HitColumn {
            name: name.into(),
            values,
            unit: unit.map(String::from),
        };
        let whole = |name| column(name, Values::Whole, None);
        vec![whole("X"), column(time, values, said), whole("y"), whole("ToT")]
    }

    #[test]
    fn times_are_the_nearest_ticks() {
        assert_eq!([0, 1, 2, -1, -2].map(|ns| unit("ns").ticks(ns)), [0, 1, 1, -1, -1].map(Some));
        assert_eq!((unit("ps").ticks(-781), unit("ps").ticks(782)), (Some(0), Some(1)));
        let many = i64::MAX / 2;
        assert_eq!(unit("ns").ticks(many), Some(((many as i128 * 32 + 25) / 50) as i64));
        assert_eq!((unit("s").ticks(3), unit("us").ticks(i64::MAX)), (Some(1_920_000_000), None));
        for ticks in [0, 1, 7, -3, 1 << 40] {
            assert_eq!(unit("ns").ticks_of_float(ticks as f64 * 1.5625), Some(ticks));
        }
        assert_eq!(unit("ns").ticks_of_float(f64::NAN), None);
        assert_eq!(unit("ns").times(25).unwrap().ticks(3), Some(48));
        for (name, unit) in TimeUnit::NAMES {
            assert_eq!((name.parse::<TimeUnit>().unwrap(), unit.to_string().as_str()), (unit, name));
        }
        assert_eq!(TimeUnit::of_file("1.5625 ns"), Some(TimeUnit::TICK));
        assert!("min".parse::<TimeUnit>().is_err());
    }

    #[test]
    fn the_unit_of_times_is_what_their_file_says() {
        let find = |time: &str, values: Values, said| Roles::find(&columns(time, values, said), None, None);
        for (name, values, said, expected) in [
            ("t_ns", Values::Whole, None, "ns"),
            ("TIME_us", Values::Floats, None, "us"),
            ("toa_ticks", Values::Whole, None, "ticks"),
            ("t", Values::Durations(unit("ns")), None, "ns"),
            ("time", Values::Whole, Some("25 ns"), "clocks"),
            ("t_ns", Values::Durations(unit("ns")), Some("ns"), "ns"),
        ] {
            let roles = find(name, values, said).unwrap();
            assert_eq!((roles.unit, roles.is_assumed, roles.chip), (unit(expected), false, None), "{name}");
        }
        for (name, values, said, words) in [
            ("t", Values::Whole, None, "--time-unit"),
            ("t", Values::Floats, None, "--time-unit"),
            ("t_ns", Values::Durations(unit("us")), None, "two units, us and ns"),
            ("t", Values::Whole, Some("counts"), "`counts`"),
            ("t", Values::Other("timestamps".into()), None, "`t` holds timestamps"),
            ("t_min", Values::Whole, None, "unknown columns: `t_min`"),
        ] {
            let error = find(name, values, said).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_unit_may_be_named_where_there_is_none() {
        let find = |time: &str, values, unit, usual| Roles::find(&columns(time, values, None), unit, usual);
        let ns = Some(unit("ns"));
        assert_eq!(find("t", Values::Whole, ns, None).unwrap().unit, unit("ns"));
        let usual = find("t", Values::Whole, None, Some(TimeUnit::TICK)).unwrap();
        assert!(usual.is_assumed && usual.doubt(&columns("t", Values::Whole, None)).unwrap().contains("`t`"));
        assert!(!find("t", Values::Whole, ns, Some(TimeUnit::TICK)).unwrap().is_assumed);
        assert!(find("toa", Values::Whole, None, Some(TimeUnit::TICK)).is_err());
        assert!(find("t", Values::Floats, None, Some(TimeUnit::TICK)).is_err());
        assert!(find("t_ns", Values::Whole, ns, None).unwrap_err().contains("--time-unit is for"));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let find = |columns: &[HitColumn]| Roles::find(columns, None, Some(TimeUnit::TICK));
        let with = |name: &str, values: Values| {
            let mut columns = columns("t", Values::Whole, None);
            columns.push(HitColumn { name: name.into(), values, unit: None });
            columns
        };
        assert_eq!(find(&with("chip", Values::Whole)).unwrap().chip, Some(4));
        assert_eq!(find(&with("__index_level_0__", Values::Whole)).unwrap().chip, None);
        for (columns, words) in [
            (with("ftoa", Values::Whole), "`ftoa`"),
            (with("time", Values::Whole), "`t` and `time` have the same meaning"),
            (with("chip", Values::Floats), "`chip` holds numbers with a fraction"),
            (columns("t", Values::Whole, None)[..3].to_vec(), "no column tot"),
        ] {
            let error = find(&columns).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        let mut tot = columns("t", Values::Whole, None);
        tot[3].unit = Some("ns".into());
        assert!(find(&tot).unwrap_err().contains("`ToT` has the unit ns"));
    }
}
