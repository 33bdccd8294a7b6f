//! [`Level`]: an instruction set level with a gang size. A job makes its level once, when the job starts. A level
//! carries the proof that the CPU can run this level.

#[cfg(any(feature = "all-gangs", not(target_arch = "x86_64")))]
use super::Pair;
#[cfg(feature = "all-gangs")]
use super::Stack;
use super::backend::*;
use super::{Gang, Isa};
use crate::dispatch;
use crate::error::{Error, Result};
use std::fmt;

/// The gang sizes. With the feature `all-gangs`, every level of [`Isa::ALL`] has all sizes.
pub const GANGS: [usize; 6] = [1, 4, 8, 16, 32, 64];

/// An instruction set level and a gang size that this CPU can run: the argument of [`dispatch!`].
#[derive(Debug, Clone, Copy)]
pub struct Level {
    token: Token,
    /// The token for kernels that gather much.
    gathering: Token,
    /// The way to gather, if the caller chose it; none if the CPU determines it.
    way: Option<Isa>,
}

/// Size of the AVX-512 gang that can gather in two ways, lanes.
const GATHERING_LANES: usize = 16;

impl Level {
    /// Returns the level `isa` with a gang of `gang` lanes.
    ///
    /// # Errors
    /// Returns [`Error::Unsupported`] if this CPU or build lacks the level, [`Error::Config`] if there is no such size.
    pub fn new(isa: Isa, gang: usize) -> Result<Self> {
        if !GANGS.contains(&gang) {
            return Err(Error::Config(format!("no gang of {gang} lanes; there are {GANGS:?}")));
        }
        isa.require()?;
        let set = isa.instruction_set();
        if isa != set && gang != GATHERING_LANES {
            let message = format!(
                "{isa} has {GATHERING_LANES} lanes, not {gang}: other gangs of {set} have one way to gather"
            );
            return Err(Error::Config(message));
        }
        let token = Token::new(set, gang).ok_or_else(|| {
            let reason = match PortableContext::new() {
                None => "this CPU has no fused multiply-add",
                Some(_) => "this program was built without the feature `all-gangs`",
            };
            Error::Unsupported(format!("{reason}: {isa} has no gang of {gang} lanes"))
        })?;
        let by_instruction = match isa {
            Isa::Avx512 => gang == GATHERING_LANES && has_fast_gathers(),
            isa => isa == Isa::Avx512Gathers,
        };
        let gathering =
            by_instruction.then(|| Token::new(Isa::Avx512Gathers, gang)).flatten().unwrap_or(token);
        Ok(Self { token, gathering, way: (isa != set).then_some(isa) })
    }

    /// Chooses a level. Without `isa`, the variable `PELOTON_ISA` gives the instruction set; if the variable is unset,
    /// the fastest is taken. Without `gang`, the usual gang size of the instruction set is taken.
    ///
    /// # Errors
    /// Returns the errors of [`Level::new`] and [`Isa::from_environment`].
    pub fn choose(isa: Option<Isa>, gang: Option<usize>) -> Result<Self> {
        let isa = match isa {
            Some(isa) => isa,
            None => Isa::from_environment()?.unwrap_or_else(Isa::best),
        };
        Self::new(isa, gang.unwrap_or(usual_gang(isa)))
    }

    /// One lane of the scalar level, which every CPU has.
    #[cfg(feature = "cuda")]
    pub(crate) fn one_lane() -> Self {
        Self::new(Isa::Scalar, 1).expect("every CPU has scalar code")
    }

    /// Returns all levels and gang sizes that this CPU can run, including AVX-512 with the slower way to gather.
    pub fn supported() -> Vec<Self> {
        let pairs = Isa::ALL.into_iter().flat_map(|isa| GANGS.map(|gang| (isa, gang)));
        let mut levels: Vec<Self> = pairs.filter_map(|(isa, gang)| Self::new(isa, gang).ok()).collect();
        let other = if has_fast_gathers() { Isa::Avx512Loads } else { Isa::Avx512Gathers };
        levels.extend(Self::new(other, GATHERING_LANES).ok());
        levels
    }

    /// Returns all usual levels ([`Self::is_usual`]) that this CPU can run.
    pub fn usual() -> Vec<Self> {
        Self::supported().into_iter().filter(|level| level.is_usual()).collect()
    }

    /// Returns the level of the same instruction set with the usual gang.
    pub fn with_usual_gang(self) -> Self {
        // The usual gang exists for every level that this CPU can run.
        Self::choose(Some(self.isa()), None).unwrap_or(self)
    }

