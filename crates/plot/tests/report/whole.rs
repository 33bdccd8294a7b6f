//! Whole pages: what is on them, how large they are, how long they take.

use crate::inputs::{INPUTS, page_of};
use crate::page::drawings;
use std::collections::BTreeSet;

/// What a page of these inputs must have, and how many figures.
const CONTENT: [(&str, usize, &[&str]); 8] = [
    (
        "check",
        41,
        &[
            "Check of velo by the rules lhcb",
            "Ghost rate against hits of the track",
            "Ghost rate against event size",
            "Clones by category",
            "Missed particles",
            "Efficiency against origin z: 02_long",
            "Clone rate against p: 01_velo",
            "tx at the end of the Velo",
            "Resolution of the impact parameter",
        ],
    ),
    ("paper", 41, &["Efficiency against p: 01_velo"]),
    ("cylinder", 17, &["Ghost rate against pT", "Resolution of pT", "mean ", "width "]),
    ("pixels", 0, &["algorithms that agree", "Every hit"]),
    ("throughput", 2, &["Time of the stages", "Lane occupancy"]),
    ("tune", 4, &["Whole sequence", "Stage find", "times as fast as scalar x 1"]),
    ("compare", 0, &["Equal", "hash of all output"]),
    ("soak", 4, &["Latency", "Fate of the hits", "Memory", "as fast as possible"]),
];

#[test]
fn pages_show_what_there_is() {
    for (name, figures, words) in CONTENT {
        let page = page_of(&[name]);
        assert_eq!(page.matches("<figure").count(), figures, "{name}");
        for word in words.iter().chain(&["peloton report", "version", "CPU", "differs from the preset"]) {
            assert!(page.contains(word), "{name}: {word} is missing");
        }
        let marks = ["<svg ", "<title id=", "<desc id=", "<summary>data</summary>"];
        for mark in marks {
            assert_eq!(page.matches(mark).count(), figures, "{name}: {mark}");
        }
    }
    assert_eq!(CONTENT.map(|(name, ..)| name), INPUTS.map(|(name, _)| name));
}

#[test]
fn names_in_a_page_are_there_once() {
    let page = page_of(&["check", "paper", "tune", "soak", "cylinder"]);
    let names: Vec<_> = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let different: BTreeSet<_> = names.iter().collect();
    assert!(names.len() > 100 && different.len() == names.len());
    for svg in drawings(&page) {
        roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}: {svg}"));
    }
}

#[test]
fn results_of_one_kind_share_figures_with_ratios() {
    let (one, two) = (page_of(&["check"]), page_of(&["check", "paper"]));
    let alone = |page: &str| page.matches("<h2").count();
    assert_eq!((alone(&one), alone(&two)), (1, 1));
    assert!(!one.contains("class=\"ratio\"") && two.matches("class=\"ratio\"").count() > 50);
    // Pulls are one distribution a figure; everything else is in common.
    let pulls = one.matches("class=\"unit\"").count();
    assert_eq!(two.matches("<figure").count(), one.matches("<figure").count() + pulls);
    // The checker's lines of both, and other rules on their own.
    assert!(two.contains("01_velo, check") && two.contains("01_velo, paper"));
    assert_eq!(alone(&page_of(&["check", "cylinder"])), 2);
}
