//! [`ENTRIES`]: every table and figure of the papers, and how it comes about here.

use super::entry::{Entry, Making, Paper};
use super::{
    agreement, compass, layouts, machines, matriplex, pixels, scifi, scifi_memory, splitting, triplet,
};
use Making::{Device, Impossible, Run};
use Paper::{Compass, Matriplex, Pixels, SciFi, Triplet};

const DRAWING: Making = Impossible("a drawing, with nothing measured in it");
const NO_PEER: Making =
    Impossible("it compares with LHCb's program of 2019, which is not in this repository");

const fn entry(
    name: &'static str,
    paper: Paper,
    of: &'static str,
    what: &'static str,
    making: Making,
) -> Entry {
    Entry { name, paper, of, what, making, is_drawn: false }
}

/// All tables and figures, paper by paper.
pub const ENTRIES: &[Entry] = &[
    entry(
        "triplet-figures1-4",
        Triplet,
        "figures 1 to 4",
        "Detector, candidate windows, steps of the search, framework",
        DRAWING,
    ),
    entry("triplet-tables1-2", Triplet, "tables I and II", "CPUs and GPUs", Run(machines::triplet)),
    entry(
        "triplet-efficiency",
        Triplet,
        "section VI",
        "Efficiency, clones and ghosts of the presets",
        Run(triplet::efficiency),
    ),
    entry(
        "triplet-table3",
        Triplet,
        "table III",
        "Best blocks and threads of CUDA kernels",
        Impossible("blocks and threads of the kernels are fixed here (src/gpu/velo); nothing scans them"),
    ),
    entry("triplet-table4", Triplet, "table IV", "Best vector extension and gang", Run(triplet::table_4)),
    entry("triplet-figure5", Triplet, "figure 5", "Throughput of CPUs and GPUs", Run(triplet::figure_5)),
    entry("triplet-figure6", Triplet, "figure 6", "Share of each step in the time", Run(triplet::figure_6)),
    entry(
        "triplet-figure7",
        Triplet,
        "figure 7",
        "Share of kernels and copies on a GPU",
        Device("peloton throughput sim:velo,events=4096 --preset best --device gpu (table of kernels)"),
    ),
    entry(
        "triplet-figure8",
        Triplet,
        "figure 8",
        "Throughput by events in a slice and by threads",
        Run(triplet::figure_8),
    )
    .drawn(),
    entry(
        "compass-figures1-8",
        Compass,
        "figures 1 to 8",
        "Detector, kinds of tracks, windows, memory, tracklets",
        DRAWING,
    ),
    entry(
        "compass-table1",
        Compass,
        "table 1",
        "Blocks and threads of CUDA kernels that decode the UT",
        Impossible("the UT is decoded on the CPU alone; there is no such kernel here"),
    ),
    entry("compass-table2", Compass, "table 2", "GPUs and CPU", Run(machines::compass)),
    entry(
        "compass-table3",
        Compass,
        "table 3",
        "Efficiency, clones and fakes by number of sectors and candidates",
        Run(compass::table_3),
    )
    .drawn(),
    entry(
        "compass-figure9",
        Compass,
        "figure 9",
        "Throughput by number of sectors and candidates",
        Run(compass::figure_9),
    )
    .drawn(),
    entry(
        "compass-figure10",
        Compass,
        "figure 10",
        "Price and performance of GPUs",
        Impossible("Compass runs on the CPU alone here, and prices are not measured"),
    ),
    entry(
        "compass-figure11",
        Compass,
        "figure 11",
        "Speed-up of CUDA code by eleven changes",
        Impossible("a history of the authors' code; Compass runs on the CPU alone here"),
    ),
    entry(
        "compass-figure12",
        Compass,
        "figure 12",
        "Share of each step in the time",
        Run(compass::figure_12),
    ),
    entry("compass-figure13", Compass, "figure 13", "Speed-up over LHCb's baseline of 2019", NO_PEER),
    entry(
        "scifi-shared-memory",
        SciFi,
        "slide \"Searching hits\"",
        "Speed-up 1.57 by hits in shared memory",
        Run(scifi_memory::shared_memory),
    )
    .drawn(),
    entry(
        "scifi-throughput",
        SciFi,
        "comparison 1",
        "Throughput of seeding and matching",
        Run(scifi::throughput),
    ),
    entry(
        "scifi-efficiency",
        SciFi,
        "comparisons 2 and 3",
        "Efficiency against p, pt and eta; ghosts",
        Run(scifi::efficiency),
    )
    .drawn(),
    entry(
        "scifi-forward",
        SciFi,
        "comparisons 1 to 3",
        "Forward tracking with the UT",
        Impossible("not yet: forward tracking is not in this repository"),
    ),
    entry(
        "matriplex-figure1",
        Matriplex,
        "figure 1",
        "Time of CMS's reconstruction against pile-up",
        Impossible("it measures CMS's own software"),
    ),
    entry(
        "matriplex-figure2a",
        Matriplex,
        "figure 2a",
        "Time against the width of vectors",
        Run(matriplex::figure_2a),
    )
    .drawn(),
    entry("matriplex-figure2b", Matriplex, "figure 2b", "Time against threads", Run(matriplex::figure_2b))
        .drawn(),
    entry(
        "matriplex-figure3",
        Matriplex,
        "figure 3",
        "The same on a Xeon Phi",
        Impossible(
            "no Xeon Phi is at hand; on a CPU with AVX-512 matriplex-figure2a measures vectors of the same width",
        ),
    ),
    entry(
        "matriplex-efficiency",
        Matriplex,
        "section 3.2",
        "Efficiency and fakes of the builders",
        Run(matriplex::efficiency),
    )
    .drawn(),
    entry(
        "matriplex-figure4",
        Matriplex,
        "figure 4",
        "Products of 6 x 6 matrices by memory layout",
        Run(layouts::figure_4),
    )
    .drawn(),
    entry(
        "matriplex-figure5",
        Matriplex,
        "figure 5",
        "Fits on a GPU by size and streams",
        Device(
            "peloton throughput --sequence cylinder sim:cylinder,events=16 --device gpu --scan (stage fit)",
        ),
    ),
    entry("matriplex-figures6-7", Matriplex, "figures 6 and 7", "Heaps in shared memory", DRAWING),
    entry(
        "matriplex-figure8",
        Matriplex,
        "figure 8",
        "Builders on a GPU and on a CPU",
        Device(
            "peloton throughput --sequence cylinder sim:cylinder --builder best-hit --device gpu, and clone-engine",
        ),
    ),
    entry("pixels-figures1-2", Pixels, "figures 1 and 2", "Graph of threads, union-find", DRAWING),
    entry("pixels-figure3", Pixels, "figure 3", "Samples and their cluster sizes", Run(pixels::figure_3)),
    entry("pixels-figure4", Pixels, "figure 4", "Throughput against threads", Run(pixels::figure_4)).drawn(),
    entry(
        "pixels-figure5",
        Pixels,
        "figure 5",
        "Throughput on a GPU",
        Device(
            "peloton throughput --sequence timepix sim:timepix,preset=pion45,hits=4000000 --device gpu --scan",
        ),
    ),
    entry(
        "pixels-agreement",
        Pixels,
        "section 5",
        "Agreement of clusters by two definitions and two time windows",
        Run(agreement::agreement),
    ),
    entry(
        "pixels-splitting",
        Pixels,
        "section 3.2",
        "Clusters that are split when hits are shared out by number, area or time",
        Run(splitting::splitting),
    )
    .drawn(),
];

