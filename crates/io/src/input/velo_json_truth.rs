//! Decodes the simulated truth of a Velo JSON event: one row of values per particle, and the names of the columns.

use super::velo_json_columns::Trouble;
use peloton::event::{Particle, TrueStates, TruthEvent};
use peloton::units::MEV_PER_GEV;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use std::fmt;

/// Names of the columns, in the order in which they are written.
pub(super) const COLUMNS: [&str; 16] = [
    "key",
    "pid",
    "p",
    "pt",
    "eta",
    "phi",
    "isLong",
    "isDown",
    "hasVelo",
    "hasUT",
    "hasScifi",
    "fromBeautyDecay",
    "fromCharmDecay",
    "fromStrangeDecay",
    "charge",
    "hits",
];

/// The truth as the file contains it.
#[derive(Deserialize)]
pub(super) struct Montecarlo {
    description: Vec<String>,
    particles: Vec<Vec<Cell>>,
}

/// One value of a row.
enum Cell {
    Number(f64),
    Hits(Vec<i64>),
    /// A value of a type that no known column has.
    Other,
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CellVisitor)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a list of hit ids")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Cell, E> {
        Ok(Cell::Number(f64::from(u8::from(value))))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Cell, E> {
        Ok(Cell::Number(value as f64))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Cell, E> {
        Ok(Cell::Number(value as f64))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Cell, E> {
        Ok(Cell::Number(value))
    }
    fn visit_str<E>(self, _: &str) -> Result<Cell, E> {
        Ok(Cell::Other)
    }
    fn visit_unit<E>(self) -> Result<Cell, E> {
        Ok(Cell::Other)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Cell, A::Error> {
        let mut hits = Vec::new();
        while let Some(hit) = list.next_element()? {
            hits.push(hit);
        }
        Ok(Cell::Hits(hits))
    }
}

/// Decodes the particles; momenta become GeV/c. Hit ids that the event does not have are left out and noted.
pub(super) fn decode_truth(
    montecarlo: Montecarlo,
    hits: usize,
    notes: &mut Vec<String>,
) -> Result<TruthEvent, Trouble> {
    let mut place = [0; COLUMNS.len()];
    for (place, name) in place.iter_mut().zip(COLUMNS) {
        let mut found = montecarlo.description.iter().enumerate().filter(|(_, column)| *column == name);
        *place = match (found.next(), found.next()) {
            (Some((at, _)), None) => at,
            (None, _) => {
                return Err(Trouble::corrupt(format!("montecarlo: the column `{name}` is missing")));
            }
            _ => return Err(Trouble::corrupt(format!("montecarlo: the column `{name}` is named twice"))),
        };
    }
    let width = montecarlo.description.len();
    let mut particles = Vec::with_capacity(montecarlo.particles.len());
    for (number, row) in montecarlo.particles.iter().enumerate() {
        if row.len() != width {
            return Err(Trouble::corrupt(format!(
                "montecarlo: particle {number} has {} values for {width} columns",
                row.len()
            )));
        }
        particles.push(Row { row, place: &place, number }.particle(hits, notes)?);
    }
    Ok(TruthEvent { particles })
}

/// One row and the indices of its columns.
struct Row<'a> {
    row: &'a [Cell],
    place: &'a [usize; COLUMNS.len()],
    number: usize,
}

impl Row<'_> {
    fn wrong(&self, column: usize, what: &str) -> Trouble {
        let Self { number, .. } = self;
        Trouble::corrupt(format!("montecarlo: `{}` of particle {number} is not {what}", COLUMNS[column]))
    }

    fn number(&self, column: usize) -> Result<f64, Trouble> {
        match self.row[self.place[column]] {
            Cell::Number(value) => Ok(value),
            _ => Err(self.wrong(column, "a number")),
        }
    }

    fn integer(&self, column: usize, limit: f64) -> Result<i64, Trouble> {
        let value = self.number(column)?;
        let whole = value as i64;
        if whole as f64 == value && value.abs() <= limit {
            return Ok(whole);
        }
        Err(self.wrong(column, "an integer in range"))
    }

    fn flag(&self, column: usize) -> Result<bool, Trouble> {
        Ok(self.number(column)? != 0.0)
    }

    fn particle(&self, hits: usize, notes: &mut Vec<String>) -> Result<Particle, Trouble> {
        let Cell::Hits(listed) = &self.row[self.place[15]] else {
            return Err(self.wrong(15, "a list of hit ids"));
        };
        let mut ids = Vec::with_capacity(listed.len());
        let (mut missing, mut first) = (0, None);
        for &hit in listed {
            if usize::try_from(hit).is_ok_and(|hit| hit < hits) {
                ids.push(hit as u32);
            } else {
                missing += 1;
                first.get_or_insert(hit);
            }
        }
        // Makes one note for all unknown hits, so that memory is bounded.
        if let Some(hit) = first {
            let number = self.number;
            let mut note = format!("montecarlo: particle {number} lists hit {hit} of only {hits} hits");
            if missing > 1 {
                note.push_str(&format!(" ({missing} such hits)"));
            }
            notes.push(note);
        }
        Ok(Particle {
            // 2^53: above it, a double does not hold every integer.
            key: self.integer(0, 9_007_199_254_740_992.0)?,
            pid: self.integer(1, f64::from(i32::MAX))? as i32,
            p: self.number(2)? / MEV_PER_GEV,
            pt: self.number(3)? / MEV_PER_GEV,
            eta: self.number(4)?,
            phi: self.number(5)?,
            is_long: self.flag(6)?,
            is_down: self.flag(7)?,
            has_velo: self.flag(8)?,
            has_ut: self.flag(9)?,
            has_scifi: self.flag(10)?,
            from_beauty: self.flag(11)?,
            from_charm: self.flag(12)?,
            from_strange: self.flag(13)?,
            charge: self.number(14)?,
            origin: None,
            states: TrueStates::default(),
            mother: None,
            from_signal: false,
            hits: ids,
        })
    }
}
