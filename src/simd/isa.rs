//! [`Isa`]: the instruction set levels, their availability on this CPU, and ways to force a level.

#[cfg(target_arch = "aarch64")]
use super::backend::NeonContext;
use super::backend::PortableContext;
#[cfg(target_arch = "x86_64")]
use super::backend::{Avx2Context, Avx512Context};
use crate::error::{Error, Result};
use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;

/// An instruction set level. Levels are in order of preference: of two levels that a CPU has, the later one is faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isa {
    /// Plain Rust code; one lane at a time if the gang size is 1.
    Scalar,
    /// Four lanes of the `wide` crate: SSE2, NEON, wasm or arrays, chosen when the crate is built. On x86-64 and
    /// aarch64, which have levels of their own, only builds with the feature `all-gangs` have this level.
    Portable,
    /// Four lanes of NEON (aarch64).
    Neon,
    /// Eight lanes of AVX2 with FMA (x86-64-v3).
    Avx2,
    /// Sixteen lanes of AVX-512 F, BW, CD, DQ, VL (x86-64-v4), with the faster way to gather on this model of CPU.
    Avx512,
    /// [`Isa::Avx512`] that gathers by one load per lane.
    Avx512Loads,
    /// [`Isa::Avx512`] that gathers by the gather instruction.
    Avx512Gathers,
}

impl Isa {
    /// All levels, including levels of other architectures, but without the two variants of AVX-512.
    pub const ALL: [Isa; 5] = [Isa::Scalar, Isa::Portable, Isa::Avx2, Isa::Avx512, Isa::Neon];

    /// The two variants of [`Isa::Avx512`], which gather in different ways.
    pub const WAYS: [Isa; 2] = [Isa::Avx512Loads, Isa::Avx512Gathers];

    /// The environment variable that forces a level. Its value is the name of a level, or `auto`.
    pub const VARIABLE: &'static str = "PELOTON_ISA";

