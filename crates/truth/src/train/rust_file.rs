//! Writes a trained network as a Rust file.

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
    /// Returns a Rust file with the network as a constant. `what` describes the network in one line without a full
    /// stop, and `made` describes how the training table was made. `library` is the path to peloton's library, which is
    /// `crate` inside the library.
    pub fn to_rust(&self, constant: &str, what: &str, made: &str, library: &str) -> String {
        let (network, training) = (&self.network, &self.training);
        let [weights, thresholds] =
            [WEIGHT_SEEDS, THRESHOLD_SEEDS].map(|seeds| format!("{}-{}", seeds.start(), seeds.end()));
        let [kept, kept_false] = self.kept.map(|kept| 100.0 * kept);
        let mut out = format!("//! {what}.\n//!\n//! Written by the trainer, not by hand: {made}\n");
        let _ = writeln!(
            out,
            "//! Weights are fitted to {} true and {} false candidates, seeds {weights}.",
            self.weight_rows[0], self.weight_rows[1]
        );
        let _ = writeln!(
            out,
            "//! The threshold keeps {kept:.2} % of {} true and {kept_false:.2} % of {} false candidates, seeds {thresholds}.",
            self.threshold_rows[0], self.threshold_rows[1]
        );
        let _ = writeln!(
            out,
            "//! Of a true and a false candidate at random, the true one has the larger response in {:.3} % of cases.",
            100.0 * self.ordered
        );
        let _ = writeln!(
            out,
            "//! Training: {} hidden units, {} epochs, batches of {} candidates, learning rate {}, seed {}.",
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
