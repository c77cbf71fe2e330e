//! The table of targets.

use super::*;

fn policy(allow_loopback: bool, allowed: &[&str]) -> AddressPolicy {
    AddressPolicy { allow_loopback, allowed: allowed.iter().map(|text| text.parse().unwrap()).collect() }
}

fn route(policy: &AddressPolicy, url: &str) -> Result<Route, RefusedTarget> {
    policy.route(&Url::parse(url).map_err(|_| RefusedTarget::Url)?)
}

/// R89, R90: hosts that are or hide an address of ours, in every spelling. None goes out, whatever the scheme.
const HOSTS: &str = "
    127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0x7F.0.0.1 017700000001 0177.0.0.1 127.0.0.1.
    127.255.255.254 %31%32%37.0.0.1 ①②⑦.⓪.⓪.① １２７.０.０.１ 127。0。0。1 localhost LOCALHOST localhost. app.localhost
    ｌocalhost 0 0.0.0.0 0x0 0.1.2.3 10.0.0.1 10.255.255.255 0x0a000001 012.1.2.3 172.16.0.1 172.31.255.255
    192.168.0.1 192.168.1 0xc0a80001 100.64.0.1 100.100.100.200 100.127.255.255 169.254.169.254 2852039166
    0xa9fea9fe 0251.0376.0251.0376 169.254.0xa9fe 169.254.170.2 168.63.129.16 192.0.0.192 192.0.2.1 192.88.99.1
    198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
    0xffffffff [::] [::1] [0:0:0:0:0:0:0:1] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:A9FE:A9FE]
    [::ffff:10.0.0.1] [::ffff:8.8.8.8] [::ffff:0:127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::a9fe:a9fe]
    [64:ff9b::10.0.0.1] [64:ff9b:1::10.0.0.1] [64:ff9b:1::8.8.8.8] [100::1] [100:0:0:1::1] [2001::1]
    [2001:0:7f00:1::1] [2001:2::1] [2001:10::1] [2001:20::1] [2001:db8::1] [2002:7f00:1::1] [2002:a00:1::]
    [3fff::1] [3ffe::1] [4000::1] [5f00::1] [fc00::1] [fd00::1] [fd00:ec2::254] [fe80::1] [fe80::a9fe:a9fe]
    [febf::1] [fec0::1] [ff02::1] [ff0e::1] [fe80::1%25eth0]
";

/// The same for whole URLs.
const URLS: &[(&str, RefusedTarget)] = &[
    ("http://example.com/", RefusedTarget::Scheme),
    ("http://8.8.8.8/", RefusedTarget::Scheme),
    ("ftp://example.com/", RefusedTarget::Scheme),
    ("file:///etc/passwd", RefusedTarget::Scheme),
    ("gopher://example.com:70/_x", RefusedTarget::Scheme),
    ("unix:/var/run/docker.sock", RefusedTarget::Scheme),
    ("data:text/plain,x", RefusedTarget::Scheme),
    ("ws://example.com/", RefusedTarget::Scheme),
    ("https://", RefusedTarget::Url),
    ("//example.com/", RefusedTarget::Url),
    ("https://user@example.com/", RefusedTarget::Userinfo),
    ("https://user:password@example.com/", RefusedTarget::Userinfo),
    ("https://:password@example.com/", RefusedTarget::Userinfo),
    ("https://example.com@127.0.0.1/", RefusedTarget::Userinfo),
    ("https://example.com:22/", RefusedTarget::Port),
    ("https://example.com:25/", RefusedTarget::Port),
    ("https://example.com:80/", RefusedTarget::Port),
    ("https://example.com:1023/", RefusedTarget::Port),
    ("https://example.com:0/", RefusedTarget::Port),
    ("https://example.com:65536/", RefusedTarget::Url),
    ("https://exa mple.com/", RefusedTarget::Url),
    ("https://127.0.0.1\\@example.com/", RefusedTarget::Address),
    ("https:\\\\127.0.0.1/", RefusedTarget::Address),
    ("https:127.0.0.1", RefusedTarget::Address),
    ("https://\t127.0.0.1/", RefusedTarget::Address),
    ("https://127.0.0.1#@example.com/", RefusedTarget::Address),
    ("https://127.0.0.1?@example.com/", RefusedTarget::Address),
];

#[test]
fn r90_every_spelling_of_an_address_of_ours_is_refused() {
    let none = policy(false, &[]);
    for host in HOSTS.split_whitespace() {
        for scheme in ["http", "https"] {
            for port in ["", ":443", ":8443"] {
                let url = format!("{scheme}://{host}{port}/x");
                assert!(route(&none, &url).is_err(), "{url}");
            }
        }
        let refused = route(&none, &format!("https://{host}/")).unwrap_err();
        assert!(matches!(refused, RefusedTarget::Address | RefusedTarget::Url), "{host}: {refused:?}");
    }
    assert!(HOSTS.split_whitespace().count() >= 60);
}

