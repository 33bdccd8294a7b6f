//! Description of this build.

use peloton::event::SCHEMA_VERSION;
use peloton::simd::{GANGS, Isa};
use peloton_job::SequenceName;
use std::sync::LazyLock;

/// The text that `--version` prints after the program's name.
pub static TEXT: LazyLock<String> = LazyLock::new(|| {
    let levels: Vec<_> = Isa::ALL.into_iter().filter(|isa| isa.is_built_in()).map(Isa::name).collect();
    let sequences = SequenceName::ALL.map(SequenceName::name).join(", ");
    format!(
        "{}\nsequences: {sequences}\nisa: {}\ngangs: {GANGS:?}\ngpu: {}\nfeatures: {}\nschema: \
         {SCHEMA_VERSION}\ntarget: {}-{}",
        env!("CARGO_PKG_VERSION"),
        levels.join(", "),
        if cfg!(feature = "cuda") { "CUDA, loaded at run time" } else { "not built in" },
        features(),
        std::env::consts::ARCH,
        std::env::consts::OS,
    )
});

/// Returns those cargo features of this build that add abilities to the program.
fn features() -> String {
    let all = [("all-gangs", cfg!(feature = "all-gangs")), ("cuda", cfg!(feature = "cuda"))];
    let built: Vec<_> = all.into_iter().filter(|(_, built)| *built).map(|(name, _)| name).collect();
    if built.is_empty() { "none".into() } else { built.join(", ") }
}
