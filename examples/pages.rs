//! Writes every page with sample data into a folder, with its stylesheet, to look at:
//! `cargo run --example pages -- FOLDER [TEXT]`. With TEXT, every name on them is that.

use std::{env, error::Error, fs, path::PathBuf};

use consentry::web::{
    assets,
    pages::sample::{Names, pages},
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or("which folder?")?);
    fs::create_dir_all(folder.join("static"))?;
    for asset in [assets::stylesheet(), assets::icon()] {
        fs::write(folder.join(asset.path.trim_start_matches('/')), asset.bytes)?;
    }
    let names = env::args().nth(2).map_or_else(Names::usual, |text| Names::all(&text));
    for (file, page) in pages(&names) {
        // Opened from a disk, the root is the folder.
        let html = page.html()?.replace("\"/static/", "\"static/");
        fs::write(folder.join(format!("{file}.html")), html)?;
    }
    Ok(())
}