#[test]
fn r89_other_schemes_ports_and_userinfo_are_refused() {
    for (url, refused) in URLS {
        assert_eq!(route(&policy(false, &[]), url), Err(*refused), "{url}");
    }
}

#[test]
fn the_public_internet_is_open_by_https() {
    for url in [
        "https://example.com/token?x=1",
        "https://example.com.:443/",
        "https://example.com:1024/",
        "https://bücher.example/",
        "https://8.8.8.8/",
        "https://[2606:4700::1111]:8443/",
        "https://[64:ff9b::8.8.8.8]/",
        "https://notlocalhost/",
        "https://localhost.example.com/",
    ] {
        assert_eq!(route(&policy(false, &[]), url), Ok(Route::Open), "{url}");
    }
}

#[test]
fn loopback_is_for_the_policy_to_allow() {
    let development = policy(true, &[]);
    for url in [
        "http://127.0.0.1:8080/",
        "http://127.0.0.3:1/",
        "http://localhost/",
        "http://LOCALHOST.:81/",
        "http://a.b.localhost:81/",
        "https://[::1]:22/",
        "http://2130706433/",
    ] {
        assert_eq!(route(&development, url), Ok(Route::Trusted), "{url}");
    }
    for (url, refused) in [
        ("http://u@127.0.0.1/", RefusedTarget::Userinfo),
        ("http://10.0.0.1/", RefusedTarget::Scheme),
        ("https://10.0.0.1/", RefusedTarget::Address),
        ("https://0.0.0.0/", RefusedTarget::Address),
        ("https://[::ffff:127.0.0.1]/", RefusedTarget::Address),
        ("http://localhost.example.com/", RefusedTarget::Scheme),
        ("http://127.0.0.1:0/", RefusedTarget::Port),
    ] {
        assert_eq!(route(&development, url), Err(refused), "{url}");
    }
}

#[test]
fn an_exception_opens_what_it_names_and_nothing_else() {
    let own = policy(
        false,
        &[
            "id.corp.example",
            "Hooks.corp.example.:8080",
            "10.1.2.3",
            "[fd00::7]:81",
            "10.9.0.0/16",
            "fd01::/16",
        ],
    );
    for url in [
        "http://id.corp.example/",
        "https://ID.corp.example.:22/",
        "http://hooks.corp.example:8080/",
        "http://10.1.2.3:99/",
        "http://[fd00::7]:81/",
        "https://10.9.255.1/",
        "https://[fd01::1]/",
    ] {
        assert_eq!(route(&own, url), Ok(Route::Trusted), "{url}");
    }
    assert_eq!(
        route(&own, "https://hooks.corp.example/"),
        Ok(Route::Open),
        "another port is nothing special"
    );
    for (url, refused) in [
        ("http://hooks.corp.example/", RefusedTarget::Scheme),
        ("http://a.id.corp.example/", RefusedTarget::Scheme),
        ("http://10.9.0.1/", RefusedTarget::Scheme),
        ("https://10.1.2.4/", RefusedTarget::Address),
        ("https://[fd00::7]/", RefusedTarget::Address),
        ("https://[::ffff:10.9.0.1]/", RefusedTarget::Address),
        ("http://127.0.0.1/", RefusedTarget::Scheme),
    ] {
        assert_eq!(route(&own, url), Err(refused), "{url}");
    }
}

/// R89: every answer must be allowed; one that is not spoils them all.
#[test]
fn r89_every_answer_of_dns_must_be_allowed() {
    let own = policy(false, &["id.corp.example", "10.9.0.0/16"]);
    let admits = |route, addresses: &[&str]| {
        own.admits(route, &addresses.iter().map(|address| address.parse().unwrap()).collect::<Vec<IpAddr>>())
    };
    assert!(admits(Route::Open, &["93.184.215.14", "2606:2800:21f:cb07::1", "10.9.1.1"]));
    for spoilt in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "::ffff:10.9.0.1"] {
        assert!(!admits(Route::Open, &["93.184.215.14", spoilt]), "{spoilt}");
    }
    assert!(admits(Route::Trusted, &["10.0.0.1", "127.0.0.1", "fd00::1", "93.184.215.14"]));
    for never in ["169.254.169.254", "0.0.0.0", "224.0.0.1", "fe80::1", "::ffff:127.0.0.1"] {
        assert!(!admits(Route::Trusted, &[never]), "{never}");
    }
}

#[test]
fn exceptions_that_are_not_understood_are_refused() {
    let bad = "http://host host:0 host:65536 host: host:x *.corp.example 0.0.0.0/0 10.0.0.0/7 ::/0 10.0.0.1/8 10.0.0.0/33 10.0.0.0/x host/8 fd00::/129 fc00::/6 /8 10.0.0.0/";
    for bad in bad.split_whitespace().chain(["", "a b"]) {
        assert!(bad.parse::<Allowed>().is_err(), "{bad}");
    }
}
