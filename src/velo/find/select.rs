//! Selection: chooses tracks among the candidates of a pass, and removes clones.

use crate::event::Column;
use crate::velo::config::PassConfig;
use crate::velo::found::{Found, ROW, Row};
use crate::velo::index::Index;

/// Takes over the tracks of a pass, those of the rows from `first` on: all with four hits or more, and of those
/// with three (*weak* tracks) the ones with a good score whose hits no track has; the best chooses first. A pass
/// over what is left of another index gives its tracks' hits as indices there, which `origin` translates.
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
        // Written in any case: no branch predictor knows which rows are long, or good. A score is not negative, so its
        // bits have its order.
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

/// Orders the tracks by length, longest first and in the order they were found. The order is in `found.order`.
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

/// Orders the tracks as [`order`] does, and drops the clones: tracks of which more than `shared` of the hits are on tracks
/// before them. `taken` has room for each hit.
pub(in crate::velo) fn order_and_kill_clones(shared: f32, taken: &mut [u32], found: &mut Found) {
    order(found);
    // Those that share nothing, nine in ten, need no look at their hits.
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
