//! Search by triplet: physics, table IV, figures 5 and 6.

use super::entry::{Job, SEED};
use super::figures::{Found, categories, ghost_rate, khz, part_ns, stages_ns, text_of};
use super::report::Report;
use super::table::Origin::{Here, Paper, Program, Setting};
use super::table::{Cell, Table};
use crate::{Checked, Config, Preset, SequenceName, throughput, tune};
use peloton::Result;

/// Presets that are put side by side.
const PRESETS: [Preset; 4] = [Preset::Paper, Preset::PaperLiteral, Preset::Best, Preset::Forwarding];
/// What the letter of the paper has otherwise than preset `paper`: name, `seed_by_fit`, `forward_by_angle`.
const SWITCHES: [(&str, bool, bool); 3] =
    [("seed_by_fit", true, false), ("forward_by_angle", false, true), ("both", true, true)];
/// What LHCb's public code of the paper's time finds in the 200 public events by the json rules: category, per cent.
const CODE_OF_ITS_TIME: [(&str, f64); 4] =
    [("velo", 92.8), ("long", 98.3), ("long>5GeV", 99.2), ("long_fromb", 98.3)];

/// Simulated events of the Velo.
fn sample(job: &Job<'_>) -> String {
    format!("sim:velo,events={},seed={SEED}", job.size(1000, 40))
}

/// Efficiencies of our presets; the paper says that they are good, and prints none.
///
/// # Errors
/// Those of the checks.
pub fn efficiency(job: &Job<'_>) -> Result<Report> {
    let request = job.request(SequenceName::Velo, Preset::Paper, &sample(job));
    let mut configs = PRESETS.map(|preset| request.config.with_preset(preset)).to_vec();
    configs.extend(SWITCHES.map(|(_, fit, angle)| {
        let mut config = request.config.with_preset(Preset::Paper);
        (config.velo.paper.seed_by_fit, config.velo.paper.forward_by_angle) = (fit, angle);
        config
    }));
    let all = job.check(&request, &configs, None)?;
    let (checked, switched) = all.split_at(PRESETS.len());
    let is_json = text_of(&checked[0], "rules") == "json";
    let mut rates = Table::new("Efficiency and clones, per cent")
        .columns(Setting, &[("particles", "")])
        .columns(Here, &[("of", ""), ("preset paper", "%"), ("clones", "%")])
        .columns(Here, &[("preset paper-literal", "%"), ("clones", "%")])
        .columns(Here, &[("preset best", "%"), ("clones", "%")])
        .columns(Here, &[("preset forwarding", "%"), ("clones", "%")])
        .columns(Program, &[("LHCb's code of the paper's time", "%")]);
    for name in categories(&checked[0]) {
        let mut row = vec![name.as_str().into()];
        for (one, number) in checked.iter().zip(0..) {
            let found = Found::of(one, &name)?;
            if number == 0 {
                row.push(Cell::Count(found.reconstructible));
            }
            row.extend([Cell::percent(found.efficiency), Cell::percent(found.clone_rate)]);
        }
        let known = CODE_OF_ITS_TIME.iter().find(|(category, _)| is_json && *category == name);
        row.push(known.map_or(Cell::Nothing, |(_, rate)| Cell::Number(*rate, 1)));
        rates.row(row);
    }
    let mut ghosts = Table::new("Ghosts: tracks that belong to no particle")
        .columns(Setting, &[("preset", "")])
        .columns(Here, &[("ghosts", "%"), ("tracks", "")]);
    for (preset, one) in PRESETS.iter().zip(checked) {
        let tracks = one.json.get("tracks").and_then(serde_json::Value::as_u64).unwrap_or(0);
        ghosts.row(vec![
            preset.to_string().as_str().into(),
            Cell::percent(ghost_rate(one)),
            Cell::Count(tracks),
        ]);
    }
    let notes = [
        "The paper prints no efficiencies (its section VI: \"validated to produce acceptable physics performance\"). The \
         last column is LHCb's public code of that time on 200 public simulated events, with 1.27 % ghosts; give these \
         events to --input to compare on the same ones",
        "Clone rates here are by the rules of the check: clones over particles found by the rules `json`, clones over all \
         tracks of these particles by LHCb's. The paper defines them differently: clone tracks over all reconstructed tracks",
        "`forwarding` is the sequential algorithm of the paper's section II.A",
        "`paper` judges triplets and forwarded hits by their distance from a line, as LHCb's code of its time does; \
         `paper-literal` does it as the paper says, by the chi2 of the triplet's least-squares line (`seed_by_fit`) and by \
         (dx^2 + dy^2) / dz^2 (`forward_by_angle`), and fits tracks by least squares, which changes their states alone",
    ];
    Ok(Report {
        input: request.inputs.clone(),
        machine: job.machine(&request.config)?,
        paper_machine: "simulated events of LHCb; the same results on every device",
        hashes: all.iter().map(|one| text_of(one, "output_hash")).collect(),
        tables: vec![rates, ghosts, switches(&checked[0], switched)?],
        notes: notes.map(String::from).to_vec(),
        ..Report::default()
    })
}

