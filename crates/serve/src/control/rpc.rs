//! JSON-RPC 2.0, one message a line: from text to commands, from answers to text.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, Command, ControlError};

/// Longest line that is read, in bytes.
pub(crate) const LINE_MAX: usize = 64 << 10;

/// A request line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    jsonrpc: String,
    id: Value,
    method: String,
    #[serde(default)]
    params: Value,
}

/// The methods, for error messages.
const METHODS: [&str; 8] =
    ["status", "fail", "replace", "add-spare", "scrub", "stop-scrub", "rebuild-rate", "stop"];

/// The command in `line`, and the identifier for its answer: null if it could not be read.
pub(crate) fn parse(line: &[u8]) -> (Value, Result<Command, ControlError>) {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let message = format!("not a line of JSON: {error}");
            return (Value::Null, Err(ControlError::new(ControlError::PARSE, message)));
        }
    };
    let id = value.get("id").filter(|id| is_id(id)).cloned().unwrap_or_default();
    (id, command(value))
}

/// An identifier returns exactly as it was: a fraction, or a number beyond 64 bits, might change its last digit.
fn is_id(value: &Value) -> bool {
    value.is_string() || value.is_i64() || value.is_u64()
}

fn command(value: Value) -> Result<Command, ControlError> {
    let invalid = |message| ControlError::new(ControlError::INVALID_REQUEST, message);
    let request: Request =
        serde_json::from_value(value).map_err(|error| invalid(format!("not a request: {error}")))?;
    if request.jsonrpc != "2.0" {
        return Err(invalid(format!("\"jsonrpc\" is \"{}\", expected \"2.0\"", request.jsonrpc)));
    }
    // Without an identifier it would be a notification, and its result would stay unknown.
    if !is_id(&request.id) {
        return Err(invalid(
            "\"id\" must be a string or a whole number: every command is answered".to_owned(),
        ));
    }
    let method = request.method;
    if !METHODS.contains(&method.as_str()) {
        let message = format!("no method `{method}`; there are {}", METHODS.join(", "));
        return Err(ControlError::new(ControlError::METHOD_NOT_FOUND, message));
    }
    let is_empty = |params: &Value| params.as_object().is_some_and(serde_json::Map::is_empty);
    let tagged = match request.params {
        params if params.is_null() || is_empty(&params) => json!({ "method": method }),
        params => json!({ "method": method, "params": params }),
    };
    let command = serde_json::from_value(tagged);
    command.map_err(|error| ControlError::new(ControlError::INVALID_PARAMS, format!("{method}: {error}")))
}

/// The line of an answer.
pub(crate) fn answer(id: &Value, answer: &Answer) -> Vec<u8> {
    let value = match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    };
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// The request line of `command`.
pub(crate) fn request(id: u64, command: &Command) -> Result<Vec<u8>, serde_json::Error> {
    let mut value = serde_json::to_value(command)?;
    value["jsonrpc"] = json!("2.0");
    value["id"] = json!(id);
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use stripewise_array::MemberNo;

    use super::*;

    fn all() -> [Command; 8] {
        let path = std::path::PathBuf::from("/dev/sdx");
        [
            Command::Status,
            Command::Fail { member: MemberNo::new(3), force: true },
            Command::Replace { member: MemberNo::new(1), path: path.clone(), force: true },
            Command::AddSpare { path, force: false },
            Command::Scrub,
            Command::StopScrub,
            Command::RebuildRate { bytes_per_second: Some(1 << 20) },
            Command::Stop,
        ]
    }

    #[test]
    fn every_command_is_read_as_it_was_written() {
        for (nth, command) in all().iter().enumerate() {
            let line = request(nth as u64, command).unwrap();
            assert_eq!(parse(&line), (json!(nth), Ok(command.clone())), "{command:?}");
        }
    }

    #[test]
    fn every_method_is_named_as_the_document_names_it() {
        let names = all().map(|command| serde_json::to_value(command).unwrap()["method"].clone());
        assert_eq!(names.to_vec(), METHODS.map(Value::from).to_vec());
        let document = include_str!("../../../../docs/reference/control.md");
        for method in METHODS {
            assert!(
                document.contains(&format!("| `{method}` |")),
                "docs/reference/control.md lacks {method}"
            );
        }
    }

    #[test]
    fn what_is_no_command_is_refused_by_kind_and_reason() {
        let code = |line: &str| parse(line.as_bytes()).1.map_err(|error| (error.code, error.message));
        let refused = |line: &str, kind: i64, part: &str| {
            let (code, message) = code(line).unwrap_err();
            assert!(code == kind && message.contains(part), "{line}: {code} {message}");
        };
        refused("{", ControlError::PARSE, "not a line of JSON");
        refused("[]", ControlError::INVALID_REQUEST, "not a request");
        refused("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"status\"}", ControlError::INVALID_REQUEST, "2.0");
        refused(
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"status\"}",
            ControlError::INVALID_REQUEST,
            "id",
        );
        for id in ["1.5", "1.0737418720575941e24", "18446744073709551616"] {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"status\"}}");
            refused(&line, ControlError::INVALID_REQUEST, "a whole number");
            assert_eq!(parse(line.as_bytes()).0, Value::Null);
        }
        refused(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"format\"}",
            ControlError::METHOD_NOT_FOUND,
            "add-spare",
        );
        let fail = |params: &str| {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"fail\",\"params\":{params}}}")
        };
        for params in ["{}", "{\"member\":-1}", "{\"member\":70000}", "3", "{\"members\":3}"] {
            refused(&fail(params), ControlError::INVALID_PARAMS, "fail: ");
        }
        for params in ["{\"member\":3}", "{\"element\":3}"] {
            assert_eq!(code(&fail(params)), Ok(Command::Fail { member: MemberNo::new(3), force: false }));
        }
        assert_eq!(parse(&fail("{}").into_bytes()).0, json!(1), "an error carries the identifier");
    }
}
