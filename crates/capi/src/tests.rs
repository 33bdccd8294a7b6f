//! Faults that cannot be made from outside.
