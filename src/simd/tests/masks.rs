//! Tests of masks, and of reductions over the lanes of a mask.

use super::*;

/// Properties of masks and reductions, per gang of the input.
struct Masks {
    f: Vec<f32>,
    u: Vec<u32>,
    bits: u64,
    count: usize,
}

#[derive(Debug, PartialEq)]
struct Seen {
    bits: u64,
    any: bool,
    all: bool,
    count: usize,
    least_f: u32,
    sum: u32,
    least: u32,
    largest: u32,
    splats: [u32; 3],
    iota: Vec<u32>,
    prefix_sums: (Vec<u32>, u32),
}

impl Masks {
    fn model(&self, lanes: usize, at: usize, bits: u64) -> Seen {
        let on: Vec<usize> = (0..lanes).filter(|i| bits >> i & 1 == 1).collect();
        let f = on.iter().map(|i| self.f[at + i]);
        let total = |values: &[u32]| values.iter().copied().fold(0, u32::wrapping_add);
        let u = || on.iter().map(|i| self.u[at + i]);
        let least_f = f.filter(|x| !x.is_nan()).min_by(f32::total_cmp).unwrap_or(f32::INFINITY);
        Seen {
            bits: on.iter().map(|i| 1 << i).sum(),
            any: !on.is_empty(),
            all: on.len() == lanes,
            count: on.len(),
            least_f: if least_f == 0.0 { 0 } else { least_f.to_bits() },
            sum: u().fold(0, u32::wrapping_add),
            least: u().min().unwrap_or(u32::MAX),
            largest: u().max().unwrap_or(0),
            splats: [self.f[at].to_bits(), self.u[at], self.u[at]],
            iota: (0..lanes as u32).collect(),
            prefix_sums: (
                (0..lanes).map(|last| total(&self.u[at..=at + last])).collect(),
                total(&self.u[at..at + lanes]),
            ),
        }
    }
}

impl OnGang for Masks {
    type Output = Vec<(Seen, Seen)>;
    fn run<G: Gang>(&self, g: G) -> Self::Output {
        let mut out = vec![];
        for at in (0..WIDEST).step_by(G::LANES) {
            let (f, u) = (g.f_load(&self.f[at..]), g.u_load(&self.u[at..]));
            let first = u64::MAX.checked_shr(64 - self.count.min(64) as u32).unwrap_or(0);
            for (mask, bits) in [(g.m_from_bits(self.bits), self.bits), (g.m_first(self.count), first)] {
                let (mut iota, first) = (vec![0; G::LANES], g.m_first(1));
                alone(g, || g.u_store(g.u_iota(), &mut iota));
                let mut sums = vec![0; G::LANES];
                let (values, sum) = alone(g, || g.u_prefix_sum(u));
                g.u_store(values, &mut sums);
                let seen = Seen {
                    bits: alone(g, || g.m_bits(mask)),
                    any: alone(g, || g.m_any(mask)),
                    all: alone(g, || g.m_all(mask)),
                    count: alone(g, || g.m_count(mask)),
                    least_f: alone(g, || g.f_reduce_min(f, mask).to_bits()),
                    sum: alone(g, || g.u_reduce_add(u, mask)),
                    least: alone(g, || g.u_reduce_min(u, mask)),
                    largest: alone(g, || g.u_reduce_max(u, mask)),
                    splats: [
                        alone(g, || g.u_reduce_add(g.f_bits(g.f_splat(self.f[at])), first)),
                        alone(g, || g.u_reduce_add(g.i_bits(g.i_splat(self.u[at] as i32)), first)),
                        alone(g, || g.u_reduce_min(g.u_splat(self.u[at]), g.m_first(usize::MAX))),
                    ],
                    iota,
                    prefix_sums: (sums, sum),
                };
                out.push((seen, self.model(G::LANES, at, bits)));
            }
        }
        out
    }
}

proptest! {
    #[test]
    fn masks_and_reductions_are_what_the_model_says(
        f in widest(any_f32()),
        u in widest(any_u32()),
        bits in prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), (0u32..64).prop_map(|i| 1 << i)],
        count in prop_oneof![0usize..70, Just(usize::MAX)],
    ) {
        on_every_gang(&Masks { f, u, bits, count }, |gang, results| {
            for (seen, model) in results {
                assert_eq!(seen, model, "{gang}");
            }
        });
    }
}
