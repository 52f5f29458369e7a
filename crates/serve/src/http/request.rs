//! An HTTP request, from its head to the bytes of the answer.

use std::borrow::Cow;
use std::net::IpAddr;

use stripewise_base::text::{Visible, visible_json, visible_lines};

use super::host::Hosts;
use crate::control::Answer;
use crate::metrics;

/// Longest head of a request that is read, in bytes.
pub(super) const HEAD_MAX: usize = 16 << 10;

pub(super) const PAGE: &str = include_str!("../page.html");
const TEXT: &str = "text/plain; charset=utf-8";

/// The content of the answers.
#[derive(Debug)]
pub(super) struct Site<S> {
    pub(super) hosts: Hosts,
    /// Returns the current status.
    pub(super) status: S,
}

/// The status code, the type of the body, and the body.
type Reply = (&'static str, &'static str, Cow<'static, str>);

/// Whether the head of a request is complete, and within the limit.
pub(super) fn is_whole(head: &[u8]) -> bool {
    let mut lines = head[..head.len().min(HEAD_MAX)].split(|&byte| byte == b'\n');
    // The text after the last line break is not a line.
    lines.next_back();
    lines.any(|line| line.is_empty() || line == b"\r")
}

/// The names and values of a head's fields; none if a line is not one. A name with a space at its end, or a value that continues
/// on the next line, would be read in one way here and in another way by a program between client and server.
fn fields<'a>(lines: impl Iterator<Item = &'a str>) -> Option<Vec<(&'a str, &'a str)>> {
    let fields = lines.take_while(|line| !line.is_empty()).map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
        is_name.then_some((name, value))
    });
    fields.collect()
}

impl<S: Fn() -> Answer> Site<S> {
    /// The answer to a request with this head that came to the address `local`.
    pub(super) fn answer(&self, head: &[u8], local: Option<IpAddr>) -> Vec<u8> {
        // The fields of a part of a head say nothing about the fields behind that part, `Host` among them.
        let text = if is_whole(head) { String::from_utf8_lossy(head) } else { Cow::Borrowed("") };
        let mut lines = text.lines();
        let mut words = lines.next().unwrap_or_default().split_whitespace();
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let path = target.split('?').next().unwrap_or_default();
        let fields = fields(lines);
        let hosts = fields.iter().flatten().filter(|(name, _)| name.eq_ignore_ascii_case("host"));
        let hosts: Vec<&str> = hosts.map(|&(_, value)| value).collect();
        let (code, kind, body) = match *hosts {
            _ if text.is_empty() && head.len() < HEAD_MAX => {
                ("400 Bad Request", TEXT, "the head of the request has no end\n".into())
            }
            _ if text.is_empty() => too_large(),
            _ if fields.is_none() => ("400 Bad Request", TEXT, "a line of the head is not a field\n".into()),
            // Browsers always send it. A client without it is a program, which connects to its configured address.
            [] => self.reply(method, path),
            [called] if self.hosts.answer_to(called, local) => self.reply(method, path),
            [_] => misdirected(),
            [..] => ("400 Bad Request", TEXT, "one Host, please\n".into()),
        };
        let mut answer = format!(
            "HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
            body.len()
        );
        if method != "HEAD" {
            answer.push_str(&body);
        }
        answer.into_bytes()
    }

    fn reply(&self, method: &str, path: &str) -> Reply {
        if method != "GET" && method != "HEAD" {
            return ("405 Method Not Allowed", TEXT, "only GET\n".into());
        }
        match path {
            "/" => ("200 OK", "text/html; charset=utf-8", PAGE.into()),
            "/metrics" | "/status.json" => match ((self.status)(), path) {
                (Ok(value), "/status.json") => {
                    ("200 OK", "application/json", visible_json(&value.to_string()).into_owned().into())
                }
                (Ok(value), _) => match serde_json::from_value(value).map(|status| metrics::text(&status)) {
                    Ok(Ok(text)) => {
                        ("200 OK", metrics::CONTENT_TYPE, visible_lines(&text).into_owned().into())
                    }
                    Ok(Err(error)) => ("500 Internal Server Error", TEXT, format!("{error}\n").into()),
                    Err(error) => ("500 Internal Server Error", TEXT, format!("{error}\n").into()),
                },
                (Err(error), _) => ("503 Service Unavailable", TEXT, format!("{}\n", Visible(error)).into()),
            },
            _ => ("404 Not Found", TEXT, "there are /, /metrics and /status.json\n".into()),
        }
    }
}

fn too_large() -> Reply {
    let body = format!("the head of the request is longer than {HEAD_MAX} bytes\n");
    ("431 Request Header Fields Too Large", TEXT, body.into())
}

fn misdirected() -> Reply {
    let body = "this server does not answer to that name: ask for 127.0.0.1, localhost, its address or the machine's name, or \
                let it answer to the name by `stripewise serve --metrics-host NAME`\n";
    ("421 Misdirected Request", TEXT, body.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_name_holds_is_obeyed_by_a_terminal_that_shows_the_answer() {
        let hostile = "a\u{1b}]0;x\u{7}\u{9b}2J\u{202e}";
        let status = || Ok(serde_json::json!({ "name": hostile }));
        let refused = || Err(crate::control::ControlError::refused(hostile));
        let ask = b"GET /status.json HTTP/1.1\r\n\r\n";
        let answer = Site { hosts: Hosts::default(), status }.answer(ask, None);
        let text = String::from_utf8(answer).unwrap();
        assert!(text.contains("\\u001b]0;x\\u0007\\u009b2J\\u202e\"}"), "{text}");
        let answer = Site { hosts: Hosts::default(), status: refused }.answer(ask, None);
        let text = String::from_utf8(answer).unwrap();
        assert!(text.ends_with("a\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{202e}\n"), "{text}");
    }

    #[test]
    fn a_head_that_is_not_whole_within_the_limit_gets_no_status() {
        let site = Site { hosts: Hosts::default(), status: || Ok(serde_json::json!("secret")) };
        let ask = |head: &str| String::from_utf8(site.answer(head.as_bytes(), None)).unwrap();
        let filler = format!("X-Filler: {}\r\n", "x".repeat(HEAD_MAX));
        for end in ["", "Host: evil.example\r\n\r\n", "\r\n"] {
            let answer = ask(&format!("GET /status.json HTTP/1.1\r\n{filler}{end}"));
            assert!(answer.starts_with("HTTP/1.1 431") && !answer.contains("secret"), "{answer}");
        }
        // The client has sent its last byte.
        let answer = ask("GET /status.json HTTP/1.1\r\nX-None: 1\r\n");
        assert!(answer.starts_with("HTTP/1.1 400") && !answer.contains("secret"), "{answer}");
        for line in
            ["Host : evil.example", "X-None: 1\r\n Host: evil.example", "evil.example", ": evil.example"]
        {
            let answer = ask(&format!("GET /status.json HTTP/1.1\r\n{line}\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.1 400") && !answer.contains("secret"), "{line}: {answer}");
        }
    }

    #[test]
    fn a_head_ends_with_an_empty_line() {
        for whole in ["GET / HTTP/1.1\r\n\r\n", "GET /\n\n", "GET /\r\nHost: x\r\n\r\nbody"] {
            assert!(is_whole(whole.as_bytes()), "{whole:?}");
        }
        for part in ["", "GET / HTTP/1.1\r\n", "GET /\r\nHost: x\r\n\r", "GET /"] {
            assert!(!is_whole(part.as_bytes()), "{part:?}");
        }
    }
}
