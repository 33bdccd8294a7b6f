//! `peloton check`: reconstructs events, or takes tracks made elsewhere, and compares with the truth.

use super::job::stream;
use super::options::{ConfigArgs, InputArgs, ReportArgs};
use super::reconstruct::reconstruct;
use super::settings::Settings;
use super::source::{EventBatch, EventSource};
use super::track_file::TrackFile;
use super::{cylinder, describe, interrupt, timepix};
use crate::event::VeloTracks;
use crate::output::JobFiles;
use crate::pipeline::Sequence;
use crate::truth::{CheckReport, Checker, Rules, VeloLosses, VeloPulls};
use crate::{Error, Result};
use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

/// Reconstruct events and compare with the truth: efficiency, ghosts, clones
///
/// A line reads: found/particles efficiency (mean over events) [68 % interval], clones (rate), purity, hit
/// efficiency.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton check events.ndjson.zst
  peloton check sim:velo,events=1000,seed=7 --rules lhcb --json check.json
  peloton check --sequence cylinder toy.bin.zst --preset paper --builder best-hit
  peloton check events.ndjson --losses                  why particles are missed, what false tracks are
  peloton check events.ndjson --tracks tracks.ndjson    score tracks made elsewhere")]
pub struct Check {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// What counts as found: json (the public events' strict validator), lhcb (of Velo tracks), and for tracks of
    /// LHCbIDs made elsewhere lhcb-ut, lhcb-seed, lhcb-long; of the sequence cylinder cylinder [default: cylinder for that,
    /// json for files of hits, else lhcb]
    #[arg(long, value_name = "RULES")]
    rules: Option<CheckedBy>,
    /// Also print efficiencies against momentum, angles, origin and event size, and ghosts against length
    #[arg(long)]
    tables: bool,
    /// Also print why Velo particles are missed, and what false tracks and clones are made of, by the json rules;
    /// of tracks made here, from events of hits
    #[arg(long, conflicts_with = "tracks")]
    losses: bool,
    /// Check these tracks instead of own ones: NDJSON, line i is event i, a list of tracks, each a list of
    /// hit ids
    #[arg(long, value_name = "FILE")]
    tracks: Option<PathBuf>,
}

impl Check {
    /// Adds what is read and written.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.input.name_files(files);
        self.config.name_files(files);
        self.report.name_files(files);
        files.read("--tracks", &self.tracks);
    }

    /// Does it.
    pub fn execute(&self) -> Result<ExitCode> {
        let Some(config) = self.config.load()? else { return Ok(ExitCode::SUCCESS) };
        if config.sequence == Sequence::Timepix {
            return timepix::check(&config, &self.config, &self.input, &self.report);
        }
        if config.sequence == Sequence::Cylinder {
            if let Some(CheckedBy::Tracker(rules)) = self.rules {
                let message =
                    format!("--rules {rules} is not for the sequence cylinder: its rules are cylinder");
                return Err(Error::Config(message));
            }
            if self.tracks.is_some() {
                let message = "--tracks is not for the sequence cylinder: it checks tracks of its own";
                return Err(Error::Config(message.into()));
            }
            return cylinder::check(&config, &self.input, &self.report, self.tables);
        }
        let settings = Settings::new(config)?;
        if self.tracks.is_none() && settings.config.sequence != Sequence::Velo {
            let message = "ends at hits: check compares tracks, those of --tracks FILE at least";
            return Err(Error::Unsupported(format!("sequence {} {message}", settings.config.sequence)));
        }
        let mut source = self.input.open(&settings.config, true, &self.report)?;
        let settings = settings.for_source(&source);
        let rules = match self.rules {
            Some(CheckedBy::Tracker(rules)) => rules,
            Some(CheckedBy::Cylinder) => {
                let message = "--rules cylinder is for the sequence cylinder: say --sequence cylinder";
                return Err(Error::Config(message.into()));
            }
            None => source.rules(),
        };
        source.check_by(rules);
        let mut checker = Checker::new(rules);
        let mut losses = VeloLosses::default();
        let mut pulls = VeloPulls::default();
        let made = match &self.tracks {
            Some(path) => self.check_tracks(path, &mut source, &mut checker).map(|()| {
                let head = json!({ "sequence": settings.config.sequence });
                (format!("{}\n\n", path.display()), object(&head))
            }),
            None => {
                let made = reconstruct::<VeloTracks>(
                    &settings,
                    &mut source,
                    (self.input.strict, self.report.quiet),
                    |chunk| {
                        for ((tracks, event), truth) in chunk.result.events().zip(&chunk.truth) {
                            checker.event(truth, tracks.hit_lists(event));
                            pulls.event(truth, tracks, event);
                        }
                        if self.losses {
                            let EventBatch::Hits(hits) = &chunk.events else { return Err(no_positions()) };
                            let made = chunk.result.events().zip(&chunk.truth).enumerate();
                            for (number, ((tracks, event), truth)) in made {
                                losses.event(truth, &hits.view().event(number), tracks.hit_lists(event));
                            }
                        }
                        Ok(())
                    },
                );
                made.map(|summary| (describe::summary(&summary) + "\n", object(&summary)))
            }
        };
        source.say_problems(&self.report);
        let (mut text, mut json) = made?;
        let report: CheckReport = checker.report();
        if report.events == 0 {
            return Err(Error::format("input", "no event to check"));
        }
        text.push_str(&report.to_string());
        if self.tables {
            text.push_str(&describe::tables(&report));
        }
        if self.losses {
            let report = losses.report();
            text.push_str(&describe::losses(&report));
            json.insert("losses".into(), json!(report));
        }
        if let Some(report) = pulls.report() {
            text.push_str(&describe::velo_pulls(&report));
            json.insert("states".into(), json!(report));
        }
        if interrupt::requested() {
            text.push_str("interrupted: these are the events so far\n");
        }
        json.extend(object(&report));
        self.report.report(&text, &json)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Feeds tracks made elsewhere to the checker, line by line.
    fn check_tracks(&self, path: &Path, source: &mut EventSource, checker: &mut Checker) -> Result<()> {
        let mut file = TrackFile::open(path)?;
        file.skip(self.input.events.first)?;
        stream::<()>(
            source,
            1,
            self.report.quiet,
            |_| Ok(()),
            |chunk| {
                for truth in &chunk.truth {
                    let tracks = file.next_event()?;
                    checker.event(truth, tracks.iter().map(Vec::as_slice));
                }
                Ok(())
            },
        )?;
        if self.input.events.count.is_none() && !interrupt::requested() { file.expect_end() } else { Ok(()) }
    }
}

/// Whose rules tracks are checked by.
#[derive(Debug, Clone, Copy)]
enum CheckedBy {
    Tracker(Rules),
    /// Those of the cylinder detector.
    Cylinder,
}

impl FromStr for CheckedBy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "cylinder" { Ok(Self::Cylinder) } else { text.parse().map(Self::Tracker) }
    }
}

fn no_positions() -> Error {
    Error::Unsupported("--losses needs events of hits: of raw banks only the hits' names are at hand".into())
}

/// A struct as a JSON object.
fn object(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}
