//! The section of a report on `soak`: latencies, rates and memory of each round.

use super::figures::{Bar, Bars, Curve, Curves, Drawing, Figures, Point, Segment, YRange};
use super::table::{short, table};
use crate::text::{grouped, rate};
use maud::{Markup, html};
use serde::Deserialize;

/// Largest numbers of rounds and of samples.
const MAX_ROUNDS: usize = 64;
const MAX_SAMPLES: usize = 20_000;
/// Positions and names of the quantiles of a round's latencies.
const SHARES: [(f64, &str); 4] = [(0.0, "median"), (1.0, "99 %"), (2.0, "99.9 %"), (3.0, "worst")];

/// JSON results of `peloton soak`.
#[derive(Debug, Deserialize)]
pub struct SoakData {
    rounds: Vec<Round>,
}

#[derive(Debug, Deserialize)]
struct Round {
    #[serde(default)]
    asked: Option<f64>,
    seconds: f64,
    sent: u64,
    hits_per_second: f64,
    #[serde(default)]
    dropped: u64,
    #[serde(default)]
    dropped_by_system: u64,
    #[serde(default)]
    late: u64,
    lost: u64,
    latency_ms: [f64; 4],
    #[serde(default)]
    samples: Vec<Sample>,
}

#[derive(Debug, Clone, Deserialize)]
struct Sample {
    seconds: f64,
    hits_per_second: f64,
    #[serde(default)]
    memory_mib: Option<f64>,
}

impl SoakData {
    /// Checks that all numbers are possible; otherwise returns a message.
    pub fn validate(&self) -> Result<(), String> {
        let samples: usize = self.rounds.iter().map(|round| round.samples.len()).sum();
        if self.rounds.len() > MAX_ROUNDS || samples > MAX_SAMPLES {
            return Err(format!("{} rounds with {samples} samples are too many", self.rounds.len()));
        }
        let is_bad = |round: &Round| {
            let numbers = [round.seconds, round.hits_per_second].into_iter().chain(round.latency_ms);
            numbers.chain(round.asked).any(|number| !number.is_finite() || number < 0.0)
        };
        if self.rounds.iter().any(is_bad) {
            return Err("a time or rate of a round is negative or not a number".into());
        }
        Ok(())
    }
}

/// Returns all rounds of all inputs with their names.
fn rounds<'a>(names: &[String], all: &'a [SoakData]) -> Vec<(String, &'a Round)> {
    let of = names.iter().zip(all).flat_map(|(name, one)| one.rounds.iter().map(move |round| (name, round)));
    let named = of.map(|(name, round)| {
        let asked =
            round.asked.map_or("as fast as possible".into(), |asked| format!("{} hits/s", rate(asked)));
        (if names.len() > 1 { format!("{name}: {asked}") } else { asked }, round)
    });
    named.collect()
}

/// Returns a table and figures of all rounds.
pub fn section(names: &[String], all: &[SoakData], figures: &mut Figures) -> Markup {
    let rounds = rounds(names, all);
    let lost = rounds.iter().fold(0u64, |sum, (_, round)| sum.saturating_add(round.lost));
    let drawings = [latencies(&rounds), rates(&rounds), fates(&rounds), memory(&rounds)];
    html! {
        p {
            @if lost == 0 { span.good { "Every hit" } " is in a cluster or counted as dropped." }
            @else { span.bad { (grouped(lost)) " hits are missing" } ": these hits are neither in clusters nor counted as dropped." }
        }
        (overview(&rounds))
        div.figures { @for drawing in drawings.into_iter().flatten() { (figures.figure(drawing)) } }
    }
}

