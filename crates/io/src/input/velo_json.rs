//! Decodes the text of one Velo JSON event: the prefix sums of the modules' numbers of hits, and x, y, z in mm.

use super::velo_json_columns::{Columns, Decoded, Trouble};
use super::velo_json_truth::{Montecarlo, decode_truth};
use super::velo_json_usual::usual_event;
use peloton::Status;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

/// Keys that the first entry of an event object may have; a text that begins otherwise is not an event. `event`
/// belongs to the old schema, which is refused by name.
pub(super) const FIRST_KEYS: [&str; 9] =
    ["description", "module_prefix_sum", "x", "y", "z", "t", "montecarlo", "event", "number_of_modules"];

/// An event as JSON; `M` is the truth, or a type that skips it.
#[derive(Deserialize)]
struct RawEvent<M> {
    // Wide and signed, so that a wrong sum is distinguished from a wrong type.
    module_prefix_sum: Option<Vec<i64>>,
    x: Option<Vec<f32>>,
    y: Option<Vec<f32>>,
    z: Option<Vec<f32>>,
    montecarlo: Option<M>,
    event: Option<IgnoredAny>,
}

/// Decodes one event, with truth only if requested.
pub(super) fn decode(text: &[u8], with_truth: bool) -> Result<Decoded, Trouble> {
    if !with_truth {
        let columns = match usual_event(text) {
            Some(columns) => columns,
            None => general::<IgnoredAny>(text)?.0,
        };
        return columns.decoded();
    }
    let (columns, montecarlo) = general::<Montecarlo>(text)?;
    let mut decoded = columns.decoded()?;
    let montecarlo = montecarlo.ok_or_else(|| Trouble {
        status: Status::NoTruth,
        message: "no simulated truth: `montecarlo` is missing".into(),
        place: None,
    })?;
    decoded.truth = decode_truth(montecarlo, decoded.x.len(), &mut decoded.notes)?;
    Ok(decoded)
}

/// Reads any JSON text.
fn general<M: DeserializeOwned>(text: &[u8]) -> Result<(Columns, Option<M>), Trouble> {
    let raw: RawEvent<M> = serde_json::from_slice(text).map_err(|e| {
        let full = e.to_string();
        let end = full.rfind(" at line ").unwrap_or(full.len());
        let place = (e.line() > 0).then(|| (e.line(), e.column()));
        Trouble { status: Status::Corrupt, message: full[..end].into(), place }
    })?;
    let RawEvent { module_prefix_sum: sums, x, y, z, montecarlo, event } = raw;
    if event.is_some() && sums.is_none() {
        return Err(Trouble::corrupt(
            "this is the old Velo JSON schema (an `event` object with LHCb channel ids), which is not supported: \
             an event needs `module_prefix_sum`, `x`, `y`, `z` at the top",
        ));
    }
    Ok((Columns { sums, x, y, z }, montecarlo))
}

/// Whether a text with this beginning may be an event.
pub(super) fn looks_like_event(head: &[u8]) -> bool {
    let Some(inside) = head.trim_ascii_start().strip_prefix(b"{") else { return false };
    let Some(key) = inside.trim_ascii_start().strip_prefix(b"\"") else { return false };
    FIRST_KEYS
        .iter()
        .any(|name| key.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'"')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bits(columns: &Columns) -> [Option<Vec<u32>>; 3] {
        [&columns.x, &columns.y, &columns.z]
            .map(|column| column.as_ref().map(|values| values.iter().map(|value| value.to_bits()).collect()))
    }

    /// Compares both parsers if the usual one can read the text. Returns whether it can.
    fn compare(text: &str) -> bool {
        let Some(usual) = usual_event(text.as_bytes()) else { return false };
        let (general, _) = general::<IgnoredAny>(text.as_bytes()).expect(text);
        assert_eq!((bits(&usual), &usual.sums), (bits(&general), &general.sums), "{text}");
        true
    }

    /// Numbers as programs write them, and unusual numbers.
    fn number() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => (-999_999i64..1_000_000).prop_map(|value| format!("{}", value as f64 / 1e3)),
            1 => any::<f32>().prop_map(|value| format!("{value}")),
            1 => any::<f64>().prop_map(|value| format!("{value:e}")),
            1 => (-1e9..1e9f64, 0..12usize).prop_map(|(value, digits)| format!("{value:.digits$}")),
            1 => "-?[0-9]{1,20}(\\.[0-9]{0,12})?",
        ]
    }

    proptest! {
        #[test]
        fn usual_texts_are_read_as_all_texts_are(
            columns in proptest::array::uniform3(proptest::collection::vec(number(), 0..9)),
            comma in prop_oneof![4 => Just(","), 2 => Just(", "), 1 => Just(" ,")],
            edit in proptest::option::of((any::<proptest::sample::Index>(), "[ -~]")),
        ) {
            let [x, y, z] = columns.map(|column| column.join(comma));
            let mut text = format!(
                "{{\"description\":\"Velo\"{comma}\"module_prefix_sum\":[0{comma}12{comma}1234567890]{comma}\
                 \"montecarlo\":{{\"description\":[\"key\"{comma}\"hits\"]{comma}\"particles\":[[{x}{comma}[1{comma}2]]]}}{comma}\
                 \"x\":[{x}]{comma}\"y\":[{y}]{comma}\"z\":[{z}]}}"
            );
            if let Some((place, letter)) = edit {
                let place = place.index(text.len());
                text.replace_range(place..=place, &letter);
            }
            compare(&text);
        }

        #[test]
        fn usual_numbers_are_read_as_all_numbers_are(whole in 0u32..10_000_000, point in 0..8usize, sign: bool) {
            let mut number = whole.to_string();
            if point < number.len() {
                number.insert(point.max(1), '.');
            }
            let sign = if sign { "-" } else { "" };
            let text = format!("{{\"x\":[{sign}{number},1]}}");
            prop_assert_eq!(compare(&text), !number.ends_with('.') );
        }
    }

    #[test]
    fn which_texts_are_usual() {
        let event = |x: &str| {
            format!("{{\"x\":[{x}],\"module_prefix_sum\": [0, 70],\"montecarlo\":{{\"particles\":[]}}}}")
        };
        for usual in [
            "",
            "0",
            "-0",
            "0.5",
            "-0.0",
            "123.456,7.25",
            "1234567.5, 16777217",
            "0.1234567890123",
            "750.581,1",
        ] {
            assert!(compare(&event(usual)), "{usual}");
        }
        for other in [
            "01", "1.", ".5", "-", "1e3", "1 ", " 1", "1,", ",1", "+1", "00.5", "1..2", "1.2.3", "[1]",
            "null", "\"1\"",
        ] {
            assert!(!compare(&event(other)), "{other}");
        }
        for other in [
            "",
            "{",
            "{}",
            "[]",
            "{\"x\":[1]} ",
            "{\"x\":[1],\"x\":[1]}",
            "{\"t\":[1]}",
            "{\"x\":[1]}}",
            "{\"x\":1}",
            "{\"montecarlo\":{\"particles\":1}}",
            "{\"montecarlo\":{}}",
            "{\"montecarlo\":{\"particles\":[[01]]}}",
            "{\"description\":\"\\n\"}",
            "{\"description\":\"\u{e4}\"}",
        ] {
            assert!(!compare(other), "{other}");
        }
    }
}
