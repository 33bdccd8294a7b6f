//! Divides the windows for last hits of triplets into pieces of one gang. The pieces of all windows are in one list, so
//! that the loop over pieces has no branch that depends on the number of hits in a window.

use super::half::HalfHits;
use super::plan::Kind;
use crate::event::Column;
use crate::simd::Gang;
use crate::simd::varying::{F32, U32};

/// Gangs of last hits, in the order of the first hits and of x.
#[derive(Debug, Default)]
pub(super) struct Cut {
    /// Place of the first hit in the index, and of the first one of a gang of last hits.
    first: Column<u32>,
    at: Column<u32>,
    len: usize,
    /// Ends of the windows of the first hits.
    from: Column<u32>,
    to: Column<u32>,
}

impl Cut {
    /// Lists the gangs of last hits for the hits of `firsts`; a gang may include a few hits outside the window.
    #[inline(always)]
    pub(super) fn list<G: Gang>(
        &mut self,
        g: G,
        hits: HalfHits<'_>,
        kind: &Kind,
        firsts: std::ops::Range<u32>,
    ) {
        let last = hits.layer(kind.layers[2]);
        let (begin, number) = (firsts.start as usize, firsts.len());
        self.from.set_len(number);
        self.to.set_len(number);
        let (scale, window) = (F32::splat(g, kind.scale), F32::splat(g, kind.window));
        for at in (0..number).step_by(G::LANES) {
            let centre = F32::load(g, &hits.x[begin + at..]) * scale;
            let (from, to) = last.around(g, centre - window, centre + window);
            from.store(&mut self.from.padded_mut()[at..]);
            to.store(&mut self.to.padded_mut()[at..]);
        }
        self.len = 0;
        let (step, all) = (U32::splat(g, G::LANES as u32), U32::splat(g, (G::LANES * G::LANES) as u32));
        for (first, (&from, &to)) in firsts.zip(self.from.iter().zip(self.to.iter())) {
            let gangs = (to.saturating_sub(from) as usize).div_ceil(G::LANES);
            self.first.reserve_total(self.len + gangs);
            self.at.reserve_total(self.len + gangs);
            let (first, mut at) = (U32::splat(g, first), U32::splat(g, from) + U32::iota(g) * step);
            let mut done = 0;
            // The loop runs at least once; few windows have more gangs than a gang has lanes.
            loop {
                first.store(&mut self.first.padded_mut()[self.len + done..]);
                at.store(&mut self.at.padded_mut()[self.len + done..]);
                done += G::LANES;
                at = at + all;
                if done >= gangs {
                    break;
                }
            }
            self.len += gangs;
        }
    }

    /// Returns the first hits, and the first one of each gang of last hits.
    #[inline(always)]
    pub(super) fn gangs(&self) -> (&[u32], &[u32]) {
        (&self.first.padded()[..self.len], &self.at.padded()[..self.len])
    }
}
