//! Tests of loads, stores, left-packs, gathers and scatters, with slices of every length and masks of every kind.

use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Operands of memory operations on slices of any length.
#[derive(Debug, Clone)]
struct Memory {
    memory: Vec<u32>,
    value: Vec<u32>,
    index: Vec<u32>,
    mask: u64,
}

/// Results of the memory operations for f32 and u32: values read, and the memory afterwards.
#[derive(Debug, PartialEq)]
struct Seen {
    loaded: [Vec<u32>; 2],
    gathered: [Vec<u32>; 2],
    /// Values gathered by one index from the memory, the memory with a salt, and its first half.
    gathered_columns: Vec<u32>,
    /// Values looked up by the index in a table of twice the lanes.
    looked_up: Vec<u32>,
    /// Records loaded by an index in registers and by an index in memory, column after column.
    records: [Vec<u32>; 2],
    /// Four neighbours, column after column.
    fours: Vec<u32>,
    /// Records stored from the value, with one column for each of [`SALT`].
    stored_records: Vec<u32>,
    stored: [Vec<u32>; 2],
    packed: [(usize, Vec<u32>); 2],
    scattered: Vec<u32>,
}

/// Bits that are flipped to make four columns from one.
const SALT: [u32; 4] = [0, 1, 2, 4];

fn floats(bits: &[u32]) -> Vec<f32> {
    bits.iter().map(|&u| f32::from_bits(u)).collect()
}

fn bits(floats: &[f32]) -> Vec<u32> {
    floats.iter().map(|f| f.to_bits()).collect()
}

impl Memory {
    /// A table of twice the gang's lanes: the value, then the value with a salt.
    fn pile(&self, lanes: usize) -> Vec<u32> {
        let value = &self.value[..lanes];
        value.iter().copied().chain(value.iter().map(|value| value ^ SALT[3])).collect()
    }

    fn model(&self, lanes: usize) -> Seen {
        let on = |lane: usize| self.mask >> lane & 1 == 1;
        let memory = &self.memory;
        let loaded = (0..lanes)
            .map(|i| if on(i) { memory.get(i).copied().unwrap_or(0) } else { 0 })
            .collect::<Vec<_>>();
        let gathered = (0..lanes)
            .map(|i| memory.get(self.index[i] as usize).or(memory.last()).copied().unwrap_or(0))
            .collect::<Vec<_>>();
        let half = memory.len() / 2;
        let gathered_columns =
            [0, SALT[1], 0].iter().flat_map(|salt| (0..lanes).map(move |lane| (lane, salt)));
        let gathered_columns = gathered_columns
            .map(|(lane, salt)| match half {
                0 => 0,
                _ => memory[(self.index[lane] as usize).min(half - 1)] ^ salt,
            })
            .collect();
        let records: Vec<_> = (0..4)
            .flat_map(|column| (0..lanes).map(move |lane| (column, lane)))
            .map(|(column, lane)| {
                let records = memory.len() / 4;
                let record = (self.index[lane] as usize).min(records.saturating_sub(1));
                if records == 0 { 0 } else { memory[4 * record + column] }
            })
            .collect();
        let fours = (0..4).flat_map(|column| (0..lanes).map(move |lane| (column, lane)));
        let fours = fours
            .map(|(column, lane)| match memory.len().checked_sub(4) {
                None => 0,
                Some(last) => memory[(self.index[lane] as usize).min(last) + column],
            })
            .collect();
        let stored_records = (0..4 * lanes).map(|at| self.value[at / 4] ^ SALT[at % 4]).collect();
        let mut stored = memory.clone();
        for i in (0..lanes.min(memory.len())).filter(|&i| on(i)) {
            stored[i] = self.value[i];
        }
        let packed: Vec<_> = (0..lanes).filter(|&i| on(i)).map(|i| self.value[i]).collect();
        let mut scattered = memory.clone();
        for i in (0..lanes).filter(|&i| on(i)) {
            if (self.index[i] as usize) < scattered.len() {
                scattered[self.index[i] as usize] = self.value[i];
            }
        }
        Seen {
            loaded: [loaded.clone(), loaded],
            gathered: [gathered.clone(), gathered],
            gathered_columns,
            looked_up: (0..lanes).map(|i| self.pile(lanes)[self.index[i] as usize % (2 * lanes)]).collect(),
            records: [records.clone(), records],
            fours,
            stored_records,
            stored: [stored.clone(), stored],
            packed: [(packed.len(), packed.clone()), (packed.len(), packed)],
            scattered,
        }
    }
}

