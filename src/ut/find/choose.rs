//! Choose: the best tracklet of each track, doublet by doublet in order.

use super::{Best, MAX_CHI2, NONE, UtFindWorkspace};
use crate::ut::config::{UtChoice, UtConfig};

/// Chooses. By the choice `kick` a tracklet replaces an earlier one of its track when it has no fewer hits and a chi2 below
/// the whole part of the other's; by the choice `compass` when it has more hits, or as many and a smaller chi2.
pub(super) fn choose(config: &UtConfig, workspace: &mut UtFindWorkspace) {
    let UtFindWorkspace { tracks, doublets, best, chosen, .. } = workspace;
    best.set_len(tracks.line.len());
    best.fill(Best { chi2: MAX_CHI2, hits: 3, doublet: NONE });
    let len = doublets.len;
    let (rows, chi2s, counts) =
        (&doublets.row.padded()[..len], &doublets.chi2.padded()[..len], &doublets.count.padded()[..len]);
    for doublet in 0..len {
        let best = &mut best[rows[doublet] as usize];
        let (chi2, hits) = (chi2s[doublet], counts[doublet]);
        let is_smaller = chi2 < best.chi2;
        let (is_better, value) = if config.choice == UtChoice::Compass {
            let goes_before = hits > best.hits && chi2 < MAX_CHI2;
            (goes_before || is_smaller && hits == best.hits, Best { chi2, hits, ..*best })
        } else {
            (is_smaller && hits >= best.hits, Best { chi2: chi2.trunc(), hits, ..*best })
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
}
