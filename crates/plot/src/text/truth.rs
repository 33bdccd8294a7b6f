//! Results of checks against the truth as text.

use super::words::{axis, edge, percent, table};
use peloton_truth::{
    CheckReport, CylinderBin, CylinderCategory, CylinderReport, LayerPulls, Loss, LossReport, LossTable,
    MomentumReport, PairedCategory, Pull, Resolution, StageLoss, StatePull, VeloPullReport,
};

/// Returns tables of efficiencies and ghost rates in bins of properties.
pub fn tables(report: &CheckReport) -> String {
    let mut text = String::new();
    for one in &report.tables {
        text.push_str(&format!("\n{} against {}\n", one.category, axis(one.variable, one.unit)));
        let mut rows =
            vec![["from", "to", "found", "of", "efficiency", "68 % from", "to", "clones"].map(String::from)];
        rows.extend(one.bins.iter().map(|bin| {
            let [low, efficiency, high] =
                [bin.efficiency_low, bin.efficiency, bin.efficiency_high].map(percent);
            let (found, of) = (bin.reconstructed.to_string(), bin.reconstructible.to_string());
            [edge(bin.low), edge(bin.high), found, of, efficiency, low, high, percent(bin.clone_rate)]
        }));
        text.push_str(&table(&rows));
    }
    for one in &report.ghost_tables {
        text.push_str(&format!("\nghosts against {}\n", axis(one.variable, one.unit)));
        let mut rows = vec![["from", "to", "ghosts", "tracks", "rate", "68 % from", "to"].map(String::from)];
        rows.extend(one.bins.iter().map(|bin| {
            let [low, rate, high] = [bin.ghost_rate_low, bin.ghost_rate, bin.ghost_rate_high].map(percent);
            [edge(bin.low), edge(bin.high), bin.ghosts.to_string(), bin.tracks.to_string(), rate, low, high]
        }));
        text.push_str(&table(&rows));
    }
    text
}

/// Returns tables of the causes of missed particles, ghosts and clones.
pub fn losses(report: &LossReport) -> String {
    let share = |count, of: u64| percent((of > 0).then_some(count as f64 / of as f64));
    let mut text = String::new();
    for (title, losses, of, slow) in [
        ("missed Velo particles", &report.missed, report.particles, true),
        ("ghosts", &report.ghosts, report.tracks, false),
        ("clones", &report.clones, report.particles, true),
    ] {
        let line = |cause: &str, count: u64, below: u64| {
            let below = if slow { below.to_string() } else { "".into() };
            [cause.into(), count.to_string(), share(count, of), below]
        };
        let below = if slow { "pT < 150 MeV/c" } else { "" };
        let mut rows = vec![[title, "number", "share", below].map(String::from)];
        rows.extend(losses.iter().map(|Loss { cause, count, slow }| line(cause, *count, *slow)));
        let sum = |value: fn(&Loss) -> u64| losses.iter().map(value).sum();
        rows.push(line("all", sum(|loss| loss.count), sum(|loss| loss.slow)));
        text.push('\n');
        text.push_str(&table(&rows));
    }
    text
}

/// Returns a table that compares measured with true momenta.
pub fn momenta(report: &MomentumReport) -> String {
    let heads =
        ["p, GeV/c", "tracks", "median dp/p", "half 68 %", "pull of q/p", "right charge", "68 % interval"];
    let mut rows = vec![heads.map(String::from)];
    let share = |value: Option<f64>| value.map_or("-".into(), |value| format!("{:.2} %", 100.0 * value));
    let above = std::iter::once((format!("above {}", edge(report.all.low)), &report.all));
    let bins = report.bins.iter().map(|bin| (format!("{}-{}", edge(bin.low), edge(bin.high)), bin));
    for (name, bin) in above.chain(bins).filter(|(_, bin)| bin.tracks > 0) {
        rows.push([
            name,
            bin.tracks.to_string(),
            bin.median.map_or("-".into(), |median| format!("{:+.2} %", 100.0 * median)),
            share(bin.half_width),
            bin.pull_width.map_or("-".into(), |width| format!("{width:.2}")),
            share(bin.right_charge_rate),
            format!("{} - {}", share(bin.right_charge_low), share(bin.right_charge_high)),
        ]);
    }
    format!(
        "\nmomenta (measured / true - 1) of matched tracks, 2 < eta < 5, without electrons; pulls are of prompt particles\n{}",
        table(&rows)
    )
}

/// Returns, for each category, a table of the numbers of particles that each stage lost.
pub fn stage_losses(tables: &[LossTable]) -> String {
    let title = |table: &LossTable| {
        let part = table.part.map(|part| format!(", {part}")).unwrap_or_default();
        format!("{}{part}: {} of {} lost", table.category, table.lost, table.particles)
    };
    tables.iter().map(|table| stages(&title(table), &table.stages)).collect()
}

