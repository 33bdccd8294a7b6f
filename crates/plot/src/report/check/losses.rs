//! Figures of the causes of missed particles, ghosts and clones.

use super::super::figures::{Bar, Bars, Drawing, Segment};
use super::data::{CheckData, Loss, Losses};
use crate::text::grouped;
use std::collections::HashSet;

/// A kind of loss: its title, the counted objects, and the function that returns its causes and the number of objects.
type Kind = (&'static str, &'static str, fn(&Losses) -> (&Vec<Loss>, u64));

const KINDS: [Kind; 3] = [
    ("Missed particles", "particles", |losses| (&losses.missed, losses.particles)),
    ("Ghosts", "tracks", |losses| (&losses.ghosts, losses.tracks)),
    ("Clones", "tracks", |losses| (&losses.clones, losses.tracks)),
];

/// Returns a figure for each kind of loss in the inputs: missed particles, ghosts, clones.
pub fn figures(names: &[String], all: &[CheckData]) -> Vec<Drawing> {
    let known = names.iter().zip(all).filter_map(|(name, one)| Some((name, one.losses.as_ref()?)));
    let known: Vec<_> = known.collect();
    KINDS.iter().filter_map(|kind| figure(&known, kind, names.len() > 1)).collect()
}

fn figure(known: &[(&String, &Losses)], (title, of, pick): &Kind, several: bool) -> Option<Drawing> {
    let mut causes: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    for loss in known.iter().flat_map(|(_, losses)| pick(losses).0) {
        if seen.insert(loss.cause.as_str()) {
            causes.push(&loss.cause);
        }
    }
    let mut bars = Vec::new();
    for cause in causes {
        for (colour, (name, losses)) in known.iter().enumerate() {
            let (list, all) = pick(losses);
            let Some(loss) = list.iter().find(|loss| loss.cause == cause) else { continue };
            let share = 100.0 * loss.count as f64 / all.max(1) as f64;
            let segments = vec![Segment { name: name.to_string(), value: share, colour }];
            let slow = if loss.slow > 0 { format!(", {} slow", grouped(loss.slow)) } else { String::new() };
            let said = format!("{share:.2} % ({}{slow})", grouped(loss.count));
            bars.push(Bar { name: cause.into(), segments, said });
        }
    }
    let bars = Bars {
        title: title.to_string(),
        description: format!("{title} by cause, as a share of all {of}; slow: pT below 150 MeV/c."),
        x: format!("share of all {of}, %"),
        bars,
        keys: if several { known.iter().map(|(name, _)| name.to_string()).collect() } else { Vec::new() },
        to: None,
    };
    bars.drawing()
}
