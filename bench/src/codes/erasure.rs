//! `reed-solomon-erasure`: codes by tables, whose parity is its own.

use anyhow::Result;
use reed_solomon_erasure::galois_8::ReedSolomon;

use crate::contenders::{Contender, Role};
use crate::row::{Members, Shape, Task};

/// Encodes; it cannot update, and decodes only into vectors that it allocates, which would not be a fair comparison.
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