fn stages(title: &str, losses: &[StageLoss]) -> String {
    let mut rows = vec![[title, "entered", "lost", "share", "68 % interval"].map(String::from)];
    for loss in losses {
        let interval = format!("{} - {}", percent(loss.low), percent(loss.high));
        let share = (loss.entered > 0).then_some(loss.lost as f64 / loss.entered as f64);
        rows.push([
            loss.stage.into(),
            loss.entered.to_string(),
            loss.lost.to_string(),
            percent(share),
            interval,
        ]);
    }
    format!("\n{}", table(&rows))
}

/// Returns a table that compares fitted with true states of prompt particles.
pub fn state_pulls(pulls: &[StatePull]) -> String {
    let heads = [
        "state",
        "p, GeV/c",
        "tracks",
        "mean pull",
        "width",
        "beyond 5",
        "resolution",
        "hits in sigma^2",
        "hits in truth",
    ];
    let mut rows = vec![heads.map(String::from)];
    let known = |share: Option<f64>| share.map_or("-".into(), |share| format!("{:.0} %", 100.0 * share));
    for pull in pulls {
        let (scale, unit) = match pull.parameter {
            "tx" | "ty" => (1e6, "urad"),
            "q/p" => (100.0, "%"),
            _ => (1e3, "um"),
        };
        rows.push([
            format!("{} {}", pull.place, pull.parameter),
            format!("{}-{}", edge(pull.p_from), pull.p_to.map(edge).unwrap_or_default()),
            pull.tracks.to_string(),
            format!("{:+.3}", pull.mean),
            format!("{:.3}", pull.width),
            percent(Some(pull.far)),
            format!("{:.1} {unit}", scale * pull.resolution),
            known(pull.hit_share),
            known(pull.true_hit_share),
        ]);
    }
    format!(
        "\nstates of prompt particles above 3 GeV/c, without electrons. Pulls are (fitted - true) / sigma; pulls of q/p are multiplied by the charge. Widths and resolutions are half of the central 68 %. `hits in sigma^2` and `hits in truth`: shares of sigma^2 and of the true variance that come from hit errors; the rest is scattering\n{}",
        table(&rows)
    )
}

/// Returns a table that compares fitted with true states in the Velo, and a table of impact parameter resolutions.
pub fn velo_pulls(report: &VeloPullReport) -> String {
    let mut text = state_pulls(&report.pulls);
    let mut rows = vec![["1/pT, c/GeV", "tracks", "impact parameter", "LHCb run 1"].map(String::from)];
    for bin in &report.impact_parameters {
        rows.push([
            format!("{}-{}", edge(bin.inverse_pt_from), edge(bin.inverse_pt_to)),
            bin.tracks.to_string(),
            format!("{:.1} um", 1e3 * bin.resolution),
            format!("{:.1} um", 1e3 * bin.lhcb_run1),
        ]);
    }
    text.push('\n');
    text.push_str(&table(&rows));
    text
}

/// Returns a table of the particles that the checked tracks, the tracks of a file, both or neither found.
pub fn paired(name: &str, categories: &[PairedCategory]) -> String {
    let heads = [
        "particles found",
        "of",
        "by both",
        "here alone",
        "there alone",
        "by neither",
        "here, 68 %",
        "there, 68 %",
        "68 % interval of here alone / found by one",
    ];
    let mut rows = vec![heads.map(String::from)];
    let interval = |ends: Option<[f64; 2]>| {
        ends.map_or("-".into(), |[low, high]| format!("{:.1} - {:.1} %", 100.0 * low, 100.0 * high))
    };
    for category in categories.iter().filter(|category| category.paired.particles() > 0) {
        let PairedCategory { name, paired, .. } = category;
        rows.push([
            name.to_string(),
            paired.particles().to_string(),
            paired.both.to_string(),
            paired.first_only.to_string(),
            paired.second_only.to_string(),
            paired.neither.to_string(),
            interval(category.first_interval),
            interval(category.second_interval),
            interval(category.first_only_interval),
        ]);
    }
    format!(
        "\ncompared with {name}: `here` are the checked tracks, `there` are the tracks of this file\n{}",
        table(&rows)
    )
}

/// Returns efficiencies, ghosts and pulls of the cylinder detector as text.
pub fn cylinder(check: &CylinderReport, pulls: &[Pull]) -> String {
    let mut text = format!("ghosts     : {}/{} {}\n", check.ghosts, check.tracks, percent(check.ghost_rate));
    check.categories.iter().for_each(|category| text.push_str(&category_line(category)));
    let mut rows = vec![["pull", "tracks", "mean", "width"].map(String::from)];
    for Pull { parameter, tracks, mean, width, .. } in pulls {
        rows.push([(*parameter).into(), tracks.to_string(), format!("{mean:+.4}"), format!("{width:.4}")]);
    }
    text.push('\n');
    text.push_str(&table(&rows));
    text
}

