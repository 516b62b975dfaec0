//! Our own class, as one of the frameworks.

use super::constraints::ANYTHING;
use super::row_type::{Export, Framework, Streams};

pub(super) static ROW: Framework = Framework {
    cast: Some("dlbridge.asarray(x, dtype=\"{}\")"),
    streams: Streams {
        asks: true,
        ..Streams::UNKNOWN
    },
    ..Framework::new(
        "dlbridge",
        "dlbridge",
        &["dlbridge"],
        ANYTHING,
        Export::OurClass,
    )
};
