//! Figures and tables of the pulls and resolutions of fitted states.

use super::super::figures::{
    Curve, Curves, Drawing, Point, PullFigure, RateBin, RateFigure, RateRange, RateSeries, YRange,
};
use super::super::table::{self, short};
use super::data::{CheckData, Pull, Resolution};
use crate::text::grouped;
use maud::{Markup, html};

/// Smallest number of tracks for a resolution: half of the central 68 % of fewer tracks is no width.
const MIN_TRACKS: u64 = 10;

/// Returns the place of a state in words.
fn place(name: &str) -> &str {
    match name {
        "beam" => "at the beam line",
        "end" => "at the end of the Velo",
        "ut" => "in the UT",
        "scifi" => "at the end of the SciFi",
        other => other,
    }
}

/// Draws the distributions of pulls, if there are any.
pub fn pulls(names: &[String], all: &[CheckData]) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    for (colour, (name, one)) in names.iter().zip(all).enumerate() {
        for (pull, histogram) in one.all_pulls().filter_map(|pull| Some((pull, pull.histogram.as_ref()?))) {
            let whose = if names.len() > 1 { format!("{name}: ") } else { String::new() };
            let figure = PullFigure {
                title: format!("{whose}{} {}", pull.parameter, place(&pull.place)).trim_end().into(),
                range: [histogram.low, histogram.high],
                counts: histogram.counts.clone(),
                total: pull.tracks,
                mean: pull.mean.unwrap_or(f64::NAN),
                width: pull.width.unwrap_or(f64::NAN),
                colour,
            };
            drawings.extend(figure.drawing());
        }
    }
    drawings
}

/// Returns a table of the means and widths of all pulls.
pub fn widths(names: &[String], all: &[CheckData]) -> Markup {
    let mut rows = Vec::new();
    for (name, one) in names.iter().zip(all) {
        for pull in one.all_pulls() {
            let range = match (pull.p_from, pull.p_to) {
                (None, _) => "all".into(),
                (Some(from), None) => format!("{from} and more"),
                (Some(from), Some(to)) => format!("{from} to {to}"),
            };
            let number =
                |value: Option<f64>| value.map_or(table::NOTHING.into(), |value| format!("{value:.3}"));
            let whose = if names.len() > 1 { format!("{name}: ") } else { String::new() };
            let parameter = format!("{whose}{} {}", pull.parameter, place(&pull.place));
            let resolution = pull.resolution.map_or(table::NOTHING.into(), short);
            rows.push(vec![
                parameter,
                range,
                grouped(pull.tracks),
                number(pull.mean),
                number(pull.width),
                resolution,
            ]);
        }
    }
    let head = ["parameter", "p, GeV/c", "tracks", "mean of the pull", "width of the pull", "resolution"];
    html! {
        @if !rows.is_empty() {
            details { summary { "Means and widths of all pulls" } (table::table(&head, &rows)) }
        }
    }
}

/// Draws resolutions against momentum, and the share of tracks with the right charge.
pub fn resolutions(names: &[String], all: &[CheckData]) -> Vec<Drawing> {
    let mut drawings = of_states(names, all);
    drawings.extend(impact(names, all));
    drawings.extend(momentum(names, all));
    drawings.extend(charge(names, all));
    drawings.extend(CYLINDER.iter().filter_map(|of| of_cylinder(names, all, of)));
    drawings
}

/// Draws the resolution of each parameter at each place against momentum.
fn of_states(names: &[String], all: &[CheckData]) -> Vec<Drawing> {
    let binned = |pull: &&Pull| {
        pull.p_from.is_some()
            && pull.resolution.is_some()
            && pull.histogram.is_none()
            && pull.tracks >= MIN_TRACKS
    };
    let mut kinds: Vec<(&str, &str)> = Vec::new();
    for pull in all.iter().flat_map(CheckData::all_pulls).filter(binned) {
        if !kinds.contains(&(pull.place.as_str(), pull.parameter.as_str())) {
            kinds.push((&pull.place, &pull.parameter));
        }
    }
    let figure = |(at, parameter): (&str, &str)| {
        let is_it = |pull: &&Pull| binned(pull) && pull.place == at && pull.parameter == parameter;
        let point = |pull: &Pull| {
            let from = pull.p_from.unwrap_or_default();
            // The last bin has no end.
            let x = pull.p_to.map_or(1.5 * from, |to| (from * to).max(0.0).sqrt());
            Point { x, value: pull.resolution, interval: None }
        };
        let curves = names.iter().zip(all).map(|(name, one)| Curve {
            name: name.clone(),
            points: one.all_pulls().filter(is_it).map(point).collect(),
        });
        let unit = match parameter {
            "x" | "y" => "mm",
            "tx" | "ty" => "rad",
            _ => "relative",
        };
        let figure = Curves {
            title: format!("Resolution of {parameter} {}", place(at)),
            description:
                "Half of the central 68 % of fitted - true against momentum; the last bin has no end.".into(),
            x: "momentum p, GeV/c",
            y: &format!("resolution, {unit}"),
            x_is_log: true,
            range: YRange::FromZero,
            curves: curves.collect(),
            places: &[],
        };
        figure.drawing()
    };
    kinds.into_iter().filter_map(figure).collect()
}

