//! Selection: which candidates of a pass are tracks, and which tracks are clones.

use super::ROW;
use crate::velo::config::PassConfig;
use crate::velo::index::Index;
use crate::velo::scratch::Found;

/// Takes over the tracks of a pass, those of the rows from `first` on: all with four hits or more, and of those
/// with three (*weak* tracks) the ones with a good score whose hits no track has; the best chooses first. A pass
/// over what is left of another index gives its tracks' hits as places there, told by `origin`.
pub(super) fn accept(
    pass: &PassConfig,
    index: &mut Index,
    has_origin: bool,
    first: usize,
    weak: &mut Vec<(f32, u32)>,
    found: &mut Found,
) {
    weak.clear();
    let (accepted, rows) = (found.tracks.len(), found.len.len());
    let tracks = &mut found.tracks.padded_mut()[accepted..];
    let mut kept = 0;
    for row in first..rows {
        let is_long = found.len[row] > 3;
        // Written in any case: nobody can guess which rows are long.
        tracks[kept] = row as u32;
        kept += usize::from(is_long);
        let score = found.score.padded()[row];
        if !is_long && score < pass.weak_score {
            weak.push((score, row as u32));
        }
    }
    found.tracks.set_len(accepted + kept);
    weak.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for &(_, row) in weak.iter() {
        let hits = found.hits_of(row);
        if hits.iter().all(|&hit| index.is_free(hit as usize)) {
            hits.iter().for_each(|&hit| index.mark_used(hit as usize));
            found.tracks.push(row);
        }
    }
    if has_origin {
        let origin = index.source.padded();
        for &row in &found.tracks[accepted..] {
            let (begin, len) = (row as usize * ROW, found.len[row as usize] as usize);
            let hits = &mut found.hits.padded_mut()[begin..begin + len];
            hits.iter_mut().for_each(|hit| *hit = origin[*hit as usize]);
        }
    }
}

/// Orders the tracks by length, longest first and in the order they were found, and drops the clones: tracks
/// of which more than `shared` of the hits are on tracks before them. The order is in `found.order`; `taken` has
/// a 0 for each hit.
pub(in crate::velo) fn order_and_kill_clones(shared: f32, taken: &mut [u32], found: &mut Found) {
    let mut begin = [0u32; ROW + 1];
    for &row in found.tracks.iter() {
        begin[ROW - found.len[row as usize] as usize] += 1;
    }
    let mut sum = 0;
    for count in &mut begin {
        sum += std::mem::replace(count, sum);
    }
    found.order.set_len(found.tracks.len());
    for &row in found.tracks.iter() {
        let place = &mut begin[ROW - found.len[row as usize] as usize];
        found.order[*place as usize] = row;
        *place += 1;
    }
    let mut kept = 0;
    for i in 0..found.order.len() {
        let row = found.order[i];
        let hits = found.hits_of(row);
        let held: u32 = hits.iter().map(|&hit| taken[hit as usize]).sum();
        if held as f32 <= shared * hits.len() as f32 {
            hits.iter().for_each(|&hit| taken[hit as usize] = 1);
            found.order[kept] = row;
            kept += 1;
        }
    }
    found.order.set_len(kept);
}
