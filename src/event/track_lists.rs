//! Methods that all tables of tracks have.

/// Adds methods that give the events, tracks and hits of a table that has the columns `track_start`, `hit_start`,
/// `hits` and `status`.
macro_rules! track_lists {
    ($tracks:ty) => {
        impl $tracks {
            /// Removes all events and keeps the allocated memory.
            pub fn clear(&mut self) {
                $crate::event::Results::clear(self);
            }

            /// Number of events.
            pub fn events(&self) -> usize {
                self.status.len()
            }

            /// Number of tracks of all events.
            pub fn tracks(&self) -> usize {
                self.hit_start.len() - 1
            }

            /// Returns the tracks of one event, as a range into the per-track columns.
            ///
            /// # Panics
            /// Panics if `event >= events()`.
            pub fn of_event(&self, event: usize) -> std::ops::Range<usize> {
                self.track_start[event] as usize..self.track_start[event + 1] as usize
            }

            /// Returns the hits of one track.
            ///
            /// # Panics
            /// Panics if `track >= tracks()`.
            pub fn hits_of(&self, track: usize) -> &[u32] {
                &self.hits[self.hit_start[track] as usize..self.hit_start[track + 1] as usize]
            }

            /// Returns the hits of each track of one event.
            ///
            /// # Panics
            /// Panics if `event >= events()`.
            pub fn hit_lists(&self, event: usize) -> impl Iterator<Item = &[u32]> {
                self.of_event(event).map(|track| self.hits_of(track))
            }
        }
    };
}

pub(super) use track_lists;
