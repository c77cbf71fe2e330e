//! What an MCP server is told of how to use a credential, so that it needs to know nothing of the provider.

use std::collections::BTreeMap;

use crate::template::Template;

/// The table `use`: where a credential goes in a request to the provider's API, with places for its values.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// Where the API is.
    pub base_url: Option<Template>,
    /// Headers of each request.
    pub headers: BTreeMap<String, Template>,
    /// Query parameters of each request.
    pub query: BTreeMap<String, Template>,
    /// HTTP Basic (RFC 7617): user name and password.
    pub basic: Option<(Template, Template)>,
}

impl Usage {
    /// Every template in it with what it is of, for checks.
    pub fn templates(&self) -> impl Iterator<Item = (String, &Template)> {
        let basic = self.basic.iter().flat_map(|(username, password)| {
            [("basic.username".to_owned(), username), ("basic.password".to_owned(), password)]
        });
        let headers = self.headers.iter().map(|(name, one)| (format!("headers.{name}"), one));
        let query = self.query.iter().map(|(name, one)| (format!("query.{name}"), one));
        self.base_url.iter().map(|one| ("base_url".to_owned(), one)).chain(headers).chain(query).chain(basic)
    }
}
