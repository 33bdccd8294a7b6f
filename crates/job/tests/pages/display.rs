//! Event displays in a browser.

use crate::chromium::{Chromium, Tab};
use peloton_job::{Cancel, DisplayOptions, Host, Request, SequenceName, Silent};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Simulated events of each kind that has tracks.
const EVENTS: [(SequenceName, &str); 6] = [
    (SequenceName::Velo, "sim:velo,events=1,seed=3"),
    (SequenceName::VeloUt, "sim:lhcb,events=1,seed=3"),
    (SequenceName::SciFi, "sim:lhcb,events=1,seed=3"),
    (SequenceName::Long, "sim:lhcb,events=1,seed=3"),
    (SequenceName::LongUt, "sim:lhcb,events=1,seed=3"),
    (SequenceName::Cylinder, "sim:cylinder,events=1,tracks=60,seed=3"),
];

fn drawn(folder: &Path, sequence: SequenceName, input: &str) -> PathBuf {
    let mut request = Request { inputs: vec![input.into()], ..Request::default() };
    request.config.sequence = sequence;
    let page = folder.join(format!("{sequence}.html"));
    let host = Host { progress: &Silent, cancel: &Cancel::default() };
    peloton_job::display(&request, &DisplayOptions::default(), &page, host).expect("a page");
    page
}

fn picture(tab: &mut Tab<'_>, name: &str) {
    if let Some(folder) = std::env::var_os("PELOTON_SCREENSHOTS") {
        tab.screenshot(&Path::new(&folder).join(name));
    }
}

#[test]
fn pages_of_every_sequence_open_and_are_small() {
    let Some(mut chromium) = Chromium::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for (sequence, input) in EVENTS {
        let page = drawn(folder.path(), sequence, input);
        let size = std::fs::metadata(&page).expect("a page").len();
        assert!(size < 500_000, "{sequence}: {size} bytes");
        for (width, dark) in [(400, false), (400, true), (1400, false), (1400, true)] {
            let mut tab = chromium.open(&page, [width, 900], dark);
            assert_eq!(tab.count("figure.view svg.area"), 3);
            assert!(tab.count("#tracks tbody tr") > 10, "{sequence}");
            let rows = tab.count("#tracks tbody tr");
            assert_eq!(tab.count("figure[data-view=xz] [data-t]"), rows, "{sequence}");
            tab.check();
            let colours = if dark { "dark" } else { "light" };
            picture(&mut tab, &format!("display-{sequence}-{width}-{colours}.png"));
        }
    }
}

#[test]
fn the_page_of_pixels_opens() {
    let Some(mut chromium) = Chromium::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let page = drawn(folder.path(), SequenceName::Timepix, "sim:timepix,preset=pion75,hits=20000,seed=1");
    for (width, dark) in [(400, false), (1400, true)] {
        let mut tab = chromium.open(&page, [width, 900], dark);
        assert_eq!(tab.count("svg.picture"), 6);
        tab.check();
        picture(&mut tab, &format!("display-timepix-{width}.png"));
    }
}

/// The middle of an element in the window, which is scrolled to it.
fn middle(tab: &mut Tab<'_>, selector: &str) -> [f64; 2] {
    let script = format!(
        "(() => {{ const one = document.querySelector({}); one.scrollIntoView({{ block: 'center' }}); \
         const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()",
        json!(selector)
    );
    let at = tab.evaluate(&script);
    [0, 1].map(|axis| at[axis].as_f64().expect("a place"))
}

fn frame(tab: &mut Tab<'_>) {
    tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
}

