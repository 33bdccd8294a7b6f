//! Documentation tests of code that must not compile outside the crate, since it could run instructions that the
//! CPU lacks. Nightly compilers also check the error numbers. For other compilers, a block that compiles comes
//! first, and each further block differs from it in one point.
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
//! A user-defined context, which would claim instructions that were not checked:
//! ```compile_fail,E0603
//! use peloton::simd::backend::Context;
//! ```
//! ```compile_fail,E0603
//! use peloton::simd::backend::avx2::HasAvx2;
//! ```
//!
//! The name of a gang's type, to make a value of it:
//! ```compile_fail,E0603
//! use peloton::simd::backend::Ymm;
//! ```
//! ```compile_fail,E0603
//! use peloton::simd::backend::Zmm;
//! ```
//!
//! Another type in place of a gang:
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
//! A constructor, called through a value whose type cannot be named:
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
//! A level that was not checked:
//! ```compile_fail,E0451
//! use peloton::simd::{Isa, Level};
//!
//! let level = Level::new(Isa::Scalar, 1).unwrap();
//! let _ = Level { token: level.token() };
//! ```
//!
//! A value on lanes without its gang:
//! ```compile_fail,E0451
//! use peloton::simd::Gang;
//! use peloton::simd::varying::F32;
//!
//! fn made<G: Gang>(g: G, v: G::F) -> F32<G> {
//!     F32 { g, v }
//! }
//! ```
