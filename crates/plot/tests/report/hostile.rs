//! Whatever the files are: a page in which nothing is taken for HTML, or an error that says what is wrong.

use crate::inputs::{INPUTS, input};
use crate::page::drawings;
use peloton_plot::{ReportInput, report};
use serde_json::{Value, json};

const EVIL: &str = "</script><script>alert(1)</script>\"'&<img src=x onerror=alert(1)>";

/// The page of a file with this name and content, or what is wrong with it.
fn page_of_file(name: &str, content: &[u8]) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, content).unwrap();
    let page = ReportInput::read(&file).and_then(|input| report(vec![input]));
    page.map_err(|error| error.to_string())
}

/// Checks that a page holds nothing but what it should.
fn is_clean(page: &str) {
    assert!(
        !page.contains("<script")
            && !page.contains("<img")
            && !page.contains("NaN")
            && !page.contains("inf\"")
    );
    for svg in drawings(page) {
        roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}: {svg}"));
    }
}

#[test]
fn files_that_are_no_results_are_named_with_the_reason() {
    let many =
        json!({ "categories": [], "tables": vec![json!({ "variable": "p", "unit": "", "bins": [] }); 3000] });
    let many = many.to_string();
    let loss = |number: usize| json!({ "cause": number.to_string(), "count": 1, "slow": 0 });
    let losses: Vec<_> = (0..200_000).map(loss).collect();
    let losses = json!({
        "categories": [], "tables": [], "rules": "json",
        "losses": { "particles": 1, "tracks": 1, "missed": losses, "ghosts": [], "clones": [] },
    });
    let losses = losses.to_string();
    let bins = vec![json!({ "low": 1, "high": 2, "tracks": 1 }); 10_000];
    let momenta =
        json!({ "categories": [], "tables": [], "rules": "lhcb-long", "momentum": { "bins": bins } })
            .to_string();
    let cases: [(&str, &[u8], &str); 18] = [
        ("a.json", losses.as_bytes(), "up to 200000 bins are more than"),
        ("a.json", momenta.as_bytes(), "up to 10000 bins are more than"),
        ("a.json", b"", "the file is empty"),
        ("a.json", b" \n", "the file is empty"),
        ("a.json", b"{\"categories\": [NaN]}", "not JSON: "),
        ("a.json", b"{\"categories\": [1e999]}", "not JSON: "),
        ("a.json", b"{\"categories\"", "not JSON: "),
        ("a.json", b"\xff\xfe", "the file is not text"),
        ("a.json", b"[1, 2, 3]", "these are not results that a report can show"),
        ("a.json", b"null", "these are not results"),
        ("a.json", b"{\"event_number\": 1, \"tracks\": []}", "these are not results"),
        ("a.json", b"{\"categories\": 3}", "not results from peloton: "),
        ("a.json", b"{\"categories\": [{}]}", "missing field `name`"),
        ("a.json", b"{\"rounds\": [{\"seconds\": \"x\"}]}", "not results from peloton: "),
        ("a.toml", b"isa = ", "not TOML: "),
        ("a.toml", b"isa = 'avx2'", "these are not results"),
        ("a.json", many.as_bytes(), "are more than"),
        ("a.json", &[b'['; 100_000], "not JSON: recursion limit"),
    ];
    for (name, content, words) in cases {
        let error = page_of_file(name, content).expect_err(words);
        assert!(error.contains(words) && error.contains(name) && error.lines().count() == 1, "{error}");
    }
    assert!(ReportInput::read("/nonexistent/a.json".as_ref()).is_err());
    assert!(report(Vec::new()).is_err());
}