/// What each switch between `paper` and the letter of the paper does.
fn switches(paper: &Checked, switched: &[Checked]) -> Result<Table> {
    let mut names = categories(paper);
    names.retain(|name| Found::of(paper, name).is_ok_and(|found| found.reconstructible > 0));
    let labels: Vec<_> = names.iter().map(|name| (name.as_str(), "%")).collect();
    let mut table = Table::new("Preset paper with what the letter of the paper says otherwise")
        .columns(Setting, &[("switched on", "")])
        .columns(Here, &labels)
        .columns(Here, &[("ghosts", "%"), ("clones", "%")]);
    let named = SWITCHES.iter().map(|(name, ..)| *name);
    for (name, one) in std::iter::once("nothing").chain(named).zip(std::iter::once(paper).chain(switched)) {
        let mut row = vec![name.into()];
        for category in &names {
            row.push(Cell::percent(Found::of(one, category)?.efficiency));
        }
        let clones = names.first().map(|first| Found::of(one, first)).transpose()?;
        row.push(Cell::percent(ghost_rate(one)));
        row.push(Cell::percent(clones.and_then(|found| found.clone_rate)));
        table.row(row);
    }
    Ok(table)
}

/// Table IV: the best vector extension and gang size.
///
/// # Errors
/// Those of the measurement.
pub fn table_4(job: &Job<'_>) -> Result<Report> {
    let request = job.timed(SequenceName::Velo, Preset::Paper, &sample(job));
    let tuned = job.complete(tune(&request, job.plan(), job.host))?;
    let mut table = Table::new("Throughput by instruction set and gang, preset paper")
        .columns(Setting, &[("instruction set", ""), ("lanes", "")])
        .columns(Here, &[("throughput", "kHz"), ("find", "us"), ("over the slowest", "")]);
    let slowest = tuned.profile.measured.iter().map(|one| one.ns_per_event).fold(0.0, f64::max);
    for one in &tuned.profile.measured {
        table.row(vec![
            one.isa.as_str().into(),
            Cell::Count(one.gang as u64),
            khz(one.ns_per_event),
            one.stages.get("find").map_or(Cell::Nothing, |ns| Cell::Number(ns / 1e3, 1)),
            Cell::ratio(slowest, one.ns_per_event, 2),
        ]);
    }
    let mut best = Table::new("The fastest instruction set and number of lanes of a CPU")
        .columns(Setting, &[("CPU", "")])
        .columns(Here, &[("instruction set", ""), ("lanes", "")])
        .columns(Paper, &[("vector extension", ""), ("gang", "")]);
    let gang =
        tuned.profile.gangs.get(&tuned.profile.isa).map_or(Cell::Nothing, |gang| Cell::Count(*gang as u64));
    let own = vec![
        tuned.profile.cpu.as_str().into(),
        tuned.profile.isa.as_str().into(),
        gang,
        Cell::Nothing,
        Cell::Nothing,
    ];
    best.row(own);
    for (cpu, isa, gang) in [
        ("Xeon E5-2630 (Broadwell)", "AVX2", 8),
        ("Xeon Silver 4114", "AVX512", 16),
        ("EPYC 7301", "AVX1", 4),
    ] {
        best.row(vec![cpu.into(), Cell::Nothing, Cell::Nothing, isa.into(), Cell::Count(gang)]);
    }
    Ok(Report {
        input: request.inputs.clone(),
        machine: job.machine(&request.config)?,
        paper_machine: "ISPC on three CPUs, below",
        hashes: Vec::new(),
        tables: vec![table, best],
        notes: vec![super::figures::GANGS.into()],
        ..Report::default()
    })
}

