//! The answer that goes through the browser to the client: a redirect, or a form that posts itself.

use url::form_urlencoded;

/// Where an authorization response goes and how.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) redirect_uri: String,
    pub(crate) form_post: bool,
    pub(crate) state: Option<String>,
    /// RFC 9207, when this server sends it.
    pub(crate) issuer: Option<String>,
}

/// An authorization response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The `Location` of a redirect.
    Redirect(String),
    /// `response_mode=form_post`.
    FormPost(FormPost),
}

/// A form that the browser posts to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormPost {
    /// The redirect URI.
    pub action: String,
    /// Its fields.
    pub fields: Vec<(String, String)>,
}

impl FormPost {
    /// The body that the browser would send.
    pub fn body(&self) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.fields).finish()
    }
}

impl Target {
    pub(crate) fn reply(&self, result: &[(&str, &str)]) -> Reply {
        let mut fields: Vec<(String, String)> =
            result.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        if let Some(state) = &self.state {
            fields.push(("state".to_owned(), state.clone()));
        }
        if let Some(issuer) = &self.issuer {
            fields.push(("iss".to_owned(), issuer.clone()));
        }
        let form = FormPost { action: self.redirect_uri.clone(), fields };
        if self.form_post {
            return Reply::FormPost(form);
        }
        // The registered URI stays as it is, byte for byte: a URL type would tidy it up.
        let joint = if self.redirect_uri.contains('?') { '&' } else { '?' };
        Reply::Redirect(format!("{}{joint}{}", self.redirect_uri, form.body()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_in_the_redirect_uri_is_kept() {
        let target = Target {
            redirect_uri: "http://c.test/cb?tenant=1".to_owned(),
            form_post: false,
            state: Some("s t".to_owned()),
            issuer: None,
        };
        assert_eq!(
            target.reply(&[("code", "a&b")]),
            Reply::Redirect("http://c.test/cb?tenant=1&code=a%26b&state=s+t".to_owned())
        );
    }
}
