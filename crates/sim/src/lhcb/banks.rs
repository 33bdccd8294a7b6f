//! Encodes simulated hits in raw banks of LHCb's formats.

use super::trackers::TrackerHits;
use crate::pixels::Cluster;
use peloton::event::BankKind;
use std::collections::BTreeMap;

/// One raw bank: type, version, source and payload.
pub(super) type SimBank = (u8, u8, u16, Vec<u8>);

/// Detector numbers in LHCbIDs of Velo clusters: for superpixels; then for clusters of the readout.
const SUPERPIXEL_ID: u32 = 8 << 28;
const RETINA_ID: u32 = 2 << 28;

fn bytes(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn counted(words: Vec<u32>) -> Vec<u8> {
    bytes(std::iter::once(words.len() as u32).chain(words))
}

/// Sums of the columns and of the rows of the pixels, and the number of pixels.
fn sums(cluster: &Cluster) -> (u32, u32, u32) {
    let columns = cluster.pixels.iter().map(|pixel| pixel.0).sum();
    let rows = cluster.pixels.iter().map(|pixel| pixel.1).sum();
    (columns, rows, cluster.pixels.len() as u32)
}

/// The bank of a sensor's clusters as the readout finds them, and their LHCbIDs.
pub(super) fn retina(sensor: usize, clusters: &[Cluster]) -> (SimBank, Vec<u32>) {
    let (mut words, mut ids) = (Vec::new(), Vec::new());
    for cluster in clusters {
        let (columns, rows, n) = sums(cluster);
        let (column, row) = (columns / n, rows / n);
        let (fx, fy) = (4 * (columns % n) / n, 4 * (rows % n) / n);
        words.push(fy | row << 2 | fx << 10 | column << 12);
        let told = u32::from(fy > 0) << 26 | u32::from(fx > 0) << 27;
        ids.push(RETINA_ID | row | column << 8 | (sensor as u32) << 18 | told);
    }
    // A word of 0 would be read as padding, so the cluster in the very corner is omitted.
    let bank = (BankKind::VeloRetina.code(), 3, sensor as u16, counted(words));
    (bank, ids)
}

/// The bank of a sensor's superpixels, and the LHCbIDs of its clusters.
pub(super) fn superpixels(sensor: usize, clusters: &[Cluster]) -> (SimBank, Vec<u32>) {
    let mut patterns = BTreeMap::<(u32, u32), u32>::new();
    for &(column, row) in clusters.iter().flat_map(|cluster| cluster.pixels.iter()) {
        *patterns.entry((column / 2, row / 4)).or_default() |= 1 << (column % 2 * 4 + row % 4);
    }
    let word = |(&(column, row), &pattern): (&(u32, u32), &u32)| {
        let near = patterns
            .range((column.saturating_sub(1), 0)..(column + 2, 0))
            .filter(|((_, r), _)| r.abs_diff(row) <= 1);
        let alone = near.count() == 1;
        u32::from(alone) << 31 | column << 14 | row << 8 | pattern
    };
    let bank =
        (BankKind::VeloSuperpixel.code(), 2, sensor as u16, counted(patterns.iter().map(word).collect()));
    let id = |cluster: &Cluster| {
        let (columns, rows, n) = sums(cluster);
        SUPERPIXEL_ID + rows / n + ((columns / n) << 8) + ((sensor as u32) << 18)
    };
    (bank, clusters.iter().map(id).collect())
}

/// An empty list of hits for each board: real boards also send banks without hits.
fn empty(boards: &[u16]) -> BTreeMap<u16, Vec<u16>> {
    boards.iter().map(|&board| (board, Vec::new())).collect()
}

/// Banks of the UT, version 3, one for each of its boards.
pub(super) fn ut(hits: &TrackerHits, boards: &[u16]) -> Vec<SimBank> {
    let mut boards = empty(boards);
    for (hit, _) in hits.ut.values() {
        let channel = u16::from(hit.lane) * 512 + hit.strip;
        boards.entry(hit.board).or_default().push(u16::from(hit.quarter) | channel << 2);
    }
    let bank = |(board, words): (u16, Vec<u16>)| {
        let mut payload = (words.len() as u32).to_le_bytes().to_vec();
        payload.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        (BankKind::Ut.code(), 3, board, payload)
    };
    boards.into_iter().map(bank).collect()
}

/// Banks of the SciFi, version 5, one for each of its boards.
pub(super) fn scifi(hits: &TrackerHits, boards: &[u16]) -> Vec<SimBank> {
    let mut boards = empty(boards);
    let mut all = hits.scifi.values().peekable();
    // Board, link and cell of the last word.
    let mut last = (u16::MAX, u8::MAX, 0);
    while let Some((hit, wide, _)) = all.next() {
        let words = boards.entry(hit.board).or_default();
        let word = |cell: u8, half: bool, large: bool| {
            u16::from(hit.link) << 9 | u16::from(cell) << 2 | u16::from(half) << 1 | u16::from(large)
        };
        let same_link = |board: u16, link: u8| (board, link) == (hit.board, hit.link);
        let before = if same_link(last.0, last.1) { last.2 + 1 } else { 0 };
        let after =
            all.peek().filter(|(next, ..)| same_link(next.board, next.link)).map_or(128, |next| next.0.cell);
        // Edges three cells apart stand for a cluster whose hit is in the second cell; used if these cells are free.
        if *wide && hit.cell > before && hit.cell + 2 < after {
            words.extend([word(hit.cell - 1, false, true), word(hit.cell + 2, hit.half, true)]);
            last = (hit.board, hit.link, hit.cell + 2);
        } else {
            words.push(word(hit.cell, hit.half, false));
            last = (hit.board, hit.link, hit.cell);
        }
    }
    let bank = |(board, words): (u16, Vec<u16>)| {
        let mut payload = vec![0; 4];
        payload.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        payload.resize(payload.len().next_multiple_of(4), 0);
        (BankKind::SciFi.code(), 5, board, payload)
    };
    boards.into_iter().map(bank).collect()
}
