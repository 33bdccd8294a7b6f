//! Events before the search for hits of the UT: real, simulated and hostile ones.

use super::best_level;
use super::geometry::Detector;
use peloton::Status;
use peloton::event::{
    Column, Outcome, RawBatch, Results, States, UT_GROUPS, UtBatch, UtCellHits, VeloTracks,
};
use peloton::ut::reference::by_cell;
use peloton::ut::{UtConfig, UtFindInput, UtHitsIn, UtLayout, UtPreset, UtScratch, decode, decode_by_cell};
use peloton::velo::Preset;

/// A detector, and its events after the reconstruction steps before the search.
pub struct Sample {
    pub layout: UtLayout,
    pub events: Events,
}

/// Velo tracks, and hits of the UT in both orders.
#[derive(Default)]
pub struct Events {
    pub velo: VeloTracks,
    pub groups: UtBatch,
    pub cells: UtCellHits,
}

impl Events {
    /// The input of the search: hits in the order that a configuration reads.
    pub fn input(&self, config: &UtConfig) -> UtFindInput<'_> {
        let hits = match config.reads_cells() {
            true => UtHitsIn::Cells(&self.cells),
            false => UtHitsIn::Groups(&self.groups),
        };
        UtFindInput { velo: &self.velo, hits }
    }
}

impl Sample {
    pub fn new(detector: &Detector, raw: &RawBatch) -> Self {
        let engine = detector.velo_engine(best_level(), Preset::Best);
        let (mut velo, mut groups, mut cells) = (Outcome::default(), Outcome::default(), Outcome::default());
        let (events, all) = (raw.view(), 0..raw.len());
        engine.try_run(events, &mut engine.workspace(), &mut velo).unwrap();
        let (layout, mut scratch) = (layout(detector), UtScratch::default());
        decode(best_level(), &detector.ut, events, all.clone(), &mut scratch, &mut groups);
        decode_by_cell(best_level(), (&detector.ut, &layout), events, all, &mut scratch, &mut cells);
        let events = Events { velo: velo.results, groups: groups.results, cells: cells.results };
        Self { layout, events }
    }
}

pub fn layout(detector: &Detector) -> UtLayout {
    UtLayout::new(&detector.ut, detector.tables.clone(), detector.polarity, 770.0).unwrap()
}

/// A preset with cuts so wide that the search keeps every combination of hits.
pub fn everything(preset: UtPreset) -> UtConfig {
    let mut config = UtConfig {
        min_momentum: 300.0,
        min_pt: 20.0,
        slope_tolerance: 10.0,
        hit_tolerance: 100.0,
        final_momentum: 0.0,
        final_pt: 0.0,
        discriminant: f32::NEG_INFINITY,
        ..UtConfig::preset(preset)
    };
    config.candidates = if config.reads_cells() { 0 } else { 512 };
    (config.line.max_cost, config.line.pair_kink) = (f32::INFINITY, 1e6);
    config.validate().unwrap();
    config
}

/// Numbers that look random and are always the same.
struct Random(u64);

impl Random {
    /// A number with a uniform distribution from 0 to 1.
    fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 24) as f32
    }

    fn within(&mut self, reach: f32) -> f32 {
        reach * (2.0 * self.unit() - 1.0)
    }
}

/// A strip of a made-up hit: group, x, lower end.
type Strip = (usize, f32, f32);

/// Appends an event of hits, and tracks through the origin with these slopes.
pub fn push(
    layout_z: [f32; 4],
    mut strips: Vec<Strip>,
    slopes: &[[f32; 2]],
    velo: &mut VeloTracks,
    hits: &mut UtBatch,
) {
    let plane = |group: usize| [20, 40, 62, 84].iter().position(|&end| group < end).unwrap();
    strips.sort_by(|a, b| (a.0, a.2, a.1).partial_cmp(&(b.0, b.2, b.1)).unwrap());
    let first = hits.id.len();
    for &(group, x, low) in &strips {
        hits.x.push(x);
        hits.z.push(layout_z[plane(group)]);
        hits.y_begin.push(low);
        hits.y_end.push(low + 97.28);
        hits.weight.push(12.0 / (0.19 * 0.19));
        hits.id.push(hits.id.len() as u32);
    }
    for group in 0..UT_GROUPS {
        let upto = strips.iter().filter(|strip| strip.0 <= group).count();
        hits.group_start.push((first + upto) as u32);
    }
    hits.status.push(Status::Ok);
    for &[tx, ty] in slopes {
        let put = |states: &mut States, z: f32| {
            let values = [tx * z, ty * z, z, tx, ty, 1e-3, 1e-6, 1e-8];
            let put = |(column, value): (&mut Column<f32>, f32)| column.push(value);
            states.columns_mut().into_iter().zip(values).for_each(put);
        };
        put(&mut velo.beam, 0.0);
        put(&mut velo.end, 770.0);
        velo.chi2.push(1.0);
        velo.backward.push(u8::from(velo.chi2.len().is_multiple_of(7)));
        velo.hits.extend_from_slice(&[1, 2, 3]);
        velo.hit_start.push(velo.hits.len() as u32);
    }
    velo.track_start.push(velo.tracks() as u32);
    velo.status.push(Status::Ok);
}