/// Returns tables of the cylinder detector: tracks by number of hits, efficiencies in bins, resolutions.
pub fn cylinder_tables(check: &CylinderReport, bins: &[Resolution]) -> String {
    lengths(check) + &cylinder_bins(check) + &resolutions(bins)
}

/// Returns a table of the pulls of smoothed states in each layer of the cylinder detector.
pub fn cylinder_fit(layers: &[LayerPulls]) -> String {
    let mut heads = vec!["layer".into(), "tracks".into()];
    let pulls = layers.first().map_or(&[][..], |layer| &layer.pulls);
    heads.extend(pulls.iter().map(|pull| format!("{}: mean, width", pull.parameter)));
    heads.extend(["chi2 filtered", "smoothed"].map(String::from));
    let mut rows = vec![heads];
    for LayerPulls { layer, chi2_filtered, chi2_smoothed, pulls, .. } in layers {
        let tracks = pulls.first().map_or(0, |pull| pull.tracks);
        let mut row = vec![layer.to_string(), tracks.to_string()];
        row.extend(pulls.iter().map(|pull| format!("{:+.4} {:.4}", pull.mean, pull.width)));
        row.extend([chi2_filtered, chi2_smoothed].map(|chi2| format!("{chi2:.3}")));
        rows.push(row);
    }
    format!("pulls of the smoothed states\n{}", table(&rows))
}

/// Returns tables of the resolutions of smoothed states in each layer of the cylinder detector.
pub fn cylinder_fit_tables(layers: &[LayerPulls]) -> String {
    layers.iter().map(|layer| format!("\nlayer {}{}", layer.layer, resolutions(&layer.resolutions))).collect()
}

/// Returns efficiency, clones and fakes against pT and eta.
fn cylinder_bins(check: &CylinderReport) -> String {
    let mut text = String::new();
    for one in &check.tables {
        text.push_str(&format!("\n{} against {}\n", one.category, axis(one.variable, one.unit)));
        let heads = ["from", "to", "found", "of", "efficiency", "clones", "ghosts", "tracks", "ghost rate"];
        let mut rows = vec![heads.map(String::from)];
        let is_filled = |bin: &&CylinderBin| bin.particles.reconstructible + bin.tracks > 0;
        rows.extend(one.bins.iter().filter(is_filled).map(
            |CylinderBin { particles, tracks, ghosts, ghost_rate }| {
                let [found, of, ghosts, tracks] =
                    [particles.reconstructed, particles.reconstructible, *ghosts, *tracks]
                        .map(|n| n.to_string());
                let [rate, clones, ghost_rate] =
                    [particles.efficiency, particles.clone_rate, *ghost_rate].map(percent);
                [
                    edge(particles.low),
                    edge(particles.high),
                    found,
                    of,
                    rate,
                    clones,
                    ghosts,
                    tracks,
                    ghost_rate,
                ]
            },
        ));
        text.push_str(&table(&rows));
    }
    text
}

fn category_line(category: &CylinderCategory) -> String {
    let CylinderCategory { name, reconstructible, reconstructed, efficiency, clones, .. } = category;
    format!(
        "{name:10} : {reconstructed}/{reconstructible} {} [{}, {}], {clones} ({}) clones, pur {}, hit eff {}, \
         ghosts {}/{} {}\n",
        percent(*efficiency),
        percent(category.efficiency_low),
        percent(category.efficiency_high),
        percent(category.clone_rate),
        percent(category.purity),
        percent(category.hit_efficiency),
        category.ghosts,
        category.tracks,
        percent(category.ghost_rate),
    )
}

fn lengths(check: &CylinderReport) -> String {
    let mut rows = vec![["hits", "matched", "ghosts"].map(String::from)];
    for (hits, [matched, fake]) in check.lengths.iter().enumerate().skip(3) {
        rows.push([hits.to_string(), matched.to_string(), fake.to_string()]);
    }
    format!("\n{}", table(&rows))
}

fn resolutions(bins: &[Resolution]) -> String {
    let heads = ["pT from, GeV/c", "tracks", "r-phi, um", "z, um", "pT, %", "phi, mrad", "theta, mrad"];
    let mut rows = vec![heads.map(String::from)];
    for bin in bins {
        rows.push([
            format!("{:.1}", bin.pt_from),
            bin.tracks.to_string(),
            format!("{:.1}", 1e4 * bin.r_phi),
            format!("{:.0}", 1e4 * bin.z),
            format!("{:.3}", 100.0 * bin.pt),
            format!("{:.3}", 1e3 * bin.phi),
            format!("{:.3}", 1e3 * bin.theta),
        ]);
    }
    format!("\n{}", table(&rows))
}
