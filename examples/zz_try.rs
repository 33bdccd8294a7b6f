//! scratch
use peloton::event::*;
use peloton::simd::*;
use peloton::velo::*;
fn load(f: &str) -> (VeloBatch,) {
    let b = std::fs::read(f).unwrap();
    let w: Vec<u32> = b.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect();
    let mut i = 0;
    let mut t = |k: usize| {
        let r = w[i..i + k].to_vec();
        i += k;
        r
    };
    let fl = |v: Vec<u32>| v.into_iter().map(f32::from_bits).collect::<Vec<f32>>();
    let n = t(1)[0];
    let mut vb = VeloBatch::default();
    for e in 0..n {
        let h = t(1)[0] as usize;
        let ms = t(53);
        let x = fl(t(h));
        let y = fl(t(h));
        let z = fl(t(h));
        vb.push_event(e as u64, &x, &y, &z, &ms);
        let np = t(1)[0];
        for _ in 0..np {
            let r = t(8);
            t(r[7] as usize);
        }
    }
    (vb,)
}
fn main() {
    let (b,) = load("/tmp/proto/pub.bin");
    let cfg = VeloConfig::default();
    let want = std::env::args().nth(1);
    let dump = std::env::args().nth(2);
    for l in Level::supported() {
        if let Some(w) = &want {
            if !l.to_string().contains(w.as_str()) {
                continue;
            }
        }
        let mut ws = VeloWorkspace::default();
        let mut out = VeloTracks::default();
        let mut best = [u64::MAX; 4];
        let mut bt = u64::MAX;
        let mut c = Counters::default();
        for _ in 0..std::env::var("REPS").map(|s| s.parse().unwrap()).unwrap_or(15) {
            out.clear();
            c = Counters::default();
            let t = std::time::Instant::now();
            reconstruct(l, &cfg, b.view(), 0..b.len(), &mut ws, &mut out, &mut c);
            let e = t.elapsed().as_nanos() as u64;
            if e < bt {
                bt = e;
                for i in 0..4 {
                    best[i] = c.stages[i].ns / 200;
                }
            }
        }
        let h = xxhash_rust::xxh3::xxh3_64(bytemuck::cast_slice(&out.hits[..]))
            ^ xxhash_rust::xxh3::xxh3_64(bytemuck::cast_slice(&out.beam.tx[..]))
            ^ xxhash_rust::xxh3::xxh3_64(bytemuck::cast_slice(&out.end.x[..]));
        let st = &c.stages[2];
        println!(
            "iters/ev {:.0} active/ev {:.0}",
            st.lanes_total as f64 / 200.0 / l.gang() as f64,
            st.lanes_active as f64 / 200.0
        );
        println!(
            "{:<14} {:.1} us/ev {:.0} ev/s  sort {} find {} fit {}  tracks {} hash {:x} occ {:.2}",
            l.to_string(),
            bt as f64 / 2e5,
            2e11 / bt as f64,
            best[1],
            best[2],
            best[3],
            out.tracks(),
            h,
            c.stages[2].occupancy().unwrap_or(0.0)
        );
        if let Some(f) = &dump {
            let mut s = Vec::new();
            for e in 0..out.events() {
                let r = out.of_event(e);
                s.extend((r.len() as u32).to_le_bytes());
                for t in r {
                    let h = out.hits_of(t);
                    s.extend((h.len() as u32).to_le_bytes());
                    for x in h {
                        s.extend(x.to_le_bytes())
                    }
                }
            }
            std::fs::write(f, s).unwrap();
        }
    }
}
