//! Trains a small classifier: reads a table of candidates, and writes the network as a Rust file.
//!
//! ```text
//! cargo run --release --example train -- TABLE.csv CONSTANT "what it tells" FILE.rs [hidden=8 epochs=20 keep=0.99 ...]
//! ```
//! The table's first line names its columns: `seed`, `true` (0 or 1), then the features in the order of the network's
//! inputs. Weights are fitted to candidates of seeds 1 to 799, and the threshold is chosen on seeds 800 to 999.

use peloton::{Error, Result};
use peloton_truth::train::{Table, Training, train};
use std::str::FromStr;

const USAGE: &str =
    "usage: train TABLE.csv CONSTANT WHAT FILE.rs [hidden|epochs|batch|rate|seed|keep=VALUE ...]";

fn value<T: FromStr>(text: &str, what: &str) -> Result<T> {
    text.trim().parse().map_err(|_| Error::Config(format!("{what}: `{text}` is not a valid number")))
}

fn options(arguments: &[String]) -> Result<Training> {
    let mut training = Training::default();
    for argument in arguments {
        let (key, text) = argument.split_once('=').ok_or_else(|| Error::Config(USAGE.into()))?;
        match key {
            "hidden" => training.hidden = value(text, key)?,
            "epochs" => training.epochs = value(text, key)?,
            "batch" => training.batch = value(text, key)?,
            "rate" => training.rate = value(text, key)?,
            "seed" => training.seed = value(text, key)?,
            "keep" => training.keep = value(text, key)?,
            _ => return Err(Error::Config(format!("`{key}` is no option; {USAGE}"))),
        }
    }
    Ok(training)
}

fn read(name: &str) -> Result<Table> {
    let text = std::fs::read_to_string(name).map_err(|e| Error::io(name, e))?;
    let mut lines = text.lines().zip(1..);
    let head: Vec<&str> =
        lines.next().map_or(Vec::new(), |(line, _)| line.split(',').map(str::trim).collect());
    let ["seed", "true", features @ ..] = head.as_slice() else {
        return Err(Error::format(name, "the first line must name the columns seed, true and the features"));
    };
    let mut table = Table::new(features);
    for (line, number) in lines {
        let what = format!("{name} line {number}");
        let cells: Vec<&str> = line.split(',').collect();
        let [seed, label, cells @ ..] = cells.as_slice() else {
            return Err(Error::format(what, "a line must have a seed, 0 or 1, and features"));
        };
        let features = cells.iter().map(|cell| value(cell, &what)).collect::<Result<Vec<f32>>>()?;
        table.push(value(seed, &what)?, &features, value::<u8>(label, &what)? != 0)?;
    }
    Ok(table)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [table, constant, what, file, rest @ ..] = arguments.as_slice() else {
        return Err(Error::Config(USAGE.into()));
    };
    let trained = train(&read(table)?, &options(rest)?)?;
    let text = trained.to_rust(constant, what, &format!("from the table `{table}`."), "crate");
    std::fs::write(file, text).map_err(|e| Error::io(file, e))?;
    let [kept, kept_false] = trained.kept.map(|kept| 100.0 * kept);
    println!(
        "{file}: keeps {kept:.2} % of true and {kept_false:.2} % of false candidates; {:.4} of pairs rank the true candidate higher",
        trained.ordered
    );
    Ok(())
}
