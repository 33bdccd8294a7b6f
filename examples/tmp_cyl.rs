//! scratch
use peloton::cylinder::*;
use peloton::event::*;
use peloton::input::*;
use peloton::simd::*;
use peloton::truth::*;
use std::time::Instant;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let path = &a[1];
    let builder: Builder = a[2].parse().unwrap();
    let reps: usize = a[3].parse().unwrap();
    let (isa, gang) =
        (a.get(4).map(|s| s.parse::<Isa>().unwrap()), a.get(5).map(|s| s.parse::<usize>().unwrap()));
    let mut r = CylinderReader::open(
        &[Source::Path(path.into())],
        ReadOptions { truth: true, strict: true, ..Default::default() },
    )
    .unwrap();
    let (mut b, mut t) = (CylinderBatch::default(), CylinderTruth::default());
    r.read(100, &mut b, &mut t).unwrap();
    let n = b.len();
    peloton::truth::simulate::cylinder_shuffle(&mut b, &mut t, 0..n, 1);
    let level = Level::choose(isa, gang).unwrap();
    let mut c = CylinderConfig { builder, ..Default::default() };
    if let Ok(v) = std::env::var("W") {
        c.build.window = v.parse().unwrap();
    }
    if let Ok(v) = std::env::var("PHI") {
        c.bins.phi = v.parse().unwrap();
    }
    if let Ok(v) = std::env::var("CAND") {
        c.build.candidates = v.parse().unwrap();
    }
    if let Ok(v) = std::env::var("PEN") {
        c.build.hole_penalty = v.parse().unwrap();
    }
    let mut w = CylinderWorkspace::default();
    let mut out = CylinderTracks::default();
    let input = CylinderInput { hits: &b, seeds: &t.particles };
    let n = t.particles.len();
    let mut best = [u64::MAX; 4];
    let mut occ = 0.0;
    for _ in 0..reps {
        out.clear();
        let mut cn = Counters::default();
        reconstruct(level, &c, input, 0..b.len(), &mut w, &mut out, &mut cn);
        for i in 0..4 {
            best[i] = best[i].min(cn.stages[i].ns);
        }
        occ = cn.stages[2].occupancy().unwrap_or(0.0);
        if reps == 1 {
            println!("dropped {:?}", cn.dropped().collect::<Vec<_>>());
        }
    }
    println!("{level} {builder}: us/track {:?} occ {occ:.3}", best.map(|ns| ns as f64 / 1e3 / n as f64));
    let mut fitted = CylinderTracks::default();
    let mut bf = f64::MAX;
    for _ in 0..reps {
        fitted.clear();
        let s = Instant::now();
        fit_particles(level, &c, input, 0..b.len(), &mut fitted);
        bf = bf.min(s.elapsed().as_secs_f64());
    }
    println!("fit of particles {:.4} us/track", bf * 1e6 / n as f64);
    let mut hist = [0; 7];
    fitted.fit.iter().for_each(|s| hist[*s as usize] += 1);
    println!("fit status {hist:?}");
    let mut hist = [0; 7];
    out.fit.iter().for_each(|s| hist[*s as usize] += 1);
    println!("track fit status {hist:?}");
    for e in 0..b.len() {
        let mut ch = CylinderChecker::default();
        ch.event(&t, (e, b.layer_start[e * 10] as usize), out.hit_lists(e));
        let r = ch.report();
        println!(
            "event {e}: matched {:?} {:?} fakes {:?} len {:?}",
            r.categories[0].efficiency,
            r.categories[1].efficiency,
            r.categories.iter().map(|c| c.fake_rate).collect::<Vec<_>>(),
            &r.lengths[4..]
        );
    }
}
