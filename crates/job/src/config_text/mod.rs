//! The configuration as a file to start from: every key once, with its meaning and unit.

mod scifi;
mod velo;

use crate::Config;

/// What the keys mean, by their tables.
const MEANINGS: &[(&str, &[(&str, &str)])] = &[
    (
        "",
        &[
            (
                "sequence",
                "what is reconstructed: velo, velo-ut, scifi, long, long-ut, ut, scifi-hits, own, timepix, cylinder, cylinder-fit",
            ),
            ("algorithms", "of the sequence own: names of algorithms, in the order in which they run"),
            ("write", "names of the products to write; if left out, the last one of the sequence"),
            (
                "preset",
                "preset that gives the defaults of all stages: best, fast, two-pass, paper, paper-literal, forwarding, hlt1, hlt1-unrestricted",
            ),
            (
                "isa",
                "instruction set level: auto, scalar, portable, avx2, avx512 (avx512:loads, avx512:gathers), neon",
            ),
            ("gang", "lanes of a gang: auto, 1, 4, 8, 16, 32, 64"),
            ("threads", "auto (one per core) or a number"),
            (
                "slice_events",
                "events that a thread processes at once: auto or a number; changes nothing but speed",
            ),
            (
                "bad_banks",
                "treatment of an event with a damaged raw bank: event (it is lost), bank (it is reconstructed without that bank)",
            ),
        ],
    ),
    (
        "velo.limits",
        &[
            ("hits", "largest number of hits of an event; larger events are refused and counted"),
            (
                "hits_in_module",
                "largest number of hits of a module; events with more are refused and counted",
            ),
            ("coordinate", "largest |x|, |y| and |z| of a hit, mm"),
            (
                "candidates_in_window",
                "largest number of hits in one search window; further hits are counted as dropped",
            ),
        ],
    ),
    (
        "velo.best",
        &[
            ("hit_resolution", "resolution of a hit in x and in y, mm"),
            (
                "scatter_constant",
                "variance of the scattering angle in one pair of modules, independent of the slope, rad^2",
            ),
            ("scatter_slope", "its part proportional to tx^2 + ty^2, rad^2"),
            ("forward_chi2", "largest chi2 of a hit that is added to a track"),
            (
                "join_chi2",
                "largest sum of chi2 of two tracks that are joined, if one begins in the pair after the end of the other",
            ),
            (
                "inner_radius",
                "smallest distance from the beam line of a line that leads to a hit of a triplet, mm",
            ),
            ("forward_inner_radius", "the same for a hit that is added to a track, mm"),
            ("outer_radius", "largest distance from the beam line of such lines, mm"),
            ("skipped_pairs", "pairs of modules in a row that a track may miss"),
            ("shared_hits", "a track is a clone when more than this share of its hits is on longer tracks"),
        ],
    ),
    ("velo.best.first", PASS),
    ("velo.best.second", PASS),
    (
        "velo.paper",
        &[
            (
                "seed_window",
                "half width of the window in phi for a triplet's outer hits around its middle one, at z = 0, rad",
            ),
            ("seed_window_slope", "its growth with |z| of the middle hit, rad/mm"),
            (
                "seed_scatter",
                "largest squared distance of a triplet's last hit from the line of the first two, mm^2",
            ),
            ("seed_by_fit", "whether the cut on a triplet is seed_chi2 instead of seed_scatter"),
            ("seed_chi2", "largest chi2 per degree of freedom of a triplet's least-squares line"),
            ("forward_window", "half width of the window in phi around the extrapolated track, rad"),
            ("forward_scatter", "largest squared distance of a hit from the extrapolated track, mm^2"),
            ("forward_by_angle", "whether the cut on a hit is forward_angle2 instead of forward_scatter"),
            ("forward_angle2", "largest (dx^2 + dy^2) / dz^2 between a hit and the extrapolated track"),
            ("skipped_pairs", "pairs of modules in a row that a track may miss"),
            ("weak_chi2", "largest chi2 per degree of freedom of a track that ends with three hits"),
            ("weak_weight", "weight of a hit in this chi2, 1/mm^2"),
        ],
    ),
    (
        "velo.forwarding",
        &[
            ("slope", "largest |dx/dz| and |dy/dz| of a pair of hits"),
            ("scatter", "largest squared distance of a hit from the extrapolated track, mm^2"),
            ("skipped_modules", "modules of its side in a row that a track may miss"),
            ("weak_chi2", "largest chi2 per degree of freedom of a track that ends with three hits"),
            ("weak_weight", "weight of a hit in this chi2, 1/mm^2"),
        ],
    ),
    ("velo.link", velo::LINK),
    ("velo.fit", velo::FIT),
    (
        "velo",
        &[(
            "preset",
            "algorithm, and the defaults of its parameters: best, fast, two-pass, paper, paper-literal, forwarding",
        )],
    ),
    (
        "ut",
        &[
            (
                "preset",
                "preset that gives the defaults of the other parameters: best, fast, paper, hlt1, hlt1-unrestricted",
            ),
            (
                "choice",
                "choice among tracks: kick (by a fit with the magnet's kick at one z), compass (the same, as in its paper), line (by the line of hits, of all pairs)",
            ),
            (
                "sectors",
                "number of groups of sectors to search: 1, 3 or 5, or 0 for all that the window reaches, as with the choice line",
            ),
            (
                "candidates",
                "largest number of doublets that are tried for a track; 0 with the choice line, which tries all",
            ),
            ("min_momentum", "momentum of the particles whose bend sets the width of windows, MeV/c"),
            ("min_pt", "transverse momentum of the particles whose bend sets the width of windows, MeV/c"),
            ("y_tolerance", "largest distance of a track above or below its strip, mm"),
            ("y_tolerance_slope", "the same, per mm of bending"),
            ("slope_tolerance", "largest angle between a doublet and the Velo track, rad"),
            ("hit_tolerance", "largest distance of a third and a fourth hit from the doublet's line, mm"),
            ("velo_slope_error", "error of the Velo track's slope in the first fit"),
            ("final_momentum", "tracks of smaller momentum are dropped, MeV/c"),
            ("final_pt", "tracks of smaller transverse momentum are dropped, MeV/c"),
            ("discriminant", "tracks with a smaller discriminant are dropped"),
            ("fiducial", "whether tracks bent into the hole for the beam or out of the SciFi are dropped"),
        ],
    ),
    (
        "ut.line",
        &[
            (
                "kink",
                "distance before the middle of the UT at which lines of hits meet Velo tracks: constant, per |ty|, per ty^2, mm",
            ),
            ("kink_error", "error of that meeting point: constant and per c/GeV, mm"),
            ("offset_error", "error of the Velo track's y: constant and per c/GeV, mm"),
            ("fourth_hit", "gain of a fourth hit in the choice of tracks"),
            ("momentum", "gain per logarithm of the momentum in GeV/c"),
            ("max_momentum", "momentum above which that gain no longer grows, GeV/c"),
            ("max_cost", "largest cost of a track"),
            ("pair_margin", "factor by which pairs of hits may be steeper than the cuts on momentum allow"),
            ("pair_kink", "largest distance of a pair's line from that meeting point, in errors"),
            ("own_hits", "fewest hits of a track that no better track has; with fewer the track is a clone"),
            ("scale", "factor between the true momentum and the result of the fit"),
        ],
    ),
    ("scifi", scifi::TOP),
    ("scifi.limits", scifi::LIMITS),
    ("scifi.hlt1", scifi::HLT1),
    ("scifi.rows", scifi::ROWS),
    ("scifi.rows.passes", scifi::PASSES),
    ("scifi.rows.passes.choice", scifi::CHOICE),
    (
        "long",
        &[
            ("preset", "preset that gives the defaults of the other parameters"),
            ("max_tx", "largest slope in x at the beam line of Velo tracks that are matched"),
            ("max_ty", "the same in y"),
            ("inner_radius", "Velo tracks that pass the UT nearer to the beam than this are not matched, mm"),
            ("max_change_tx", "largest change of the slope in x"),
            ("max_change_ty", "largest change of the slope in y"),
            ("max_distance_x", "largest distance in x where the lines meet in the magnet, mm"),
            ("max_distance_y", "largest distance in y behind the SciFi, mm"),
            ("scale_y", "factor on the y of the Velo's line there"),
            (
                "weights",
                "weights of the distances in x and y, and of the slopes' changes in y and x, in the chi2",
            ),
            ("max_chi2", "largest chi2 of a pair"),
            ("min_response", "smallest response of the classifier of pairs, 0 to 1; 0 switches it off"),
            ("min_response_ut", "the same with hits in the UT, for the sequence long-ut"),
            (
                "min_response_first",
                "smallest response of the first classifier for pairs that the second one judges; at 0 it judges all",
            ),
            (
                "all_pairs",
                "whether all pairs compete, the best first, or each SciFi track takes its best Velo track",
            ),
            ("momentum_error", "relative error of a momentum in addition to the error from the slopes"),
        ],
    ),
    (
        "timepix",
        &[
            (
                "disorder_us",
                "largest lateness of a hit, us: how much older it may be than the latest hit before it; left out: by format",
            ),
            ("capacity", "hits that may wait for their order, or for the end of their clusters"),
            ("block_hits", "hits that are processed at once; changes nothing but speed"),
            (
                "sort_digit_bits",
                "bits of a digit of the sort by time of scalar code, 6 to 13; left out: chosen for the CPU (speed alone)",
            ),
            (
                "sort_part_hits",
                "hits that scalar code sorts at once; left out: chosen for the CPU (speed alone)",
            ),
            (
                "calibration",
                "folder with a.txt, b.txt, c.txt, t.txt of an energy calibration of one chip, or with a folder chip0, chip1, ... of \
                 these for each chip; left out: no energies",
            ),
            (
                "time_walk",
                "[a, b, c, d] of the time walk a / (E - b)^c + d in ns, E in keV; needs a calibration",
            ),
            (
                "filter",
                "filters on clusters, such as [\"size=2:100\", \"energy=10:\"]; empty: all clusters are kept",
            ),
        ],
    ),
    (
        "timepix.find",
        &[
            (
                "definition",
                "definition of a cluster: neighbours within delta (local), of an open cluster (global), of a window (static)",
            ),
            ("delta", "largest time difference that links hits, ticks of 1.5625 ns: 128 are 200 ns"),
            ("strict", "whether a difference of exactly delta does not link"),
            ("algorithm", "algorithm that finds the clusters: fast, open, plain; changes nothing but speed"),
        ],
    ),
    (
        "cylinder",
        &[
            ("builder", "how tracks are built: best-hit, standard, clone-engine"),
            ("seeds", "origin of the seeds: truth, hits"),
            ("event_threads", "threads that share one event; they change the speed, never the result"),
            ("field", "magnetic field along z, T"),
            ("material", "thickness of each layer in fits and builders, radiation lengths; 0 for none"),
        ],
    ),
    (
        "cylinder.bins",
        &[
            ("phi", "bins of a full turn of azimuth, a power of two"),
            ("z_half", "half length in z of the binned region, layer by layer, cm"),
            ("z_width", "width of a bin in z, layer by layer, cm"),
        ],
    ),
    (
        "cylinder.build",
        &[
            ("chi2", "largest chi2 of a hit that a track takes"),
            ("candidates", "candidates kept for each seed and layer"),
            ("holes", "layers without a hit that a candidate may pass"),
            ("window", "half width of the search window, standard deviations"),
            ("window_phi", "its limit in azimuth, rad"),
            ("window_z", "its limit in z, cm"),
            (
                "hits_in_window",
                "largest number of branches of a candidate on one layer; more are dropped and counted",
            ),
            (
                "hole_penalty",
                "penalty in chi2 for a missing hit when candidates are compared; 0: more hits always win",
            ),
        ],
    ),
    (
        "cylinder.start",
        &[
            (
                "covariance",
                "variances at the vertex of seeds from truth: published (mkFit's, squares of coordinates and momentum) or prior",
            ),
            (
                "prior",
                "standard deviations of prior: x, y, z of the vertex (cm), charge / pT (c/GeV), phi and theta (rad)",
            ),
        ],
    ),
    (
        "cylinder.seeding",
        &[
            ("min_pt", "smallest transverse momentum, GeV/c"),
            ("max_distance", "largest distance of a track from the z axis, cm"),
            ("max_z", "largest |z| where a track comes nearest to the axis, cm"),
            ("max_bend_z", "largest distance in z of the middle hit from the line through the others, cm"),
            (
                "max_partners",
                "largest number of hits of the second layer for a hit of the first, and of the third for a pair",
            ),
            ("min_hits", "fewest hits of a track"),
            ("max_shared_hits", "hits that a track may share with better ones"),
        ],
    ),
    (
        "cylinder.fit",
        &[
            (
                "form",
                "parameters of the fit of found tracks: cylinder (5), global (6, hits of 3 coordinates)",
            ),
            (
                "prior",
                "standard deviations of the start: azimuth (rad), z (cm), charge / pT (c/GeV), moment (cm), slope",
            ),
            ("radial_error", "standard deviation of hits along the radius, cm; only for the form global"),
        ],
    ),
];

