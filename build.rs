//! Lists the files of `providers/` for `src/provider/catalogue.rs`: an entry of the catalogue is compiled in by being
//! there.

use std::{env, error::Error, fmt::Write, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no manifest")?).join("providers");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    for file in fs::read_dir(&folder)? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let id = path.file_stem().and_then(|stem| stem.to_str()).ok_or("a name that is not UTF-8")?;
            files.push((id.to_owned(), path));
        }
    }
    files.sort();
    let mut list = String::from("&[\n");
    for (id, path) in &files {
        writeln!(list, "    ({id:?}, include_str!({path:?})),")?;
    }
    list.push(']');
    let to = PathBuf::from(env::var_os("OUT_DIR").ok_or("no place to write to")?);
    Ok(fs::write(to.join("providers.rs"), list)?)
}
