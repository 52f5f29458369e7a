//! Operations of hosts: admission, queues, and their time on links, buses and dies.

pub(crate) mod admit;
pub(crate) mod bus;
pub(crate) mod chip;
pub(crate) mod command;
pub(crate) mod command_link;
pub(crate) mod die;
pub(crate) mod holds;
pub(crate) mod link;
pub(crate) mod op;
pub(crate) mod read_forecast;
pub(crate) mod ready;
pub(crate) mod serve;
pub(crate) mod service;
pub(crate) mod suspend;
pub(crate) mod suspension;
pub(crate) mod times;
