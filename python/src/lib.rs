//! The compiled part of the Python package `stripewise`: the functions of studies, traces and results, as classes.
//!
//! Users import `stripewise/`, pure Python over this module; `_stripewise.pyi` is its stub, which a test compares
//! with the module.

mod catalog;
mod comparison;
mod errors;
mod patience;
mod policy;
mod reliability;
mod run;
mod study;
mod table;
mod workload;

use pyo3::prelude::*;
use stripewise_runs::built_in;

#[pymodule]
mod _stripewise {
    #[pymodule_export]
    use crate::catalog::{
        Device, Scheme, cache_folder, devices, formats, generators, profile, profiles, schemes, split_label,
    };
    #[pymodule_export]
    use crate::comparison::Comparison;
    #[pymodule_export]
    use crate::patience::Stop;
    #[pymodule_export]
    use crate::policy::{
        ArraySegments, ChunkWrite, DeviceBlocks, ParityUpdate, QueuedOperation, ReadChoice, WriteCache,
    };
    #[pymodule_export]
    use crate::reliability::mttdl_years;
    #[pymodule_export]
    use crate::run::{
        Run, aggregate_table, labels, no_total, open_run, summary, summary_html, totals_table, unknown,
        write_report,
    };
    #[pymodule_export]
    use crate::study::{Coordinator, Plan, in_unit, study_work};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::workload::{Workload, workload_again};

    use super::{Bound, PyModule, PyModuleMethods as _, PyResult, built_in};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        stripewise_study::load_policies_by(crate::catalog::policy_of_file);
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("DEFAULT_DEVICE", stripewise_runs::DEFAULT_DEVICE)?;
        module.add("BUILT_IN_SCHEMES", built_in::SCHEMES)?;
        module.add("BUILT_IN_WORKLOAD", (built_in::workload(built_in::REQUESTS), built_in::REQUESTS))?;
        module.add("BUILT_IN_ARRAY", (built_in::DEVICE, built_in::MEMBERS))?;
        module.add("DEFAULT_TABLE_BUDGET", stripewise_runs::DEFAULT_BUDGET.to_string())?;
        module.add("SOURCES", stripewise_sim::SOURCES)
    }
}
