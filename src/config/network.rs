//! Networks in CIDR form: who is a trusted proxy.

use std::{fmt, net::IpAddr, str::FromStr};

use super::IpNetwork;

/// A text that is neither an address nor `address/bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an address or a network such as 10.0.0.0/8")]
pub struct NotANetwork;

impl IpNetwork {
    /// Whether `address` is in it. An IPv4 address in IPv6 clothes (`::ffff:10.0.0.1`) is taken as IPv4, since a
    /// listener on both families reports it so.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(net), IpAddr::V4(ip)) => {
                same_head(net.to_bits().into(), ip.to_bits().into(), 32, self.prefix)
            }
            (IpAddr::V6(net), IpAddr::V6(ip)) => same_head(net.to_bits(), ip.to_bits(), 128, self.prefix),
            _ => false,
        }
    }

    /// Whether it holds every address of its family, or nearly: no one is trusted by that.
    pub(super) fn is_everyone(&self) -> bool {
        self.prefix == 0
    }
}

fn same_head(a: u128, b: u128, width: u32, prefix: u8) -> bool {
    let dropped = width.saturating_sub(u32::from(prefix));
    a.checked_shr(dropped).unwrap_or(0) == b.checked_shr(dropped).unwrap_or(0)
}

impl FromStr for IpNetwork {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NotANetwork)?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            // `parse` alone would take "+8".
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().map_err(|_| NotANetwork)?
            }
            Some(_) => return Err(NotANetwork),
            None => width,
        };
        if prefix > width { Err(NotANetwork) } else { Ok(Self { address, prefix }) }
    }
}

impl fmt::Display for IpNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_its_network_and_in_no_other() {
        let is_in = |network: &str, address: &str| {
            network.parse::<IpNetwork>().unwrap().contains(address.parse().unwrap())
        };
        assert!(is_in("10.0.0.0/8", "10.255.1.2"));
        assert!(!is_in("10.0.0.0/8", "11.0.0.1"));
        assert!(is_in("10.1.2.3", "10.1.2.3"));
        assert!(!is_in("10.1.2.3", "10.1.2.4"));
        assert!(is_in("10.0.0.0/8", "::ffff:10.0.0.1"));
        assert!(is_in("fd00::/8", "fd12::1"));
        assert!(!is_in("fd00::/8", "fe80::1"));
        assert!(is_in("0.0.0.0/0", "192.0.2.1"));
        assert!(!is_in("0.0.0.0/0", "2001:db8::1"));
        assert!(is_in("::/0", "2001:db8::1"));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for bad in [
            "",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "10.0.0.0/-1",
            "::1/129",
            "proxy.example",
            "010.0.0.1",
        ] {
            assert_eq!(bad.parse::<IpNetwork>(), Err(NotANetwork), "{bad}");
        }
    }
}
