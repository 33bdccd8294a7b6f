//! `docs/columns.md`, the documented table of columns, agrees with the schemas. With `UPDATE=1` the test writes it.

use arrow_schema::Field;
use peloton::Status;
use peloton::event::{
    ColumnInfo, CylinderFits, CylinderTracks, Kind, LongTracks, PixelClusters, Product, SCHEMA_VERSION,
    STATE_COLUMNS, SciFiBatch, SciFiTracks, StateColumn, UtBatch, VeloTracks, VeloUtTracks,
};
use peloton::kalman::FitStatus;
use peloton_io::output::timepix::{frame_fields, origin_fields, trigger_fields};
use peloton_io::output::{ColumnRow, TableField, column_rows, field_rows};
use peloton_truth::{PARTICLE_FIELDS, TRACK_FIELDS};
use std::fmt::Write;
use std::path::Path;

#[test]
fn the_documented_columns_are_those_of_the_schemas() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/columns.md");
    let expected = document();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(found == expected, "docs/columns.md is not what the schemas say: run this test with UPDATE=1");
}

#[test]
fn columns_have_one_name_each_and_say_what_they_are() {
    fn check<R: Product>() {
        for (place, info) in R::SCHEMA.columns.iter().enumerate() {
            assert!(R::SCHEMA.columns[..place].iter().all(|other| other.name != info.name), "{}", info.name);
            assert!(!info.meaning.is_empty() && !info.unit.is_empty(), "{}", info.name);
            assert!(info.depth < R::SCHEMA.levels.len(), "{}", info.name);
        }
        // Columns that hash_int covers come first, and starts before the columns that they cut into lists.
        assert!(R::SCHEMA.columns.is_sorted_by_key(|info| !info.in_hash_int));
        let starts = R::SCHEMA.columns.iter().filter(|info| info.kind == Kind::Starts);
        assert!(starts.map(|info| info.depth).eq(0..R::SCHEMA.levels.len() - 1));
    }
    check::<VeloTracks>();
    check::<VeloUtTracks>();
    check::<UtBatch>();
    check::<SciFiBatch>();
    check::<SciFiTracks>();
    check::<LongTracks>();
    check::<CylinderTracks>();
    check::<CylinderFits>();
    check::<PixelClusters>();
}

const HEAD: &str = "\
# Columns

The command `UPDATE=1 cargo test --release --test library columns` writes this page from the schemas in `src/event`; do not edit it.

In memory, results are columns with offsets (`Product::SCHEMA`). A Parquet file has one row per event (for the sequence
`timepix`, per cluster). In a row, the values of tracks or hits are a list, and the hits of tracks are a list of lists. Files
have no columns of offsets, since the lists imply them; only if the hits of an event are in groups, a list gives the start of
each group. The metadata of each column hold its `unit` and its `description`. The metadata of the file hold, each as
`peloton.NAME`: `schema_version`, `version`, `sequence`, `command`, `configuration` (TOML), `inputs`, `geometry`, `level`,
`hash_int` and `output_hash`.

In the tables below, a column has one value for each item named under *per*. The hash `hash_int` covers the columns marked under
*int*, and `output_hash` covers all columns of the table in order. Neither hash covers additional columns such as `event_id`, which
identify the input. A value that was not measured is null: run and event number if the input has none, the energy of clusters
without a calibration, the times of clusters of frames. The run number of simulated raw events is the low 32 bits of their seed.

NDJSON has one line per event, an object with `event_id`, `run_number`, `event_number`, `status` (its name) and the list `tracks`, in
which each track is a list of hits. For `ut` and `scifi-hits` the object has the columns of the hits in place of `tracks`, and the
starts of groups as `start`. With `run --named-fields` each track (for `ut` and `scifi-hits` each item of the list `hits`) is an
object that names its values by column. For `timepix` NDJSON has one line per cluster, in which names of times end in `_ns` and names
of energies in `_keV`. The field `bounds` is smallest x and y, then largest x and y. Each item of `hits` is x, y, time over threshold
in clocks of 25 ns, and time after the first hit in ns. Columns that only files have keep their names in NDJSON. Clusters of
frames have the number of their `frame`, and null for all times. A .clog file counts frames from 1: frame 0 of the input is `Frame 1`.
";

const STATES: &str = "
## States

A quantity of a state has the same name in all sequences. If a track has several states, the name begins with the place of the
state: `beam_`, `end_` or `scifi_`. The states of `velo`, and the state `beam_` of `long`, have one covariance for x and y, under the
names for x. The last column of the table lists the names that some sequences had before version 5 of the schemas.

| quantity | unit | meaning | velo | velo-ut | scifi | long | cylinder, cylinder-fit | before |
|---|---|---|---|---|---|---|---|---|
";

/// Text after the table of states.
const CYLINDER: &str = "
`qpt` and `qop` are different quantities: `qpt`, of the cylinder, is q/pT, charge over the momentum across the beam; `qop` is q/p.
";

