//! Limits of a group against those of its ancestors: the kernel's walk over the tree, one group at a
//! time (kernel: `tg_cfs_schedulable_down`).
//!
//! A ratio is quota over period in 1 / [`RATIO_ONE`](crate::RATIO_ONE) of one CPU
//! ([`Limit::ratio`](crate::Limit::ratio)); `None` is unlimited. The caller walks parents first,
//! hands each group its parent's effective ratio and keeps the result. The root's is `None`.
//!
//! The effective ratio has no part in throttling: on cgroup v1 it decides whether a write is
//! accepted, elsewhere the kernel only reads it to keep the tick on CPUs that would go without.

use crate::LimitError;

/// The effective ratio on cgroup v1: an unlimited group inherits its parent's.
///
/// # Errors
/// [`LimitError::ChildExceedsParent`] if the group has a larger ratio than its limited parent; the
/// kernel then refuses the write that led here.
pub const fn effective_ratio_v1(
    own: Option<u64>,
    parent: Option<u64>,
) -> Result<Option<u64>, LimitError> {
    match (own, parent) {
        (Some(child), Some(parent)) if child > parent => {
            Err(LimitError::ChildExceedsParent { child, parent })
        }
        (Some(_), _) => Ok(own),
        (None, _) => Ok(parent),
    }
}

/// The effective ratio on cgroup v2 in kernels that read it (6.12 and later): the smaller of the
/// group's own and its parent's. A child may have more than its parent; the parent binds first.
pub const fn effective_ratio_v2(own: Option<u64>, parent: Option<u64>) -> Option<u64> {
    match (own, parent) {
        (Some(child), Some(above)) if child > above => parent,
        (None, _) => parent,
        (Some(_), _) => own,
    }
}

/// The effective ratio on cgroup v2 in 6.1: unlimited is -1 there and wins the comparison, so that
/// one unlimited group on the path, and the root is one, makes everything below it unlimited.
pub const fn effective_ratio_v2_legacy(own: Option<u64>, parent: Option<u64>) -> Option<u64> {
    match (own, parent) {
        (Some(_), Some(_)) => effective_ratio_v2(own, parent),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limit, Nanos};

    fn ratio(quota: u64, period: u64) -> Option<u64> {
        let (quota, period) = (Nanos::from_millis(quota), Nanos::from_millis(period));
        Limit::new(Some(quota), period, Nanos::ZERO)
            .unwrap()
            .ratio()
    }

    #[test]
    fn t73_v1_refuses_a_child_above_its_parent() {
        let parent = effective_ratio_v1(ratio(50, 100), None).unwrap();
        assert_eq!(parent, Some(524_288));
        assert_eq!(
            effective_ratio_v1(ratio(60, 100), parent),
            Err(LimitError::ChildExceedsParent {
                child: 629_145,
                parent: 524_288
            })
        );
        let child = ratio(25, 50);
        assert_eq!(effective_ratio_v1(child, parent), Ok(Some(524_288)));

        let parent = effective_ratio_v1(ratio(40, 100), None).unwrap();
        assert!(effective_ratio_v1(child, parent).is_err());
    }

    #[test]
    fn t74_v1_inherits_through_an_unlimited_parent() {
        let grandparent = effective_ratio_v1(ratio(50, 100), None).unwrap();
        let parent = effective_ratio_v1(None, grandparent).unwrap();
        assert!(effective_ratio_v1(ratio(60, 100), parent).is_err());
    }

    #[test]
    fn t75_v2_takes_the_smaller() {
        assert_eq!(
            effective_ratio_v2(ratio(60, 100), ratio(50, 100)),
            Some(524_288)
        );
        assert_eq!(
            effective_ratio_v2(ratio(40, 100), ratio(50, 100)),
            ratio(40, 100)
        );
        assert_eq!(effective_ratio_v2(ratio(40, 100), None), ratio(40, 100));
        assert_eq!(effective_ratio_v2(None, ratio(50, 100)), ratio(50, 100));
        assert_eq!(effective_ratio_v2(None, None), None);
    }

    #[test]
    fn v2_of_6_1_lets_unlimited_win() {
        assert_eq!(
            effective_ratio_v2_legacy(ratio(60, 100), ratio(50, 100)),
            Some(524_288)
        );
        assert_eq!(effective_ratio_v2_legacy(ratio(60, 100), None), None);
        assert_eq!(effective_ratio_v2_legacy(None, ratio(50, 100)), None);
    }
}
