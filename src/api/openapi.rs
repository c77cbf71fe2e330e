//! The description of the API (OpenAPI 3.1), made from the handlers themselves.

use utoipa::{
    Modify, OpenApi,
    openapi::{
        OpenApi as Description,
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

use super::calls;

/// The description, as `GET /openapi.json` and the command line give it.
pub fn openapi() -> Description {
    calls().into_openapi()
}

/// What stands above the calls.
pub(super) fn base() -> Description {
    Document::openapi()
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Consentry",
        description = "The internal API of Consentry: what an MCP server calls when a tool needs a user's account. \
            Errors are `application/problem+json` with a stable `code`. Unknown fields and parameters are refused. Times are \
            RFC 3339 in UTC. Another MCP server's id is 404, like an unknown one.",
    ),
    security(("api_key" = [])),
    modifiers(&ApiKey),
)]
struct Document;

struct ApiKey;

impl Modify for ApiKey {
    fn modify(&self, description: &mut Description) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("An API key of the MCP server's settings."))
            .build();
        description
            .components
            .get_or_insert_default()
            .security_schemes
            .insert("api_key".to_owned(), SecurityScheme::Http(scheme).into());
    }
}
