//! [`append_kept`]: copies an event with a selection of its tracks or hits.

use bytemuck::Pod;
use peloton::Status;
use peloton::event::{Column, Results, Values, ValuesMut};
use std::ops::Range;

/// Appends the first event of `from` to `to`, with only the tracks whose indices `keep` accepts. For results that are
/// hits, `keep` gets the indices of hits.
pub fn append_kept<R: Results>(to: &mut R, from: &R, keep: impl Fn(usize) -> bool) {
    let table = from.table();
    let columns = table.columns();
    let (mut items, mut ends, mut inner) = (Vec::new(), Vec::new(), Vec::<Range<usize>>::new());
    // Columns of starts come in the order of their depth.
    for (info, values) in columns {
        let Values::Starts(starts) = values else { continue };
        let range = |list: usize| starts[list] as usize..starts[list + 1] as usize;
        if info.depth == 0 {
            for list in 0..info.lists {
                items.extend(range(list).filter(|&item| keep(item)));
                ends.push(items.len());
            }
        } else {
            inner = items.iter().map(|&item| range(item)).collect();
        }
    }
    let mut columns = columns.iter().map(|(_, values)| *values);
    let kept = Kept { items: &items, inner: &inner };
    to.for_each_column_mut(&mut |info, to| match (to, columns.next()) {
        (ValuesMut::Status(to), Some(Values::Status(values))) => {
            to.push(values.first().copied().unwrap_or(Status::Ok));
        }
        (ValuesMut::Starts(to), Some(Values::Starts(_))) => {
            let before = to.last().copied().unwrap_or(0);
            if info.depth == 0 {
                ends.iter().for_each(|&end| to.push(before + end as u32));
            } else {
                let mut end = before;
                for range in &inner {
                    end += range.len() as u32;
                    to.push(end);
                }
            }
        }
        (ValuesMut::U8(to), Some(Values::U8(values))) => kept.append(to, values, info.depth),
        (ValuesMut::U16(to), Some(Values::U16(values))) => kept.append(to, values, info.depth),
        (ValuesMut::U32(to), Some(Values::U32(values))) => kept.append(to, values, info.depth),
        (ValuesMut::U64(to), Some(Values::U64(values))) => kept.append(to, values, info.depth),
        (ValuesMut::I64(to), Some(Values::I64(values))) => kept.append(to, values, info.depth),
        (ValuesMut::F32(to), Some(Values::F32(values))) => kept.append(to, values, info.depth),
        _ => unreachable!("both results have the same columns"),
    });
}

/// The kept items of the first depth, and their ranges of the second depth.
struct Kept<'a> {
    items: &'a [usize],
    inner: &'a [Range<usize>],
}

impl Kept<'_> {
    fn append<T: Pod>(&self, to: &mut Column<T>, values: &[T], depth: usize) {
        match depth {
            0 => values.first().into_iter().for_each(|value| to.push(*value)),
            1 => self.items.iter().for_each(|&item| to.push(values[item])),
            _ => self.inner.iter().for_each(|range| to.extend_from_slice(&values[range.clone()])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::event::{SCIFI_ZONES, SciFiBatch, VeloTracks};

    #[test]
    fn tracks_keep_their_hits_and_values() {
        let mut tracks = VeloTracks::default();
        for (track, hits) in [&[1, 2, 3][..], &[4, 5, 6, 7], &[8]].into_iter().enumerate() {
            tracks.hits.extend_from_slice(hits);
            tracks.hit_start.push(tracks.hits.len() as u32);
            tracks.chi2.push(track as f32);
            tracks.backward.push(track as u8);
            for states in [&mut tracks.beam, &mut tracks.end] {
                states.columns_mut().into_iter().for_each(|column| column.push(10.0 * track as f32));
            }
        }
        tracks.track_start.push(3);
        tracks.status.push(Status::Ok);
        let mut kept = VeloTracks::default();
        append_kept(&mut kept, &tracks, |track| track != 1);
        append_kept(&mut kept, &tracks, |_| false);
        append_kept(&mut kept, &tracks, |track| track == 1);
        assert_eq!((kept.events(), kept.tracks()), (3, 3));
        assert_eq!([0, 1, 2].map(|event| kept.of_event(event)), [0..2, 2..2, 2..3]);
        assert_eq!([0, 1, 2].map(|track| kept.hits_of(track)), [&[1, 2, 3][..], &[8], &[4, 5, 6, 7]]);
        assert_eq!((&kept.chi2[..], &kept.end.tx[..]), (&[0.0, 2.0, 1.0][..], &[0.0, 20.0, 10.0][..]));
    }

    #[test]
    fn hits_stay_in_their_zones() {
        let mut hits = SciFiBatch::default();
        for zone in 0..SCIFI_ZONES as u32 {
            for number in 0..2 {
                hits.id.push(10 * zone + number);
                hits.width.push(0);
                [&mut hits.x, &mut hits.z, &mut hits.y_end].into_iter().for_each(|column| column.push(0.5));
            }
            hits.zone_start.push(2 * (zone + 1));
        }
        hits.status.push(Status::Ok);
        let mut kept = SciFiBatch::default();
        append_kept(&mut kept, &hits, |hit| [31, 70, 71].contains(&hits.id[hit]));
        assert_eq!((&kept.id[..], kept.status.len()), (&[31, 70, 71][..], 1));
        assert_eq!([3, 4, 7].map(|zone| kept.of_zone(0, zone)), [0..1, 1..1, 1..3]);
        assert_eq!(kept.zone_start.len(), SCIFI_ZONES + 1);
    }
}
