//! [`Columns`] of hits of a Velo JSON event, checked into a [`Decoded`] event.

use peloton::Status;
use peloton::event::{TruthEvent, VELO_MODULES};

/// One event, decoded.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    pub x: Vec<f32>,
    pub y: Vec<f32>,
    pub z: Vec<f32>,
    pub module_start: Vec<u32>,
    pub truth: TruthEvent,
    /// Faults of the truth with which the event can still be used.
    pub notes: Vec<String>,
}

/// The reason why a text is not an event.
#[derive(Debug)]
pub(super) struct Trouble {
    pub status: Status,
    pub message: String,
    /// Line in the text, from 1, and column in that line, if known.
    pub place: Option<(usize, usize)>,
}

impl Trouble {
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self { status: Status::Corrupt, message: message.into(), place: None }
    }

    pub fn offsets(message: impl Into<String>) -> Self {
        Self { status: Status::BadOffsets, message: message.into(), place: None }
    }
}

/// The columns of hits that the text has.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub sums: Option<Vec<i64>>,
    pub x: Option<Vec<f32>>,
    pub y: Option<Vec<f32>>,
    pub z: Option<Vec<f32>>,
}

impl Columns {
    /// Checks the columns.
    pub fn decoded(self) -> Result<Decoded, Trouble> {
        let missing = |name: &str| Trouble::corrupt(format!("the column `{name}` is missing"));
        let sums = self.sums.ok_or_else(|| missing("module_prefix_sum"))?;
        let x = self.x.ok_or_else(|| missing("x"))?;
        let y = self.y.ok_or_else(|| missing("y"))?;
        let z = self.z.ok_or_else(|| missing("z"))?;
        for (name, column) in [("y", &y), ("z", &z)] {
            if column.len() != x.len() {
                let message = format!("{name} has {} values, x has {}", column.len(), x.len());
                return Err(Trouble::offsets(message));
            }
        }
        let module_start = offsets(&sums, x.len())?;
        Ok(Decoded { x, y, z, module_start, ..Decoded::default() })
    }
}

fn offsets(sums: &[i64], hits: usize) -> Result<Vec<u32>, Trouble> {
    if sums.len() != VELO_MODULES + 1 {
        let message = format!("module_prefix_sum has {} values, not {}", sums.len(), VELO_MODULES + 1);
        return Err(Trouble::offsets(message));
    }
    if let Some(at) = sums.windows(2).position(|pair| pair[0] > pair[1]) {
        let message = format!("module_prefix_sum falls from {} to {} at module {at}", sums[at], sums[at + 1]);
        return Err(Trouble::offsets(message));
    }
    if sums[0] != 0 || usize::try_from(sums[VELO_MODULES]) != Ok(hits) {
        let message = format!(
            "module_prefix_sum runs from {} to {}, not from 0 to the {hits} hits",
            sums[0], sums[VELO_MODULES]
        );
        return Err(Trouble::offsets(message));
    }
    sums.iter()
        .map(|&sum| u32::try_from(sum).map_err(|_| Trouble::offsets(format!("{hits} hits are too many"))))
        .collect()
}