#[test]
fn files_of_the_same_name_are_told_apart() {
    let root = tempfile::tempdir().unwrap();
    let read = |name: &str| {
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, input("check")).unwrap();
        ReportInput::read(&path).unwrap()
    };
    let page = |names: &[&str]| report(names.iter().map(|name| read(name)).collect()).unwrap();
    let told = page(&["before/check.json", "after/check.json", "paper.json"]);
    for label in ["01_velo, before/check<", "01_velo, after/check<", "01_velo, paper<"] {
        assert!(told.contains(label), "{label}");
    }
    let told = page(&["a/run/check.json", "b/run/check.json"]);
    assert!(told.contains("01_velo, a/run/check<") && told.contains("01_velo, b/run/check<"));
    // The same file twice has no folder that tells it apart.
    let told = page(&["check.json", "check.json"]);
    assert!(told.contains("01_velo, check (1)<") && told.contains("01_velo, check (2)<"));
    let told = page(&["<script>alert(1)</script>/check.json", "b/check.json"]);
    is_clean(&told);
}

/// Puts `value` in place of everything in a JSON value of which `pick` says so, one after the other.
fn each_replaced(
    json: &Value,
    value: &Value,
    pick: fn(&Value) -> bool,
    mut with: impl FnMut(&Value),
) -> usize {
    fn places(json: &Value, path: String, pick: fn(&Value) -> bool, found: &mut Vec<String>) {
        match json {
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                places(value, format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), pick, found);
            }),
            Value::Array(list) => list.iter().enumerate().for_each(|(number, value)| {
                places(value, format!("{path}/{number}"), pick, found);
            }),
            value if pick(value) => found.push(path),
            _ => {}
        }
    }
    let mut found = Vec::new();
    places(json, String::new(), pick, &mut found);
    // Some of them are enough where there are many of a kind.
    let every = found.len().div_ceil(20);
    for place in found.iter().step_by(every) {
        let mut changed = json.clone();
        *changed.pointer_mut(place).unwrap() = value.clone();
        with(&changed);
    }
    found.len()
}

#[test]
fn text_in_results_is_never_taken_for_html() {
    for (name, text) in INPUTS {
        let json: Value = serde_json::from_str(text).unwrap();
        // Some texts are not shown, such as keys of settings.
        let (mut pages, mut shown) = (0, 0);
        let replaced = each_replaced(&json, &EVIL.into(), Value::is_string, |changed| {
            let input = ReportInput::from_json("plain".into(), changed.clone());
            if let Ok(page) = input.and_then(|input| report(vec![input])) {
                is_clean(&page);
                pages += 1;
                shown += usize::from(page.contains("&lt;script&gt;"));
            }
        });
        assert!(
            replaced > 5 && pages > 5 && shown > 0,
            "{name}: {replaced} texts, {pages} pages, {shown} show it"
        );
    }
}

#[test]
fn numbers_that_cannot_be_give_a_page_or_an_error() {
    for (name, text) in INPUTS {
        let json: Value = serde_json::from_str(text).unwrap();
        for value in
            [json!(-1), json!(0), json!(1e300), json!(-1e300), json!(u64::MAX), json!(7.5), Value::Null]
        {
            let replaced = each_replaced(&json, &value, Value::is_number, |changed| {
                let input = ReportInput::from_json(name.into(), changed.clone());
                if let Ok(page) = input.and_then(|input| report(vec![input])) {
                    is_clean(&page);
                }
            });
            assert!(replaced > 5, "{name}");
        }
    }
}

#[test]
fn a_check_that_found_nothing_gives_a_page_without_figures() {
    let empty = json!({ "categories": [], "tables": [], "tracks": 0, "ghosts": 0, "ghost_rate": null, "rules": "lhcb" });
    let page = page_of_file("a.json", empty.to_string().as_bytes()).unwrap();
    assert!(!page.contains("<figure") && page.contains("ghosts"));
    let mut nothing: Value = serde_json::from_str(input("check")).unwrap();
    for table in nothing["tables"].as_array_mut().unwrap() {
        for bin in table["bins"].as_array_mut().unwrap() {
            for key in ["reconstructible", "reconstructed", "clones"] {
                bin[key] = 0.into();
            }
            for key in ["efficiency", "efficiency_low", "efficiency_high", "clone_rate"] {
                bin[key] = Value::Null;
            }
        }
    }
    let page = page_of_file("a.json", nothing.to_string().as_bytes()).unwrap();
    assert!(!page.contains("Efficiency against"), "bins with nothing are drawn");
}
