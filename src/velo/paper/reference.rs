//! The preset `paper` written down naively: what its search must find.