/// The hits in the order of cells: a strip moves into the row of its middle, like a real sector.
fn cells_of(layout: &UtLayout, hits: &UtBatch) -> UtCellHits {
    let mut moved = hits.clone();
    for hit in 0..hits.hits() {
        let row = ((hits.y_begin[hit] + hits.y_end[hit]) * 0.5 + 673.16) / 96.08;
        moved.y_begin[hit] = row.floor().clamp(0.0, 13.0) * 96.08 - 673.16;
        moved.y_end[hit] = moved.y_begin[hit] + 97.2;
    }
    by_cell(layout, &moved)
}

/// Slopes all over the acceptance, and slopes that no track has.
fn slopes(random: &mut Random, count: usize) -> Vec<[f32; 2]> {
    let mut slopes: Vec<_> = (0..count).map(|_| [random.within(0.3), random.within(0.25)]).collect();
    for absurd in [f32::NAN, f32::INFINITY, 1e30, -1e-30, 0.0, 0.35, -0.3] {
        slopes.extend([[absurd, 0.1], [0.1, absurd], [absurd, absurd]]);
    }
    slopes
}

/// Events that no detector makes, and the number of the first of two events that failed before the search.
pub fn hostile(detector: &Detector) -> (Events, usize) {
    let layout = layout(detector);
    let (z, groups) = ([2327.5, 2372.5, 2597.5, 2642.5], &detector.ut.group_x);
    let first = [0, 20, 40, 62];
    let tilt = [0.0, 0.087_488_67, -0.087_488_6, 0.0];
    let (mut velo, mut hits) = (VeloTracks::default(), UtBatch::default());
    let mut random = Random(1);
    let mut event = |strips, slopes: &[[f32; 2]]| push(z, strips, slopes, &mut velo, &mut hits);

    // 300 hits in each of four sectors, one in each plane, and tracks into them.
    let into: Vec<_> = (0..40).map(|_| [0.11 + random.within(0.01), 0.02 + random.within(0.01)]).collect();
    let mut crowd = Vec::new();
    for sector in first {
        for _ in 0..300 {
            crowd.push((sector + 13, 270.0 + random.within(40.0), 0.4));
        }
    }
    event(crowd, &into);
    // All hits at the same place.
    event((0..4).flat_map(|plane| vec![(first[plane] + 13, 270.0, 0.4); 40]).collect(), &into);
    // More tracklets than there is room for.
    let many: Vec<_> = (0..300).map(|_| [0.11 + random.within(0.004), 0.02 + random.within(0.01)]).collect();
    event((0..4).flat_map(|plane| vec![(first[plane] + 13, 270.0, 0.4); 40]).collect(), &many);
    // Planes without hits: one, two, all of them; and no tracks.
    for empty in 1..=4 {
        let strip = |plane: usize| {
            (0..20).map(move |i| (first[plane] + 13, 260.0 + i as f32, 0.4)).collect::<Vec<_>>()
        };
        event((empty..4).flat_map(strip).collect(), &into);
    }
    event(vec![(13, 270.0, 0.4)], &[]);
    // Tracks along the borders of groups and rows, with hits of their own on both sides.
    let (mut strips, mut along) = (Vec::new(), Vec::new());
    for i in 0..60 {
        let (x, y) =
            (groups[i % 20] + random.within(0.02), -673.16 + 96.08 * (i % 15) as f32 + random.within(0.02));
        let [tx, ty] = [x / z[0], y / z[0]];
        along.push([tx, ty]);
        for plane in 0..4 {
            let (x, y) = (tx * z[plane], ty * z[plane]);
            let x0 = x - y * tilt[plane];
            let right = groups[first[plane]..first[plane] + [20, 20, 22, 22][plane]].iter();
            let group = (first[plane] + right.filter(|&&left| left < x0).count()).max(first[plane] + 1) - 1;
            let border = -673.16 + 96.08 * (i % 15) as f32;
            for low in [border - 96.08, border] {
                strips.push((group, x0 + random.within(0.05), low + random.within(4.0)));
            }
        }
    }
    event(strips, &along);
    // Hits and tracks anywhere, also outside of the detector; strips lie near their rows, as in all geometries.
    for count in [0, 1, 7, 500, 3000] {
        let strip = |random: &mut Random| {
            let low = -673.16 + 96.08 * (14.0 * random.unit()).floor() + random.within(4.0);
            (((random.unit() * 84.0) as usize).min(83), random.within(1200.0), low)
        };
        let strips = (0..count).map(|_| strip(&mut random)).collect();
        let slopes = slopes(&mut random, 60);
        event(strips, &slopes);
    }
    // Events that failed before the search.
    let failed = velo.status.len();
    velo.push_failed(Status::NotFinite);
    hits.push_failed(Status::Ok);
    velo.push_failed(Status::Ok);
    hits.push_failed(Status::BadBank);
    let cells = cells_of(&layout, &hits);
    (Events { velo, groups: hits, cells }, failed)
}
