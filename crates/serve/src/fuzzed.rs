//! Properties of the parsers of foreign bytes in this crate: the lines of the control socket, and the queues of guests.
//! The fuzz targets call it (docs/evidence/fuzzing.md), and so do the tests of the crate for every file of `fuzz/corpus`.

use serde_json::Value;

use crate::control::rpc;

/// Checks the handling of any line on the control socket.
///
/// # Panics
/// When a property does not hold.
pub fn check_control_line(bytes: &[u8]) {
    let (id, command) = rpc::parse(bytes);
    assert!(id.is_null() || id.is_string() || id.is_i64() || id.is_u64(), "{id}");
    let answered = match &command {
        Ok(command) => {
            let line = rpc::request(7, command).expect("what was read can be written");
            assert_eq!(rpc::parse(&line), (Value::from(7), Ok(command.clone())));
            Ok(Value::Null)
        }
        Err(error) => {
            assert!(error.code < 0 && !error.message.is_empty(), "{error:?}");
            Err(error.clone())
        }
    };
    let line = rpc::answer(&id, &answered);
    assert_eq!(line.iter().position(|&byte| byte == b'\n'), Some(line.len() - 1), "an answer is one line");
    let read: Value = serde_json::from_slice(&line).expect("an answer is JSON");
    assert_eq!(read["id"], id);
}

#[cfg(feature = "vhost-user")]
pub use crate::vhost::fuzzed::check as check_queue;

#[cfg(test)]
#[allow(unreachable_pub, reason = "it is a library elsewhere")]
#[path = "../../../fuzz/src/mutate.rs"]
mod mutate;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn each(folder: &str, check: impl Fn(&[u8])) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(folder);
        let files: Vec<_> = fs::read_dir(folder).expect("the corpus").collect();
        assert!(!files.is_empty());
        for file in files {
            let path = file.expect("an entry").path();
            println!("{}", path.display());
            check(&fs::read(path).expect("a file of the corpus"));
        }
    }

    #[test]
    fn lines_that_fuzzing_began_with_and_found_are_answered() {
        each("control", check_control_line);
    }

    #[cfg(feature = "vhost-user")]
    #[test]
    fn queues_that_fuzzing_began_with_and_found_are_answered() {
        each("virtqueue", check_queue);
    }

    #[test]
    fn mutated_inputs_hold() {
        let targets = [
            mutate::Target::new("control", &check_control_line),
            #[cfg(feature = "vhost-user")]
            mutate::Target::new("virtqueue", &check_queue),
        ];
        mutate::run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus"), &targets);
    }

    #[test]
    fn any_bytes_are_answered() {
        let mut prng = stripewise_base::prng::Prng::new(1);
        for nth in 0..2000 {
            let bytes: Vec<u8> = (0..prng.below(400)).map(|_| prng.below(256) as u8).collect();
            check_control_line(&bytes);
            // Valid beginnings lead further.
            let mut line = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{nth},\"method\":\"fail\",\"params\":{{\"member\":{}}}}}",
                nth % 7
            )
            .into_bytes();
            let at = prng.below(line.len() as u64) as usize;
            line[at] = prng.below(256) as u8;
            check_control_line(&line);
            #[cfg(feature = "vhost-user")]
            check_queue(&bytes);
        }
    }
}
