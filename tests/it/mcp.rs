//! The MCP endpoint of our own, over HTTP on a running server, in both eras: whole flows with a strict client that takes
//! nothing amiss, and everything that others may try.

mod conformance;
mod desk;
mod door;
mod legacy;
mod modern;
mod replicas;
mod sdks;
mod talk;