/// Figure 5: throughput of whole machines; of CPUs, as the GPU module needs a GPU.
///
/// # Errors
/// Those of the measurement.
pub fn figure_5(job: &Job<'_>) -> Result<Report> {
    let mut request = job.request(SequenceName::Velo, Preset::Paper, &sample(job));
    let all = request.config.thread_count();
    request.config.threads = Some(all);
    let configs = [Preset::Paper, Preset::Best].map(|preset| request.config.with_preset(preset));
    let measured = job.throughput(&request, &configs)?;
    let mut table = Table::new("Throughput of whole machines")
        .columns(Setting, &[("machine", ""), ("cores or threads", "")])
        .columns(Here, &[("throughput", "kHz"), ("per thread", "kHz")])
        .columns(Paper, &[("throughput", "kHz"), ("per core", "kHz")]);
    for (one, preset) in measured.iter().zip(["paper", "best"]) {
        let khz = one.events_per_second_best / 1e3;
        let name = format!("this one, preset {preset}");
        table.row(vec![
            name.as_str().into(),
            Cell::Count(all as u64),
            Cell::Number(khz, 2),
            Cell::ratio(khz, all as f64, 2),
            Cell::Nothing,
            Cell::Nothing,
        ]);
    }
    for (machine, cores, khz) in [
        ("2 x Xeon Silver 4114", Some(20), 74.17),
        ("2 x EPYC 7301", Some(32), 57.36),
        ("GTX 1060", None, 71.75),
        ("GTX 1080 Ti", None, 155.33),
        ("RTX 2080 Ti", None, 299.94),
        ("Tesla V100", None, 326.26),
    ] {
        table.row(vec![
            machine.into(),
            cores.map_or(Cell::Nothing, Cell::Count),
            Cell::Nothing,
            Cell::Nothing,
            Cell::Number(khz, 2),
            cores.map_or(Cell::Nothing, |cores| Cell::Number(khz / cores as f64, 2)),
        ]);
    }
    let notes = [
        "The paper's events are not public. Ours are hits in memory, and the time is that of the stages sort, find and fit",
        "The paper says that the Xeon Silver is 6 % faster than 2 x Xeon E5-2630 (Broadwell), and that on these \
         its program is 1.46 times as fast as LHCb's baseline of that time",
    ];
    Ok(Report {
        input: request.inputs.clone(),
        machine: job.machine(&request.config)?,
        paper_machine: "three dual-socket servers and four GPUs, below",
        hashes: measured.iter().map(|one| format!("{:016x}", one.summary.hashes.output)).collect(),
        tables: vec![table],
        notes: notes.map(String::from).to_vec(),
        ..Report::default()
    })
}

