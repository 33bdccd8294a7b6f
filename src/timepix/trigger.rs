//! [`TriggerPairer`]: pairs hits with the latest trigger before them, and computes the time since the trigger.

use crate::event::{Edge, PixelClusters, TriggerPairs, Triggers};
use std::collections::VecDeque;

/// Largest number of stored triggers.
const CAPACITY: usize = 1 << 20;

/// A trigger: its time, in sixths of a tick of 1.5625 ns, and the device's own count of it.
type Trigger = (i64, u16);

/// Pairs hits with the latest trigger at or before them.
///
/// Triggers come between the hits of a stream, with at most the same disorder as hits; clusters come when no future hit
/// can precede them. So all triggers before a cluster are known when it arrives.
#[derive(Debug)]
pub struct TriggerPairer {
    edge: Edge,
    /// Known triggers in order of time.
    known: VecDeque<Trigger>,
    paired: u64,
    forgotten: u64,
    /// Number of edges so far, by their kind.
    seen: [u64; Edge::ALL.len()],
}

impl TriggerPairer {
    /// Creates a pairer for one kind of edge.
    pub fn new(edge: Edge) -> Self {
        Self { edge, known: VecDeque::new(), paired: 0, forgotten: 0, seen: [0; Edge::ALL.len()] }
    }

    /// Adds the triggers of the next block of the stream.
    pub fn push(&mut self, triggers: &Triggers) {
        for i in 0..triggers.len() {
            if let Some(seen) = self.seen.get_mut(usize::from(triggers.edge[i])) {
                *seen += 1;
            }
            if triggers.edge[i] != self.edge as u8 {
                continue;
            }
            let sixths = triggers.time[i].saturating_mul(6).saturating_add(triggers.fine[i].into());
            let trigger = (sixths, triggers.counter[i]);
            let place = self.known.partition_point(|known| known.0 <= sixths);
            self.known.insert(place, trigger);
            if self.known.len() > CAPACITY {
                self.known.pop_front();
                self.forgotten += 1;
            }
        }
    }

    /// Pairs hits of clusters, which come in order of their first hits; `end` discards all triggers afterwards.
    pub fn pair(&mut self, clusters: &PixelClusters, end: bool, to: &mut TriggerPairs) {
        to.clear();
        for cluster in 0..clusters.len() {
            let range = clusters.of_cluster(cluster);
            let mut before = self.before(clusters.hits.time[range.start]);
            to.counter.push(before.map_or(0, |i| self.known[i].1));
            to.has_trigger.push(u8::from(before.is_some()));
            for &time in &clusters.hits.time[range] {
                let sixths = time.saturating_mul(6);
                // Hits of a cluster are in order, and triggers are rare.
                let next = |before: Option<usize>| before.map_or(0, |i| i + 1);
                while self.known.get(next(before)).is_some_and(|known| known.0 <= sixths) {
                    before = Some(next(before));
                }
                let since = before.map(|i| sixths.saturating_sub(self.known[i].0));
                self.paired += u64::from(since.is_some());
                to.since.push(since.unwrap_or(TriggerPairs::NONE));
            }
        }
        // Later clusters do not begin before the last one.
        if let Some(last) = clusters.len().checked_sub(1) {
            let start = clusters.hits.time[clusters.of_cluster(last).start];
            self.known.drain(..self.before(start).unwrap_or(0));
        }
        if end {
            self.known.clear();
        }
    }

    /// Returns the kind of edge that hits are paired with.
    pub fn edge(&self) -> Edge {
        self.edge
    }

    /// Returns the number of edges of each kind so far, including other kinds, in the order of [`Edge::ALL`].
    pub fn seen(&self) -> [u64; Edge::ALL.len()] {
        self.seen
    }

    /// Returns the number of hits that were paired with a trigger so far.
    pub fn paired(&self) -> u64 {
        self.paired
    }

    /// Returns the number of triggers that were discarded because too many triggers waited for clusters.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Returns the latest trigger at or before a time.
    fn before(&self, time: i64) -> Option<usize> {
        let sixths = time.saturating_mul(6);
        self.known.partition_point(|known| known.0 <= sixths).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn triggers(rows: &[(i64, u8, u16, Edge)]) -> Triggers {
        let mut triggers = Triggers::default();
        rows.iter().for_each(|&(time, fine, counter, edge)| triggers.push(time, fine, counter, edge, 0));
        triggers
    }

    fn clusters(of: &[&[i64]]) -> PixelClusters {
        let mut clusters = PixelClusters::default();
        for times in of {
            times.iter().for_each(|&time| clusters.hits.push(time, 1, 1, 1));
            clusters.hit_start.push(clusters.hits.len() as u32);
        }
        clusters
    }

    #[test]
    fn hits_have_the_latest_trigger_before_them() {
        let mut pairer = TriggerPairer::new(Edge::Rise1);
        let mut pairs = TriggerPairs::default();
        pairer.push(&triggers(&[
            (200, 0, 8, Edge::Rise1),
            (100, 1, 7, Edge::Rise1),
            (150, 0, 9, Edge::Fall1),
        ]));
        pairer.pair(&clusters(&[&[100], &[101, 199, 200, 210]]), false, &mut pairs);
        assert_eq!(pairs.since[..], [TriggerPairs::NONE, 5, 99 * 6 - 1, 0, 60]);
        assert_eq!((&pairs.has_trigger[..], &pairs.counter[..]), (&[0, 1][..], &[0, 7][..]));
        pairer.pair(&clusters(&[&[250]]), true, &mut pairs);
        assert_eq!((pairs.since[..].to_vec(), pairer.paired()), (vec![300], 5));
        pairer.pair(&clusters(&[&[300]]), false, &mut pairs);
        assert_eq!(pairs.since[..], [TriggerPairs::NONE]);
    }

    proptest! {
        #[test]
        fn however_the_stream_is_cut(
            steps in prop::collection::vec((0i64..20, any::<bool>()), 1..100), cut in 1usize..20
        ) {
            let (mut time, mut all, mut hits) = (0, Vec::new(), Vec::new());
            for (step, is_trigger) in steps {
                time += step;
                if is_trigger { all.push((time, 0, 0, Edge::Rise2)) } else { hits.push(time) }
            }
            let mut pairer = TriggerPairer::new(Edge::Rise2);
            let (mut pairs, mut found, mut given) = (TriggerPairs::default(), Vec::new(), 0);
            for part in hits.chunks(cut) {
                let known = all.partition_point(|row| row.0 <= part[part.len() - 1]);
                pairer.push(&triggers(&all[given..known]));
                given = known;
                let each: Vec<_> = part.chunks(1).collect();
                pairer.pair(&clusters(&each), false, &mut pairs);
                found.extend_from_slice(&pairs.since);
            }
            let expected = hits.iter().map(|hit| {
                let before = all.iter().rev().find(|row| row.0 <= *hit);
                before.map_or(TriggerPairs::NONE, |row| (hit - row.0) * 6)
            });
            prop_assert_eq!(found, expected.collect::<Vec<_>>());
        }
    }
}
