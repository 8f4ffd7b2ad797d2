//! Weights, and the conversion of run time into virtual time.

use core::fmt;

use crate::PickRule;

/// A nice value, -20 to 19.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nice(i8);

impl Nice {
    /// The nice value, if it is in range.
    pub const fn new(nice: i64) -> Option<Self> {
        if nice >= -20 && nice <= 19 {
            Some(Self(nice as i8))
        } else {
            None
        }
    }

    /// As a number.
    pub const fn get(self) -> i8 {
        self.0
    }

    /// The weight of a normal task with this nice value (kernel: `sched_prio_to_weight`).
    pub const fn weight(self) -> Weight {
        Weight::from_unscaled(NICE_TO_WEIGHT[(self.0 + 20) as usize])
    }
}

impl fmt::Display for Nice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The weight of each nice value from -20 to 19: a ratio of about 1.25 a step.
const NICE_TO_WEIGHT: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// A load weight in the kernel's 64-bit scale: nice 0 is 2^20.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(pub u64);

impl Weight {
    /// Nice 0.
    pub const NICE_0: Self = Self::from_unscaled(1024);
    /// A task of policy `SCHED_IDLE`, and an idle group.
    pub const IDLE: Self = Self::from_unscaled(3);
    /// The smallest weight that a group entity can have (kernel: `MIN_SHARES`).
    pub const MIN_SHARES: Self = Self(2);

    /// From the small numbers, in which nice 0 is 1024.
    pub const fn from_unscaled(weight: u64) -> Self {
        Self(weight << 10)
    }

    /// In the small numbers, at least 2 for any weight that is not 0 (kernel: `scale_load_down`).
    #[inline]
    pub const fn unscaled(self) -> u64 {
        if self.0 == 0 {
            0
        } else {
            let small = self.0 >> 10;
            if small < 2 { 2 } else { small }
        }
    }

    /// The shares of a group with this `cpu.weight` (1 to 10000), rounded to nearest.
    pub const fn from_cpu_weight(weight: u32) -> Self {
        let shares = (weight as u64 * 1024 + 50) / 100;
        let clamped = if shares < 2 {
            2
        } else if shares > 1 << 18 {
            1 << 18
        } else {
            shares
        };
        Self::from_unscaled(clamped)
    }
}

/// Virtual time that passes for an entity of `weight` in `delta` nanoseconds of run time.
///
/// The kernel rounds in two ways: up to 6.17 it multiplies by a precomputed 32-bit inverse of the
/// weight, later it divides (kernel: `calc_delta_fair`).
#[inline]
pub fn calc_delta_fair(pick: PickRule, delta: u64, weight: Weight) -> u64 {
    if weight == Weight::NICE_0 {
        return delta;
    }
    match pick {
        PickRule::Cfs | PickRule::Eevdf => {
            multiply_by_inverse(delta, Weight::NICE_0.unscaled(), weight)
        }
        PickRule::EevdfVprot | PickRule::EevdfFlat => match delta.checked_mul(Weight::NICE_0.0) {
            Some(product) => product / weight.0.max(1),
            None => {
                (u128::from(delta) * u128::from(Weight::NICE_0.0) / u128::from(weight.0.max(1)))
                    as u64
            }
        },
    }
}

/// `delta * numerator / weight` by the 32-bit inverse of the small weight (kernel: `__calc_delta`).
#[inline]
pub fn multiply_by_inverse(delta: u64, numerator: u64, weight: Weight) -> u64 {
    // Rounded to nearest, as in the kernel's table for nice values.
    let small = weight.unscaled().max(1);
    let inverse = ((1 << 32) + small / 2) / small;
    let mut factor = numerator;
    let mut shift = 32;
    // The kernel keeps the factor within 32 bits and gives up low bits for it.
    if factor >> 32 != 0 {
        let excess = 64 - (factor >> 32).leading_zeros();
        factor >>= excess;
        shift -= excess;
    }
    factor *= inverse;
    if factor >> 32 != 0 {
        let excess = 64 - (factor >> 32).leading_zeros();
        factor >>= excess;
        shift -= excess;
    }
    ((u128::from(delta) * u128::from(factor)) >> shift) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t123_virtual_time_of_a_nice_5_slice() {
        let weight = Nice::new(5).unwrap().weight();
        assert_eq!(
            calc_delta_fair(PickRule::Eevdf, 2_800_000, weight),
            8_558_806
        );
        assert_eq!(
            calc_delta_fair(PickRule::EevdfVprot, 2_800_000, weight),
            8_558_805
        );
    }

    #[test]
    fn cpu_weight_100_is_nice_0() {
        assert_eq!(Weight::from_cpu_weight(100), Weight::NICE_0);
        assert_eq!(Weight::from_cpu_weight(1).unscaled(), 10);
        assert_eq!(Weight::from_cpu_weight(10000).unscaled(), 102_400);
    }
}
