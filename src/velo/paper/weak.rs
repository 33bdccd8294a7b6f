//! Weak track filter: which tracks of three hits are tracks.

use super::config::PaperConfig;
use crate::velo::modules::{Modules, Row};
use crate::velo::scratch::Found;

/// Takes over all tracks with four hits or more, and those with three that are straight and whose hits are on
/// none of the longer ones.
pub(super) fn accept(config: &PaperConfig, modules: &Modules, rows: &[Row], found: &mut Found) {
    for row in rows {
        let accepted = match *row.hits() {
            [a, b, c] => {
                let free = [a, b, c].into_iter().all(|hit| modules.is_free(hit));
                free && modules.three_hit_chi2([a, b, c], config.weak_weight) < config.weak_chi2
            }
            _ => true,
        };
        if accepted {
            found.push_track((&row.hits, row.len), None);
        }
    }
}
