//! Selection: chooses tracks among the candidates of a pass, and removes clones.

use crate::event::Column;
use crate::velo::config::PassConfig;
use crate::velo::found::{Found, ROW, Row};
use crate::velo::index::Index;

/// Accepts the tracks of a pass, which are in the rows from `first` on: all tracks with four hits or more, and then,
/// the best first, the tracks with three hits (*weak* tracks) that have a good score and only free hits. With
/// `has_origin`, the index is a selection, and the hits are translated to indices among all hits.
pub(super) fn accept(
    pass: &PassConfig,
    index: &mut Index,
    has_origin: bool,
    first: usize,
    weak: &mut Column<u64>,
    found: &mut Found,
) {
    let (accepted, rows) = (found.tracks.len(), found.rows.len());
    weak.reserve_total(rows - first);
    let (tracks, keys) = (&mut found.tracks.padded_mut()[accepted..], weak.padded_mut());
    let (mut kept, mut candidates) = (0, 0);
    for (number, row) in found.rows.iter().enumerate().skip(first) {
        // Both are written in any case: which rows are long or good cannot be predicted. A score is not negative, so
        // its bits are ordered like the score.
        tracks[kept] = number as u32;
        keys[candidates] = u64::from(row.score.to_bits()) << 32 | number as u64;
        let is_long = row.len > 3;
        kept += usize::from(is_long);
        candidates += usize::from(!is_long & (row.score < pass.weak_score));
    }
    found.tracks.set_len(accepted + kept);
    weak.set_len(candidates);
    weak.sort_unstable();
    let mut marks = index.marks();
    for row in weak.iter().map(|&key| key as u32) {
        let hits = found.hits_of(row);
        if hits.iter().all(|&hit| marks.is_free(hit)) {
            for &hit in hits {
                marks.take(hit, row);
            }
            found.tracks.push(row);
        }
    }
    if has_origin {
        let origin = index.source.padded();
        for &row in &found.tracks[accepted..] {
            let Row { hits, len, .. } = &mut found.rows.padded_mut()[row as usize];
            hits[..*len as usize].iter_mut().for_each(|hit| *hit = origin[*hit as usize]);
        }
    }
}

/// Orders the tracks by length, longest first, and tracks of equal length by the order of finding. The result is in
/// `found.order`.
pub(in crate::velo) fn order(found: &mut Found) {
    let mut begin = [0u32; ROW + 1];
    for &row in found.tracks.iter() {
        begin[ROW - found.rows[row as usize].len as usize] += 1;
    }
    let mut sum = 0;
    for count in &mut begin {
        sum += std::mem::replace(count, sum);
    }
    found.order.set_len(found.tracks.len());
    for &row in found.tracks.iter() {
        let place = &mut begin[ROW - found.rows[row as usize].len as usize];
        found.order[*place as usize] = row;
        *place += 1;
    }
}

/// Orders the tracks as [`order`] does, and drops the clones: tracks with a share of more than `shared` of their hits
/// on earlier tracks. `taken` must have an entry for each hit.
pub(in crate::velo) fn order_and_kill_clones(shared: f32, taken: &mut [u32], found: &mut Found) {
    order(found);
    // Nine in ten tracks share nothing: their hits need not be looked at.
    let shares = |&&row: &&u32| found.rows[row as usize].shares != 0;
    for &row in found.order.iter().filter(shares) {
        found.hits_of(row).iter().for_each(|&hit| taken[hit as usize] = 0);
    }
    let mut kept = 0;
    for i in 0..found.order.len() {
        let row = found.order[i];
        let mut stays = true;
        if found.rows[row as usize].shares != 0 {
            let hits = found.hits_of(row);
            let held: u32 = hits.iter().map(|&hit| taken[hit as usize]).sum();
            stays = held as f32 <= shared * hits.len() as f32;
            if stays {
                hits.iter().for_each(|&hit| taken[hit as usize] = 1);
            }
        }
        found.order[kept] = row;
        kept += usize::from(stays);
    }
    found.order.set_len(kept);
}
