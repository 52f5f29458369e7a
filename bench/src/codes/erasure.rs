//! `reed-solomon-erasure`: codes by tables. Its parity differs from ours.

use anyhow::Result;
use reed_solomon_erasure::galois_8::ReedSolomon;

use crate::contenders::{Contender, Role};
use crate::row::{Members, Shape, Task};

/// Encodes only. The crate cannot update, and decodes only into vectors that it allocates, which would make the
/// comparison unfair.
pub(crate) fn contender<'a>(shape: Shape, task: Task) -> Result<Option<Contender<'a>>> {
    if task != Task::Encode {
        return Ok(None);
    }
    let code = ReedSolomon::new(shape.data, shape.parity)?;
    let work = move |Members { data, mut parity, .. }: Members<'_>, calls| {
        for _ in 0..calls {
            code.encode_sep(&data, &mut parity).expect("all are of one length");
        }
    };
    Ok(Some(Contender::new("reed-solomon-erasure", Role::Crate, work)))
}
