//! Brings GitHub to what the projection says.
