//! Fitting a machine's calibrated costs on the rows that may be fitted.

use cpumax_bandwidth::Nanos;
use cpumax_sim::{Error, Machine};
use rayon::prelude::*;

use crate::row::{Benchmark, Row};
use crate::search::{Parameter, search};
use crate::simulate::simulate;

/// What is fitted for each machine: fewer numbers than there are rows to fit them on.
pub const CALIBRATED: [Parameter; 5] = [
    Parameter {
        key: "costs.pipe-read = costs.pipe-write",
        start: 600,
        least: 100,
        most: 20_000,
    },
    Parameter {
        key: "caches.pipe-lines",
        start: 4,
        least: 0,
        most: 100,
    },
    Parameter {
        key: "costs.udp-send = costs.udp-softirq = costs.udp-receive",
        start: 1200,
        least: 100,
        most: 50_000,
    },
    Parameter {
        key: "caches.udp-lines",
        start: 10,
        least: 0,
        most: 200,
    },
    Parameter {
        key: "smt-percent",
        start: 70,
        least: 40,
        most: 100,
    },
];

/// Which of [`CALIBRATED`] a benchmark depends on.
fn concerns(benchmark: Benchmark, parameter: usize) -> bool {
    match benchmark {
        Benchmark::Hackbench { .. } | Benchmark::HackbenchNested { .. } => {
            matches!(parameter, 0 | 1 | 4)
        }
        Benchmark::Netperf { .. } => matches!(parameter, 2..=4),
    }
}

/// A machine's fitted costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The value of each of [`CALIBRATED`]; costs are in nanoseconds.
    pub values: Vec<u64>,
    /// Root of the mean squared relative error over the fitted rows (of logarithms).
    pub error: f64,
}

/// Sets the calibrated costs of a machine.
pub fn apply(machine: &mut Machine, values: &[u64]) {
    let &[pipe, pipe_lines, udp, udp_lines, smt] = values else {
        return;
    };
    let (costs, caches) = (&mut machine.costs, &mut machine.caches);
    (costs.pipe_read, costs.pipe_write) = (Nanos(pipe), Nanos(pipe));
    (costs.udp_send, costs.udp_softirq, costs.udp_receive) = (Nanos(udp), Nanos(udp), Nanos(udp));
    (caches.pipe_lines, caches.udp_lines) = (pipe_lines as u32, udp_lines as u32);
    machine.smt_percent = smt as u32;
}

/// The calibrated costs that a machine has now, in the order of [`CALIBRATED`].
pub fn present(machine: &Machine) -> [u64; 5] {
    [
        machine.costs.pipe_read.0,
        u64::from(machine.caches.pipe_lines),
        machine.costs.udp_send.0,
        u64::from(machine.caches.udp_lines),
        u64::from(machine.smt_percent),
    ]
}

/// Fits the calibrated costs of a machine on the rows that are marked for it, on the base kernel and with one seed,
/// with at most `budget` tries. The search starts from the costs that the machine has.
///
/// # Errors
/// What is wrong with the machine.
pub fn calibrate(
    rows: &[Row],
    machine: &Machine,
    budget: usize,
    on_try: &(dyn Fn(&[u64], f64) + Sync),
) -> Result<Calibration, Error> {
    let rows: Vec<&Row> = rows
        .iter()
        .filter(|row| row.fit && row.quota.is_none() && row.machine == machine.name)
        .collect();
    let mut parameters = CALIBRATED;
    for (parameter, start) in parameters.iter_mut().zip(present(machine)) {
        parameter.start = start.clamp(parameter.least, parameter.most);
    }
    // What a row gave last, and for which values.
    let mut known: Vec<Option<(Vec<u64>, f64)>> = vec![None; rows.len()];
    let misfit = |values: &[u64]| -> Result<f64, Error> {
        let mut tried = machine.clone();
        apply(&mut tried, values);
        let errors: Vec<Result<(Vec<u64>, f64), Error>> = rows
            .par_iter()
            .zip(&known)
            .map(|(row, known)| {
                let of_row = |&(at, _): &(usize, &u64)| concerns(row.benchmark, at);
                let key: Vec<u64> = values
                    .iter()
                    .enumerate()
                    .filter(of_row)
                    .map(|(_, &value)| value)
                    .collect();
                if let Some((of, error)) = known
                    && *of == key
                {
                    return Ok((key, *error));
                }
                let result = simulate(row, &tried, row.base.kernel, 1)?;
                let error = (result.value / row.base.mean).ln();
                Ok((key, error))
            })
            .collect();
        let mut sum = 0.0;
        for (known, error) in known.iter_mut().zip(errors) {
            let (key, error) = error?;
            sum += error * error;
            *known = Some((key, error));
        }
        let misfit = (sum / rows.len().max(1) as f64).sqrt();
        on_try(values, misfit);
        Ok(misfit)
    };
    let (values, error) = search(&parameters, budget, misfit)?;
    Ok(Calibration { values, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_numbers_are_fitted_than_rows() {
        let rows = crate::published().rows;
        for name in ["emr-2s240", "genoa-2s384"] {
            let fitted = rows.iter().filter(|row| row.fit && row.machine == name);
            assert!(fitted.count() > CALIBRATED.len(), "{name}");
        }
    }

    #[test]
    fn what_is_applied_is_what_is_there() {
        let mut machine = Machine::ideal(2);
        apply(&mut machine, &[1, 2, 3, 4, 55]);
        assert_eq!(present(&machine), [1, 2, 3, 4, 55]);
    }
}
