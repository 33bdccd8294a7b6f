//! [`ClogWriter`]: writes clusters in the clog format of the Pixet programs.

use super::text::{ns, parts, put};
use crate::output::SideBySide;
use peloton::event::{NS_PER_TICK, PixelClusters};
use std::io::{self, Write};
use std::ops::Range;

/// Writes clusters as frames. A frame is `Frame N (start in s, length in s)`, then a line for each cluster with its
/// hits, `[x, y, tot, ns after the start] [...] ...`, then an empty line. Frames are counted from 1, as readers expect.
#[derive(Debug)]
pub struct ClogWriter {
    texts: SideBySide,
    is_of_frames: bool,
    /// Number of the open frame: as written, or as in the input.
    last: Option<i64>,
    /// Whether nothing was written yet.
    is_empty: bool,
}

impl ClogWriter {
    /// A writer for clusters. If hits come from frames (`is_of_frames`), the frames keep their numbers; otherwise each
    /// piece of the stream becomes a frame. `texts` formats the lines.
    pub fn new(is_of_frames: bool, texts: SideBySide) -> Self {
        Self { texts, is_of_frames, last: None, is_empty: true }
    }

    /// Begins another input, whose frames are separate from earlier frames, even if they have the same numbers.
    pub fn begin_input(&mut self) {
        if self.is_of_frames {
            self.last = None;
        }
    }

    /// Writes the next clusters. If hits have times, these clusters form one frame, which begins with its first hit.
    /// Clusters of frames are written without times, in their frame of the input (counted from 0 there).
    ///
    /// # Errors
    /// Errors of `to`.
    pub fn write(&mut self, clusters: &PixelClusters, to: &mut dyn Write) -> io::Result<()> {
        if self.is_of_frames {
            return self.write_frames(clusters, to);
        }
        let times = &clusters.hits.time;
        let (Some(&first), Some(&last)) = (times.iter().min(), times.iter().max()) else { return Ok(()) };
        let number = self.last.map_or(1, |last| last + 1);
        self.last = Some(number);
        self.header(number, [first, last - first], to)?;
        self.write_clusters(clusters, 0..clusters.len(), Some(first), to)
    }

    fn write_frames(&mut self, clusters: &PixelClusters, to: &mut dyn Write) -> io::Result<()> {
        let frames = &clusters.features.time;
        let mut from = 0;
        while from < clusters.len() {
            let frame = frames[from];
            let end = (from..clusters.len()).find(|next| frames[*next] != frame).unwrap_or(clusters.len());
            if self.last != Some(frame) {
                self.last = Some(frame);
                self.header(frame.saturating_add(1), [0, 0], to)?;
            }
            self.write_clusters(clusters, from..end, None, to)?;
            from = end;
        }
        Ok(())
    }

    fn write_clusters(
        &mut self,
        clusters: &PixelClusters,
        range: Range<usize>,
        start: Option<i64>,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        let parts = parts(range);
        self.texts.write(parts.len(), to, &|part, text| {
            lines(clusters, parts.clone().nth(part).unwrap_or_default(), start, text);
            Ok(())
        })
    }

    fn header(&mut self, number: i64, ticks: [i64; 2], to: &mut dyn Write) -> io::Result<()> {
        if !std::mem::take(&mut self.is_empty) {
            to.write_all(b"\n")?;
        }
        let [start, length] = ticks.map(|ticks| ticks as f64 * NS_PER_TICK * 1e-9);
        writeln!(to, "Frame {number} ({start:.9}, {length:.9} s)")
    }

    /// Ends the last frame.
    ///
    /// # Errors
    /// Errors of `to`.
    pub fn finish(self, to: &mut dyn Write) -> io::Result<()> {
        if self.is_empty { Ok(()) } else { to.write_all(b"\n") }
    }
}

/// Formats a line for each cluster; times count from `start`, and are omitted without it.
fn lines(clusters: &PixelClusters, range: Range<usize>, start: Option<i64>, text: &mut Vec<u8>) {
    for cluster in range {
        for i in clusters.of_cluster(cluster) {
            let (time, x, y, tot) = clusters.hits.get(i);
            text.push(b'[');
            put(x, text);
            text.extend_from_slice(b", ");
            put(y, text);
            text.extend_from_slice(b", ");
            put(tot, text);
            if let Some(start) = start {
                text.extend_from_slice(b", ");
                ns(time - start, text);
            }
            text.extend_from_slice(b"] ");
        }
        text.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::engine::CommonThreads;
    use std::sync::Arc;

    /// One cluster for each list of hits, given as time, x, y, ToT.
    fn clusters(all: &[&[(i64, u16, u16, u16)]]) -> PixelClusters {
        let mut clusters = PixelClusters::default();
        clusters.features.set_len(all.len());
        for (cluster, hits) in all.iter().enumerate() {
            hits.iter().for_each(|&(t, x, y, tot)| clusters.hits.push(t, x, y, tot));
            let end = clusters.hits.len() as u32;
            clusters.hit_start.push(end);
            clusters.features.time[cluster] = hits[0].0;
        }
        clusters
    }

    fn writer(is_of_frames: bool) -> ClogWriter {
        ClogWriter::new(is_of_frames, SideBySide::new(Arc::new(CommonThreads)))
    }

    fn written(mut writer: ClogWriter, pieces: &[PixelClusters], begins: &[usize]) -> String {
        let mut text = Vec::new();
        for (number, piece) in pieces.iter().enumerate() {
            if begins.contains(&number) {
                writer.begin_input();
            }
            writer.write(piece, &mut text).unwrap();
        }
        writer.finish(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn pieces_of_a_stream_are_frames_from_1_on() {
        let first = clusters(&[&[(160, 3, 4, 9), (161, 3, 5, 2)], &[(320, 0, 0, 1)]]);
        let mut alone = PixelClusters::default();
        alone.hits.push(160, 3, 4, 9);
        let text = written(writer(false), &[first, PixelClusters::default(), alone], &[0, 2]);
        let expected = "Frame 1 (0.000000250, 0.000000250 s)\n[3, 4, 9, 0] [3, 5, 2, 1.5625] \n[0, 0, 1, 250] \n\n\
            Frame 2 (0.000000250, 0.000000000 s)\n\n";
        assert_eq!(text, expected, "and hits of which none is in a cluster");
        assert_eq!(written(writer(false), &[], &[]), "");
    }

    #[test]
    fn frames_keep_their_numbers_whatever_the_pieces() {
        let all: [&[(i64, u16, u16, u16)]; 4] =
            [&[(0, 3, 4, 10), (0, 4, 4, 11)], &[(0, 9, 9, 1)], &[(1, 100, 100, 7)], &[(3, 5, 5, 9)]];
        let expected = "Frame 1 (0.000000000, 0.000000000 s)\n[3, 4, 10] [4, 4, 11] \n[9, 9, 1] \n\n\
            Frame 2 (0.000000000, 0.000000000 s)\n[100, 100, 7] \n\nFrame 4 (0.000000000, 0.000000000 s)\n[5, 5, 9] \n\n";
        for cut in 0..=4 {
            let pieces = [clusters(&all[..cut]), clusters(&all[cut..])];
            assert_eq!(written(writer(true), &pieces, &[0]), expected, "{cut}");
        }
        let twice = written(writer(true), &[clusters(&all[2..3]), clusters(&all[2..3])], &[1]);
        assert_eq!(twice.matches("Frame 2 ").count(), 2, "the same number in another input is another frame");
    }
}
