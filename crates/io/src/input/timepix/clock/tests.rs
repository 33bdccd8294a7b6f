//! Tests of the clock: comparison with its naive twin, and its purposes.

use super::reference::naive;
use super::*;
use crate::input::timepix::PixelCounts;
use peloton::event::PixelBlock;
use proptest::prelude::*;

const MS: i64 = 640_000;

/// The time that a timeline gives each sample, none if it is not believed, and the counts.
fn run(mut clock: Timeline, samples: &[i64]) -> (Vec<Option<i64>>, PixelCounts) {
    let (mut block, mut counts) = (PixelBlock::default(), PixelCounts::default());
    let mut sink = Sink { block: &mut block, counts: &mut counts };
    for (i, &time) in samples.iter().enumerate() {
        let payload = Payload::Hit([(i & 0xFFFF) as u16, (i >> 16) as u16, 0]);
        clock.take(Sample { time, group: 0, payload }, &mut sink);
    }
    clock.finish(&mut sink);
    let mut times = vec![None; samples.len()];
    for i in 0..block.hits.len() {
        let (time, x, y, _) = block.hits.get(i);
        times[usize::from(y) << 16 | usize::from(x)] = Some(time);
    }
    (times, counts)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn timeline_is_its_twin(
        steps in prop::collection::vec((0usize..10, -1.0f64..1.0), 0..60),
        wraps in any::<bool>(),
    ) {
        const WRAP: i64 = 1 << 30;
        // Steps from sorted samples over disorder to jumps of any size.
        let sizes = [0.0, 0.1, 0.9, 0.9, 1.0, 1.1, 3.0, 100.0, 400.0, 800.0];
        let (mut base, mut samples) = (0i64, Vec::new());
        for (kind, share) in steps {
            let step = (sizes[kind] * share * MS as f64) as i64;
            samples.push((base + step).max(0));
            base += if kind % 2 == 0 { step } else { step.abs() / 4 };
            base = base.max(0);
        }
        let wrap = wraps.then_some(WRAP);
        let clock = wrap.map_or_else(|| Timeline::new(MS), |wrap| Timeline::wrapping(MS, wrap));
        if wraps {
            samples.iter_mut().for_each(|time| *time %= WRAP);
        }
        let (times, counts) = run(clock, &samples);
        let (expected, restarts) = naive(&samples, MS, wrap);
        prop_assert_eq!(&times, &expected);
        prop_assert_eq!(counts.hits + counts.implausible, samples.len() as u64);
        prop_assert_eq!(counts.restarts, restarts);
    }

    #[test]
    fn samples_taken_together_are_taken_one_by_one(
        before in prop::collection::vec(0..3 * MS, 0..4),
        times in prop::array::uniform8(-MS / 2..MS),
        base in 0..4 * MS,
    ) {
        let (mut block, mut counts) = (PixelBlock::default(), PixelCounts::default());
        let mut clock = Timeline::new(MS);
        for time in before {
            let sample = Sample { time, group: 0, payload: Payload::Hit([0; 3]) };
            clock.take(sample, &mut Sink { block: &mut block, counts: &mut counts });
        }
        let near = *clock.near();
        let (mut together, mut alone) = (near, near);
        let times = times.map(|time| base + time);
        if together.takes_all(&times) {
            prop_assert!(times.iter().all(|time| alone.takes(*time)));
        }
        prop_assert_eq!(together, alone);
    }
}

#[test]
fn one_wrong_time_moves_nothing() {
    for wrong in [50 * MS, 3 * MS, -50 * MS, 1 << 60] {
        // A first sample that is too early begins a gap.
        for place in if wrong < 0 { 1..39 } else { 0..38 } {
            let mut samples: Vec<_> = (100..140).map(|i| i * MS / 2).collect();
            samples[place] = (samples[place] + wrong).max(0);
            let (times, counts) = run(Timeline::new(MS), &samples);
            assert_eq!((counts.hits, counts.implausible, counts.restarts), (39, 1, 0), "{wrong} at {place}");
            assert_eq!(times[place], None);
        }
    }
}

#[test]
fn one_late_hit_of_a_sparse_stream_is_no_restart() {
    // Steps are larger than the disorder, so that no hit is near the previous one.
    let mut samples: Vec<_> = (0..100).map(|i| 10 * i * MS).collect();
    samples.insert(21, 195 * MS);
    let (times, counts) = run(Timeline::new(MS), &samples);
    assert_eq!((counts.hits, counts.implausible, counts.restarts, times[21]), (100, 1, 0, None));
}

#[test]
fn hostile_samples_take_bounded_time() {
    let (mut block, mut counts) = (PixelBlock::default(), PixelCounts::default());
    let mut sink = Sink { block: &mut block, counts: &mut counts };
    let mut clock = Timeline::wrapping(MS, 1 << 34);
    let payload = Payload::Hit([0; 3]);
    let begin = std::time::Instant::now();
    for time in [0, 1, 2, 3000 * MS] {
        clock.take(Sample { time, group: 0, payload }, &mut sink);
    }
    for _ in 0..300_000 {
        clock.witness(5, &mut sink);
    }
    for i in 0..300_000i64 {
        clock.take(Sample { time: i % 3 * 2000 * MS, group: 7, payload }, &mut sink);
    }
    clock.finish(&mut sink);
    assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
    assert_eq!(counts.hits + counts.implausible, 300_004);
}

#[test]
fn gaps_are_believed_and_restarts_go_on_behind_the_end() {
    let samples = [0, 1, 2, 5000, 5001, 90_000, 90_001].map(|ms| ms * MS);
    let (times, counts) = run(Timeline::new(MS), &samples);
    assert_eq!((times, counts.implausible), (samples.map(Some).to_vec(), 0));
    let run_of = |from: i64| (from..from + 20).map(|ms| ms * MS);
    let samples: Vec<_> = run_of(700).chain(run_of(10)).chain(run_of(300)).collect();
    let (times, counts) = run(Timeline::new(MS), &samples);
    assert_eq!((counts.hits, counts.restarts), (60, 1));
    let expected = run_of(700).chain(run_of(719 + 1000 + 10)).chain(run_of(719 + 1000 + 300));
    assert_eq!(times, expected.map(Some).collect::<Vec<_>>());
}

#[test]
fn the_wrap_of_a_counter_is_found() {
    for wrap in [1i64 << 32, 1 << 34] {
        let samples: Vec<_> = (0..400).map(|i| i * wrap / 40).collect();
        let counter: Vec<_> = samples.iter().map(|time| time % wrap).collect();
        let clock = || Timeline::finding(10_000 * MS, &[1 << 32, 1 << 34]);
        assert_eq!(run(clock(), &counter).0, samples.iter().copied().map(Some).collect::<Vec<_>>());
        // A sample that only comes late is late, not implausible.
        let mut late = samples[..39].to_vec();
        late.insert(38, 5);
        let (_, counts) = run(clock(), &late);
        assert_eq!((counts.restarts, counts.implausible), (0, 1));
    }
}