fn impact(names: &[String], all: &[CheckData]) -> Option<Drawing> {
    let known = names.iter().zip(all).filter_map(|(name, one)| Some((name, one.states.as_ref()?)));
    let known: Vec<_> = known.filter(|(_, states)| !states.impact_parameters.is_empty()).collect();
    let middle = |from: f64, to: f64| 0.5 * (from + to);
    let mut curves = Vec::new();
    for (name, states) in &known {
        let points = states.impact_parameters.iter().filter(|of| of.tracks >= MIN_TRACKS).map(|of| Point {
            x: middle(of.inverse_pt_from, of.inverse_pt_to),
            value: Some(1e3 * of.resolution),
            interval: None,
        });
        curves.push(Curve { name: name.to_string(), points: points.collect() });
    }
    let (_, first) = known.first()?;
    let run1 = first.impact_parameters.iter().map(|of| Point {
        x: middle(of.inverse_pt_from, of.inverse_pt_to),
        value: Some(1e3 * of.lhcb_run1),
        interval: None,
    });
    curves.push(Curve { name: "LHCb's first detector".into(), points: run1.collect() });
    let figure = Curves {
        title: "Resolution of the impact parameter".into(),
        description: "Half of the central 68 % of fitted - true in one projection, against 1/pT, with the resolution of \
                      LHCb's first detector."
            .into(),
        x: "1/pT, c/GeV",
        y: "resolution, \u{b5}m",
        x_is_log: false,
        range: YRange::FromZero,
        curves,
        places: &[],
    };
    figure.drawing()
}

fn momentum(names: &[String], all: &[CheckData]) -> Option<Drawing> {
    let curves = names.iter().zip(all).filter_map(|(name, one)| {
        let bins = one.momentum.as_ref()?.bins.iter().filter(|bin| bin.tracks >= MIN_TRACKS);
        let point = |bin: &super::data::MomentumBin| Point {
            x: (bin.low.max(0.5 * bin.high / 2.0) * bin.high).max(0.0).sqrt(),
            value: bin.half_width.map(|width| 100.0 * width),
            interval: None,
        };
        Some(Curve { name: name.clone(), points: bins.map(point).collect() })
    });
    let figure = Curves {
        title: "Resolution of the momentum".into(),
        description: "Half of the central 68 % of measured / true - 1 against momentum.".into(),
        x: "momentum p, GeV/c",
        y: "resolution of p, %",
        x_is_log: true,
        range: YRange::FromZero,
        curves: curves.collect(),
        places: &[],
    };
    figure.drawing()
}

fn charge(names: &[String], all: &[CheckData]) -> Option<Drawing> {
    let series = names.iter().zip(all).filter_map(|(name, one)| {
        let bins = one.momentum.as_ref()?.bins.iter().map(|bin| RateBin {
            low: bin.low,
            high: bin.high,
            count: bin.tracks,
            value: bin.right_charge_rate,
            interval: bin.right_charge_low.zip(bin.right_charge_high).map(|(low, high)| [low, high]),
        });
        Some(RateSeries { name: name.clone(), bins: bins.collect() })
    });
    let figure = RateFigure {
        title: "Tracks with the right charge".into(),
        x: "momentum p, GeV/c",
        counted: "tracks",
        rate: "right charge",
        range: RateRange::Efficiency,
        series: series.collect(),
    };
    if figure.series.is_empty() { None } else { figure.drawing() }
}

/// A parameter of the cylinder: its name, its unit, and its value in a bin.
type OfCylinder = (&'static str, &'static str, fn(&Resolution) -> f64);

const CYLINDER: [OfCylinder; 5] = [
    ("r-phi", "cm", |of| of.r_phi),
    ("z", "cm", |of| of.z),
    ("pT", "relative", |of| of.pt),
    ("phi", "rad", |of| of.phi),
    ("theta", "rad", |of| of.theta),
];

fn of_cylinder(names: &[String], all: &[CheckData], (name, unit, pick): &OfCylinder) -> Option<Drawing> {
    let curves = names.iter().zip(all).filter(|(_, one)| !one.resolutions.is_empty());
    let curves = curves.map(|(name, one)| {
        let ends = one.resolutions.iter().skip(1).map(|next| Some(next.pt_from)).chain([None]);
        let points = one.resolutions.iter().zip(ends).map(|(of, end)| Point {
            x: end.map_or(of.pt_from + 1.0, |end| 0.5 * (of.pt_from + end)),
            value: Some(pick(of)),
            interval: None,
        });
        Curve { name: name.clone(), points: points.collect() }
    });
    let figure = Curves {
        title: format!("Resolution of {name}"),
        description:
            "Standard deviation of fitted - true against transverse momentum; the last bin has no end.".into(),
        x: "transverse momentum pT, GeV/c",
        y: &format!("resolution, {unit}"),
        x_is_log: false,
        range: YRange::FromZero,
        curves: curves.collect(),
        places: &[],
    };
    figure.drawing()
}
