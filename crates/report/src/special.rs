//! The functions that the statistics need and the standard library lacks, or has with a rounding that
//! differs between platforms.
//!
//! Only operations that IEEE 754 rounds exactly are used (add, subtract, multiply, divide), so a result
//! is the same everywhere. Errors are a few units in the last place, except where said.

use core::f64::consts::{LN_2, PI, SQRT_2};

/// `LN_2_HIGH + LN_2_LOW` is ln 2; the high part has 21 trailing zero bits, so that its product with an
/// exponent is exact. (fdlibm `e_log.c`)
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Natural logarithm of a finite `x > 0`.
///
/// With `x = m * 2^e` and `m` about 1: `ln m = 2 artanh s`, `s = (m - 1) / (m + 1)`, `|s| < 0.172`, where
/// sixteen terms of the series are more than a double holds.
pub(crate) fn ln(x: f64) -> f64 {
    debug_assert!(x > 0.0 && x.is_finite(), "ln of {x}");
    if x < f64::MIN_POSITIVE {
        return ln(x * power_of_two(54)) - 54.0 * LN_2;
    }
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if mantissa > SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let series = (0..16)
        .rev()
        .fold(0.0, |sum, k| sum * s * s + 1.0 / f64::from(2 * k + 1));
    let exponent = f64::from(exponent);
    exponent * LN_2_HIGH + (2.0 * s * series + exponent * LN_2_LOW)
}

/// `e` to the `x`: 0 below the range of `f64`, infinite above it.
///
/// With `x = k ln 2 + r`, `|r| < 0.35`, eighteen terms of the power series of `r` are more than a double
/// holds.
pub(crate) fn exp(x: f64) -> f64 {
    if x < -746.0 {
        return 0.0;
    }
    if x > 710.0 {
        return f64::INFINITY;
    }
    let k = (x / LN_2).round();
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let series = (1..18)
        .rev()
        .fold(1.0, |sum, n| 1.0 + sum * r / f64::from(n));
    // In two steps, because 2^k alone may be outside the range where the product is not.
    let k = k as i32;
    series * power_of_two(k / 2) * power_of_two(k - k / 2)
}

/// `2^k` for a normal result.
fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

/// Logarithm of the gamma function of `x > 0`, by Stirling's series, which is exact to a double from 15
/// on; below, by the recurrence from there. The error is absolute, about 1e-14, near the zeros at 1 and 2.
fn ln_gamma(x: f64) -> f64 {
    debug_assert!(x > 0.0, "gamma of {x}");
    let (mut shifted, mut product) = (x, 1.0);
    while shifted < 15.0 {
        product *= shifted;
        shifted += 1.0;
    }
    // Bernoulli numbers: B(2k) / (2k (2k - 1)), k = 1 to 6. (Abramowitz and Stegun 6.1.41)
    let terms = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
    ];
    let inverse_square = 1.0 / (shifted * shifted);
    let series = terms
        .iter()
        .rev()
        .fold(0.0, |sum, term| sum * inverse_square + term)
        / shifted;
    (shifted - 0.5) * ln(shifted) - shifted + 0.5 * ln(2.0 * PI) + series - ln(product)
}

/// Complementary error function, `2 / sqrt(pi)` times the integral of `exp(-t^2)` from `x` to infinity.
///
/// The relative error is below 1e-12 wherever the result is a normal number.
pub(crate) fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    let density = exp(-x * x) / PI.sqrt();
    if density == 0.0 {
        return 0.0;
    }
    if x < 2.0 {
        // erf as a series of positive terms (7.1.6): no cancellation but in the last subtraction.
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term > sum * f64::EPSILON / 4.0 {
            n += 1.0;
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
        }
        1.0 - 2.0 * density * sum
    } else {
        // Continued fraction (7.1.14), from its tail; 100 levels are enough at 2 and more than enough above.
        let tail = (1..=100)
            .rev()
            .fold(x, |below, k| x + f64::from(k) / 2.0 / below);
        density / tail
    }
}

/// Regularised incomplete beta function `I_x(a, b)` for `a, b > 0`, given `x` and `y = 1 - x`, so that
/// neither end loses digits.
///
/// The relative error grows with `a + b`: about 1e-13 at 10, 1e-9 at a million.
pub(crate) fn regularised_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    let front = exp(ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * ln(x) + b * ln(y));
    // The fraction converges fast up to the distribution's mean; above it the mirror image does.
    let result = if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, y) / b
    };
    result.clamp(0.0, 1.0)
}

/// Continued fraction of the incomplete beta function (26.5.8) by the modified Lentz method.
#[expect(clippy::many_single_char_names, reason = "the names of the formula")]
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let not_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    // It takes in the order of sqrt(max(a, b)) rounds: samples of 10^8 runs end before the bound.
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for numerator in [even, odd] {
            d = 1.0 / not_zero(1.0 + numerator * d);
            c = not_zero(1.0 + numerator / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() <= f64::EPSILON * fraction.abs() {
            break;
        }
    }
    fraction
}

/// Probability that Student's t with `df > 0` degrees of freedom is at least as far from 0 as `t`.
pub(crate) fn student_t_two_sided(t: f64, df: f64) -> f64 {
    let square = t * t;
    if square.is_infinite() {
        return 0.0;
    }
    regularised_beta(df / 2.0, 0.5, df / (df + square), square / (df + square))
}

#[cfg(test)]
mod tests {
    use super::*;

