//! Decodes the text of one Velo JSON event: 53 prefix sums of the modules and the columns x, y, z in mm.

use super::velo_json_truth::{Montecarlo, decode_truth};
use peloton::Status;
use peloton::event::{TruthEvent, VELO_MODULES};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

/// Keys that the first entry of an event object may have; what begins otherwise is no event. `event` is
/// that of the old schema, which is known in order to refuse it by name.
pub(super) const FIRST_KEYS: [&str; 9] =
    ["description", "module_prefix_sum", "x", "y", "z", "t", "montecarlo", "event", "number_of_modules"];

/// One event, decoded.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    pub x: Vec<f32>,
    pub y: Vec<f32>,
    pub z: Vec<f32>,
    pub module_start: Vec<u32>,
    pub truth: TruthEvent,
    /// What is wrong with the truth without making the event useless.
    pub notes: Vec<String>,
}

/// Why a text is no event.
#[derive(Debug)]
pub(super) struct Trouble {
    pub status: Status,
    pub message: String,
    /// Line in the text, from 1, and column in that line, where they are known.
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

/// `M` is the truth, or what skips it.
#[derive(Deserialize)]
struct RawEvent<M> {
    // Wide and signed, so that a wrong sum is told from a wrong type.
    module_prefix_sum: Option<Vec<i64>>,
    x: Option<Vec<f32>>,
    y: Option<Vec<f32>>,
    z: Option<Vec<f32>>,
    montecarlo: Option<M>,
    event: Option<IgnoredAny>,
}

/// Decodes one event; truth only when asked for.
pub(super) fn decode(text: &[u8], with_truth: bool) -> Result<Decoded, Trouble> {
    if !with_truth {
        return Ok(decode_hits::<IgnoredAny>(text)?.0);
    }
    let (mut decoded, montecarlo) = decode_hits::<Montecarlo>(text)?;
    let montecarlo = montecarlo.ok_or_else(|| Trouble {
        status: Status::NoTruth,
        message: "no simulated truth: `montecarlo` is missing".into(),
        place: None,
    })?;
    decoded.truth = decode_truth(montecarlo, decoded.x.len(), &mut decoded.notes)?;
    Ok(decoded)
}

fn decode_hits<M: DeserializeOwned>(text: &[u8]) -> Result<(Decoded, Option<M>), Trouble> {
    let raw: RawEvent<M> = serde_json::from_slice(text).map_err(|e| {
        let full = e.to_string();
        let end = full.rfind(" at line ").unwrap_or(full.len());
        let place = (e.line() > 0).then(|| (e.line(), e.column()));
        Trouble { status: Status::Corrupt, message: full[..end].into(), place }
    })?;
    if raw.event.is_some() && raw.module_prefix_sum.is_none() {
        return Err(Trouble::corrupt(
            "this is the old Velo JSON schema (an `event` object with LHCb channel ids), which is not read: \
             it needs `module_prefix_sum`, `x`, `y`, `z` at the top",
        ));
    }
    let missing = |name: &str| Trouble::corrupt(format!("the column `{name}` is missing"));
    let sums = raw.module_prefix_sum.ok_or_else(|| missing("module_prefix_sum"))?;
    let x = raw.x.ok_or_else(|| missing("x"))?;
    let y = raw.y.ok_or_else(|| missing("y"))?;
    let z = raw.z.ok_or_else(|| missing("z"))?;
    for (name, column) in [("y", &y), ("z", &z)] {
        if column.len() != x.len() {
            return Err(Trouble::offsets(format!("{name} has {} values, x has {}", column.len(), x.len())));
        }
    }
    let module_start = offsets(&sums, x.len())?;
    Ok((Decoded { x, y, z, module_start, ..Decoded::default() }, raw.montecarlo))
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

/// Whether a text that begins so may be an event.
pub(super) fn looks_like_event(head: &[u8]) -> bool {
    let Some(inside) = head.trim_ascii_start().strip_prefix(b"{") else { return false };
    let Some(key) = inside.trim_ascii_start().strip_prefix(b"\"") else { return false };
    FIRST_KEYS
        .iter()
        .any(|name| key.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'"')))
}
