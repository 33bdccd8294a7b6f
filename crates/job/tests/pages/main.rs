//! Pages in a browser: they open from disk, ask for nothing, complain about nothing, and fit on a narrow window.
//!
//! Needs Chromium (`apt install chromium`); without one the tests are skipped and say so. `.ci/run pages` installs it. With
//! `PELOTON_SCREENSHOTS=FOLDER` pictures of all pages are left there, to be looked at.

mod chromium;
mod display;
#[path = "../../../plot/tests/report/inputs.rs"]
mod inputs;
mod reports;

use chromium::Chromium;

/// Writes a page, opens it at this width, and says what `look` sees.
fn opened<T>(
    chromium: &mut Chromium,
    html: &str,
    width: u32,
    look: impl FnOnce(&mut chromium::Tab<'_>) -> T,
) -> T {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page.html");
    std::fs::write(&file, html).expect("a file");
    look(&mut chromium.open(&file, [width, 900], false))
}

/// What the checks of pages must find is planted here.
#[test]
fn faulty_pages_are_noticed() {
    let Some(mut chromium) = Chromium::start() else { return };
    let problems = |tab: &mut chromium::Tab<'_>| (tab.problems().len(), tab.requests().len());
    assert_eq!(opened(&mut chromium, "<!doctype html><p>fine", 400, problems), (0, 1));
    let said = "<!doctype html><script>console.error('no')</script>";
    assert_eq!(opened(&mut chromium, said, 400, problems), (1, 1));
    let thrown = "<!doctype html><script>nowhere()</script>";
    assert_eq!(opened(&mut chromium, thrown, 400, problems), (1, 1));
    let picture = "<!doctype html><img src=\"http://example.org/a.png\">";
    assert_eq!(opened(&mut chromium, picture, 400, problems), (1, 2));
    let wide = "<!doctype html><div style=\"width: 500px\">wide</div>";
    let is_wide = |tab: &mut chromium::Tab<'_>| {
        tab.evaluate("document.documentElement.scrollWidth > window.innerWidth") == true
    };
    assert!(opened(&mut chromium, wide, 400, is_wide) && !opened(&mut chromium, wide, 600, is_wide));
}
