//! Documentation tests of code that must not compile outside the crate, since it could run instructions that the CPU
//! lacks. Nightly compilers also check the error codes. Other compilers check only that a block fails: so the first
//! block compiles, and each further block differs from it in one point.
//!
//! Code outside the crate gets gangs from [`Level`](crate::simd::Level) and `dispatch!`:
//! ```
//! use peloton::simd::{Gang, Level, Pair, Token};
//!
//! #[inline(always)]
//! fn lanes<G: Gang>(g: G) -> usize {
//!     g.m_count(g.m_first(usize::MAX))
//! }
//!
//! for level in Level::usual() {
//!     let Token::Scalar1(g) = level.token() else { continue };
//!     assert_eq!(lanes(g), 1);
//!     let _again = Token::Scalar1(g);
//! }
//! for level in Level::usual() {
//!     let lanes = peloton::dispatch_usual!(level, g => [lanes(g), lanes(Pair::new(g))]);
//!     assert_eq!(lanes, [level.gang(), 2 * level.gang()]);
//! }
//! ```
//!
//! Code outside the crate cannot define a context, which would claim instructions that were not checked:
//! ```compile_fail,E0603
//! use peloton::simd::backend::Context;
//! ```
//! ```compile_fail,E0603
//! use peloton::simd::backend::avx2::HasAvx2;
//! ```
//!
//! Code outside the crate cannot name the type of a gang, so it cannot make a value of this type:
//! ```compile_fail,E0603
//! use peloton::simd::backend::Ymm;
//! ```
//! ```compile_fail,E0603
//! use peloton::simd::backend::Zmm;
//! ```
//!
//! A value that is not a gang cannot be put into a `Token` or a `Pair`:
//! ```compile_fail,E0308
//! use peloton::simd::Token;
//!
//! let _ = Token::Scalar1(());
//! ```
//! ```compile_fail,E0277
//! use peloton::simd::Pair;
//!
//! let _ = Pair::new(());
//! ```
//!
//! The constructor of a gang cannot be called through a value whose type cannot be named:
//! ```compile_fail,E0599
//! use peloton::simd::{Gang, Isa, Level, Token};
//!
//! trait Known {
//!     fn context<C>(self, context: C) -> Self;
//! }
//! impl<G: Gang> Known for G {
//!     fn context<C>(self, context: C) -> Self {
//!         G::new(context)
//!     }
//! }
//! ```
//!
//! Code outside the crate cannot make a level without a check of the CPU:
//! ```compile_fail,E0451
//! use peloton::simd::{Isa, Level};
//!
//! let level = Level::new(Isa::Scalar, 1).unwrap();
//! let _ = Level { token: level.token() };
//! ```
//!
//! Code outside the crate cannot make a value on lanes without its gang:
//! ```compile_fail,E0451
//! use peloton::simd::Gang;
//! use peloton::simd::varying::F32;
//!
//! fn made<G: Gang>(g: G, v: G::F) -> F32<G> {
//!     F32 { g, v }
//! }
//! ```
