//! Hit lists of given tracks, packed: hit k of every track is in one column, even if layers are missing.

use crate::Status;
use crate::cylinder::seeds::EventParticles;
use crate::event::{CYLINDER_LAYERS, Column, CylinderEvent, CylinderFits, NO_HIT};

/// The tracks of an event.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Hit k of each track, from the innermost hit: its number in the event, or [`NO_HIT`] after the last hit.
    pub hits: [Column<u32>; CYLINDER_LAYERS],
    /// First, middle and last hit of each track.
    pub ends: [Column<u32>; 3],
    /// Number of hits of each track.
    pub count: Column<u32>,
    /// Index of the first track in the results, and index of its first hit.
    pub first: [usize; 2],
}

impl Lists {
    /// Returns the number of tracks.
    pub fn tracks(&self) -> usize {
        self.count.len()
    }

    /// Adds the tracks of an event and reserves memory for their states; returns the event's status.
    pub fn pack(
        &mut self,
        event: &CylinderEvent<'_>,
        tracks: &EventParticles<'_>,
        out: &mut CylinderFits,
    ) -> Status {
        if event.status != Status::Ok {
            return event.status;
        }
        // Gathers use 32-bit signed indices.
        if event.len() >= 1 << 27 {
            return Status::TooManyHits;
        }
        let range = tracks.range.clone();
        let is_on_layer = |layer: usize| {
            let hits = event.layer_start[layer]..event.layer_start[layer + 1];
            let given = &tracks.all.hits[layer][range.clone()];
            given.iter().all(|&hit| hit == NO_HIT || hits.contains(&(hit as usize)))
        };
        if !(0..CYLINDER_LAYERS).all(is_on_layer) {
            return Status::Corrupt;
        }
        self.first = [out.fit.len(), out.hits.len()];
        self.count.set_len(range.len());
        self.hits.iter_mut().chain(&mut self.ends).for_each(|column| column.set_len(range.len()));
        let mut end = out.hits.len();
        out.hits.set_len(end + CYLINDER_LAYERS * range.len());
        for (number, track) in range.clone().enumerate() {
            let mut list = [NO_HIT; CYLINDER_LAYERS];
            let mut count = 0;
            for column in &tracks.all.hits {
                list[count] = column[track];
                count += usize::from(column[track] != NO_HIT);
            }
            // The entries after the last hit are already NO_HIT.
            self.hits.iter_mut().zip(list).for_each(|(column, hit)| column[number] = hit);
            let last = count.saturating_sub(1);
            for (column, at) in self.ends.iter_mut().zip([0, last / 2, last]) {
                column[number] = list[at];
            }
            self.count[number] = count as u32;
            out.hits[end..end + CYLINDER_LAYERS].copy_from_slice(&list);
            end += count;
            out.hit_start.push(end as u32);
            out.track.push(number as u32);
        }
        let fitted = self.first[0] + range.len();
        out.hits.set_len(end);
        out.chi2.set_len(fitted);
        out.fit.set_len(fitted);
        out.chi2_filtered.set_len(end);
        out.chi2_smoothed.set_len(end);
        out.state.iter_mut().for_each(|column| column.set_len(end));
        Status::Ok
    }
}
