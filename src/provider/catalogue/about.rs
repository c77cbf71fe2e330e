//! What an entry says of itself: for the operator who registers an app, and for whoever asks how sure it is. None of it
//! reaches the settings.

use serde::{Deserialize, Serialize};
use toml::Table;
use utoipa::ToSchema;

/// The keys of [`About`], in the order in which they are told.
const KEYS: [&str; 8] =
    ["extends", "category", "confidence", "verified_on", "setup_url", "setup", "notes", "unverified"];

/// Keys that speak of the entry, not of the provider.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Id of a built-in entry that this one is laid over: what is given here replaces what stands there under the same
    /// key, tables as a whole. Only a built-in entry that extends none itself.
    pub extends: Option<String>,
    /// Where the index lists it.
    pub category: Option<Category>,
    /// How sure its facts are: "high" (the provider's own documentation, and other sources agree), "medium" or "low".
    pub confidence: Option<Confidence>,
    /// The day on which somebody read the provider's own pages and compared, as YYYY-MM-DD; absent until then. It is not
    /// taken over by an entry that extends this one.
    pub verified_on: Option<String>,
    /// Where the operator registers the app, or finds the key.
    pub setup_url: Option<String>,
    /// What to click there, a sentence per step. `{callback_url}` stands for the URL to paste.
    #[serde(default)]
    pub setup: Vec<String>,
    /// What an operator must know, a sentence each: policies, gates, limits, dates.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What could not be checked, a sentence each.
    #[serde(default)]
    pub unverified: Vec<String>,
}

/// What a provider is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "`Category::words` says what each is")]
pub enum Category {
    Dev,
    Google,
    Microsoft,
    Chat,
    Email,
    Docs,
    Project,
    Files,
    Crm,
    Support,
    Marketing,
    Commerce,
    Finance,
    Sign,
    Survey,
    Media,
    Social,
    Identity,
    Cloud,
    Monitoring,
    Data,
    Search,
    Ai,
}

impl Category {
    /// As a heading.
    pub fn words(self) -> &'static str {
        match self {
            Self::Dev => "Code and development",
            Self::Google => "Google",
            Self::Microsoft => "Microsoft",
            Self::Chat => "Chat and meetings",
            Self::Email => "E-mail and messages",
            Self::Docs => "Documents and notes",
            Self::Project => "Projects and tasks",
            Self::Files => "Files",
            Self::Crm => "Customers and sales",
            Self::Support => "Support",
            Self::Marketing => "Marketing",
            Self::Commerce => "Shops",
            Self::Finance => "Money",
            Self::Sign => "Signatures",
            Self::Survey => "Forms and scheduling",
            Self::Media => "Music, video and design",
            Self::Social => "Social networks",
            Self::Identity => "Identity",
            Self::Cloud => "Cloud and hosting",
            Self::Monitoring => "Monitoring",
            Self::Data => "Databases and analytics",
            Self::Search => "Search and the web",
            Self::Ai => "AI models",
        }
    }
}

/// How sure the facts of an entry are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// From the provider's own documentation, and other sources agree.
    High,
    /// From one good source, or with a doubt that is named.
    Medium,
    /// From memory or from others: try it before you rely on it.
    Low,
}

impl Confidence {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// Takes out of `table` what speaks of the entry.
pub(super) fn take(table: &mut Table) -> Table {
    KEYS.iter().filter_map(|key| Some(((*key).to_owned(), table.remove(*key)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_are_those_of_the_type() {
        let about = serde_json::to_value(About::default()).unwrap();
        let mut keys: Vec<_> = KEYS.into();
        keys.sort_unstable();
        let mut told: Vec<_> = about.as_object().unwrap().keys().collect();
        told.sort_unstable();
        assert_eq!(told, keys);
    }
}
