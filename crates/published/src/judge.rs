//! What a simulated change would have been called on the real machine.

use cpumax_report::{Comparison, Verdict};

use crate::row::{Change, Row};

/// The verdict on a simulated row: a change is one if it is significant over the seeds, and large enough to be
/// seen in the noise of the real runs. Seeds differ less from each other than real runs do, so that
/// significance alone would call half a percent a change; the published standard deviations say how much a
/// difference of two means must be to be seen: more than the two together, as independent errors add up.
pub fn judge(row: &Row, comparison: &Comparison) -> Change {
    let noise = row.base.sd_percent.hypot(row.head.sd_percent);
    match (comparison.verdict, comparison.change_percent) {
        (Verdict::Better { .. }, Some(change)) if change > noise => Change::Better,
        (Verdict::Worse { .. }, Some(change)) if change < -noise => Change::Worse,
        _ => Change::None,
    }
}

impl Change {
    /// In the words of the tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::None => "no clear change",
        }
    }
}