const TRUTH: &str = "
## Tables of the truth

`peloton check --truth-output NAME.parquet` writes two tables: results for every particle to `NAME.particles.parquet`, and for
every track to `NAME.tracks.parquet`. Both tables can be joined with the results of `run` by `event_id` and the number of the track; if the input has
them, `run_number` and `event_number` can replace `event_id`. The rules (`--rules`) define when a track matches a particle.
";

fn document() -> String {
    let mut text = HEAD.to_string();
    write!(text, "\nVersion of the schemas: {SCHEMA_VERSION}.\n").unwrap();
    states(&mut text);
    sequence::<VeloTracks>(&mut text, "velo");
    sequence::<VeloUtTracks>(&mut text, "velo-ut");
    sequence::<UtBatch>(&mut text, "ut");
    sequence::<SciFiBatch>(&mut text, "scifi-hits");
    sequence::<SciFiTracks>(&mut text, "scifi");
    sequence::<LongTracks>(&mut text, "long");
    text.push_str("\nThe sequence `long-ut` has the same columns as `long`.\n");
    sequence::<CylinderTracks>(&mut text, "cylinder");
    sequence::<CylinderFits>(&mut text, "cylinder-fit");
    sequence::<PixelClusters>(&mut text, "timepix");
    beside(&mut text, "Files have these columns in addition", &origin_fields());
    beside(&mut text, "With `--trigger` files also have these columns", &trigger_fields());
    beside(&mut text, "Files of clusters from frames also have this column", &frame_fields());
    text.push_str(TRUTH);
    table(&mut text, "particle", &PARTICLE_FIELDS);
    table(&mut text, "track", &TRACK_FIELDS);
    text.push_str("\n## Codes of `status`\n\n| code | name | meaning |\n|---|---|---|\n");
    for status in Status::ALL {
        writeln!(text, "| {} | `{}` | {} |", status.code(), status.name(), status.meaning()).unwrap();
    }
    text.push_str("\n## Codes of `fit` (sequences cylinder, cylinder-fit)\n\n| code | name |\n|---|---|\n");
    for status in FitStatus::ALL {
        writeln!(text, "| {} | `{}` |", status as u8, status.name()).unwrap();
    }
    text
}

/// The table of a table of the truth.
fn table(text: &mut String, of: &str, fields: &[TableField]) {
    write!(text, "\n### One row per {of}\n\n| column | type | unit | meaning |\n|---|---|---|---|\n")
        .unwrap();
    for TableField { name, kind, unit, meaning } in fields {
        let kind = format!("{kind:?}").to_lowercase().replace("words", "list of text");
        writeln!(text, "| `{name}` | {kind} | {unit} | {meaning} |").unwrap();
    }
}

/// The table of states.
fn states(text: &mut String) {
    text.push_str(STATES);
    for column in &STATE_COLUMNS {
        let StateColumn { name, unit, meaning, old_name } = column;
        let names = [
            names_of::<VeloTracks>(column),
            names_of::<VeloUtTracks>(column),
            names_of::<SciFiTracks>(column),
            names_of::<LongTracks>(column),
            names_of::<CylinderTracks>(column),
        ]
        .join(" | ");
        let old = old_name.map(|name| format!("`{name}`")).unwrap_or_default();
        writeln!(text, "| `{name}` | {unit} | {meaning} | {names} | {old} |").unwrap();
    }
    text.push_str(CYLINDER);
}

/// The names of a quantity in a sequence. The cylinder has a `z` of its own, in cm.
fn names_of<R: Product>(of: &StateColumn) -> String {
    let is_of = |info: &&ColumnInfo| StateColumn::of(info.name) == Some(of) && info.unit == of.unit;
    let names = R::SCHEMA.columns.iter().filter(is_of).map(|info| format!("`{}`", info.name));
    names.collect::<Vec<_>>().join(", ")
}

/// The table of one sequence.
fn sequence<R: Product>(text: &mut String, name: &str) {
    write!(text, "\n## Sequence {name}\n").unwrap();
    rows(text, &column_rows(R::SCHEMA));
}

/// The table of columns that files of clusters have in addition to the columns of the results.
fn beside(text: &mut String, when: &str, fields: &[Field]) {
    write!(text, "\n{when}:\n").unwrap();
    rows(text, &field_rows(PixelClusters::SCHEMA, fields));
}

fn rows(text: &mut String, rows: &[ColumnRow]) {
    text.push_str("\n| column | type | per | unit | int | meaning |\n|---|---|---|---|---|---|\n");
    for ColumnRow { name, kind, per, unit, in_hash_int, meaning } in rows {
        let int = if *in_hash_int { "yes" } else { "" };
        writeln!(text, "| `{name}` | {kind} | {per} | {unit} | {int} | {meaning} |").unwrap();
    }
}
