//! Reads the settings from the environment and serves.

use std::{env, io};

use consentry_example_rust::{Settings, app};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "an example has no configuration file")]
    let setting = |name: &str| env::var(name).map_err(|_| io::Error::other(format!("{name} is not set")));
    let settings = Settings {
        resource: setting("RESOURCE")?,
        issuer: setting("ISSUER")?,
        consentry: setting("CONSENTRY_URL")?,
        api_key: setting("CONSENTRY_API_KEY")?,
        files: setting("FILES_API")?,
    };
    let listener =
        TcpListener::bind(setting("LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned())).await?;
    axum::serve(listener, app(settings)?).await
}
