//! Sorts hits, such as simulated hits, in the order of cells, from their positions alone.

use crate::event::{UT_CELLS, UT_GROUPS, UT_PLANES, UtBatch, UtCellHits};
use crate::ut::layout::UtLayout;

/// Returns the hits of all events in the order of cells. Hits outside all rows of sectors are dropped.
pub fn by_cell(layout: &UtLayout, hits: &UtBatch) -> UtCellHits {
    let mut out = UtCellHits::default();
    for (event, &status) in hits.status.iter().enumerate() {
        let starts = &hits.group_start[UT_GROUPS * event..=UT_GROUPS * (event + 1)];
        let mut placed = Vec::new();
        for plane in 0..UT_PLANES {
            let [first, end] = [plane, plane + 1].map(|plane| starts[layout.plane_groups[plane]] as usize);
            for hit in first..end {
                let ends = [hits.y_begin[hit], hits.y_end[hit]];
                placed.extend(layout.cells.at(plane, hits.x[hit], ends).map(|cell| (cell, hit)));
            }
        }
        placed.sort_unstable();
        let first = out.id.len();
        for &(_, hit) in &placed {
            out.x.push(hits.x[hit]);
            out.z.push(hits.z[hit]);
            out.y_begin.push(hits.y_begin[hit]);
            out.y_end.push(hits.y_end[hit]);
            out.weight.push(hits.weight[hit]);
            out.id.push(hits.id[hit]);
        }
        for cell in 0..UT_CELLS {
            out.cell_start.push((first + placed.partition_point(|&(at, _)| at <= cell)) as u32);
        }
        out.status.push(status);
    }
    out
}
