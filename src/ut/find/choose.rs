//! Choose: the best tracklet of each track, doublet by doublet in order.

use super::{Best, MAX_CHI2, NONE, UtFindWorkspace};

/// A tracklet replaces an earlier one of its track when it has no fewer hits and a chi2 below the whole part of the
/// other's.
pub(super) fn choose(workspace: &mut UtFindWorkspace) {
    let UtFindWorkspace { tracks, doublets, best, chosen, .. } = workspace;
    best.set_len(tracks.line.len());
    best.fill(Best { chi2: MAX_CHI2, hits: 3, doublet: NONE });
    let len = doublets.len;
    let (rows, chi2s, counts) =
        (&doublets.row.padded()[..len], &doublets.chi2.padded()[..len], &doublets.count.padded()[..len]);
    for doublet in 0..len {
        let best = &mut best[rows[doublet] as usize];
        let (chi2, hits) = (chi2s[doublet], counts[doublet]);
        if chi2 < best.chi2 && hits >= best.hits {
            *best = Best { chi2: chi2.trunc(), hits, doublet: doublet as u32 };
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
