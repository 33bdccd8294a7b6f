//! `peloton isa`: shows the instruction sets of this CPU and build, and which of them jobs use.

use crate::options::ReportArgs;
use clap::Args;
use peloton::Result;
use peloton::simd::{GANGS, Isa, Level};
use peloton_io::output::JobFiles;
use peloton_job::{cpu_name, devices_found};
use peloton_plot::text::table;
use serde::Serialize;
use std::process::ExitCode;

/// Show the instruction sets of this CPU and of this build, and which of them jobs use
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton isa
  PELOTON_ISA=avx2 peloton isa --json -")]
pub struct IsaCommand {
    #[command(flatten)]
    report: ReportArgs,
}

#[derive(Serialize)]
struct Report {
    cpu: String,
    cores: usize,
    levels: Vec<LevelReport>,
    /// Instruction set that the environment variable `PELOTON_ISA` forces, if any.
    forced: Option<&'static str>,
    runs: Runs,
    /// Name of the GPU, or the reason why no GPU can be used.
    gpu: String,
}

#[derive(Serialize)]
struct LevelReport {
    name: &'static str,
    built_in: bool,
    supported: bool,
    gangs: Vec<usize>,
    auto_gang: Option<usize>,
    /// How kernels gather: single loads (`loads`) or gather instructions (`gathers`). None if there is no choice.
    gathers_by: Option<&'static str>,
}

#[derive(Serialize)]
struct Runs {
    isa: &'static str,
    gang: usize,
}

impl IsaCommand {
    /// Adds to `files` the files that the command writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.report.name_files(files);
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let chosen = Level::choose(None, None)?;
        let report = Report {
            cpu: cpu_name(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            levels: Isa::ALL.map(level).into(),
            forced: Isa::from_environment()?.map(Isa::name),
            runs: Runs { isa: chosen.isa().name(), gang: chosen.gang() },
            gpu: devices_found(),
        };
        self.report.report(&text(&report), &report)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn level(isa: Isa) -> LevelReport {
    let auto = Level::choose(Some(isa), None).ok();
    LevelReport {
        name: isa.name(),
        built_in: isa.is_built_in(),
        supported: isa.is_supported(),
        gangs: GANGS.into_iter().filter(|&gang| Level::new(isa, gang).is_ok()).collect(),
        auto_gang: auto.map(Level::gang),
        gathers_by: auto.and_then(Level::gathers).and_then(|way| way.name().split(':').nth(1)),
    }
}

fn text(report: &Report) -> String {
    let yes_or_no = |yes| if yes { "yes" } else { "no" }.to_string();
    let mut rows =
        vec![["isa", "built in", "this CPU", "gangs", "auto gang", "gathers by"].map(String::from)];
    for level in &report.levels {
        let gangs: Vec<_> = level.gangs.iter().map(usize::to_string).collect();
        rows.push([
            level.name.into(),
            yes_or_no(level.built_in),
            yes_or_no(level.supported),
            gangs.join(" "),
            level.auto_gang.map_or("-".into(), |gang| gang.to_string()),
            level.gathers_by.unwrap_or("-").into(),
        ]);
    }
    let forced = match report.forced {
        Some(isa) => format!(" (forced by {}={isa})", Isa::VARIABLE),
        None => String::new(),
    };
    let Report { cpu, cores, runs, gpu, .. } = report;
    format!(
        "{cpu}, {cores} cores\n\n{}\nruns {} x {}{forced}\ngpu: {gpu}\n",
        table(&rows),
        runs.isa,
        runs.gang
    )
}
