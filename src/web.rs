//! What a person's browser sees: pages, their words, and the files that go with them.
//!
//! Nothing in here decides who somebody is or what they may do.

pub mod assets;
pub mod pages;
pub mod text;
