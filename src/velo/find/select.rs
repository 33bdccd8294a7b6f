//! Selection: which candidates of a pass are tracks, and which tracks are clones.

use super::Rows;
use crate::velo::config::PassConfig;
use crate::velo::index::Index;
use crate::velo::scratch::Found;

/// Takes over the tracks of a pass: all with four hits or more, and of those with three (*weak* tracks) the
/// ones with a good score whose hits no track has; the best chooses first.
pub(super) fn accept(
    pass: &PassConfig,
    index: &mut Index,
    is_rest: bool,
    rows: &Rows,
    weak: &mut Vec<(f32, u32)>,
    found: &mut Found,
) {
    weak.clear();
    for row in 0..rows.count() {
        let score = rows.score.padded()[row];
        if rows.len[row] > 3 {
            found.push_track(rows.hits(row), origin(index, is_rest));
        } else if score < pass.weak_score {
            weak.push((score, row as u32));
        }
    }
    weak.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for &(_, row) in weak.iter() {
        let (hits, len) = rows.hits(row as usize);
        if hits[..len].iter().all(|&hit| index.is_free(hit as usize)) {
            hits[..len].iter().for_each(|&hit| index.mark_used(hit as usize));
            found.push_track((hits, len), origin(index, is_rest));
        }
    }
}

/// The second pass works on what the first left: its places lead back to the first's.
fn origin(index: &Index, is_rest: bool) -> Option<&[u32]> {
    is_rest.then_some(index.source.padded())
}

/// Orders the tracks by length, longest first and in the order they were found, and drops the clones: tracks
/// of which more than `shared` of the hits are on tracks before them. The order is in `found.order`; `taken` has
/// a 0 for each hit.
pub(in crate::velo) fn order_and_kill_clones(shared: f32, taken: &mut [u32], found: &mut Found) {
    const LONGEST: usize = super::ROW;
    let mut begin = [0u32; LONGEST + 1];
    for track in 0..found.tracks() {
        begin[LONGEST - found.hits_of(track).len()] += 1;
    }
    let mut sum = 0;
    for count in &mut begin {
        sum += std::mem::replace(count, sum);
    }
    found.order.set_len(found.tracks());
    for track in 0..found.tracks() {
        let place = &mut begin[LONGEST - found.hits_of(track).len()];
        found.order[*place as usize] = track as u32;
        *place += 1;
    }
    let mut kept = 0;
    for i in 0..found.order.len() {
        let track = found.order[i];
        let range = found.start[track as usize] as usize..found.start[track as usize + 1] as usize;
        let list = &found.hits[range];
        let held: u32 = list.iter().map(|&hit| taken[hit as usize]).sum();
        if held as f32 <= shared * list.len() as f32 {
            list.iter().for_each(|&hit| taken[hit as usize] = 1);
            found.order[kept] = track;
            kept += 1;
        }
    }
    found.order.set_len(kept);
}