    // References: mpmath 1.3 with 40 digits.

    #[track_caller]
    fn assert_relative(got: f64, expected: f64, tolerance: f64) {
        assert!(
            (got - expected).abs() <= tolerance * expected.abs(),
            "{got:e} is not {expected:e}"
        );
    }

    #[test]
    fn logarithms() {
        assert_eq!(ln(1.0), 0.0);
        assert_relative(ln(2.0), LN_2, 2e-16);
        assert_relative(ln(0.5), -LN_2, 2e-16);
        assert_relative(ln(1.5), 0.405_465_108_108_164_4, 4e-16);
        assert_relative(ln(0.001), -6.907_755_278_982_137, 4e-16);
        assert_relative(ln(207.83), 5.336_720_437_830_982, 4e-16);
        assert_relative(ln(1e100), 230.258_509_299_404_57, 4e-16);
        assert_relative(ln(5e-324), -744.440_071_921_381_3, 4e-16);
    }

    #[test]
    fn exponentials() {
        assert_eq!(exp(0.0), 1.0);
        assert_relative(exp(1.0), core::f64::consts::E, 4e-16);
        assert_relative(exp(0.001), 1.001_000_500_166_708_3, 4e-16);
        assert_relative(exp(-10.0), 4.539_992_976_248_485e-5, 4e-16);
        assert_relative(exp(230.0), 7.722_018_499_983_836e99, 1e-15);
        assert_relative(exp(-230.0), 1.294_998_192_508_983_6e-100, 1e-15);
        assert_relative(exp(709.0), 8.218_407_461_554_972e307, 1e-15);
        assert_eq!((exp(-1000.0), exp(1000.0)), (0.0, f64::INFINITY));
    }

    #[test]
    fn gamma_logarithms() {
        assert!(ln_gamma(1.0).abs() < 2e-14);
        assert_relative(ln_gamma(0.5), 0.572_364_942_924_700_1, 3e-14);
        assert_relative(ln_gamma(1.5), -0.120_782_237_635_245_22, 2e-13);
        assert_relative(ln_gamma(5.0), 24.0_f64.ln(), 1e-14);
        assert_relative(ln_gamma(10.25), 13.368_023_671_476_046, 1e-14);
        assert_relative(ln_gamma(100.0), 359.134_205_369_575_4, 1e-15);
        assert_relative(ln_gamma(1e6), 12_815_504.569_147_612, 1e-15);
    }

    #[test]
    fn complementary_error_function() {
        assert_eq!(erfc(0.0), 1.0);
        assert_relative(erfc(0.5), 0.479_500_122_186_953_5, 1e-15);
        assert_relative(erfc(1.0), 0.157_299_207_050_285_13, 5e-15);
        assert_relative(erfc(-1.0), 1.842_700_792_949_715, 1e-15);
        assert_relative(erfc(1.9), 0.007_209_570_764_742_533, 1e-13);
        assert_relative(erfc(2.0), 0.004_677_734_981_047_266, 1e-14);
        assert_relative(erfc(2.1), 0.002_979_466_656_332_984, 1e-14);
        assert_relative(erfc(3.0), 2.209_049_699_858_544e-5, 1e-14);
        assert_relative(erfc(10.0), 2.088_487_583_762_545e-45, 3e-14);
        assert_relative(erfc(26.0), 5.663_192_408_856_143e-296, 2e-13);
        assert_eq!((erfc(1e10), erfc(f64::INFINITY)), (0.0, 0.0));
    }

    #[test]
    fn incomplete_beta() {
        let beta = |a, b, x: f64| regularised_beta(a, b, x, 1.0 - x);
        assert_relative(beta(0.5, 0.5, 0.25), 1.0 / 3.0, 2e-14);
        assert_relative(beta(2.0, 3.0, 0.4), 0.5248, 2e-14);
        assert_relative(beta(5.0, 0.5, 0.9), 0.316_642_915_020_012_3, 2e-14);
        assert_relative(beta(10.0, 0.5, 0.3), 1.220_522_927_953_170_6e-6, 2e-14);
        assert_relative(beta(0.5, 0.5, 1e-12), 6.366_197_723_676_874e-7, 2e-14);
        assert_relative(
            beta(50_000.0, 0.5, 0.9999),
            0.001_565_019_762_173_495,
            1e-10,
        );
        assert_eq!((beta(2.0, 3.0, 0.0), beta(2.0, 3.0, 1.0)), (0.0, 1.0));
    }

    #[test]
    fn student_t() {
        assert_eq!(student_t_two_sided(0.0, 5.0), 1.0);
        assert_eq!(student_t_two_sided(f64::INFINITY, 5.0), 0.0);
        // 12.706 is the tables' 97.5 % point of one degree of freedom.
        assert_relative(
            student_t_two_sided(12.706_204_736_432_095, 1.0),
            0.049_999_999_998_991_3,
            1e-13,
        );
        assert_relative(
            student_t_two_sided(-2.0, 10.0),
            0.073_388_034_770_740_37,
            1e-13,
        );
        assert_relative(
            student_t_two_sided(0.5, 3.7),
            0.645_335_633_319_931_9,
            1e-13,
        );
        assert_relative(
            student_t_two_sided(10.0, 30.0),
            4.575_251_408_229_613e-11,
            1e-13,
        );
        assert_relative(
            student_t_two_sided(1.96, 1e6),
            0.049_996_067_585_269_79,
            1e-8,
        );
    }
}
