//! Tracks of the cylinder detector, as columns.

use super::Column;
use crate::Status;

/// Values of a state in [`CylinderTracks::state`]: radius, five parameters, fifteen elements of the covariance.
pub const CYLINDER_STATE: usize = 21;

/// Tracks of many events.
///
/// | column | type | length | meaning |
/// |---|---|---|---|
/// | `track_start` | u32 | events + 1 | event e owns the tracks `[track_start[e], track_start[e + 1])` |
/// | `hit_start` | u32 | tracks + 1 | track t owns the entries `[hit_start[t], hit_start[t + 1])` of `hits` |
/// | `hits` | u32 | entries | hits from inside out, counted from the event's first hit |
/// | `seed` | u32 | tracks | the seed that the track grew from, counted in the event |
/// | `chi2` | f32 | tracks | chi2 of the fit, no unit |
/// | `fit` | u8 | tracks | what became of the fit: the codes of `kalman::FitStatus` |
/// | `state` | f32 | 21 x tracks | radius; azimuth, z, charge / pT, phi, theta; packed covariance |
/// | `status` | [`Status`] | events | what became of the event |
#[derive(Debug, Clone)]
pub struct CylinderTracks {
    /// First track of each event (no unit).
    pub track_start: Column<u32>,
    /// First entry in `hits` of each track (no unit).
    pub hit_start: Column<u32>,
    /// The hits of the tracks (no unit).
    pub hits: Column<u32>,
    /// The seed of each track (no unit).
    pub seed: Column<u32>,
    /// chi2 of the fit (no unit).
    pub chi2: Column<f32>,
    /// What became of the fit (no unit).
    pub fit: Column<u8>,
    /// The state at the innermost hit. Units are cm, rad, c/GeV, see the type; the covariance is that of r-phi (cm),
    /// z, charge / pT, phi, theta, lower triangle row by row.
    pub state: [Column<f32>; CYLINDER_STATE],
    /// What became of each event (no unit).
    pub status: Vec<Status>,
}

impl Default for CylinderTracks {
    fn default() -> Self {
        Self {
            track_start: [0].into_iter().collect(),
            hit_start: [0].into_iter().collect(),
            hits: Column::default(),
            seed: Column::default(),
            chi2: Column::default(),
            fit: Column::default(),
            state: std::array::from_fn(|_| Column::default()),
            status: Vec::new(),
        }
    }
}

impl CylinderTracks {
    /// Forgets all events and keeps the memory.
    pub fn clear(&mut self) {
        self.track_start.set_len(1);
        self.hit_start.set_len(1);
        [&mut self.hits, &mut self.seed].into_iter().for_each(Column::clear);
        self.chi2.clear();
        self.fit.clear();
        self.state.iter_mut().for_each(Column::clear);
        self.status.clear();
    }

    /// Appends a track of another list to the event that is being filled.
    pub fn push_from(&mut self, other: &Self, track: usize) {
        self.hits.extend_from_slice(other.hits_of(track));
        self.hit_start.push(self.hits.len() as u32);
        self.seed.push(other.seed[track]);
        self.chi2.push(other.chi2[track]);
        self.fit.push(other.fit[track]);
        self.state.iter_mut().zip(&other.state).for_each(|(to, from)| to.push(from[track]));
    }

    /// Number of events.
    pub fn events(&self) -> usize {
        self.status.len()
    }

    /// Number of tracks of all events.
    pub fn tracks(&self) -> usize {
        self.hit_start.len() - 1
    }

    /// The tracks of one event, as a range into the per-track columns.
    ///
    /// # Panics
    /// When `event >= events()`.
    pub fn of_event(&self, event: usize) -> std::ops::Range<usize> {
        self.track_start[event] as usize..self.track_start[event + 1] as usize
    }

    /// The hits of one track.
    ///
    /// # Panics
    /// When `track >= tracks()`.
    pub fn hits_of(&self, track: usize) -> &[u32] {
        &self.hits[self.hit_start[track] as usize..self.hit_start[track + 1] as usize]
    }

    /// The hit lists of one event's tracks.
    ///
    /// # Panics
    /// When `event >= events()`.
    pub fn hit_lists(&self, event: usize) -> impl Iterator<Item = &[u32]> {
        self.of_event(event).map(|track| self.hits_of(track))
    }
}
