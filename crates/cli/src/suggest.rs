//! Suggestions for mistyped names. Finds the known name that is most similar to a mistyped name, among the names that
//! an error message lists.

use strsim::normalized_damerau_levenshtein;

/// Minimum similarity (0 to 1) between a mistyped name and the suggested name: about one letter in three may differ.
const LIKENESS: f64 = 0.6;

/// Texts that precede a list of known names in the errors of all parts of the program.
const LISTS: [&str; 9] = [
    "choose one of ",
    "choose from ",
    "choose ",
    "there are: ",
    "there are ",
    "expected one of ",
    "with one of ",
    "by name: ",
    "expected ",
];

/// Returns the name most similar to `given`, if any is similar enough.
pub fn closest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    let likeness = |name: &str| {
        let likeness = normalized_damerau_levenshtein(&given, name);
        // The beginning of a name counts as similar.
        if given.len() > 2 && name.starts_with(&given) { likeness.max(LIKENESS) } else { likeness }
    };
    let all =
        names.into_iter().map(|name| (likeness(name), name)).filter(|(likeness, _)| *likeness >= LIKENESS);
    all.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// Returns the message of an error, with a suggestion if the message lists a name similar to the mistyped name.
pub fn with_suggestion(message: &str) -> String {
    match suggestion(message) {
        Some(name) => format!("{message}; did you mean `{name}`?"),
        None => message.into(),
    }
}

fn suggestion(message: &str) -> Option<&str> {
    let (before, list) = LISTS.iter().find_map(|words| message.split_once(words))?;
    // The given name is the last text in backquotes or quotes before the list.
    let given = [('`', '`'), ('"', '"')].into_iter().find_map(|(open, close)| {
        let end = before.rfind(close)?;
        let begin = before[..end].rfind(open)?;
        Some(&before[begin + 1..end])
    })?;
    let given = given.split('=').next().unwrap_or(given);
    let list = list.split(['(', ';', '\n']).next().unwrap_or(list);
    let names = list.split([',', ' ']).map(|name| name.trim_matches(['`', '.', '=', '"']));
    closest(given, names.filter(|name| !name.is_empty()))
}

/// A suggestion for the name of a file that does not exist, such as `sim:velo` for `simvelo`.
pub fn input_like(path: &str) -> Option<String> {
    if let Some((scheme, rest)) = path.split_once(':') {
        return closest(scheme, ["sim", "tcp", "udp"]).map(|scheme| format!("{scheme}:{rest}"));
    }
    let detector = path.split(',').next()?;
    let full = closest(detector, ["sim:velo", "sim:lhcb", "sim:cylinder", "sim:timepix"]).map(String::from);
    let bare =
        || closest(detector, ["velo", "lhcb", "cylinder", "timepix"]).map(|name| format!("sim:{name}"));
    Some(path.replacen(detector, &full.or_else(bare)?, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_alike_are_suggested() {
        for (message, name) in [
            ("unknown sequence `velx`: choose one of velo, velo-ut, ut", Some("velo")),
            (
                "no instruction set level `avx`; there are scalar, portable, avx2, avx512, neon (or auto)",
                Some("avx2"),
            ),
            ("simulation `sim:velo,evnts=4`: unknown key `evnts`; there are: events, seed", Some("events")),
            (
                "c.toml: line 1: unknown field `sequenc`, expected one of `sequence`, `preset`",
                Some("sequence"),
            ),
            ("c.toml: line 1: unknown field `preste`, expected `preset` or `isa`", Some("preset")),
            ("filter `sice=2:3` is not FEATURE=MIN:MAX with one of size, tot", Some("size")),
            ("a side of `compare` cannot have `iso=avx2`: choose from isa=, gang=", Some("isa")),
            ("unknown format `banana`: choose one of mdf, npy", None),
            ("the name must end in .parquet", None),
            ("there are no events", None),
            ("`x`: there are ", None),
        ] {
            assert_eq!(suggestion(message), name, "{message}");
        }
        assert!(
            with_suggestion("no builder `clone`; there are best-hit clone-engine")
                .ends_with("did you mean `clone-engine`?")
        );
    }

    #[test]
    fn inputs_that_are_no_files() {
        let like = |path| input_like(path);
        assert_eq!(like("smi:velo,events=3").as_deref(), Some("sim:velo,events=3"));
        assert_eq!(like("tpc://localhost:8088").as_deref(), Some("tcp://localhost:8088"));
        assert_eq!(like("simvelo,events=3").as_deref(), Some("sim:velo,events=3"));
        assert_eq!(like("vleo").as_deref(), Some("sim:velo"));
        assert_eq!(like("sim_timepix").as_deref(), Some("sim:timepix"));
        for file in ["events.ndjson", "C:/data/x.mdf", "", ":", "tracks.parquet"] {
            assert_eq!(like(file), None, "{file}");
        }
    }
}
