//! Chooses the parameters of the presets `best` of Velo-UT, SciFi and long tracks, from simulated events only.
//!
//! ```text
//! cargo run --release --example choose -- ut                             values of `LineConfig::default`
//! cargo run --release --example choose -- scifi > src/scifi/weights.rs        minutes
//! cargo run --release --example choose -- scifi-windows                  windows of the SciFi, compared with other windows
//! cargo run --release --example choose -- scifi-second                   windows of the second pass, each with its own weights
//! cargo run --release --example choose -- scifi-momentum                 coefficients of `src/scifi/momentum.rs`
//! cargo run --release --example choose -- long-first > src/long/pair_first_network.rs
//! cargo run --release --example choose -- long > src/long/pair_network.rs
//! cargo run --release --example choose -- long-ut > src/long/pair_ut_network.rs
//! cargo run --release --example choose -- long-fast              smallest responses of `fast` in `LongConfig`
//! ```
//! After a change of the simulation, run the commands in this order, since long tracks depend on the SciFi's weights.
//! docs/algorithms.md, "how they are chosen", has alternatives and reasons. Events and results are the same on every
//! machine.

mod linear;
mod long;
mod momentum;
mod noise;
mod sample;
mod scifi;
mod ut;

use long::Network;
use peloton::simd::Level;
use peloton::{Error, Result};

fn main() -> Result<()> {
    let level = Level::choose(None, None)?;
    match std::env::args().nth(1).as_deref() {
        Some("ut") => ut::write(level),
        Some("scifi") => scifi::write(level),
        Some("scifi-windows") => scifi::compare(level),
        Some("scifi-second") => scifi::compare_second(level),
        Some("scifi-momentum") => momentum::write(level),
        Some("long-first") => long::write(level, Network::First),
        Some("long") => long::write(level, Network::Long),
        Some("long-ut") => long::write(level, Network::LongUt),
        Some("long-fast") => long::write_fast(level),
        _ => Err(Error::Config(
            "usage: choose ut|scifi|scifi-windows|scifi-second|scifi-momentum|long-first|long|long-ut|long-fast"
                .into(),
        )),
    }
}
