//! Pixel clusters, section 5: how well clusters by two definitions, and by two time windows, agree.

use super::entry::Job;
use super::pixel_clusters::PixelLabels;
use super::pixels::{name, request, samples};
use super::report::Report;
use super::table::Origin::{Here, Paper, Setting};
use super::table::{Cell, Table};
use crate::Config;
use peloton::Result;
use peloton::event::NS_PER_TICK;
use peloton::timepix::Definition;

/// Time differences that still link hits, ns: that of the paper, and the one by which both of its programs agree exactly.
const DELTAS: [f64; 2] = [200.0, 600.0];

/// Clusters by both definitions and with both time windows, and how well they agree.
///
/// # Errors
/// Those of the jobs.
pub fn agreement(job: &Job<'_>) -> Result<Report> {
    let samples = samples(job, job.size(200_000, 20_000));
    let mut table =
        Table::new("Clusters with the same hits over clusters of either, and mean overlap in hits")
            .columns(Setting, &[("sample", ""), ("first", ""), ("second", "")])
            .columns(Here, &[("clusters, first", ""), ("clusters, second", ""), ("identical", "")])
            .columns(Here, &[("intersection over union", "%"), ("mean overlap", "%")])
            .columns(Paper, &[("intersection over union", "%")]);
    let mut hashes = Vec::new();
    for (sample, preset) in &samples {
        let name = name(sample, *preset);
        job.stage(&name.text());
        let request = request(job, sample);
        let found = |definition: Definition, delta: f64| {
            let mut config: Config = request.config.clone();
            config.timepix.find.definition = definition;
            // The others run on one thread alone.
            if definition != Definition::Local {
                config.threads = Some(1);
            }
            config.timepix.find.delta = (delta / NS_PER_TICK).round() as u32;
            PixelLabels::find(job, &crate::Request { config, ..request.clone() })
        };
        let mut local = Vec::new();
        for delta in DELTAS {
            let (one, two) = (found(Definition::Local, delta)?, found(Definition::Global, delta)?);
            let sides = [format!("local, {delta} ns"), format!("global, {delta} ns")];
            // "the large clusters (Pb)": the samples of lead.
            let is_lead = preset.is_some_and(|preset| preset.name().starts_with("lead"));
            let paper: Cell = match (preset, delta > DELTAS[0], is_lead) {
                (None, ..) => Cell::Nothing,
                (_, false, false) => "over 99.99".into(),
                (_, false, true) => "much lower".into(),
                (_, true, _) => "100".into(),
            };
            table.row(row(name.clone(), &sides, &one, (&two, paper))?);
            hashes.extend([one.hash.clone(), two.hash]);
            local.push(one);
        }
        let sides = DELTAS.map(|delta| format!("local, {delta} ns"));
        table.row(row(name, &sides, &local[0], (&local[1], Cell::Nothing))?);
    }
    let notes = [
        "Local: hits are linked when they are neighbours and not more than the window apart in time. Global: a hit joins a \
         cluster of a neighbour whose latest hit is not more than the window older. So global clusters are local ones or \
         several of them together, and those of the wider window several of the narrower one",
        "Intersection over union: clusters that both have, hit by hit, over all that either has. Mean overlap: the same in hits, \
         of each cluster with the one that fits it best",
        "Simulated clusters last less long than those of lead that the paper measured: none of them is torn apart by 200 ns, and so \
         all samples agree. Give measured hits to --input to see where they do not",
        "The paper compares its local definition with a program that has the global one, and says over 99.99 % \"for most test \
         datasets\", much lower for lead, and exact agreement for lead with 600 ns; it does not say how it computes the \
         intersection over union. Another program's clusters cannot be read here: the algorithms of this repository find the \
         same clusters by each definition (`peloton check --sequence timepix`)",
    ];
    Ok(Report {
        input: samples.into_iter().map(|(sample, _)| sample).collect(),
        machine: job.machine(&Config::default())?,
        paper_machine: "its own program against clusterer of its authors, on measured samples",
        hashes,
        tables: vec![table],
        notes: notes.map(String::from).to_vec(),
        ..Report::default()
    })
}

/// A comparison of two, and what the paper has of it.
fn row(
    sample: Cell,
    sides: &[String; 2],
    one: &PixelLabels,
    (two, paper): (&PixelLabels, Cell),
) -> Result<Vec<Cell>> {
    let overlap = one.overlap(two)?;
    let percent = |share: f64| Cell::Number(100.0 * share, 3);
    let [first, second] = overlap.clusters.map(Cell::Count);
    Ok(vec![
        sample,
        sides[0].as_str().into(),
        sides[1].as_str().into(),
        first,
        second,
        Cell::Count(overlap.identical),
        percent(overlap.of_sets()),
        percent(overlap.mean),
        paper,
    ])
}
