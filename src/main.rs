//! The program: one crypto provider for the whole process, then the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    // It fails only where one is installed already.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    consentry::cli::run(std::env::args_os())
}