/// Figure 6: the share of each step in the time.
///
/// # Errors
/// Those of the measurement.
pub fn figure_6(job: &Job<'_>) -> Result<Report> {
    let request = job.timed(SequenceName::Velo, Preset::Paper, &sample(job));
    let presets = [Preset::PaperLiteral, Preset::Paper, Preset::Best];
    let configs: Vec<Config> = presets.map(|preset| request.config.with_preset(preset)).into();
    let measured = job.throughput(&request, &configs)?;
    let mut table = Table::new("Time of the steps")
        .columns(Setting, &[("step", "")])
        .columns(Here, &[("preset paper-literal", "us"), ("share", "%")])
        .columns(Here, &[("preset paper", "us"), ("share", "%"), ("preset best", "us"), ("share", "%")]);
    for (step, of_find) in [
        ("sort", None),
        ("find", None),
        ("  candidate windows", Some("windows")),
        ("  seeding", Some("seeding")),
        ("  forwarding", Some("forwarding")),
        ("  filter of triplets", Some("filter")),
        ("fit", None),
    ] {
        let mut row = vec![step.into()];
        for one in &measured {
            let all = stages_ns(one, &["sort", "find", "fit"]);
            let ns = of_find.map_or_else(|| Some(stages_ns(one, &[step])), |part| part_ns(one, part));
            row.push(ns.map_or(Cell::Nothing, |ns| Cell::Number(ns / 1e3, 2)));
            row.push(Cell::percent(ns.filter(|_| all > 0.0).map(|ns| ns / all)));
        }
        table.row(row);
    }
    let notes = [
        "The paper's figure has no numbers: seeding with forwarding takes most, the filter of triplets next to nothing",
        "Indented steps are parts of `find`; the rest of it brings the tracks in order. Windows are opened for free hits, \
         when their modules are seeded: the paper opens them for all hits beforehand, and has the same tracks. The \
         paper's filter fits the tracks, too, which is `fit` here. `best` does not time its parts apart",
    ];
    Ok(Report {
        input: request.inputs.clone(),
        machine: job.machine(&request.config)?,
        paper_machine: "GPUs of its table II",
        hashes: measured.iter().map(|one| format!("{:016x}", one.summary.hashes.output)).collect(),
        tables: vec![table],
        notes: notes.map(String::from).to_vec(),
        ..Report::default()
    })
}

/// Figure 8: throughput by events in a slice and by threads, which are streams on the paper's GPUs.
///
/// # Errors
/// Those of the measurements.
pub fn figure_8(job: &Job<'_>) -> Result<Report> {
    let events = job.size(4096, 64);
    let mut request =
        job.request(SequenceName::Velo, Preset::Best, &format!("sim:velo,events={events},seed={SEED}"));
    request.config.threads = Some(request.config.thread_count());
    let measured = job.complete(throughput(&request, job.plan(), true, job.host))?;
    let table = Table::new("Throughput by events in a slice and by threads, preset best")
        .columns(Setting, &[("events in a slice", ""), ("threads", "")])
        .columns(Here, &[("throughput", "kHz"), ("over the slowest", "")]);
    let mut table = table.drawn(0, &[2], Some(1), true);
    let rates = || measured.scan.iter().map(|point| point.events_per_second);
    let slowest = rates().fold(f64::INFINITY, f64::min);
    for (point, rate) in measured.scan.iter().zip(rates()) {
        table.row(vec![
            Cell::Count(point.slice as u64),
            Cell::Count(point.streams as u64),
            Cell::Number(rate / 1e3, 2),
            Cell::ratio(rate, slowest, 2),
        ]);
    }
    let notes = [
        "The paper scans GPUs: up to 1,024 events in a slice (2,048 on the V100) gain, and three streams do, two on the \
         GTX 1060; its figure has no numbers. A CPU needs no large slices, as each thread works on one event at a time; what \
         is scanned here is how much it matters, and all of it gives the same hash",
        "On a GPU: peloton throughput sim:velo,events=32768 --preset best --device gpu --scan",
    ];
    Ok(Report {
        input: request.inputs.clone(),
        machine: job.machine(&request.config)?,
        paper_machine: "GPUs of its table II, slices of 4,096 events, three streams",
        hashes: vec![format!("{:016x}", measured.summary.hashes.output)],
        tables: vec![table],
        notes: notes.map(String::from).to_vec(),
        ..Report::default()
    })
}
