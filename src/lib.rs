//! Consentry: the connect-flow server for MCP. `ARCHITECTURE.md` is the map.

pub mod clock;
pub mod random;
pub mod secret;
pub mod vault;
