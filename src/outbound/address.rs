//! Which addresses are on the public internet.
//!
//! IPv4 is public unless it is listed; IPv6 is public only inside of today's global unicast space and outside of the
//! list, so that what is assigned tomorrow is refused until somebody looks. Sources: the IANA registries of
//! special-purpose addresses (RFC 6890), and the two clouds that put internal services at public addresses.
//!
//! What it must never do: answer "public" for an address that carries another one it has not looked at.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// A network in CIDR notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Net {
    address: IpAddr,
    prefix: u8,
}

impl Net {
    const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Self {
        Self { address: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), prefix }
    }

    const fn v6(a: u16, b: u16, c: u16, prefix: u8) -> Self {
        Self { address: IpAddr::V6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)), prefix }
    }

    /// `None` for a prefix that is no prefix of this kind of address, or has bits set behind it.
    pub(super) fn new(address: IpAddr, prefix: u8) -> Option<Self> {
        let net = Self { address, prefix };
        let (bits, width) = bits(address);
        (prefix <= width && bits & !mask(prefix, width) & mask(width, width) == 0).then_some(net)
    }

    pub(super) fn prefix(self) -> u8 {
        self.prefix
    }

    pub(super) fn contains(self, address: IpAddr) -> bool {
        let (ours, width) = bits(self.address);
        let (theirs, their_width) = bits(address);
        width == their_width && (ours ^ theirs) & mask(self.prefix, width) == 0
    }

    #[cfg(test)]
    fn ends(self) -> (u128, u128, u8) {
        let (first, width) = bits(self.address);
        (first, first | (mask(width, width) & !mask(self.prefix, width)), width)
    }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

fn bits(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

/// The first `prefix` of the lowest `width` bits.
fn mask(prefix: u8, width: u8) -> u128 {
    let below = u128::MAX.checked_shl(u32::from(width - prefix)).unwrap_or(0);
    if width == 128 { below } else { below & ((1 << width) - 1) }
}

/// Networks of one's own: refused to everyone, open to a host that the operator named.
const PRIVATE: [Net; 8] = [
    Net::v4(10, 0, 0, 0, 8),
    Net::v4(100, 64, 0, 0, 10), // carriers' NAT (RFC 6598); overlay networks live here too
    Net::v4(127, 0, 0, 0, 8),
    Net::v4(172, 16, 0, 0, 12),
    Net::v4(192, 168, 0, 0, 16),
    Net::v4(198, 18, 0, 0, 15), // benchmarks (RFC 2544)
    Net { address: IpAddr::V6(Ipv6Addr::LOCALHOST), prefix: 128 },
    Net::v6(0xfc00, 0, 0, 7), // unique local (RFC 4193)
];

/// Neither public nor anyone's own; opened only by naming the network.
const SPECIAL: [Net; 17] = [
    Net::v4(0, 0, 0, 0, 8),
    Net::v4(168, 63, 129, 16, 32), // Azure's host agent, in public space
    Net::v4(169, 254, 0, 0, 16),   // link-local: the clouds' metadata
    Net::v4(192, 0, 0, 0, 24),     // protocol assignments; Oracle's metadata
    Net::v4(192, 0, 2, 0, 24),     // documentation
    Net::v4(192, 88, 99, 0, 24),   // 6to4 relays
    Net::v4(198, 51, 100, 0, 24),  // documentation
    Net::v4(203, 0, 113, 0, 24),   // documentation
    Net::v4(224, 0, 0, 0, 4),      // multicast
    Net::v4(240, 0, 0, 0, 4),      // reserved, and broadcast
    Net::v6(0x2001, 0, 0, 23),     // protocol assignments: Teredo, ORCHID, benchmarks
    Net::v6(0x2001, 0xdb8, 0, 32), // documentation
    Net::v6(0x2002, 0, 0, 16),     // 6to4, which carries an IPv4 address
    Net::v6(0x3ffe, 0, 0, 16),     // the 6bone, given back
    Net::v6(0x3fff, 0, 0, 20),     // documentation
    Net::v6(0x5f00, 0, 0, 16),     // SRv6 segments
    Net::v6(0xfe80, 0, 0, 10),     // link-local
];

const GLOBAL_UNICAST: Net = Net::v6(0x2000, 0, 0, 3);
/// A translator's addresses for IPv4 (RFC 6052): as public as the address inside.
const NAT64: Net = Net::v6(0x64, 0xff9b, 0, 96);

/// Whether an address is on the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => !listed(&PRIVATE, address) && !listed(&SPECIAL, address),
        IpAddr::V6(v6) if NAT64.contains(address) => is_public(IpAddr::V4(last_32_bits(v6))),
        IpAddr::V6(_) => GLOBAL_UNICAST.contains(address) && !listed(&SPECIAL, address),
    }
}

