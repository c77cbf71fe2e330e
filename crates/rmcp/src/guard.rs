//! The last look at a reply before it goes out. Consentry chooses replies by what it is told; rmcp sends whatever it is
//! given, to clients that cannot have it as well. What does not fit here is a fault, and is said in words instead.

use consentry_client::Body;
use consentry_elicitation::{
    ElicitRequestParams, Era, InputRequest, MISSING_CAPABILITY, URL_ELICITATION_REQUIRED,
};

use crate::call::Client;

/// Whether a client may be sent this.
pub(crate) fn fits(client: &Client, body: &Body) -> bool {
    match body {
        Body::ElicitationRequest(params) => client.era == Era::Legacy && is_declared(client, params),
        Body::InputRequired(result) => {
            let requests = result.input_requests.iter().flatten();
            client.era == Era::Modern
                && client.may_round
                && requests.into_iter().all(|(_, request)| match request {
                    InputRequest::Elicit(params) => is_declared(client, params),
                    _ => false,
                })
        }
        Body::JsonrpcError(error) => match error.code {
            URL_ELICITATION_REQUIRED => client.era == Era::Legacy && client.capability.url(),
            MISSING_CAPABILITY => client.era == Era::Modern,
            _ => true,
        },
        Body::ToolResult(_) => true,
        _ => false,
    }
}

fn is_declared(client: &Client, params: &ElicitRequestParams) -> bool {
    match params {
        // The id is the legacy era's, and there it must say something.
        ElicitRequestParams::Url(request) => {
            let id = request.elicitation_id.as_deref();
            let id_fits = match client.era {
                Era::Legacy => id.is_some_and(|id| !id.is_empty()),
                Era::Modern => id.is_none(),
            };
            client.capability.url() && id_fits
        }
        ElicitRequestParams::Form(_) => client.capability.form(),
        _ => false,
    }
}
