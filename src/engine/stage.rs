//! [`Stage`]: a part of a sequence that is timed and counted separately.

/// One stage of a sequence: its name, and the names of its inputs and outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// Name of the stage in results.
    pub name: &'static str,
    /// Items that the stage reads.
    pub input: &'static str,
    /// Items that the stage makes.
    pub output: &'static str,
    /// Names of the parts of the stage that are timed separately ([`StageCounter::parts`](crate::event::StageCounter)).
    pub parts: &'static [&'static str],
}

/// Defines the stages of an algorithm as two constants: `STAGES`, and `STAGES_IN_CHAIN` for sequences over
/// several detectors, in which names contain the detector.
macro_rules! detector_stages {
    (@parts) => { &[] };
    (@parts $parts:expr) => { $parts };
    ($detector:literal: $($name:literal, $input:literal => $output:literal $(, $parts:expr)?;)+) => {
        const STAGES: &[$crate::engine::Stage] =
            &[$($crate::engine::Stage {
                name: $name,
                input: $input,
                output: $output,
                parts: $crate::engine::detector_stages!(@parts $($parts)?),
            }),+];

        /// The stages as part of a sequence over several detectors.
        const STAGES_IN_CHAIN: &[$crate::engine::Stage] = &[$($crate::engine::Stage {
            name: concat!($detector, " ", $name),
            input: $input,
            output: $output,
            parts: $crate::engine::detector_stages!(@parts $($parts)?),
        }),+];
    };
}
pub(crate) use detector_stages;
