//! Shows how a program uses peloton: one engine for all threads, columns of hits as input, columns of tracks as
//! output. Run it with `cargo run --release --example embed`.

use peloton::engine::Engine;
use peloton::event::{Outcome, VELO_MODULES, VeloEvents, VeloTracks};
use peloton::simd::Level;
use peloton::velo::geometry::MODULE_Z;
use peloton::velo::{Velo, VeloConfig};
use peloton::{Result, Status};
use std::thread;

/// The hits of some events as your program may hold them: plain columns.
struct Hits {
    x: Vec<f32>,
    y: Vec<f32>,
    z: Vec<f32>,
    /// Ids of the hits, which tracks list.
    id: Vec<u32>,
    /// First hit of each module, 52 modules an event, and the end of the last module.
    module_start: Vec<u32>,
}

fn main() -> Result<()> {
    let engine = engine()?;
    println!("runs as {}", engine.level());

    let batches: Vec<Hits> = (0..4).map(two_straight_tracks).collect();
    let lists: Vec<Result<Vec<Vec<u32>>>> = thread::scope(|scope| {
        let threads: Vec<_> = batches.iter().map(|hits| scope.spawn(|| work(&engine, hits))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panics")).collect()
    });
    for (batch, lists) in lists.into_iter().enumerate() {
        println!("batch {batch}: tracks {:?}", lists?);
    }
    Ok(())
}

/// Makes the engine: configuration and level (instruction set, gang size) are checked here, once.
fn engine() -> Result<Engine> {
    // The best level of this CPU, and its usual gang.
    let level = Level::choose(None, None)?;
    Ok(Engine::new(Velo::new(level, VeloConfig::default())?))
}

/// Reconstructs hits in one of your threads.
fn work(engine: &Engine, hits: &Hits) -> Result<Vec<Vec<u32>>> {
    // Keep these two for the life of the thread: once they have grown, nothing more is allocated.
    let mut workspace = engine.workspace();
    let mut outcome = Outcome::<VeloTracks>::default();

    let Hits { x, y, z, id, module_start } = hits;
    let status = vec![Status::Ok; module_start.len() / VELO_MODULES];
    let events = VeloEvents::new(x, y, z, id, module_start, &status)?;
    engine.try_run(events, &mut workspace, &mut outcome)?;
    let Outcome { results: tracks, counters } = &outcome;
    for (reason, count) in counters.dropped() {
        eprintln!("dropped {count}: {reason}");
    }
    Ok((0..tracks.tracks()).map(|track| tracks.hits_of(track).to_vec()).collect())
}

/// Makes one event: two particles from the origin through modules 30, 32, ... 44; `turn` makes batches differ.
fn two_straight_tracks(turn: u32) -> Hits {
    let mut hits = Hits { x: vec![], y: vec![], z: vec![], id: vec![], module_start: vec![0] };
    for module in 0..VELO_MODULES as u32 {
        if (30..=44).contains(&module) && module % 2 == 0 {
            let z = MODULE_Z[module as usize] as f32;
            for (track, slope) in [(0, [-0.05, 0.02]), (1, [-0.03, -0.06])] {
                hits.x.push(slope[0] * z);
                hits.y.push(slope[1] * z + 0.001 * turn as f32);
                hits.z.push(z);
                hits.id.push(100 * track + module);
            }
        }
        hits.module_start.push(hits.x.len() as u32);
    }
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_particles_are_found_on_every_thread() {
        main().unwrap();
        let engine = engine().unwrap();
        for turn in 0..4 {
            let mut lists = work(&engine, &two_straight_tracks(turn)).unwrap();
            lists.iter_mut().for_each(|list| list.sort_unstable());
            lists.sort_unstable();
            let expected: Vec<Vec<u32>> =
                [0, 100].map(|first| (30..=44).step_by(2).map(|module| first + module).collect()).into();
            assert_eq!(lists, expected);
        }
    }
}
