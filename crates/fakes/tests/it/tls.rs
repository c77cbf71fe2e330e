//! The same fakes over TLS, under a host name of their own.

use std::sync::Arc;

use consentry_fakes::{Answer, AuthorizationServer, Client, Listen};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivatePkcs8KeyDer;

use crate::client::{CALLBACK, authorize_url, honest, query};

#[tokio::test]
async fn an_https_issuer_with_a_name() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["id.localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key.into())
            .unwrap();
    let listen = Listen::on([127, 0, 0, 2]).host("id.localhost").tls(Arc::new(config));
    let id = AuthorizationServer::start(listen).await.unwrap();
    assert!(id.base_url().starts_with("https://id.localhost:"));

    let client = trusting(&cert.der().clone(), &id);
    let metadata = format!("{}/.well-known/openid-configuration", id.base_url());
    let document: serde_json::Value = client.get(&metadata).send().await.unwrap().json().await.unwrap();
    assert_eq!(document["issuer"], id.base_url());
    id.next_answer("/.well-known/openid-configuration", Answer::drop_connection());
    assert!(client.get(&metadata).send().await.is_err());

    id.register(Client::public("consentry").redirect_uri(CALLBACK));
    let page = client.get(authorize_url(id.base_url(), &honest("openid"))).send().await.unwrap();
    assert!(page.headers()["set-cookie"].to_str().unwrap().ends_with("; Secure"));
    let back = id.approve(&authorize_url(id.base_url(), &honest("openid")), "alice").await.unwrap();
    assert_eq!(query(&back, "iss").as_deref(), Some(id.base_url()));
}

#[expect(clippy::disallowed_methods, reason = "the tests' own client")]
fn trusting(certificate: &[u8], id: &AuthorizationServer) -> reqwest::Client {
    reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([reqwest::Certificate::from_der(certificate).unwrap()])
        .resolve("id.localhost", id.address())
        .build()
        .unwrap()
}
