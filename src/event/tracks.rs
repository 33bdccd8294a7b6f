//! Velo tracks of a batch of events, as columns.

use super::Column;
use crate::Status;

/// Straight-line states, one per track: position, slopes and the covariance of one projection. The fit
/// weighs x and y alike, so both projections have the same covariance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct States {
    /// x, mm.
    pub x: Column<f32>,
    /// y, mm.
    pub y: Column<f32>,
    /// z where the state is given, mm.
    pub z: Column<f32>,
    /// Slope dx/dz (no unit).
    pub tx: Column<f32>,
    /// Slope dy/dz (no unit).
    pub ty: Column<f32>,
    /// Variance of x, and of y, mm^2.
    pub cov_xx: Column<f32>,
    /// Covariance of x and tx, and of y and ty, mm.
    pub cov_xt: Column<f32>,
    /// Variance of tx, and of ty (no unit).
    pub cov_tt: Column<f32>,
}

impl States {
    /// The columns with their names, in schema order.
    pub fn columns(&self) -> [(&'static str, &Column<f32>); 8] {
        [
            ("x", &self.x),
            ("y", &self.y),
            ("z", &self.z),
            ("tx", &self.tx),
            ("ty", &self.ty),
            ("cov_xx", &self.cov_xx),
            ("cov_xt", &self.cov_xt),
            ("cov_tt", &self.cov_tt),
        ]
    }

    /// The columns to write, in schema order.
    pub fn columns_mut(&mut self) -> [&mut Column<f32>; 8] {
        [
            &mut self.x,
            &mut self.y,
            &mut self.z,
            &mut self.tx,
            &mut self.ty,
            &mut self.cov_xx,
            &mut self.cov_xt,
            &mut self.cov_tt,
        ]
    }
}

/// Velo tracks of many events.
///
/// | column | type | length | meaning |
/// |---|---|---|---|
/// | `track_start` | u32 | events + 1 | event e owns the tracks `[track_start[e], track_start[e + 1])` |
/// | `hit_start` | u32 | tracks + 1 | track t owns the entries `[hit_start[t], hit_start[t + 1])` of `hits` |
/// | `hits` | u32 | entries | names of the hits (`id` of the input), from the largest z down |
/// | `chi2` | f32 | tracks | chi2 of the straight-line fit, both projections, no unit |
/// | `backward` | u8 | tracks | 1 when the track flies towards -z |
/// | `beam`, `end` | [`States`] | tracks | at the closest approach to the beam line, and at z = 770 mm |
/// | `status` | [`Status`] | events | what became of the event |
#[derive(Debug, Clone)]
pub struct VeloTracks {
    /// First track of each event (no unit).
    pub track_start: Column<u32>,
    /// First entry in `hits` of each track (no unit).
    pub hit_start: Column<u32>,
    /// Names of the hits of the tracks (no unit).
    pub hits: Column<u32>,
    /// chi2 of the straight-line fit (no unit).
    pub chi2: Column<f32>,
    /// 1 for tracks towards -z (no unit).
    pub backward: Column<u8>,
    /// States at the closest approach to the beam line, mm.
    pub beam: States,
    /// States at the end of the Velo, z = 770 mm.
    pub end: States,
    /// What became of each event (no unit).
    pub status: Vec<Status>,
}

impl Default for VeloTracks {
    fn default() -> Self {
        Self {
            track_start: [0].into_iter().collect(),
            hit_start: [0].into_iter().collect(),
            hits: Column::default(),
            chi2: Column::default(),
            backward: Column::default(),
            beam: States::default(),
            end: States::default(),
            status: Vec::new(),
        }
    }
}

impl VeloTracks {
    /// Forgets all events and keeps the memory.
    pub fn clear(&mut self) {
        self.track_start.set_len(1);
        self.hit_start.set_len(1);
        self.hits.clear();
        self.chi2.clear();
        self.backward.clear();
        for states in [&mut self.beam, &mut self.end] {
            states.columns_mut().into_iter().for_each(Column::clear);
        }
        self.status.clear();
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
