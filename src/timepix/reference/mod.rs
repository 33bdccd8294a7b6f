//! Naive clustering: implements every definition literally, by comparing all pairs.

use super::config::{Definition, FindConfig};
use crate::event::PixelHits;

/// Returns labels of time-ordered hits: clusters are numbered in the order of their first hits. Takes quadratic time.
pub fn cluster(config: &FindConfig, hits: &PixelHits) -> Vec<u32> {
    let groups = match config.definition {
        Definition::Local => local(config, hits),
        Definition::Global => global(config, hits),
        Definition::Static => fixed(config, hits),
    };
    number(&groups)
}

/// Returns whether two hits are neighbours in space.
fn near(hits: &PixelHits, a: usize, b: usize) -> bool {
    hits.x[a].abs_diff(hits.x[b]) <= 1 && hits.y[a].abs_diff(hits.y[b]) <= 1
}

/// Returns whether two hits are close in time.
fn together(config: &FindConfig, earlier: i64, later: i64) -> bool {
    let difference = i128::from(later) - i128::from(earlier);
    if config.strict { difference < i128::from(config.delta) } else { difference <= i128::from(config.delta) }
}

/// Finds the connected components of all linked pairs.
fn local(config: &FindConfig, hits: &PixelHits) -> Vec<usize> {
    let mut group: Vec<usize> = (0..hits.len()).collect();
    for b in 0..hits.len() {
        for a in 0..b {
            if near(hits, a, b) && together(config, hits.time[a], hits.time[b]) {
                merge(&mut group, a, b);
            }
        }
    }
    group
}

/// Lets each hit in turn join every open cluster that has a neighbour of the hit.
fn global(config: &FindConfig, hits: &PixelHits) -> Vec<usize> {
    let mut group: Vec<usize> = (0..hits.len()).collect();
    for b in 0..hits.len() {
        let latest = |of: usize| (0..b).rev().find(|&i| group[i] == of).map(|i| hits.time[i]);
        let joined: Vec<usize> = (0..b)
            .filter(|&a| near(hits, a, b))
            .filter(|&a| latest(group[a]).is_some_and(|time| together(config, time, hits.time[b])))
            .collect();
        joined.into_iter().for_each(|a| merge(&mut group, a, b));
    }
    group
}

/// Lets each free hit in turn open a window and take all hits connected to it in the window.
fn fixed(config: &FindConfig, hits: &PixelHits) -> Vec<usize> {
    let mut group = vec![usize::MAX; hits.len()];
    for first in 0..hits.len() {
        if group[first] != usize::MAX {
            continue;
        }
        let mut found = vec![first];
        group[first] = first;
        while let Some(a) = found.pop() {
            for (b, group) in group.iter_mut().enumerate().skip(first) {
                let is_free = *group == usize::MAX && together(config, hits.time[first], hits.time[b]);
                if is_free && near(hits, a, b) {
                    *group = first;
                    found.push(b);
                }
            }
        }
    }
    group
}

/// Gives the members of two groups one number.
fn merge(group: &mut [usize], a: usize, b: usize) {
    let (from, to) = (group[a].max(group[b]), group[a].min(group[b]));
    group.iter_mut().filter(|one| **one == from).for_each(|one| *one = to);
}

/// Numbers groups in the order in which they appear.
fn number(groups: &[usize]) -> Vec<u32> {
    let mut names = std::collections::HashMap::new();
    groups
        .iter()
        .map(|group| {
            let next = names.len() as u32;
            *names.entry(*group).or_insert(next)
        })
        .collect()
}
