//! A trained network as a Rust file.

use super::{THRESHOLD_SEEDS, Trained, WEIGHT_SEEDS};
use std::fmt::Write;

/// Numbers in one line of a list.
const IN_LINE: usize = 8;

fn list(out: &mut String, indent: &str, name: &str, values: &[f32]) {
    let _ = writeln!(out, "{indent}{name}[");
    for line in values.chunks(IN_LINE) {
        let line: Vec<String> = line.iter().map(|value| format!("{value:?}")).collect();
        let _ = writeln!(out, "{indent}    {},", line.join(", "));
    }
    let _ = writeln!(out, "{indent}],");
}

impl Trained {
    /// Returns the network as a constant of a Rust file. `what` describes it in one line, without a full stop; `made`
    /// describes how the table was made, so that it can be made again; `library` is the path to peloton's library,
    /// `crate` inside it.
    pub fn to_rust(&self, constant: &str, what: &str, made: &str, library: &str) -> String {
        let (network, training) = (&self.network, &self.training);
        let [weights, thresholds] =
            [WEIGHT_SEEDS, THRESHOLD_SEEDS].map(|seeds| format!("{}-{}", seeds.start(), seeds.end()));
        let [kept, kept_false] = self.kept.map(|kept| 100.0 * kept);
        let mut out = format!("//! {what}.\n//!\n//! Written by the trainer, not by hand: {made}\n");
        let _ = writeln!(
            out,
            "//! Weights: seeds {weights}, {} true and {} false candidates.",
            self.weight_rows[0], self.weight_rows[1]
        );
        let _ = writeln!(
            out,
            "//! Threshold: seeds {thresholds}, {} true and {} false; it keeps {kept:.2} % and {kept_false:.2} %.",
            self.threshold_rows[0], self.threshold_rows[1]
        );
        let _ = writeln!(
            out,
            "//! Of pairs of a true and a false one {:.3} % are in order.",
            100.0 * self.ordered
        );
        let _ = writeln!(
            out,
            "//! Training: {} units, {} epochs, batches of {}, rate {}, seed {}.",
            training.hidden, training.epochs, training.batch, training.rate, training.seed
        );
        let _ = writeln!(out, "//! Inputs: {}.\n", self.names.join(", "));
        let _ = writeln!(out, "use {library}::classifier::Network;\n\n/// {what}.\n#[rustfmt::skip]");
        let (inputs, hidden) = (network.centre.len(), network.output.len());
        let _ = writeln!(out, "pub const {constant}: Network<{inputs}, {hidden}> = Network {{");
        list(&mut out, "    ", "centre: ", &network.centre);
        list(&mut out, "    ", "scale: ", &network.scale);
        let _ = writeln!(out, "    hidden: [");
        network.hidden.chunks_exact(inputs).for_each(|unit| list(&mut out, "        ", "", unit));
        let _ = writeln!(out, "    ],");
        list(&mut out, "    ", "hidden_bias: ", &network.hidden_bias);
        list(&mut out, "    ", "output: ", &network.output);
        let _ = writeln!(
            out,
            "    output_bias: {:?},\n    threshold: {:?},\n}};",
            network.output_bias, self.threshold
        );
        out
    }
}
