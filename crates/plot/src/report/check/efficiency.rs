//! Figures of efficiencies against properties of the particles, for each category.

use super::super::figures::{Drawing, RateBin, RateFigure, RateRange, RateSeries};
use super::data::{Bin, CheckData, Table};
use super::overview::category_names;
use super::{property, property_in_title};
use crate::text::{grouped, percent};

/// The figures of one category.
pub struct CategoryFigures {
    pub name: String,
    /// Efficiency of the category as text.
    pub summary: String,
    pub drawings: Vec<Drawing>,
}

/// Returns the figures of each category that has tables.
pub fn categories(names: &[String], all: &[CheckData]) -> Vec<CategoryFigures> {
    let mut categories = Vec::new();
    for (number, name) in category_names(all).into_iter().enumerate() {
        let mut drawings = Vec::new();
        for variable in variables(all, name) {
            drawings.extend(figure(names, all, [name, variable], &EFFICIENCY));
        }
        // The first category is enough to show where clones come from.
        if number == 0 {
            for variable in variables(all, name) {
                drawings.extend(figure(names, all, [name, variable], &CLONES));
            }
        }
        if drawings.is_empty() {
            continue;
        }
        let of = |one: &CheckData| {
            let of = one.categories.iter().find(|of| of.name == name)?;
            Some(format!("{} of {}", percent(of.efficiency), grouped(of.reconstructible)))
        };
        let summary = all.iter().filter_map(of).collect::<Vec<_>>().join("; ");
        categories.push(CategoryFigures { name: name.into(), summary, drawings });
    }
    categories
}

/// Returns the properties with tables, in order of their first appearance.
fn variables<'a>(all: &'a [CheckData], category: &str) -> Vec<&'a str> {
    let mut variables = Vec::new();
    for table in all.iter().flat_map(|one| &one.tables).filter(|of| of.category == category) {
        if !variables.contains(&table.variable.as_str()) {
            variables.push(table.variable.as_str());
        }
    }
    variables
}

/// A drawn rate of a table.
struct Rate {
    title: &'static str,
    name: &'static str,
    range: RateRange,
    bin: fn(&Bin) -> RateBin,
}

const EFFICIENCY: Rate = Rate {
    title: "Efficiency against",
    name: "efficiency",
    range: RateRange::Efficiency,
    bin: |bin| RateBin {
        low: bin.low,
        high: bin.high,
        count: bin.reconstructible,
        value: bin.efficiency,
        interval: bin.efficiency_low.zip(bin.efficiency_high).map(|(low, high)| [low, high]),
    },
};

const CLONES: Rate = Rate {
    title: "Clone rate against",
    name: "clone rate",
    range: RateRange::Loss,
    bin: |bin| RateBin {
        low: bin.low,
        high: bin.high,
        count: bin.reconstructible,
        value: bin.clone_rate,
        interval: None,
    },
};

fn figure(
    names: &[String],
    all: &[CheckData],
    [category, variable]: [&str; 2],
    rate: &Rate,
) -> Option<Drawing> {
    let is_it = |table: &&Table| table.category == category && table.variable == variable;
    let tables = names.iter().zip(all).filter_map(|(name, one)| Some((name, one.tables.iter().find(is_it)?)));
    let unit = tables.clone().next()?.1.unit.clone();
    let series = tables.map(|(name, table)| RateSeries {
        name: name.clone(),
        bins: table.bins.iter().map(rate.bin).collect(),
    });
    let figure = RateFigure {
        title: format!("{} {}: {category}", rate.title, property_in_title(variable)),
        x: &property(variable, &unit),
        counted: "particles",
        rate: rate.name,
        range: rate.range,
        series: series.collect(),
    };
    figure.drawing()
}