/// The list for people, paper by paper: what runs, what a GPU makes, and what cannot be made.
pub fn list_text() -> String {
    let mut out = String::new();
    for paper in Paper::ALL {
        let mut rows = Vec::new();
        for Entry { name, of, what, making, .. } in ENTRIES.iter().filter(|entry| entry.paper == paper) {
            let how = match making {
                Run(_) => "yes".to_string(),
                Device(command) => format!("needs a GPU: {command}"),
                Impossible(reason) => format!("no: {reason}"),
            };
            rows.push([format!("  {name}"), of.to_string(), format!("{what}; {how}")]);
        }
        out.push_str(&format!("{}\n{}\n", paper.title(), left_aligned(&rows)));
    }
    out.push_str(&format!(
        "`peloton reproduce NAME` makes {} of these {}: those marked yes\n",
        ENTRIES.iter().filter(|entry| matches!(entry.making, Run(_))).count(),
        ENTRIES.len(),
    ));
    out
}

/// Rows of words, all columns to the left.
fn left_aligned(rows: &[[String; 3]]) -> String {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    rows.iter().map(|[name, of, rest]| format!("{name:first$}  {of:second$}  {rest}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_every_paper_has_some() {
        let names: HashSet<_> = ENTRIES.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), ENTRIES.len());
        let text = list_text();
        for entry in ENTRIES {
            assert!(text.contains(entry.name) && text.contains(entry.what), "{}", entry.name);
        }
    }
}
