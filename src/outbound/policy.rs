//! Where requests may go.
//!
//! A target is open (`https`, a public address, port 443 or from 1024 on) or trusted, because the operator named it or
//! because loopback is allowed for development. A trusted target may be plain `http`, private and on any port.
//!
//! What it must never do: decide by text what the URL parser reads differently. Everything here looks at the parsed URL,
//! which is what is sent.

use std::{net::IpAddr, str::FromStr};

use serde::Deserialize;
use url::{Host, Url};

use super::address::{Net, is_private, is_public};

/// Why a target is refused before anything is sent to it. Never names it: it may hold a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedTarget {
    /// Not an absolute URL with a host.
    #[error("not an absolute URL with a host")]
    Url,
    /// Neither `https` nor allowed to be `http`.
    #[error("only https is allowed")]
    Scheme,
    /// A user name or password in the URL.
    #[error("a URL may not hold a user name or password")]
    Userinfo,
    /// A port that is neither 443 nor 1024 or above.
    #[error("the port is not allowed")]
    Port,
    /// The host is, or one of its addresses is, not on the public internet.
    #[error("the address is not on the public internet")]
    Address,
}

/// What is allowed beyond the public internet.
#[derive(Clone, Debug, Default)]
pub struct AddressPolicy {
    /// `localhost`, `*.localhost`, `127.0.0.0/8` and `::1`: for development.
    pub allow_loopback: bool,
    /// The operator's own hosts and networks.
    pub allowed: Vec<Allowed>,
}

/// One exception: `host`, `host:port`, an address, or a network in CIDR notation.
///
/// A named host may be reached by `http`, on the port given or on any, and at private addresses. A network opens
/// these addresses, for `https` alone.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Allowed(Exception);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Exception {
    Host { host: Host, port: Option<u16> },
    Net(Net),
}

/// An exception that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no host, host:port or network (IPv4 /8 or narrower, IPv6 /7 or narrower, no bits behind the prefix)"
)]
pub struct BadAllowed(String);

/// By which client a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// To the public internet.
    Open,
    /// To what the operator named, or loopback.
    Trusted,
}

impl AddressPolicy {
    /// Whether a request to `url` would be sent, as far as can be said without asking DNS.
    ///
    /// # Errors
    /// [`RefusedTarget`].
    pub fn check(&self, url: &Url) -> Result<(), RefusedTarget> {
        self.route(url).map(|_| ())
    }

    pub(super) fn route(&self, url: &Url) -> Result<Route, RefusedTarget> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(RefusedTarget::Scheme);
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(RefusedTarget::Url);
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(RefusedTarget::Userinfo);
        }
        if port == 0 {
            return Err(RefusedTarget::Port);
        }
        let host = plain(host.to_owned());
        if self.names(&host, port) || (self.allow_loopback && is_loopback(&host)) {
            return Ok(Route::Trusted);
        }
        self.route_open(&host, port, url.scheme())
    }

    fn route_open(&self, host: &Host, port: u16, scheme: &str) -> Result<Route, RefusedTarget> {
        if scheme != "https" {
            return Err(RefusedTarget::Scheme);
        }
        if port != 443 && port < 1024 {
            return Err(RefusedTarget::Port);
        }
        match literal(host) {
            Some(address) if self.holds(address) => Ok(Route::Trusted),
            Some(address) if !is_public(address) => Err(RefusedTarget::Address),
            None if is_loopback(host) => Err(RefusedTarget::Address),
            Some(_) | None => Ok(Route::Open),
        }
    }

    /// Whether every address that a name was answered with may be connected to; one that may not refuses them all.
    pub(super) fn admits(&self, route: Route, addresses: &[IpAddr]) -> bool {
        addresses.iter().all(|&address| {
            is_public(address) || self.holds(address) || (route == Route::Trusted && is_private(address))
        })
    }

    fn names(&self, asked: &Host, asked_port: u16) -> bool {
        self.allowed.iter().any(|allowed| match &allowed.0 {
            Exception::Host { host, port } => host == asked && port.is_none_or(|port| port == asked_port),
            Exception::Net(_) => false,
        })
    }

    fn holds(&self, address: IpAddr) -> bool {
        self.allowed.iter().any(|allowed| matches!(&allowed.0, Exception::Net(net) if net.contains(address)))
    }
}

impl FromStr for Allowed {
    type Err = BadAllowed;

    fn from_str(text: &str) -> Result<Self, BadAllowed> {
        let exception = match text.split_once('/') {
            Some((address, prefix)) => network(address, prefix).map(Exception::Net),
            None => named(text),
        };
        exception.map(Self).ok_or_else(|| BadAllowed(text.to_owned()))
    }
}

impl TryFrom<String> for Allowed {
    type Error = BadAllowed;

    fn try_from(text: String) -> Result<Self, BadAllowed> {
        text.parse()
    }
}

/// A network, unless it is so wide that it would switch the check off.
fn network(address: &str, prefix: &str) -> Option<Net> {
    let address: IpAddr = address.parse().ok()?;
    let widest = if address.is_ipv4() { 8 } else { 7 };
    Net::new(address, prefix.parse().ok()?).filter(|net| net.prefix() >= widest)
}

fn named(text: &str) -> Option<Exception> {
    if let Ok(address) = text.parse::<IpAddr>() {
        let host = match address {
            IpAddr::V4(v4) => Host::Ipv4(v4),
            IpAddr::V6(v6) => Host::Ipv6(v6),
        };
        return Some(Exception::Host { host, port: None });
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            (host, Some(port.parse().ok().filter(|&port| port != 0)?))
        }
        _ => (text, None),
    };
    let host = plain(Host::parse(host).ok()?);
    // The parser lets signs pass that no name has; a `*` would look like a pattern, which this is not.
    let is_name =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    match &host {
        Host::Domain(name) if !is_name(name) => None,
        Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_) => Some(Exception::Host { host, port }),
    }
}

/// The host without the dot that may end a full name; it is the same host.
fn plain(host: Host) -> Host {
    match host {
        Host::Domain(name) => Host::Domain(name.strip_suffix('.').map(str::to_owned).unwrap_or(name)),
        address @ (Host::Ipv4(_) | Host::Ipv6(_)) => address,
    }
}

fn literal(host: &Host) -> Option<IpAddr> {
    match host {
        Host::Domain(_) => None,
        Host::Ipv4(v4) => Some(IpAddr::V4(*v4)),
        Host::Ipv6(v6) => Some(IpAddr::V6(*v6)),
    }
}

fn is_loopback(host: &Host) -> bool {
    match host {
        Host::Domain(name) => is_localhost(name),
        Host::Ipv4(v4) => v4.is_loopback(),
        Host::Ipv6(v6) => v6.is_loopback(),
    }
}

/// Names that mean this machine without asking anyone (RFC 6761, section 6.3).
pub(super) fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests;
