//! Reports in the browser: on a telephone and on a desk, in the light and in the dark, and printed.

use crate::chromium::{Chromium, Tab};
use crate::inputs::{INPUTS, page_of};
use peloton_job::{Cancel, CheckOptions, Host, Request, SequenceName, Silent, about, check};
use peloton_plot::{ReportInput, WithAbout, report};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Pages, and how many figures each has.
fn pages() -> Vec<(String, usize, String)> {
    let alone = INPUTS.iter().map(|(name, _)| (name.to_string(), page_of(&[*name])));
    let together = [("presets", &["check", "paper"][..]), ("everything", &INPUTS.map(|(name, _)| name)[..])];
    let together = together.map(|(name, inputs)| (name.to_string(), page_of(inputs)));
    let counted = |(name, page): (String, String)| (name, page.matches("<figure").count(), page);
    alone.chain(together).map(counted).collect()
}

/// Where pictures are left, if they are wanted.
fn screenshots() -> Option<PathBuf> {
    std::env::var_os("PELOTON_SCREENSHOTS").map(PathBuf::from)
}

/// Checks that no text of a figure lies beyond its drawing or on another text, after everything has been opened.
fn texts_are_apart(tab: &mut Tab<'_>, name: &str) {
    tab.evaluate("document.querySelectorAll('details.category').forEach(one => one.open = true)");
    let found = tab.evaluate(
        "[...document.querySelectorAll('figure svg')].flatMap(svg => {
            const frame = svg.getBoundingClientRect();
            const texts = [...svg.querySelectorAll('text')];
            const boxes = texts.map(text => text.getBoundingClientRect());
            const out = texts.filter((text, i) => boxes[i].left < frame.left - 1 || boxes[i].right > frame.right + 1
                || boxes[i].top < frame.top - 1 || boxes[i].bottom > frame.bottom + 1).map(text => 'cut off: ' + text.textContent);
            const on = texts.filter((text, i) => boxes.some((box, j) => j < i
                && Math.min(box.right, boxes[i].right) - Math.max(box.left, boxes[i].left) > 1.5
                && Math.min(box.bottom, boxes[i].bottom) - Math.max(box.top, boxes[i].top) > 4)).map(text => 'on another: ' + text.textContent);
            return [...out, ...on].map(what => svg.querySelector('title').textContent + ': ' + what);
        })",
    );
    assert_eq!(found, json!([]), "{name}");
}

#[test]
fn reports_open_from_disk_and_fit() {
    let Some(mut chromium) = Chromium::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (name, figures, html) in pages() {
        let file = folder.path().join(format!("{name}.html"));
        std::fs::write(&file, html).unwrap();
        for (width, dark) in [(400, false), (400, true), (1400, false), (1400, true)] {
            let mut tab = chromium.open(&file, [width, 900], dark);
            tab.check();
            assert_eq!(tab.count("figure svg") as usize, figures, "{name}");
            texts_are_apart(&mut tab, &format!("{name}, {width} pixels"));
            // Colours are those of the scheme.
            let paper = tab.evaluate("getComputedStyle(document.body).backgroundColor");
            assert_eq!(paper == "rgb(255, 255, 255)", !dark, "{name}: {paper}");
            if let Some(folder) = screenshots() {
                let scheme = if dark { "dark" } else { "light" };
                tab.screenshot(&Path::new(&folder).join(format!("report-{name}-{width}-{scheme}.png")));
            }
        }
    }
}

#[test]
fn categories_close_and_open() {
    let Some(mut chromium) = Chromium::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    std::fs::write(&file, page_of(&["check"])).unwrap();
    let mut tab = chromium.open(&file, [1000, 900], false);
    let summary = "document.querySelector('details.category summary')";
    let open = |tab: &mut Tab<'_>| tab.evaluate("document.querySelector('details.category').open") == true;
    assert!(open(&mut tab));
    for is_open in [false, true] {
        let place = tab.evaluate(&format!(
            "{summary}.scrollIntoView(), (box => [box.x + 20, box.y + 10])({summary}.getBoundingClientRect())"
        ));
        tab.click(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
        assert_eq!(open(&mut tab), is_open);
    }
}

#[test]
fn printed_reports_have_no_data_and_light_paper() {
    let Some(mut chromium) = Chromium::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    std::fs::write(&file, page_of(&["check"])).unwrap();
    let mut tab = chromium.open(&file, [1000, 900], true);
    tab.ask("Emulation.setEmulatedMedia", json!({ "media": "print", "features": [] }));
    let seen = tab.evaluate(
        "[getComputedStyle(document.querySelector('details.data')).display, \
         getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()]",
    );
    assert_eq!(seen, json!(["none", "#fff"]));
}

#[test]
fn a_page_of_a_large_check_is_small_and_made_at_once() {
    let mut request = Request { inputs: vec!["sim:velo,events=60,seed=1".into()], ..Request::default() };
    request.config.sequence = SequenceName::Velo;
    let options = CheckOptions { losses: true, ..CheckOptions::default() };
    let cancel = Cancel::default();
    let checked = check(&request, &options, Host { progress: &Silent, cancel: &cancel }).unwrap();
    let results = WithAbout { results: checked, about: about("check", &request) };
    let json = serde_json::to_value(&results).unwrap();
    let begin = Instant::now();
    let page = report(vec![ReportInput::from_json("velo".into(), json).unwrap()]).unwrap();
    let time = begin.elapsed();
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    assert!(time < Duration::from_secs(1), "{time:?}");
    assert!(page.matches("<figure").count() > 60 && page.contains("sim:velo,events=60,seed=1"));
}
