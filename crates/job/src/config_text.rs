//! Writes the configuration as a TOML file to edit: every key once, with its meaning and unit as a comment.

use crate::Config;
use std::sync::LazyLock;

/// Meanings of the keys.
static MEANINGS: LazyLock<toml::Table> =
    LazyLock::new(|| include_str!("config_text.toml").parse().expect("TOML that tests read"));

/// Section, key and example value of each key that is written only if it is set.
const LEFT_OUT: &[(&str, &str, &str)] = &[
    ("timepix", "disorder_us", "2000.0"),
    ("timepix", "calibration", "\"calibration/\""),
    ("timepix", "time_walk", "[20.0, 2.0, 1.0, 0.0]"),
];

/// Meaning of a key.
fn meaning(table: &str, key: &str) -> Option<&'static str> {
    let table = if table == "velo.best.second" { "velo.best.first" } else { table };
    let mut names = table.split('.').filter(|name| !name.is_empty());
    names.try_fold(&*MEANINGS, |of, name| of.get(name)?.as_table())?.get(key)?.as_str()
}

/// Returns the configuration as TOML with comments; [`Config::from_toml`] reads it back.
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

/// Adds, as comments, the keys that a table lacks, before the empty line that ends the table.
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
                    // All tables of a list have the same name.
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