fn columns<G: Gang, const K: usize>(g: G, operation: impl FnOnce() -> [G::F; K]) -> Vec<u32> {
    let columns = alone(g, operation);
    columns.into_iter().flat_map(|column| vector(g, || g.f_bits(column))).collect()
}

fn vector<G: Gang>(g: G, operation: impl FnOnce() -> G::U) -> Vec<u32> {
    let mut out = vec![0; G::LANES];
    alone(g, || g.u_store(operation(), &mut out));
    out
}

impl OnGang for Memory {
    type Output = (Seen, Seen);
    fn run<G: Gang>(&self, g: G) -> Self::Output {
        let (mask, index) = (g.m_from_bits(self.mask), g.u_load(&self.index));
        let (value, value_f) = (g.u_load(&self.value), g.f_load(&floats(&self.value)));
        let memory_f = floats(&self.memory);
        let (records, _) = memory_f.as_chunks::<4>();
        let (mut stored, mut stored_f) = (self.memory.clone(), memory_f.clone());
        alone(g, || g.u_store_some(value, &mut stored, mask));
        alone(g, || g.f_store_some(value_f, &mut stored_f, mask));
        let (mut packed, mut packed_f) = (vec![7; G::LANES + 1], vec![7.0; G::LANES + 1]);
        let count = alone(g, || g.u_store_packed(value, &mut packed, mask));
        let count_f = alone(g, || g.f_store_packed(value_f, &mut packed_f, mask));
        assert_eq!((packed[G::LANES], packed_f[G::LANES]), (7, 7.0), "wrote behind the gang");
        packed.truncate(count);
        packed_f.truncate(count_f);
        let mut stored_records = vec![[7.0; 4]; G::LANES + 1];
        let columns_of = SALT.map(|salt| {
            let salted: Vec<u32> = self.value.iter().map(|value| value ^ salt).collect();
            g.f_load(&floats(&salted))
        });
        alone(g, || g.f_store_records(columns_of, &mut stored_records));
        assert_eq!(stored_records.pop(), Some([7.0; 4]), "wrote behind the gang");
        let mut scattered = self.memory.clone();
        alone(g, || g.u_scatter(value, &mut scattered, index, mask));
        let salted: Vec<u32> = self.memory.iter().map(|value| value ^ SALT[1]).collect();
        let seen = Seen {
            loaded: [
                vector(g, || g.u_load_some(&self.memory, mask)),
                vector(g, || g.f_bits(g.f_load_some(&memory_f, mask))),
            ],
            gathered: [
                vector(g, || g.u_gather(&self.memory, index)),
                vector(g, || g.f_bits(g.f_gather(&memory_f, index))),
            ],
            gathered_columns: {
                let (salted, half) = (floats(&salted), &memory_f[..memory_f.len() / 2]);
                columns(g, || g.f_gather_columns([&memory_f, &salted, half], index))
            },
            looked_up: vector(g, || g.f_bits(g.f_look_up(&floats(&self.pile(G::LANES)), index))),
            records: [
                columns(g, || g.f_gather_records(records, index)),
                columns(g, || g.f_load_records(records, &self.index)),
            ],
            fours: columns(g, || g.f_gather_four(&memory_f, index)),
            stored_records: bits(stored_records.as_flattened()),
            stored: [stored, bits(&stored_f)],
            packed: [(count, packed), (count_f, bits(&packed_f))],
            scattered,
        };
        (seen, self.model(G::LANES))
    }
}

proptest! {
    #[test]
    fn memory_is_what_the_model_says(
        memory in prop::collection::vec(any::<u32>(), 0..=WIDEST + 3),
        value in widest(any_u32()),
        index in widest(any_u32()),
        mask in prop_oneof![any::<u64>(), Just(0), Just(u64::MAX)],
    ) {
        on_every_gang(&Memory { memory, value, index, mask }, |gang, (seen, model)| {
            assert_eq!(seen, model, "{gang}");
        });
    }
}

