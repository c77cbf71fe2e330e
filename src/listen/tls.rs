//! TLS of a listener, from files that are read again when asked.

use std::{
    fmt,
    path::Path,
    sync::{Arc, PoisonError, RwLock},
};

use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio_rustls::TlsAcceptor;

use crate::config::TlsFiles;

/// A certificate and its key. Cloning shares them, so that a reload reaches every listener.
#[derive(Clone)]
pub struct Tls {
    files: TlsFiles,
    config: Arc<RwLock<Arc<ServerConfig>>>,
}

/// Why a certificate cannot be used. Names files, never what is in them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// Not readable, or not PEM with a certificate in it.
    #[error("no certificate can be read from {0}")]
    Certificate(String),
    /// Not readable, or not PEM with a private key in it.
    #[error("no private key can be read from {0}")]
    Key(String),
    /// They do not belong together, or are of a kind that is not served.
    #[error("the certificate {0} and the key {1} cannot be used together")]
    Pair(String, String),
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn load(files: &TlsFiles) -> Result<Self, TlsError> {
        let config = Arc::new(RwLock::new(read(files)?));
        Ok(Self { files: files.clone(), config })
    }

    /// Reads the files again; new connections get what is in them. What cannot be used changes nothing.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn reload(&self) -> Result<(), TlsError> {
        let config = read(&self.files)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone().into()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tls({})", self.files.certificate.display())
    }
}

fn read(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let name = |path: &Path| path.display().to_string();
    let certificates = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .ok()
        .filter(|chain| !chain.is_empty())
        .ok_or_else(|| TlsError::Certificate(name(&files.certificate)))?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|_| TlsError::Key(name(&files.key)))?;
    let pair = |_| TlsError::Pair(name(&files.certificate), name(&files.key));
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(pair)?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(pair)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