/// Of a pass of the search for triplets.
const PASS: &[(&str, &str)] = &[
    ("window", "half width of the window for the outer hit of a triplet, 1/256 turn"),
    ("doublet_doca", "largest distance of a doublet's line from the beam line, mm"),
    ("score", "largest score of a triplet: its chi2 plus doca_weight times its distance from the beam line"),
    ("scatter_slope", "variance of the scattering angle proportional to tx^2 + ty^2, rad^2"),
    ("doca_weight", "score per distance from the beam line, 1/mm"),
    ("weak_score", "largest score of a track that ends with three hits"),
    ("gaps", "whether triplets may step over a pair of modules"),
    ("gap_window", "window of triplets that step over a pair, 1/256 turn"),
    ("gap_doublet_doca", "largest distance of their doublet's line from the beam line, mm"),
    ("gap_score", "largest score of these triplets"),
    ("gap_doca_weight", "their score per distance from the beam line, 1/mm"),
];

/// Keys that are left out where nothing is set, and a value to show them with.
const LEFT_OUT: &[(&str, &str, &str)] = &[
    ("timepix", "disorder_us", "2000.0"),
    ("timepix", "calibration", "\"calibration/\""),
    ("timepix", "time_walk", "[20.0, 2.0, 1.0, 0.0]"),
];

