//! Names to addresses, checked: what is not allowed is never connected to, and what was checked is what is connected to.
//!
//! What it must never do: pick the allowed ones out of an answer. A name with one private address is refused whole, so
//! that nobody can make us try.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::policy::{AddressPolicy, RefusedTarget, Route, is_localhost};

/// The resolver of one client.
pub(super) struct Checked {
    pub(super) policy: Arc<AddressPolicy>,
    pub(super) route: Route,
    /// The operator's proxy: the one name that is resolved when there is one, and trusted.
    pub(super) proxy: Option<Url>,
    pub(super) lookup: Lookup,
}

/// Who is asked for a name.
#[derive(Clone)]
pub(super) enum Lookup {
    /// The system's resolver.
    System,
    #[cfg(test)]
    Fixed(Vec<IpAddr>),
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, lookup) = (self.policy.clone(), self.lookup.clone());
        let is_proxy = self.proxy.as_ref().and_then(Url::host) == Some(Host::Domain(name.as_str()));
        let route = if is_proxy { Route::Trusted } else { self.route };
        Box::pin(async move {
            let addresses = lookup.addresses(name.as_str()).await?;
            if addresses.is_empty() {
                return Err(io::Error::from(io::ErrorKind::NotFound).into());
            }
            if !policy.admits(route, &addresses) {
                return Err(RefusedTarget::Address.into());
            }
            // Port 0 means the port of the URL.
            let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

impl Lookup {
    pub(super) async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        match self {
            Self::System if is_localhost(name) => {
                Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
            }
            Self::System => Ok(tokio::net::lookup_host((name, 0)).await?.map(|answer| answer.ip()).collect()),
            #[cfg(test)]
            Self::Fixed(addresses) => Ok(addresses.clone()),
        }
    }
}
