//! Weak track filter: which tracks of three hits are tracks.

use crate::velo::config::PaperConfig;
use crate::velo::found::Found;
use crate::velo::modules::Modules;

/// Accepts all candidates with four hits or more, and those with three that are straight and whose hits are on
/// none of the longer ones.
pub(super) fn accept(config: &PaperConfig, modules: &Modules, found: &mut Found) {
    for row in 0..found.rows.len() as u32 {
        let accepted = match *found.hits_of(row) {
            [a, b, c] => {
                let free = [a, b, c].into_iter().all(|hit| modules.is_free(hit));
                free && modules.three_hit_chi2([a, b, c], config.weak_weight) < config.weak_chi2
            }
            _ => true,
        };
        if accepted {
            found.tracks.push(row);
        }
    }
}
