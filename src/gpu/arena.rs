//! [`Plan`]: positions of the buffers of a sequence in one piece of device memory.
//!
//! A buffer is in use from the first to the last step that reads or writes it. Buffers that are never in use at
//! the same time may share memory. The plan is made once, before a stream starts; nothing is allocated afterwards.

use std::ops::Range;

/// Alignment of buffers, bytes: the alignment of the widest loads of a device.
pub const ALIGNMENT: usize = 256;

/// Inputs and outputs of a step of a sequence, as numbers of buffers.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// Buffers that the step reads.
    pub reads: &'static [usize],
    /// Buffers that the step writes, completely or in part.
    pub writes: &'static [usize],
}

impl Access {
    fn names(&self, buffer: usize) -> bool {
        self.reads.contains(&buffer) || self.writes.contains(&buffer)
    }
}

/// Positions of buffers in the arena.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    ranges: Vec<Range<usize>>,
    bytes: usize,
}

impl Plan {
    /// Plans buffers of these `bytes` for the `steps` of a sequence. The largest buffer is placed first, at the
    /// lowest position where it overlaps no buffer in use at the same time.
    pub fn new(bytes: &[usize], steps: &[Access]) -> Self {
        let lives: Vec<_> = (0..bytes.len()).map(|buffer| lifetime(steps, buffer)).collect();
        let mut order: Vec<_> = (0..bytes.len()).collect();
        order.sort_by_key(|&buffer| std::cmp::Reverse(bytes[buffer])); // stable
        let mut ranges = vec![0..0; bytes.len()];
        let mut placed: Vec<usize> = Vec::new();
        for buffer in order {
            let mut taken: Vec<_> = placed
                .iter()
                .filter(|&&other| meet(&lives[buffer], &lives[other]))
                .map(|&other| ranges[other].clone())
                .collect();
            taken.sort_by_key(|range| range.start);
            let size = bytes[buffer].next_multiple_of(ALIGNMENT);
            let fit = |start: usize, range: &Range<usize>| {
                if start + size <= range.start { Err(start) } else { Ok(start.max(range.end)) }
            };
            let start = taken.iter().try_fold(0, fit).unwrap_or_else(|start| start);
            ranges[buffer] = start..start + size;
            placed.push(buffer);
        }
        let bytes = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        Self { ranges, bytes }
    }

    /// Position of a buffer, bytes from the beginning of the arena.
    pub fn start(&self, buffer: usize) -> usize {
        self.ranges[buffer].start
    }

    /// Size of the arena, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
impl Plan {
    /// A plan with gaps between buffers, which share no memory.
    pub fn spread(bytes: &[usize]) -> Self {
        const GAP: usize = 4096;
        let mut end = GAP;
        let range = |size: &usize| {
            let start = end;
            end = (start + size + GAP).next_multiple_of(ALIGNMENT);
            start..start + size
        };
        let ranges = bytes.iter().map(range).collect();
        Self { ranges, bytes: end }
    }

    /// Returns the first byte outside all buffers of a plan with gaps whose value is not `fresh`.
    pub fn trespass(&self, memory: &[u8], fresh: u8) -> Option<usize> {
        let is_mine = |at: &usize| self.ranges.iter().any(|range| range.contains(at));
        (0..memory.len()).filter(|at| memory[*at] != fresh).find(|at| !is_mine(at))
    }
}

/// The first and the last step that reads or writes a buffer; none if no step does.
fn lifetime(steps: &[Access], buffer: usize) -> Option<[usize; 2]> {
    let first = steps.iter().position(|step| step.names(buffer))?;
    let last = steps.iter().rposition(|step| step.names(buffer))?;
    Some([first, last])
}

fn meet(one: &Option<[usize; 2]>, other: &Option<[usize; 2]>) -> bool {
    one.zip(*other).is_some_and(|(one, other)| one[0] <= other[1] && other[0] <= one[1])
}

/// For tests: returns the first step that reads a buffer before any step has written this buffer, and the buffer.
#[cfg(test)]
pub fn read_before_written(steps: &[Access]) -> Option<(usize, usize)> {
    let mut written = Vec::new();
    steps.iter().enumerate().find_map(|(number, step)| {
        let missing = step.reads.iter().find(|buffer| !written.contains(*buffer));
        written.extend_from_slice(step.writes);
        missing.map(|&buffer| (number, buffer))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn memory_is_used_again() {
        let steps = [
            Access { reads: &[], writes: &[0] },
            Access { reads: &[0], writes: &[1] },
            Access { reads: &[1], writes: &[2] },
            Access { reads: &[2], writes: &[3] },
        ];
        let plan = Plan::new(&[1000, 1000, 1000, 1000], &steps);
        assert_eq!(plan.bytes(), 2048);
        assert_eq!((plan.start(0), plan.start(1)), (plan.start(2), plan.start(3)));
        assert_eq!(read_before_written(&steps), None);
        assert_eq!(read_before_written(&steps[1..]), Some((0, 0)));
    }

    proptest! {
        #[test]
        fn buffers_that_live_together_never_share(
            bytes in prop::collection::vec(0usize..5000, 8),
            steps in prop::collection::vec((0usize..8, 0usize..8), 1..12),
        ) {
            const ONE: [[usize; 1]; 8] = [[0], [1], [2], [3], [4], [5], [6], [7]];
            let steps: Vec<_> =
                steps.into_iter().map(|(r, w)| Access { reads: &ONE[r], writes: &ONE[w] }).collect();
            let plan = Plan::new(&bytes, &steps);
            for (number, step) in steps.iter().enumerate() {
                let alive = |buffer: &usize| {
                    lifetime(&steps, *buffer).is_some_and(|[a, b]| (a..=b).contains(&number))
                };
                let here: Vec<_> = (0..8).filter(alive).collect();
                prop_assert!(step.reads.iter().all(|buffer| here.contains(buffer)));
                for (i, &a) in here.iter().enumerate() {
                    for &b in &here[..i] {
                        let ends = [a, b].map(|buffer| plan.start(buffer) + bytes[buffer]);
                        prop_assert!(ends[0] <= plan.start(b) || ends[1] <= plan.start(a));
                    }
                }
                prop_assert!(here.iter().all(|&buffer| plan.start(buffer) + bytes[buffer] <= plan.bytes()));
            }
        }
    }
}
