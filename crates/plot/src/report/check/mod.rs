//! The section of a report on `check`: a table, and figures of efficiencies, ghosts, clones, losses, pulls.

mod data;
mod efficiency;
mod losses;
mod overview;
mod states;

pub use data::CheckData;

use super::figures::{Drawing, Figures};
use maud::{Markup, html};

/// Number of categories whose figures are visible at once; the others can be opened.
const OPEN: usize = 2;

/// Returns the table and all figures of a check.
pub fn section(names: &[String], all: &[CheckData], figures: &mut Figures) -> Markup {
    html! {
        (overview::table(names, all))
        (part("Ghosts and clones", overview::figures(names, all), figures))
        (part("Losses and their causes", losses::figures(names, all), figures))
        @let categories = efficiency::categories(names, all);
        @if !categories.is_empty() {
            h3 { "Efficiency" }
            p.soft {
                "Bars are Clopper-Pearson intervals of 68 %. Grey: number of particles"
                @if names.len() > 1 { " in the first file; lower panel: ratios to the first file, with intervals that contain only the uncertainty of the other file" }
                ". The first and the last bin include all values beyond them."
            }
            @for (number, category) in categories.into_iter().enumerate() {
                details.category open[number < OPEN] {
                    summary { (category.name) " " span.soft { (category.summary) } }
                    (grid(category.drawings, figures))
                }
            }
        }
        @let pulls = states::pulls(names, all);
        @if !pulls.is_empty() {
            h3 { "Pulls" }
            p.soft {
                "Grey: tracks. Dashed: the Gaussian of mean 0 and width 1; line: the Gaussian of the measured mean and width."
            }
            (grid(pulls, figures))
        }
        (states::widths(names, all))
        (part("Resolutions", states::resolutions(names, all), figures))
    }
}

/// Returns figures with a heading; nothing without figures.
fn part(heading: &str, drawings: Vec<Drawing>, figures: &mut Figures) -> Markup {
    html! {
        @if !drawings.is_empty() {
            h3 { (heading) }
            (grid(drawings, figures))
        }
    }
}

fn grid(drawings: Vec<Drawing>, figures: &mut Figures) -> Markup {
    html! { div.figures { @for drawing in drawings { (figures.figure(drawing)) } } }
}

/// Returns the name of a property on axes.
fn property(variable: &str, unit: &str) -> String {
    let name = match variable {
        "p" => "momentum p",
        "pt" => "transverse momentum pT",
        "eta" => "pseudorapidity \u{3b7}",
        "phi" => "azimuth \u{3c6}",
        "origin_z" => "z of the origin",
        "particles_in_event" => "particles in the event",
        "track_hits" => "hits of the track",
        other => other,
    };
    if unit.is_empty() { name.into() } else { format!("{name}, {unit}") }
}

/// Returns the name of a property in headings.
fn property_in_title(variable: &str) -> &str {
    match variable {
        "pt" => "pT",
        "eta" => "\u{3b7}",
        "phi" => "\u{3c6}",
        "origin_z" => "origin z",
        "particles_in_event" => "event size",
        "track_hits" => "hits of the track",
        other => other,
    }
}
