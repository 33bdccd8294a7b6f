//! Choose: chooses the best tracklet of each track in one loop over all doublets, in order.

use super::{Best, Cuts, Doublets, MAX_CHI2, NONE};

/// Chooses. With `kick`, a tracklet replaces an earlier one of its track if it has no fewer hits and a chi2 below the
/// integer part of the earlier chi2; with `compass`, if it has more hits, or as many hits and a smaller chi2.
#[inline(always)]
pub(crate) fn choose(cuts: &Cuts, doublets: &Doublets<'_>, best: &mut [Best]) {
    best.fill(Best { chi2: MAX_CHI2, hits: 3, doublet: NONE });
    let len = doublets.len;
    let (rows, chi2s, counts) = (&doublets.row[..len], &doublets.chi2[..len], &doublets.count[..len]);
    for doublet in 0..len {
        let best = &mut best[rows[doublet] as usize];
        let (chi2, hits) = (chi2s[doublet], counts[doublet]);
        let is_smaller = chi2 < best.chi2;
        let (is_better, value) = if cuts.compass != 0 {
            let goes_before = hits > best.hits && chi2 < MAX_CHI2;
            (goes_before || is_smaller && hits == best.hits, Best { chi2, hits, ..*best })
        } else {
            // What is chosen is below `MAX_CHI2`, so it fits; a chi2 that is not a number is not smaller.
            (is_smaller && hits >= best.hits, Best { chi2: chi2 as i32 as f32, hits, ..*best })
        };
        if is_better {
            *best = Best { doublet: doublet as u32, ..value };
        }
    }
}