#[test]
fn every_mask_of_eight_lanes_packs_left() {
    for mask in 0..256u64 {
        // The other lanes of wider gangs hold the same pattern.
        let mask = mask * 0x0101_0101_0101_0101;
        let value: Vec<u32> = (100..100 + WIDEST as u32).collect();
        let test = Memory { memory: vec![], index: value.clone(), value, mask };
        on_every_gang(&test, |gang, (seen, model)| assert_eq!(seen, model, "{gang} {mask:#x}"));
    }
}

#[test]
fn equal_indices_keep_the_last_lane() {
    let value: Vec<u32> = (0..WIDEST as u32).collect();
    let test = Memory { memory: vec![99; 3], index: vec![1; WIDEST], value, mask: u64::MAX };
    struct Last(Memory);
    impl OnGang for Last {
        type Output = (usize, Vec<u32>);
        fn run<G: Gang>(&self, g: G) -> Self::Output {
            (G::LANES, self.0.run(g).0.scattered)
        }
    }
    on_every_gang(&Last(test), |gang, (lanes, scattered)| {
        assert_eq!(scattered, [99, lanes as u32 - 1, 99], "{gang}");
    });
}

/// Whole-gang loads and stores touch exactly `LANES` values.
struct Whole;

impl OnGang for Whole {
    type Output = ();
    fn run<G: Gang>(&self, g: G) {
        let lanes = G::LANES;
        let u: Vec<u32> = (0..=lanes as u32).map(|i| i ^ 0x8000_0001).collect();
        let (i, f) = (u.iter().map(|&u| u as i32).collect::<Vec<_>>(), floats(&u));
        // The slice begins 0 or 1 values into `to`, so it may be unaligned.
        for at in [0, 1] {
            let mut to = vec![1; lanes + 2];
            g.u_store(g.u_load(&u[at..]), &mut to[1..]);
            assert_eq!((to[0], &to[1..=lanes], to[lanes + 1]), (1, &u[at..at + lanes], 1));
            let mut to = vec![1; lanes + 2];
            g.i_store(g.i_load(&i[at..]), &mut to[1..]);
            assert_eq!((to[0], &to[1..=lanes], to[lanes + 1]), (1, &i[at..at + lanes], 1));
            let mut to = vec![1.0; lanes + 2];
            g.f_store(g.f_load(&f[at..]), &mut to[1..]);
            assert_eq!((to[0], bits(&to[1..=lanes]), to[lanes + 1]), (1.0, u[at..at + lanes].to_vec(), 1.0));
        }
        let short = lanes - 1;
        let panics = |f: &mut dyn FnMut()| catch_unwind(AssertUnwindSafe(f)).is_err();
        assert!(panics(&mut || _ = g.f_load(&f[..short])));
        assert!(panics(&mut || _ = g.i_load(&i[..short])));
        assert!(panics(&mut || _ = g.u_load(&u[..short])));
        assert!(panics(&mut || _ = g.f_load_records(&[[0.0; 4]], &u[..short])));
        assert!(panics(&mut || g.f_store(g.f_splat(0.0), &mut vec![0.0; short])));
        assert!(panics(&mut || g.f_store_records([g.f_splat(0.0); 4], &mut vec![[0.0; 4]; short])));
        assert!(panics(&mut || g.i_store(g.i_splat(0), &mut vec![0; short])));
        assert!(panics(&mut || g.u_store(g.u_splat(0), &mut vec![0; short])));
        let all = g.m_first(lanes);
        assert!(panics(&mut || _ = g.u_store_packed(g.u_splat(0), &mut vec![0; short], all)));
        assert!(panics(&mut || _ = g.f_store_packed(g.f_splat(0.0), &mut vec![0.0; short], all)));
    }
}

#[test]
fn whole_gangs_touch_their_lanes_only_and_refuse_short_slices() {
    on_every_gang(&Whole, |_, ()| ());
}

#[test]
fn what_is_handed_over_is_a_copy_from_any_place_to_any_place() {
    let from: Vec<u16> = (0..200).collect();
    for (first, place, len) in
        (0..9).flat_map(|a| (0..9).flat_map(move |b| [0, 1, 7, 8, 9, 64, 150].map(|n| (a, b, n))))
    {
        let mut to = vec![u16::MAX; 200];
        copy_to_hand_over(&from[first..first + len], &mut to[place..place + len]);
        assert_eq!(to[place..place + len], from[first..first + len]);
        assert!(
            to[..place].iter().chain(&to[place + len..]).all(|value| *value == u16::MAX),
            "{first} {place} {len}"
        );
    }
}