    /// Returns the name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Portable => "portable",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
            Isa::Avx512Loads => "avx512:loads",
            Isa::Avx512Gathers => "avx512:gathers",
            Isa::Neon => "neon",
        }
    }

    /// Returns whether this build has the level, even if the CPU cannot run the level.
    pub fn is_built_in(self) -> bool {
        let (x86_64, aarch64) = (cfg!(target_arch = "x86_64"), cfg!(target_arch = "aarch64"));
        match self {
            Isa::Scalar => true,
            Isa::Portable => cfg!(feature = "all-gangs") || !(x86_64 || aarch64),
            Isa::Avx2 | Isa::Avx512 | Isa::Avx512Loads | Isa::Avx512Gathers => x86_64,
            Isa::Neon => aarch64,
        }
    }

    /// Returns whether this build has the level and this CPU can run the level.
    pub fn is_supported(self) -> bool {
        match self {
            Isa::Scalar => true,
            // The level needs a fused multiply-add, which old x86-64 CPUs lack.
            Isa::Portable => self.is_built_in() && PortableContext::new().is_some(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => Avx2Context::new().is_some(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 | Isa::Avx512Loads | Isa::Avx512Gathers => Avx512Context::new().is_some(),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => NeonContext::new().is_some(),
            #[allow(unreachable_patterns, reason = "the levels that remain depend on the architecture")]
            _ => false,
        }
    }

    /// Returns the instruction set without the way to gather: [`Isa::Avx512`] for its two variants.
    pub fn instruction_set(self) -> Isa {
        match self {
            Isa::Avx512Loads | Isa::Avx512Gathers => Isa::Avx512,
            isa => isa,
        }
    }

    /// Returns the levels that this CPU can run, in the order of [`Isa::ALL`].
    pub fn supported() -> Vec<Isa> {
        Self::ALL.into_iter().filter(|isa| isa.is_supported()).collect()
    }

    /// Returns the fastest level that this CPU can run.
    pub fn best() -> Isa {
        Self::ALL.into_iter().filter(|isa| isa.is_supported()).max().unwrap_or(Isa::Scalar)
    }

    /// Returns the level that the variable `PELOTON_ISA` forces; `None` if the variable is unset, empty or `auto`.
    ///
    /// # Errors
    /// Returns [`Error::Config`] for an unknown name, [`Error::Unsupported`] if this CPU or build lacks the level.
    pub fn from_environment() -> Result<Option<Isa>> {
        Self::from_setting(std::env::var_os(Self::VARIABLE).as_deref())
    }

    /// Returns the level that a value of the variable `PELOTON_ISA` forces; see [`Isa::from_environment`].
    ///
    /// # Errors
    /// As [`Isa::from_environment`].
    pub fn from_setting(value: Option<&OsStr>) -> Result<Option<Isa>> {
        let Some(value) = value else { return Ok(None) };
        let name = value
            .to_str()
            .ok_or_else(|| Error::Config(format!("{} is not text: {value:?}", Self::VARIABLE)))?;
        if matches!(name.trim(), "" | "auto") {
            return Ok(None);
        }
        let isa: Isa = name.trim().parse().map_err(|e| match e {
            Error::Config(text) => Error::Config(format!("{}: {text}", Self::VARIABLE)),
            other => other,
        })?;
        isa.require().map(Some)
    }

    /// Returns the level `self` if this CPU can run it.
    ///
    /// # Errors
    /// Returns [`Error::Unsupported`] if this CPU cannot run the level; the message lists the levels that it can run.
    pub fn require(self) -> Result<Isa> {
        if self.is_supported() {
            return Ok(self);
        }
        let names: Vec<_> = Self::supported().into_iter().map(Isa::name).collect();
        let what = match self.is_built_in() || self != Isa::Portable {
            true => "this CPU or build has no",
            false => "this program was built without the feature `all-gangs`, which adds",
        };
        Err(Error::Unsupported(format!("{what} {self}; it has {}", names.join(", "))))
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Isa {
    type Err = Error;
    fn from_str(name: &str) -> Result<Isa> {
        let all = || Self::ALL.into_iter().chain(Self::WAYS);
        all().find(|isa| isa.name() == name).ok_or_else(|| {
            let names: Vec<_> = all().map(Isa::name).collect();
            Error::Config(format!("no instruction set level `{name}`; there are {}", names.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_others_are_refused() {
        for isa in Isa::ALL.into_iter().chain(Isa::WAYS) {
            assert_eq!(isa.to_string().parse::<Isa>().unwrap(), isa);
        }
        for wrong in ["", "AVX2", "avx", "auto", "sse2", "avx512:", "avx2:loads", "avx512:fast"] {
            assert!(matches!(wrong.parse::<Isa>(), Err(Error::Config(_))), "{wrong}");
        }
    }

    #[test]
    fn the_best_level_is_supported_and_no_supported_one_is_better() {
        assert!(Isa::best().is_supported());
        assert!(Isa::supported().into_iter().all(|isa| isa <= Isa::best()));
        assert!(Isa::supported().contains(&Isa::Scalar));
        assert_eq!(
            Isa::Portable.is_supported(),
            Isa::Portable.is_built_in() && PortableContext::new().is_some()
        );
        assert_eq!(Isa::Neon.is_supported(), cfg!(target_arch = "aarch64"));
    }

    #[test]
    fn the_environment_forces_or_is_refused() {
        let of = |value: &str| Isa::from_setting(Some(OsStr::new(value)));
        assert_eq!(Isa::from_setting(None).unwrap(), None);
        assert_eq!(of("auto").unwrap(), None);
        assert_eq!(of(" ").unwrap(), None);
        assert_eq!(of("scalar").unwrap(), Some(Isa::Scalar));
        match of("portable") {
            Ok(isa) => assert_eq!(isa, Some(Isa::Portable)),
            Err(Error::Unsupported(text)) => {
                assert_eq!(text.contains("all-gangs"), !Isa::Portable.is_built_in(), "{text}")
            }
            Err(other) => panic!("{other}"),
        }
        assert!(matches!(of("fast"), Err(Error::Config(text)) if text.contains("PELOTON_ISA")));
        let foreign = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
        assert!(matches!(of(foreign), Err(Error::Unsupported(text)) if text.contains("scalar")));
    }
}