#[test]
fn views_are_linked() {
    let Some(mut chromium) = Chromium::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let page = drawn(folder.path(), SequenceName::Long, "sim:lhcb,events=1,seed=2");
    let mut tab = chromium.open(&page, [1400, 1000], false);
    let seen = "[...document.querySelectorAll('.area .ghost [data-t]')].filter((one) => one.getClientRects().length).length";
    let ghosts = tab.count(".area .ghost [data-t]");
    assert!(ghosts > 0 && tab.evaluate(seen) == ghosts, "{ghosts}");
    // Ghosts off: their lines and rows are gone.
    let [x, y] = middle(&mut tab, "#switches input[value=ghost]");
    tab.click(x, y);
    frame(&mut tab);
    assert_eq!(tab.evaluate(seen), 0);
    assert_eq!(tab.evaluate("getComputedStyle(document.querySelector('tr.ghost')).display"), "none");
    // The mouse on a row marks the same track in three views.
    let [x, y] = middle(&mut tab, "#tracks tbody tr:not(.ghost) td:nth-child(3)");
    let track = tab.evaluate("document.querySelector('#tracks tbody tr:not(.ghost)').dataset.t");
    tab.ask("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }));
    frame(&mut tab);
    let marked = tab.evaluate("[...document.querySelectorAll('.area .marked')].map((one) => one.dataset.t)");
    assert_eq!(marked, json!([track, track, track]));
    // Zoomed by the wheel, the same view comes back with the address.
    let [x, y] = middle(&mut tab, "figure[data-view=xz] svg.area");
    let wheel = json!({ "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -300 });
    tab.ask("Input.dispatchMouseEvent", wheel);
    frame(&mut tab);
    let boxes = "[...document.querySelectorAll('svg.area')].map((one) => one.getAttribute('viewBox').split(' ').map((n) => Math.round(n)))";
    let zoomed = tab.evaluate(boxes);
    // Dragged, the view moves, and with it the other one that has z to the right.
    for (kind, by, buttons) in [("mousePressed", 0.0, 1), ("mouseMoved", 40.0, 1), ("mouseReleased", 40.0, 0)]
    {
        let event = json!({
            "type": kind, "x": x + by, "y": y, "button": "left", "buttons": buttons, "clickCount": 1,
        });
        tab.ask("Input.dispatchMouseEvent", event);
    }
    frame(&mut tab);
    let dragged = tab.evaluate(boxes);
    let moved = |view: usize, side: usize| dragged[view][side] != zoomed[view][side];
    assert!(moved(0, 0) && moved(1, 0) && !moved(2, 0) && !moved(1, 1), "{zoomed} {dragged}");
    let zoomed = dragged;
    let address = tab.evaluate("location.href");
    let address = address.as_str().expect("an address").to_string();
    assert!(address.contains("z=") && address.contains("off=ghost"), "{address}");
    tab.check();
    drop(tab);
    let mut again = chromium.open_address(&address, [1400, 1000], false);
    frame(&mut again);
    assert_eq!(again.evaluate(boxes), zoomed);
    assert_eq!(again.evaluate(seen), 0);
    drop(again);
    let mut whole = chromium.open(&page, [1400, 1000], false);
    frame(&mut whole);
    assert!(whole.evaluate(boxes) != zoomed);
}

#[test]
fn addresses_that_nobody_wrote_by_hand_do_no_harm() {
    let Some(mut chromium) = Chromium::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let page = drawn(folder.path(), SequenceName::Velo, "sim:velo,events=1,seed=3");
    let page = page.canonicalize().expect("the page is there");
    let boxes = "[...document.querySelectorAll('svg.area')].map((one) => one.getAttribute('viewBox'))";
    let whole = chromium.open(&page, [1000, 800], false).evaluate(boxes);
    for fragment in [
        "z=100000000000000000,100000000000000016",
        "z=-1e308,1e308",
        "z=1e-300,2e-300&r=0,1e300",
        "z=5,5",
        "z=NaN,Infinity&x=a,b",
        "z=0,1e-9",
        "t=%22%5D&off=%3Cscript%3E",
        "t=999999999&off=&&&===",
    ] {
        let mut tab =
            chromium.open_address(&format!("file://{}#{fragment}", page.display()), [1000, 800], false);
        frame(&mut tab);
        // Ranges that no view can show are those of the whole detector.
        assert_eq!(tab.evaluate(boxes), whole, "{fragment}");
        assert!(tab.count("svg.plot g.ticks text") < 100, "{fragment}");
        tab.check();
    }
}

#[test]
fn a_key_on_a_switch_does_not_load_the_page_again() {
    let Some(mut chromium) = Chromium::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let page = drawn(folder.path(), SequenceName::Velo, "sim:velo,events=1,seed=3");
    let mut tab = chromium.open(&page, [1000, 800], false);
    tab.evaluate("window.isTheSame = true; document.querySelector('#switches input[value=ghost]').focus()");
    for kind in ["keyDown", "keyUp"] {
        let key = json!({ "type": kind, "key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13 });
        tab.ask("Input.dispatchKeyEvent", key);
    }
    frame(&mut tab);
    assert_eq!(tab.evaluate("window.isTheSame === true && !location.search"), true);
}
