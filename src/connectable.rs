//! What can be connected, whatever its kind: what the API, the pages and commands say of each alike.

use std::sync::Arc;

use url::Url;

use crate::{
    config::{HostedPage, Provider, SecretForm},
    elicitation::ProviderId,
    scope::Scopes,
};

/// A configured provider of any kind.
#[derive(Clone, Debug)]
pub enum Connectable {
    /// By OAuth.
    OAuth2(Arc<Provider>),
    /// By typing a key.
    Secret(Arc<SecretForm>),
    /// On a page of the MCP server's own.
    Redirect(Arc<HostedPage>),
}

impl Connectable {
    /// Its id.
    pub fn id(&self) -> &ProviderId {
        match self {
            Self::OAuth2(provider) => &provider.id,
            Self::Secret(form) => &form.id,
            Self::Redirect(page) => &page.id,
        }
    }

    /// Its name, for people.
    pub fn name(&self) -> &str {
        match self {
            Self::OAuth2(provider) => &provider.name,
            Self::Secret(form) => &form.name,
            Self::Redirect(page) => &page.name,
        }
    }

    /// As the settings and the API write its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::OAuth2(_) => "oauth2",
            Self::Secret(_) => "secret",
            Self::Redirect(_) => "redirect",
        }
    }

    /// What is asked for when a request names no scopes; only OAuth knows any.
    pub fn scopes(&self) -> Scopes {
        match self {
            Self::OAuth2(provider) => provider.scopes.clone(),
            Self::Secret(_) | Self::Redirect(_) => Scopes::default(),
        }
    }

    /// The most that a request may name.
    pub fn allowed_scopes(&self) -> Scopes {
        match self {
            Self::OAuth2(provider) => provider.allowed_scopes.clone(),
            Self::Secret(_) | Self::Redirect(_) => Scopes::default(),
        }
    }

    /// Where a person ends there what was connected here.
    pub fn manage_url(&self) -> Option<&Url> {
        match self {
            Self::OAuth2(provider) => provider.manage_url.as_ref(),
            Self::Secret(form) => form.manage_url.as_ref(),
            Self::Redirect(page) => page.manage_url.as_ref(),
        }
    }

    /// The provider, where it is one of OAuth.
    pub fn oauth2(&self) -> Option<&Arc<Provider>> {
        match self {
            Self::OAuth2(provider) => Some(provider),
            Self::Secret(_) | Self::Redirect(_) => None,
        }
    }

    /// The form, where a key is typed.
    pub fn secret_form(&self) -> Option<&Arc<SecretForm>> {
        match self {
            Self::Secret(form) => Some(form),
            Self::OAuth2(_) | Self::Redirect(_) => None,
        }
    }

    /// The page, where a person is sent to one of the MCP server's own.
    pub fn hosted_page(&self) -> Option<&Arc<HostedPage>> {
        match self {
            Self::Redirect(page) => Some(page),
            Self::OAuth2(_) | Self::Secret(_) => None,
        }
    }
}
