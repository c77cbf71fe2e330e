//! What is known of providers before an operator says anything: one TOML file each, those of `providers/` compiled in,
//! those of the operator's own folder laid over them.
//!
//! An entry has the keys of a provider's table in the settings, which the settings lay over it, so that every one can be
//! overridden; and keys that speak of the entry itself ([`About`]). It never holds a registration (client id and
//! secret), and never decides what the provider's answer can tell. Only what is named is parsed.

mod about;
mod entry;
mod example;
mod lines;
mod lint;
mod overlay;
mod page;
mod particular;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

pub use self::{
    about::{About, Category, Confidence},
    entry::{Entry, Problem, Source},
    lint::{Finding, Level, lint},
    page::index,
};

/// Id and text of each built-in entry, ordered by id.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/providers.rs"));

/// The built-in entries, and an operator's.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// File of each entry of the operator's folder.
    overlay: BTreeMap<String, PathBuf>,
}

impl Catalogue {
    /// The built-in entries alone.
    pub fn built_in() -> Self {
        Self::default()
    }

    /// With the `*.toml` of a folder, which add to the built-in entries or replace them. None is read yet.
    ///
    /// # Errors
    /// The folder cannot be read; a file whose name is no id, or that is none of the folder's own.
    pub fn with_overlay(folder: &Path) -> Result<Self, Vec<Problem>> {
        overlay::files(folder).map(|overlay| Self { overlay })
    }

    /// Every id, in order.
    pub fn ids(&self) -> BTreeSet<&str> {
        let built_in = BUILT_IN.iter().map(|(id, _)| *id);
        built_in.chain(self.overlay.keys().map(String::as_str)).collect()
    }

    /// The ids of the operator's folder, in order.
    pub fn overlay_ids(&self) -> impl Iterator<Item = &str> {
        self.overlay.keys().map(String::as_str)
    }

    /// The entry of this id: the operator's where there is one.
    ///
    /// # Errors
    /// It cannot be read or is no entry. What the settings would say to its keys is not asked here.
    pub fn entry(&self, id: &str) -> Result<Option<Entry>, Problem> {
        match self.overlay.get(id) {
            Some(path) => Entry::read(id, path).map(Some),
            None => Self::built_in_entry(id),
        }
    }

    /// The built-in entry of this id, whatever the operator's folder has.
    ///
    /// # Errors
    /// As [`Catalogue::entry`]; the tests read every one.
    pub fn built_in_entry(id: &str) -> Result<Option<Entry>, Problem> {
        built_in(id).map(|text| Entry::parse(id, Source::BuiltIn, text.into())).transpose()
    }
}

fn built_in(id: &str) -> Option<&'static str> {
    BUILT_IN.binary_search_by_key(&id, |(id, _)| id).ok().map(|at| BUILT_IN[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlay(files: &[(&str, &str)]) -> (tempfile::TempDir, Result<Catalogue, Vec<Problem>>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let catalogue = Catalogue::with_overlay(folder.path());
        (folder, catalogue)
    }

    #[test]
    fn ids_are_in_order() {
        assert!(BUILT_IN.is_sorted());
        assert!(Catalogue::built_in().entry("nobody").unwrap().is_none());
    }

    #[test]
    fn settings_hold_nothing_about_the_entry_itself() {
        let github = Catalogue::built_in().entry("github").unwrap().unwrap();
        assert_eq!(github.settings["client_authentication"].as_str(), Some("client_secret_post"));
        assert!(about::take(&mut github.settings.clone()).is_empty());
        assert_eq!(github.about.confidence, Some(Confidence::High));
    }

    #[test]
    fn an_entry_of_the_folder_replaces_a_built_in_one_or_extends_it() {
        let (_folder, catalogue) = overlay(&[
            ("github.toml", "name = \"Ours\""),
            ("acme.toml", "extends = \"github\"\nname = \"Acme\"\n[probe]\nid = \"x\""),
        ]);
        let catalogue = catalogue.unwrap();
        let whole = |id: &str| catalogue.entry(id).unwrap().unwrap();
        assert_eq!(whole("github").settings.len(), 1);
        let acme = whole("acme");
        assert_eq!(acme.settings["name"].as_str(), Some("Acme"));
        assert_eq!(acme.settings["probe"].as_table().unwrap().len(), 1, "tables are replaced as a whole");
        assert_eq!((acme.inherited("name"), acme.inherited("token_endpoint")), (None, Some("github")));
        assert_eq!(acme.about.confidence, Some(Confidence::High));
    }

    #[test]
    fn what_an_entry_extends_is_built_in() {
        let (_folder, catalogue) = overlay(&[("a.toml", "extends = \"b\""), ("b.toml", "name = \"B\"")]);
        let problem = catalogue.unwrap().entry("a").unwrap_err().to_string();
        assert!(problem.contains("a.toml:1: extends is no built-in entry"), "{problem}");
    }

    #[test]
    fn a_file_that_is_not_the_folders_own_is_refused() {
        let (elsewhere, _) = overlay(&[("x.toml", "name = \"X\"")]);
        let refused = |make: &dyn Fn(&Path)| {
            let folder = tempfile::tempdir().unwrap();
            make(folder.path());
            let problems = Catalogue::with_overlay(folder.path()).unwrap_err();
            problems.into_iter().map(|problem| problem.problem).collect::<String>()
        };
        let link = |to: &Path, folder: &Path| std::os::unix::fs::symlink(to, folder.join("x.toml")).unwrap();
        assert!(refused(&|folder| link(&elsewhere.path().join("x.toml"), folder)).contains("leads out"));
        assert!(refused(&|folder| link(Path::new("/dev/zero"), folder)).contains("leads out"));
        assert!(refused(&|folder| link(Path::new("nowhere"), folder)).contains("cannot be read"));
        assert!(
            refused(&|folder| std::fs::create_dir(folder.join("x.toml")).unwrap()).contains("not a file")
        );
        assert!(
            refused(&|folder| std::fs::write(folder.join("X Y.toml"), "").unwrap())
                .contains("must be called")
        );
        assert!(Catalogue::with_overlay(Path::new("nowhere")).is_err());
    }

    /// As Kubernetes mounts a ConfigMap; and what editors leave beside a file counts for nothing.
    #[test]
    fn a_link_within_the_folder_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("..data")).unwrap();
        std::fs::write(folder.path().join("..data/acme.toml"), "name = \"Acme\"").unwrap();
        std::fs::write(folder.path().join(".acme.toml"), "").unwrap();
        std::fs::write(folder.path().join("acme.toml~"), "").unwrap();
        std::os::unix::fs::symlink("..data/acme.toml", folder.path().join("acme.toml")).unwrap();
        let catalogue = Catalogue::with_overlay(folder.path()).unwrap();
        assert!(catalogue.overlay_ids().eq(["acme"]));
        assert!(catalogue.entry("acme").unwrap().is_some());
    }

    #[test]
    fn an_entry_that_cannot_be_read_names_its_line() {
        let long = format!("# {}", "x".repeat(65 * 1024));
        let (_folder, catalogue) = overlay(&[
            ("long.toml", &long),
            ("broken.toml", "name = \"X\"\nname = \"Y\""),
            ("sure.toml", "name = \"X\"\nconfidence = \"total\""),
        ]);
        let catalogue = catalogue.unwrap();
        for (id, told) in
            [("long", "longer"), ("broken", ":2 is not TOML"), ("sure", ":2: confidence must be")]
        {
            let problem = catalogue.entry(id).unwrap_err().to_string();
            assert!(problem.contains(told), "{problem}");
        }
    }
}