fn overview(rounds: &[(String, &Round)]) -> Markup {
    let row = |(name, round): &(String, &Round)| {
        let counts =
            [round.sent, round.dropped, round.dropped_by_system, round.late, round.lost].map(grouped);
        let mut row = vec![name.clone(), rate(round.hits_per_second), short(round.seconds)];
        row.extend(counts);
        row.extend(round.latency_ms.map(short));
        row
    };
    let head = [
        "asked for",
        "hits/s",
        "time, s",
        "hits sent",
        "dropped",
        "dropped by the operating system",
        "late",
        "lost",
        "latency: median, ms",
        "99 %",
        "99.9 %",
        "worst",
    ];
    table(&head, &rounds.iter().map(row).collect::<Vec<_>>())
}

fn latencies(rounds: &[(String, &Round)]) -> Option<Drawing> {
    let curves = rounds.iter().map(|(name, round)| {
        let points = SHARES.iter().zip(round.latency_ms);
        let value = |ms: f64| (ms > 0.0).then_some(ms);
        let points = points.map(|((x, _), ms)| Point { x: *x, value: value(ms), interval: None });
        Curve { name: name.clone(), points: points.collect() }
    });
    let curves = Curves {
        title: "Latency".into(),
        description: "Time from sending a packet of hits to its results: median, 99 %, 99.9 % and worst, with a line for each round."
            .into(),
        x: "share of packets with at most this latency",
        y: "latency, ms",
        x_is_log: false,
        range: YRange::Log,
        curves: curves.collect(),
        places: &SHARES,
    };
    curves.drawing()
}

/// Returns samples of all rounds against time.
fn in_time(rounds: &[(String, &Round)], value: impl Fn(&Sample) -> Option<f64>) -> Vec<Curve> {
    let curve = |(name, round): &(String, &Round)| {
        let points = round.samples.iter().map(|of| Point { x: of.seconds, value: value(of), interval: None });
        Curve { name: name.clone(), points: points.collect() }
    };
    rounds.iter().map(curve).collect()
}

fn rates(rounds: &[(String, &Round)]) -> Option<Drawing> {
    let curves = Curves {
        title: "Rate".into(),
        description: "Hits clustered per second against time in the round, with a line for each round."
            .into(),
        x: "time, s",
        y: "million hits/s",
        x_is_log: false,
        range: YRange::FromZero,
        curves: in_time(rounds, |of| Some(1e-6 * of.hits_per_second)),
        places: &[],
    };
    curves.drawing()
}

fn memory(rounds: &[(String, &Round)]) -> Option<Drawing> {
    let curves = Curves {
        title: "Memory".into(),
        description: "Resident memory against time in the round, with a line for each round.".into(),
        x: "time, s",
        y: "resident memory, MiB",
        x_is_log: false,
        range: YRange::FromZero,
        curves: in_time(rounds, |of| of.memory_mib),
        places: &[],
    };
    curves.drawing()
}

/// Draws how many hits were clustered, dropped, late and lost.
fn fates(rounds: &[(String, &Round)]) -> Option<Drawing> {
    let bars = rounds.iter().map(|(name, round)| {
        let lost = [round.dropped, round.dropped_by_system, round.late, round.lost];
        let lost = lost.into_iter().fold(0, u64::saturating_add);
        let parts = [
            ("clustered", round.sent.saturating_sub(lost)),
            ("dropped", round.dropped),
            ("dropped by the operating system", round.dropped_by_system),
            ("late", round.late),
            ("lost", round.lost),
        ];
        let segments = parts.into_iter().enumerate();
        let segments = segments.map(|(colour, (name, hits))| Segment {
            name: name.into(),
            value: 1e-6 * hits as f64,
            colour,
        });
        Bar { name: name.clone(), segments: segments.collect(), said: short(1e-6 * round.sent as f64) }
    });
    let bars = Bars {
        title: "Fate of the hits".into(),
        description: "Numbers of hits of each round that were clustered, dropped, dropped by the operating system, late, or lost.".into(),
        x: "million hits".into(),
        bars: bars.collect(),
        keys: ["clustered", "dropped", "dropped by the operating system", "late", "lost"].map(String::from).to_vec(),
        to: None,
    };
    bars.drawing()
}
