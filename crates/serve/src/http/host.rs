//! The names by which a client may address the responder. A page of any site can make a browser send a request: if a
//! name of that site suddenly resolves to this machine (DNS rebinding), the browser treats the answers as that site's
//! own and shows them to it. The browser sends the name that it used, so the responder answers only to configured
//! names.

use std::net::IpAddr;

/// The accepted names, in addition to loopback and the address of the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts(Vec<String>);

impl Hosts {
    /// `names`, and the name of this machine.
    pub(crate) fn new(names: &[String]) -> Self {
        let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self(names.iter().cloned().chain([own]).filter(|name| !name.is_empty()).collect())
    }

    /// Whether a connection to `local` accepts the name `called` of a `Host` header.
    pub(crate) fn answer_to(&self, called: &str, local: Option<IpAddr>) -> bool {
        let Some(name) = without_port(called.trim()) else { return false };
        if let Ok(address) = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            let address = address.to_canonical();
            return address.is_loopback() || local.is_some_and(|local| local.to_canonical() == address);
        }
        let name = name.strip_suffix('.').unwrap_or(name);
        name.eq_ignore_ascii_case("localhost") || self.0.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// The name or address, an IPv6 address with its brackets. None if the port is not a number.
fn without_port(called: &str) -> Option<&str> {
    let (name, port) = match called.rfind(']') {
        Some(end) => called.split_at(end + 1),
        None => called.split_at(called.find(':').unwrap_or(called.len())),
    };
    let is_port = |port: &str| port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    (port.is_empty() || is_port(port)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_the_own_address_and_names_that_are_meant_are_answered_to_and_no_others() {
        let hosts = Hosts(vec!["storage1".into(), "storage1.example.org".into()]);
        let local = Some(IpAddr::from([192, 0, 2, 7]));
        let good =
            ["localhost", "LOCALHOST:9180", "127.0.0.1", "127.0.0.1:80", "[::1]:9180", "192.0.2.7:9180"];
        for called in good.into_iter().chain([
            "storage1",
            "Storage1:9180",
            "storage1.example.org.",
            "[::ffff:127.0.0.1]",
        ]) {
            assert!(hosts.answer_to(called, local), "{called}");
        }
        let bad = [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "storage1.evil.example:9180",
        ];
        for called in
            bad.into_iter().chain(["192.0.2.8", "[::2]:1", "localhost:x", "localhost:1:2", "0.0.0.0"])
        {
            assert!(!hosts.answer_to(called, local), "{called}");
        }
        assert!(!hosts.answer_to("192.0.2.7", None));
    }
}