    /// Returns whether this is the usual gang of its level: large kernels are built for these gangs only
    /// ([`dispatch_usual!`](crate::dispatch_usual)).
    pub fn is_usual(self) -> bool {
        self.token.is_usual()
    }

    /// Returns the instruction set level of the gang that will run, with its way to gather if the caller chose one.
    pub fn isa(self) -> Isa {
        fn of<G: Gang>(_: G) -> Isa {
            G::ISA
        }
        self.way.unwrap_or_else(|| dispatch!(self, g => of(g)))
    }

    /// Returns the way to gather in kernels that gather much, one of [`Isa::WAYS`]; `None` if the level has no choice.
    pub fn gathers(self) -> Option<Isa> {
        let has_both = self.isa().instruction_set() == Isa::Avx512 && self.gang() == GATHERING_LANES;
        has_both.then(|| if self.gathering.is_by_gathers() { Isa::Avx512Gathers } else { Isa::Avx512Loads })
    }

    /// Returns the number of lanes of the gang that will run. Kernels of [`dispatch_wide!`](crate::dispatch_wide) use
    /// 16 lanes on AVX2 if the number is 8.
    pub fn gang(self) -> usize {
        fn of<G: Gang>(_: G) -> usize {
            G::LANES
        }
        dispatch!(self, g => of(g))
    }

    /// Returns the gang's token, for [`dispatch!`].
    #[doc(hidden)]
    pub fn token(self) -> Token {
        self.token
    }

    /// Returns the gang's token, for kernels that gather much ([`dispatch_gathers!`](crate::dispatch_gathers)).
    #[doc(hidden)]
    pub fn gathering_token(self) -> Token {
        self.gathering
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}", self.isa(), self.gang())
    }
}

impl PartialEq for Level {
    fn eq(&self, other: &Self) -> bool {
        (self.isa(), self.gang()) == (other.isa(), other.gang())
    }
}

impl Eq for Level {}

/// The gang size that is best for most kernels: one full register, or two narrow ones.
fn usual_gang(isa: Isa) -> usize {
    match isa {
        Isa::Scalar => 1,
        Isa::Portable | Isa::Neon => 8,
        Isa::Avx2 => 8,
        Isa::Avx512 | Isa::Avx512Loads | Isa::Avx512Gathers => GATHERING_LANES,
    }
}