/// What a key means.
fn meaning(table: &str, key: &str) -> Option<&'static str> {
    let keys = MEANINGS.iter().find(|(name, _)| *name == table)?.1;
    keys.iter().find(|(name, _)| *name == key).map(|(_, meaning)| *meaning)
}

/// The configuration as TOML with comments; [`Config::from_toml`] reads it back.
pub(crate) fn commented(config: &Config) -> String {
    let mut text = String::new();
    let mut table = String::new();
    for line in config.to_toml().lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            // Tables of a list have two brackets.
            let name = name.trim_matches(['[', ']']);
            left_out(&mut text, &table);
            table = name.into();
        } else if let Some((key, _)) = line.split_once(" = ")
            && let Some(meaning) = meaning(&table, key)
        {
            text.push_str(&format!("# {meaning}\n"));
        }
        text.push_str(line);
        text.push('\n');
    }
    left_out(&mut text, &table);
    text
}

/// Appends what a table might have and has not, as comments, in front of the empty line that ends it.
fn left_out(text: &mut String, table: &str) {
    let header = text.rfind(&format!("[{table}]\n")).unwrap_or(0);
    let is_there = |key: &str| text[header..].contains(&format!("\n{key} = "));
    let missing = LEFT_OUT.iter().filter(|(of, key, _)| *of == table && !is_there(key));
    let lines: String = missing
        .map(|(_, key, value)| format!("# {}\n# {key} = {value}\n", meaning(table, key).unwrap_or_default()))
        .collect();
    let end = text.trim_end().len() + 1;
    text.insert_str(end.min(text.len()), &lines);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;

    #[test]
    fn every_key_is_there_once_and_says_what_it_is() {
        for preset in Preset::ALL {
            let config = Config::preset(preset);
            let text = commented(&config);
            let (mut before, mut table) = ("", String::new());
            let mut seen = Vec::new();
            for line in text.lines() {
                if line.starts_with('[') {
                    // Tables of a list have one name.
                    table = format!("{line} {}", seen.len());
                } else if let Some((key, _)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
                    assert!(
                        before.starts_with("# "),
                        "{table} {key}: a comment says what it is, and its unit"
                    );
                    let name = format!("{table} {key}");
                    assert!(!seen.contains(&name), "{name}");
                    seen.push(name);
                }
                before = line;
            }
            assert!(text.starts_with("# ") && seen.len() > 60);
            assert_eq!(Config::from_toml(&text, None).unwrap(), config);
        }
    }

    #[test]
    fn what_may_be_left_out_is_shown() {
        let text = commented(&Config::default());
        let shown: String = text
            .lines()
            .map(|line| {
                let key = LEFT_OUT.iter().any(|(_, key, _)| line.starts_with(&format!("# {key} = ")));
                format!("{}\n", if key { line.trim_start_matches("# ") } else { line })
            })
            .collect();
        let config = Config::from_toml(&shown, None).unwrap();
        assert!(config.timepix.disorder_us.is_some() && config.timepix.calibration.is_some());
        assert_eq!(Config::from_toml(&commented(&config), None).unwrap(), config);
        assert_eq!(commented(&config).matches("calibration = ").count(), 1);
    }
}
