//! A naive implementation of the rules of the clock, for tests: all samples are known from the beginning.

use super::{OBJECTIONS, PAUSE, RESTART_RUN};

/// The times of the samples (none for a sample that is set aside), and the number of restarts.
pub fn naive(samples: &[i64], disorder: i64, wrap: Option<i64>) -> (Vec<Option<i64>>, u64) {
    // The turn of the counter that is nearest to `near`, but never before zero.
    let extended = |time: i64, near: i64| {
        let Some(wrap) = wrap else { return time };
        let turns = (-2..1000).map(|turn| time.rem_euclid(wrap) + turn * wrap);
        turns.filter(|time| *time >= 0).min_by_key(|time| ((time - near).abs(), *time)).unwrap()
    };
    // How much later `time` is than `than`; negative if it is earlier.
    let later = |time: i64, than: i64| {
        let later = time - than;
        let Some(wrap) = wrap else { return later };
        if later.rem_euclid(wrap) < wrap / 2 { later.rem_euclid(wrap) } else { later.rem_euclid(wrap) - wrap }
    };
    let (mut times, mut restarts) = (vec![None; samples.len()], 0);
    // Before the first sample of a stretch there is no running time, only `near`, around which counters are extended.
    let (mut running, mut near, mut latest, mut offset): (Option<[i64; 2]>, i64, i64, i64) = (None, 0, 0, 0);
    let mut i = 0;
    while i < samples.len() {
        let around = running.map_or(near, |[now, _]| now);
        let time = extended(samples[i], around);
        let is_behind = |time: i64| running.is_some_and(|[now, _]| time < now - disorder);
        let is_ahead = |time: i64| running.is_none_or(|[now, last]| time > now.max(last) + disorder);
        let mut reached = around;
        let is_believed = if is_ahead(time) {
            let behind = &samples[i + 1..];
            let confirms = behind.iter().position(|sample| later(*sample, time) >= -disorder);
            let objections = confirms.unwrap_or(behind.len());
            reached = confirms.map_or(time, |place| time + later(behind[place], time).min(0));
            objections == 0 || objections < OBJECTIONS && confirms.is_some()
        } else if is_behind(time) {
            let (mut behind, mut near_again) = (0, 0);
            for sample in &samples[i..] {
                let time = extended(*sample, around);
                behind += usize::from(is_behind(time));
                near_again += usize::from(!is_behind(time));
                if behind == RESTART_RUN || near_again >= OBJECTIONS && near_again >= behind {
                    break;
                }
            }
            if behind == RESTART_RUN || near_again == 0 {
                restarts += 1;
                running = None;
                match wrap {
                    Some(wrap) => near = time + wrap,
                    None => offset += latest.max(0) + PAUSE,
                }
                continue;
            }
            false
        } else {
            true
        };
        if is_believed {
            let [now, last] = running.unwrap_or([time, time]);
            running =
                Some([now.max(last.min(time)).max(if running.is_some() { reached } else { now }), time]);
            latest = latest.max(time);
            times[i] = Some(time + offset);
        }
        i += 1;
    }
    (times, restarts)
}
