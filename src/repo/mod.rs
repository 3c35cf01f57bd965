//! repo