/// Whether an address belongs to a network of one's own: private, shared, loopback, unique local.
pub(super) fn is_private(address: IpAddr) -> bool {
    listed(&PRIVATE, address)
}

fn listed(nets: &[Net], address: IpAddr) -> bool {
    nets.iter().any(|net| net.contains(address))
}

fn last_32_bits(v6: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = v6.octets();
    Ipv4Addr::new(a, b, c, d)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn address(bits: u128, width: u8) -> IpAddr {
        if width == 32 {
            Ipv4Addr::from_bits(u32::try_from(bits).unwrap()).into()
        } else {
            Ipv6Addr::from_bits(bits).into()
        }
    }

    /// R90: the whole of each range is refused, from its first address to its last.
    #[test]
    fn r90_every_special_range_is_refused_to_its_ends() {
        for net in PRIVATE.iter().chain(&SPECIAL) {
            let (first, last, width) = net.ends();
            for bits in [first, first + (last - first) / 2, last] {
                assert!(!is_public(address(bits, width)), "{net}");
            }
        }
    }

    /// What lies beside a refused range is another range or public: no range is drawn too wide.
    #[test]
    fn what_lies_beside_the_ranges_is_public() {
        let beside = "
            1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15
            168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0
            192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0
            203.0.112.255 203.0.114.0 223.255.255.255 2000:: 2001:200:: 2001:db7:ffff:: 2001:db9:: 2003:: 3ffd::
            3fff:1000:: 2606:4700::1111 64:ff9b::8.8.8.8 64:ff9b::1.1.1.1
        ";
        for beside in beside.split_whitespace() {
            assert!(is_public(beside.parse().unwrap()), "{beside}");
        }
    }

    proptest! {
        /// R90: an address that carries a refused IPv4 address is refused in every form of carrying, and all forms but
        /// NAT64 whatever they carry.
        #[test]
        fn r90_embedded_addresses_are_refused(v4: u32) {
            let inner = Ipv4Addr::from_bits(v4);
            let [a, b, c, d] = inner.octets().map(u16::from);
            let (high, low) = (a << 8 | b, c << 8 | d);
            let nat64 = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low);
            prop_assert_eq!(is_public(nat64.into()), is_public(inner.into()));
            for other in [
                inner.to_ipv6_mapped(),
                Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0, high, low, 0, 0, !high, !low),
            ] {
                prop_assert!(!is_public(other.into()), "{}", other);
            }
        }

        /// R90: outside of 2000::/3 only the translator's prefix is public.
        #[test]
        fn r90_unassigned_space_is_refused(bits: u128) {
            let address = IpAddr::V6(Ipv6Addr::from_bits(bits));
            prop_assert!(!is_public(address) || bits >> 125 == 1 || NAT64.contains(address));
        }

        #[test]
        fn a_network_holds_what_shares_its_prefix(bits: u32, prefix in 0..=32_u8, other: u32) {
            let shift = u32::from(32 - prefix);
            let kept = bits.checked_shr(shift).unwrap_or(0).checked_shl(shift).unwrap_or(0);
            let net = Net::new(Ipv4Addr::from_bits(kept).into(), prefix).unwrap();
            let same = kept.checked_shr(shift).unwrap_or(0) == other.checked_shr(shift).unwrap_or(0);
            prop_assert_eq!(net.contains(Ipv4Addr::from_bits(other).into()), same);
            prop_assert_eq!(Net::new(Ipv4Addr::from_bits(bits).into(), prefix).is_some(), bits == kept);
        }
    }
}
