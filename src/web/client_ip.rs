//! Who is at the other end, for rate limits: never more than an address that a trusted proxy vouches for (R49).
//!
//! What it must never do: believe a header of an untrusted peer, or be used for anything that must be right.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::HeaderMap;

use crate::config::IpNetwork;

/// Longer chains are not walked.
const HOPS: usize = 32;

/// The client's address; in the extensions of every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientIp(pub IpAddr);

impl ClientIp {
    /// The rightmost hop that is not a trusted proxy: `peer` itself unless it is trusted, then the entries of
    /// `X-Forwarded-For` from the right, each vouched for by the one after it.
    ///
    /// Other spellings of the header, such as `X_Forwarded_For`, are other headers and have no effect. An entry that is
    /// no address ends the walk at the proxy that wrote it.
    pub fn of(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNetwork]) -> Self {
        let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
        let mut client = peer.to_canonical();
        if trusted.is_empty() || !is_trusted(client) {
            return Self(client);
        }
        let lines: Vec<&str> =
            headers.get_all("x-forwarded-for").iter().filter_map(|line| line.to_str().ok()).collect();
        let hops = lines.iter().rev().flat_map(|line| line.rsplit(','));
        for hop in hops.take(HOPS) {
            let Some(address) = address(hop.trim()) else { break };
            client = address;
            if !is_trusted(client) {
                break;
            }
        }
        Self(client)
    }

    /// What is counted against a limit: an IPv4 address, or the /64 that one IPv6 customer has at least.
    pub fn counted(self) -> IpAddr {
        match self.0 {
            IpAddr::V4(_) => self.0,
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        }
    }
}

/// An address; some proxies write the port as well.
fn address(hop: &str) -> Option<IpAddr> {
    let bare = hop.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(hop);
    let address = bare.parse().ok().or_else(|| hop.parse::<SocketAddr>().ok().map(|socket| socket.ip()));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(peer: &str, lines: &[(&'static str, &str)]) -> String {
        let trusted = ["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        ClientIp::of(peer.parse().unwrap(), &headers, &trusted).0.to_string()
    }

    /// R49: only what a trusted peer appended counts; a client cannot choose its address.
    #[test]
    fn r49_the_rightmost_untrusted_hop_is_the_client() {
        let xff = "x-forwarded-for";
        assert_eq!(of("192.0.2.1", &[(xff, "198.51.100.7")]), "192.0.2.1");
        assert_eq!(of("10.0.0.1", &[(xff, "198.51.100.7")]), "198.51.100.7");
        assert_eq!(of("::ffff:10.0.0.1", &[(xff, "198.51.100.7")]), "198.51.100.7");
        assert_eq!(of("10.0.0.1", &[(xff, "6.6.6.6, 198.51.100.7, 10.0.0.2")]), "198.51.100.7");
        assert_eq!(of("10.0.0.1", &[(xff, "6.6.6.6"), (xff, "198.51.100.7,10.0.0.2")]), "198.51.100.7");
        assert_eq!(of("10.0.0.1", &[(xff, "198.51.100.7, nonsense, 10.0.0.2")]), "10.0.0.2");
        assert_eq!(of("10.0.0.1", &[(xff, "10.0.0.3, 10.0.0.2")]), "10.0.0.3");
        assert_eq!(of("10.0.0.1", &[(xff, "[2001:db8::1]:443")]), "2001:db8::1");
        assert_eq!(of("10.0.0.1", &[(xff, "198.51.100.7:1234")]), "198.51.100.7");
        assert_eq!(of("10.0.0.1", &[(xff, "")]), "10.0.0.1");
        assert_eq!(
            of("10.0.0.1", &[("x_forwarded_for", "198.51.100.7"), ("forwarded", "for=6.6.6.6")]),
            "10.0.0.1"
        );
    }

    #[test]
    fn a_customer_of_ipv6_is_counted_once() {
        let counted = |text: &str| ClientIp(text.parse().unwrap()).counted().to_string();
        assert_eq!(counted("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(counted("192.0.2.1"), "192.0.2.1");
    }
}