/// Defines [`Token`]: `Variant(isa, lanes): type = context => constructor`.
macro_rules! tokens {
    (always { $($(#[$on:meta])* $variant:ident($isa:ident, $lanes:literal): $gang:ty = $context:ident => $new:expr;)* }
     feature $feature:literal {
        $($(#[$on2:meta])* $variant2:ident($isa2:ident, $lanes2:literal): $gang2:ty = $context2:ident => $new2:expr;)*
     }) => {
        /// The token of a gang, with one variant for each gang of this architecture.
        #[doc(hidden)]
        #[derive(Debug, Clone, Copy)]
        pub enum Token {
            $($(#[$on])* $variant($gang),)*
            $($(#[$on2])* #[cfg(feature = $feature)] $variant2(Added<$gang2>),)*
        }

        impl Token {
            /// The first gang with these properties that the CPU can run.
            fn new(isa: Isa, lanes: usize) -> Option<Self> {
                $($(#[$on])*
                if (isa, lanes) == (Isa::$isa, $lanes) && let Some(context) = $context::new() {
                    return Some(Self::$variant($new(context)));
                })*
                $($(#[$on2])* #[cfg(feature = $feature)]
                if (isa, lanes) == (Isa::$isa2, $lanes2) && let Some(context) = $context2::new() {
                    return Some(Self::$variant2(added($new2(context))));
                })*
                None
            }

            /// Whether the gang gathers by an instruction.
            fn is_by_gathers(self) -> bool {
                #[cfg(target_arch = "x86_64")]
                {
                    matches!(self, Self::Avx512Gathers(_))
                }
                #[cfg(not(target_arch = "x86_64"))]
                false
            }

            /// Whether the gang exists without the feature.
            fn is_usual(self) -> bool {
                match self {
                    $($(#[$on])* Self::$variant(_) => true,)*
                    #[cfg(feature = $feature)]
                    _ => false,
                }
            }
        }
    };
}

/// Two gangs as one.
#[cfg(any(feature = "all-gangs", not(target_arch = "x86_64")))]
type X2<G> = Pair<G>;
#[cfg(feature = "all-gangs")]
type X4<G> = Pair<X2<G>>;

#[cfg(any(feature = "all-gangs", not(target_arch = "x86_64")))]
fn x2<G: Gang>(g: G) -> X2<G> {
    Pair::new(g)
}
#[cfg(feature = "all-gangs")]
fn x4<G: Gang>(g: G) -> X4<G> {
    Pair::new(x2(g))
}

/// A gang that the feature adds.
#[cfg(all(feature = "all-gangs", not(feature = "small-kernels")))]
type Added<G> = G;
/// A gang that the feature adds; with the feature `small-kernels`, its operations are function calls.
#[cfg(all(feature = "all-gangs", feature = "small-kernels"))]
type Added<G> = super::Called<G>;

#[cfg(feature = "all-gangs")]
fn added<G: Gang>(g: G) -> Added<G> {
    #[cfg(feature = "small-kernels")]
    let g = super::Called::new(g);
    g
}

tokens! {
    // The usual gang of each level, scalar code, and scalar code for CPUs without a fused multiply-add. Where an
    // architecture has a level of its own, the portable level only compares with it: the kernels need not be compiled for it, too.
    always {
        Scalar1(Scalar, 1): Scalar<1, ScalarContext> = ScalarContext => Scalar::new;
        #[cfg(target_arch = "x86_64")]
        SoftwareScalar1(Scalar, 1): Scalar<1, SoftwareScalarContext> = SoftwareScalarContext => Scalar::new;
        #[cfg(any(feature = "all-gangs", not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
        Portable8(Portable, 8): X2<Portable<PortableContext>> = PortableContext => |c| x2(Portable::new(c));
        #[cfg(target_arch = "x86_64")]
        Avx2x8(Avx2, 8): Ymm<Avx2Context> = Avx2Context => Ymm::new;
        #[cfg(target_arch = "x86_64")]
        Avx512x16(Avx512, 16): Zmm<false> = Avx512Context => Zmm::new;
        #[cfg(target_arch = "x86_64")]
        Avx512Gathers(Avx512Gathers, 16): Zmm<true> = Avx512Context => Zmm::new;
        #[cfg(target_arch = "aarch64")]
        Neon8(Neon, 8): X2<Quad> = NeonContext => |c| x2(Quad::new(c));
    }
    feature "all-gangs" {
        Scalar4(Scalar, 4): Scalar<4, ScalarContext> = ScalarContext => Scalar::new;
        Scalar8(Scalar, 8): Scalar<8, ScalarContext> = ScalarContext => Scalar::new;
        Scalar16(Scalar, 16): Stack<Scalar<8, ScalarContext>, 2> = ScalarContext => |c| Stack::new(Scalar::new(c));
        Scalar32(Scalar, 32): Stack<Scalar<8, ScalarContext>, 4> = ScalarContext => |c| Stack::new(Scalar::new(c));
        Scalar64(Scalar, 64): Stack<Scalar<8, ScalarContext>, 8> = ScalarContext => |c| Stack::new(Scalar::new(c));
        Portable1(Portable, 1): Scalar<1, PortableContext> = PortableContext => Scalar::new;
        Portable4(Portable, 4): Portable<PortableContext> = PortableContext => Portable::new;
        Portable16(Portable, 16): X4<Portable<PortableContext>> = PortableContext => |c| x4(Portable::new(c));
        Portable32(Portable, 32): Stack<Portable<PortableContext>, 8> = PortableContext => |c| Stack::new(Portable::new(c));
        Portable64(Portable, 64): Stack<Portable<PortableContext>, 16> = PortableContext => |c| Stack::new(Portable::new(c));
        #[cfg(target_arch = "x86_64")]
        Avx2x1(Avx2, 1): Scalar<1, Avx2Context> = Avx2Context => Scalar::new;
        #[cfg(target_arch = "x86_64")]
        Avx2x4(Avx2, 4): Portable<Avx2Context> = Avx2Context => Portable::new;
        #[cfg(target_arch = "x86_64")]
        Avx2x16(Avx2, 16): X2<Ymm<Avx2Context>> = Avx2Context => |c| x2(Ymm::new(c));
        #[cfg(target_arch = "x86_64")]
        Avx2x32(Avx2, 32): X4<Ymm<Avx2Context>> = Avx2Context => |c| x4(Ymm::new(c));
        #[cfg(target_arch = "x86_64")]
        Avx2x64(Avx2, 64): Stack<Ymm<Avx2Context>, 8> = Avx2Context => |c| Stack::new(Ymm::new(c));
        #[cfg(target_arch = "x86_64")]
        Avx512x1(Avx512, 1): Scalar<1, Avx512Context> = Avx512Context => Scalar::new;
        #[cfg(target_arch = "x86_64")]
        Avx512x4(Avx512, 4): Portable<Avx512Context> = Avx512Context => Portable::new;
        #[cfg(target_arch = "x86_64")]
        Avx512x8(Avx512, 8): Ymm<Avx512Context> = Avx512Context => Ymm::new;
        #[cfg(target_arch = "x86_64")]
        Avx512x32(Avx512, 32): X2<Zmm<false>> = Avx512Context => |c| x2(Zmm::new(c));
        #[cfg(target_arch = "x86_64")]
        Avx512x64(Avx512, 64): X4<Zmm<false>> = Avx512Context => |c| x4(Zmm::new(c));
        #[cfg(target_arch = "aarch64")]
        Neon1(Neon, 1): Scalar<1, NeonContext> = NeonContext => Scalar::new;
        #[cfg(target_arch = "aarch64")]
        Neon4(Neon, 4): Quad = NeonContext => Quad::new;
        #[cfg(target_arch = "aarch64")]
        Neon16(Neon, 16): X4<Quad> = NeonContext => |c| x4(Quad::new(c));
        #[cfg(target_arch = "aarch64")]
        Neon32(Neon, 32): Stack<Quad, 8> = NeonContext => |c| Stack::new(Quad::new(c));
        #[cfg(target_arch = "aarch64")]
        Neon64(Neon, 64): Stack<Quad, 16> = NeonContext => |c| Stack::new(Quad::new(c));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "all-gangs")]
    #[test]
    fn what_runs_is_what_was_asked_for() {
        fn seen<G: Gang>(g: G) -> (Isa, usize, usize, usize) {
            let all = g.m_first(usize::MAX);
            (G::ISA, G::LANES, g.m_count(all), g.u_reduce_max(g.u_iota(), all) as usize + 1)
        }
        for isa in Isa::supported() {
            for gang in GANGS {
                let level = Level::new(isa, gang).unwrap();
                assert_eq!(dispatch!(level, g => seen(g)), (isa, gang, gang, gang));
                assert_eq!((level.isa(), level.gang()), (isa, gang));
                assert_eq!(level.to_string(), format!("{isa} x {gang}"));
            }
        }
        let ways = usize::from(Isa::Avx512.is_supported());
        assert_eq!(Level::supported().len(), Isa::supported().len() * GANGS.len() + ways);
    }

    #[test]
    fn gathers_are_those_of_the_cpu_unless_asked_for() {
        for level in Level::supported() {
            let has_both = level.isa().instruction_set() == Isa::Avx512 && level.gang() == GATHERING_LANES;
            assert_eq!(level.gathers().is_some(), has_both, "{level}");
        }
        for asked in Isa::WAYS.into_iter().filter(|isa| isa.is_supported()) {
            let level = Level::choose(Some(asked), None).unwrap();
            assert_eq!((level.isa(), level.gathers(), level.gang()), (asked, Some(asked), GATHERING_LANES));
            assert_eq!((level.to_string(), level.with_usual_gang()), (format!("{asked} x 16"), level));
            assert!(level.is_usual() && level != Level::choose(Some(Isa::Avx512), None).unwrap());
            assert!(matches!(Level::new(asked, 8), Err(Error::Config(text)) if text.contains("16 lanes")));
        }
        if let Ok(level) = Level::choose(Some(Isa::Avx512), None) {
            let way = if has_fast_gathers() { Isa::Avx512Gathers } else { Isa::Avx512Loads };
            assert_eq!((level.isa(), level.gathers()), (Isa::Avx512, Some(way)));
            let both: Vec<_> = Level::usual().into_iter().filter_map(Level::gathers).collect();
            assert!(Isa::WAYS.iter().all(|way| both.contains(way)), "{both:?}");
        }
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        for gang in [0, 2, 3, 12, 128, usize::MAX] {
            assert!(matches!(Level::new(Isa::Scalar, gang), Err(Error::Config(_))), "{gang}");
        }
        for isa in Isa::ALL.into_iter().filter(|isa| !isa.is_supported()) {
            assert!(matches!(Level::new(isa, 4), Err(Error::Unsupported(_))), "{isa}");
        }
    }
}
