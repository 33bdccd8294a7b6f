//! Rivals of each pair: the best other pair with the same Velo track, and the best with the same SciFi track.

use super::pairs::Pairs;
use crate::event::Column;

/// Number of values about the rivals of a pair.
pub(super) const RIVALS: usize = 4;

/// The pairs of one track: the two best responses, and the number of pairs.
#[derive(Debug, Clone, Copy, Default)]
struct Best {
    first: f32,
    second: f32,
    count: f32,
}

impl Best {
    #[inline(always)]
    fn add(&mut self, response: f32) {
        let below = if self.second < response { response } else { self.second };
        (self.first, self.second) =
            if self.first < response { (response, self.first) } else { (self.first, below) };
        self.count += 1.0;
    }

    /// Returns the best response of the other pairs, given the response of one pair.
    #[inline(always)]
    fn but(&self, response: f32) -> f32 {
        if self.first <= response { self.second } else { self.first }
    }
}

/// Memory and results of this step.
#[derive(Debug, Default)]
pub(super) struct Rivals {
    of_velo: Vec<Best>,
    of_scifi: Vec<Best>,
    /// Values of each pair: best response of another pair with its Velo track, and with its SciFi track (0 if there is
    /// none); numbers of pairs with its Velo track and with its SciFi track, including itself.
    pub(super) columns: [Column<f32>; RIVALS],
}

impl Rivals {
    /// Finds the rivals of pairs of `velo` selected Velo tracks. A pair takes a few dependent instructions: no lanes.
    #[inline(always)]
    pub(super) fn find(&mut self, pairs: &Pairs, response: &[f32], velo: usize) {
        let Self { of_velo, of_scifi, columns } = self;
        let [places, scifi] = [&pairs.place, &pairs.scifi].map(|column| &column.padded()[..pairs.len]);
        // Pairs are listed by SciFi track.
        let (first, end) = scifi.first().zip(scifi.last()).map_or((0, 0), |(first, last)| (*first, last + 1));
        of_velo.clear();
        of_velo.resize(velo, Best::default());
        of_scifi.clear();
        of_scifi.resize((end - first) as usize, Best::default());
        for ((&place, &track), &response) in places.iter().zip(scifi).zip(response) {
            of_velo[place as usize].add(response);
            of_scifi[(track - first) as usize].add(response);
        }
        columns.iter_mut().for_each(|column| column.set_len(pairs.len));
        let [other_velo, other_scifi, count_velo, count_scifi] = columns;
        for (at, ((&place, &track), &response)) in places.iter().zip(scifi).zip(response).enumerate() {
            let (velo, scifi) = (&of_velo[place as usize], &of_scifi[(track - first) as usize]);
            (other_velo[at], other_scifi[at]) = (velo.but(response), scifi.but(response));
            (count_velo[at], count_scifi[at]) = (velo.count, scifi.count);
        }
    }
}
