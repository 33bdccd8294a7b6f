//! Choose: the best tracklet of each track, doublet by doublet in order; and which track a hit belongs to.

use super::{Best, MAX_CHI2, NONE, UtFindWorkspace};
use crate::ut::config::{UtChoice, UtConfig};

/// Chooses. By the choice `kick` a tracklet replaces an earlier one of its track when it has no fewer hits and a chi2 below
/// the whole part of the other's; by the choice `compass` when it has more hits, or as many and a smaller chi2; by the
/// choice `line` the first of the cheapest is taken.
pub(super) fn choose(config: &UtConfig, workspace: &mut UtFindWorkspace) {
    let UtFindWorkspace { tracks, doublets, best, chosen, .. } = workspace;
    // `kick` and `compass` judge by the chi2 of the same first fit.
    let by_kick = config.choice != UtChoice::Line;
    let limit = if by_kick { MAX_CHI2 } else { config.line.max_cost };
    best.set_len(tracks.line.len());
    best.fill(Best { chi2: limit, hits: 3, doublet: NONE });
    let len = doublets.len;
    let (rows, chi2s, counts) =
        (&doublets.row.padded()[..len], &doublets.chi2.padded()[..len], &doublets.count.padded()[..len]);
    for doublet in 0..len {
        let best = &mut best[rows[doublet] as usize];
        let (chi2, hits) = (chi2s[doublet], counts[doublet]);
        let is_smaller = chi2 < best.chi2;
        let (is_better, value) = match config.choice {
            UtChoice::Kick => (is_smaller && hits >= best.hits, Best { chi2: chi2.trunc(), hits, ..*best }),
            UtChoice::Compass => {
                let goes_before = hits > best.hits && chi2 < limit;
                (goes_before || is_smaller && hits == best.hits, Best { chi2, hits, ..*best })
            }
            UtChoice::Line => (is_smaller && hits >= best.hits, Best { chi2, ..*best }),
        };
        if is_better {
            *best = Best { doublet: doublet as u32, ..value };
        }
    }
    chosen.clear();
    chosen.reserve_total(tracks.rows.len());
    for &row in tracks.rows.iter() {
        let doublet = best[row as usize].doublet;
        if doublet != NONE {
            chosen.push(doublet);
        }
    }
    if !by_kick {
        remove_clones(config.line.own_hits, workspace);
    }
}

/// Removes tracks with too few hits that no cheaper track has.
fn remove_clones(own_hits: u32, workspace: &mut UtFindWorkspace) {
    let UtFindWorkspace { store, doublets, chosen, cheapest, .. } = workspace;
    cheapest.set_len(store.hits.len());
    cheapest.fill(f32::INFINITY);
    let hits_of = |doublet: u32| {
        let hits = doublets.hits.iter().map(move |role| role.padded()[doublet as usize]);
        hits.filter(|&hit| hit != NONE)
    };
    let cost = |doublet: u32| doublets.chi2.padded()[doublet as usize];
    for &doublet in chosen.iter() {
        for hit in hits_of(doublet) {
            let cheapest = &mut cheapest[hit as usize];
            *cheapest = cheapest.min(cost(doublet));
        }
    }
    let mut kept = 0;
    for at in 0..chosen.len() {
        let doublet = chosen[at];
        let own = hits_of(doublet).filter(|&hit| cheapest[hit as usize] == cost(doublet)).count();
        if own >= own_hits as usize {
            chosen[kept] = doublet;
            kept += 1;
        }
    }
    chosen.set_len(kept);
}
