//! One certificate for everybody in a world, which is its own authority; Consentry is told to trust it.

use std::{fs, path::Path, sync::Arc};

use consentry_fakes::Listen;

/// By these names the parties are called.
const NAMES: [&str; 4] = ["localhost", "127.0.0.2", "127.0.0.3", "127.0.0.4"];

/// A certificate and its key.
pub(super) struct Certificate(rcgen::CertifiedKey<rcgen::KeyPair>);

impl Certificate {
    pub(super) fn new() -> Self {
        Self(rcgen::generate_simple_self_signed(NAMES.map(str::to_owned)).unwrap())
    }

    /// Lets a fake speak TLS.
    pub(super) fn cover(&self, listen: Listen) -> Listen {
        let key = self.0.signing_key.serialize_der().try_into().unwrap();
        let config = rustls::ServerConfig::builder_with_provider(Arc::new(
            rustls::crypto::aws_lc_rs::default_provider(),
        ));
        let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        listen.tls(Arc::new(config.with_single_cert(vec![self.0.cert.der().clone()], key).unwrap()))
    }

    /// Writes the files, and gives what stands of them in Consentry's settings: of `[listen]`, and a section.
    pub(super) fn settings(&self, directory: &Path) -> (String, String) {
        let (certificate, key) = (directory.join("tls.crt"), directory.join("tls.key"));
        fs::write(&certificate, self.0.cert.pem()).unwrap();
        fs::write(&key, self.0.signing_key.serialize_pem()).unwrap();
        let (certificate, key) = (certificate.display(), key.display());
        (
            format!("public_tls = {{ certificate = '{certificate}', key = '{key}' }}"),
            format!("[outbound]\nca_files = ['{certificate}']"),
        )
    }
}
