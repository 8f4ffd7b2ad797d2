//! netperf's `UDP_RR`: a request and its response, one at a time, over the loopback device.

use cpumax_bandwidth::Nanos;
use cpumax_sched::Kernel;
use cpumax_sim::setup::{ObjectIndex, Start, Step};
use cpumax_sim::{Error, Machine};

use super::builder::{Builder, Limits, program};
use super::steady::{self, Steady, SteadyResult};

/// netperf `-t UDP_RR`, with a server process of its own for each client.
#[derive(Clone, Debug, PartialEq)]
pub struct Netperf {
    /// Clients.
    pub clients: usize,
    /// Bytes of a request and of a response.
    pub bytes: u32,
    /// CPU limits.
    pub limits: Limits,
}

impl Netperf {
    /// Runs it; the value is in transactions a second and client.
    ///
    /// # Errors
    /// What is wrong with the machine.
    pub fn run(
        &self,
        machine: &Machine,
        kernel: Kernel,
        seed: u64,
        steady: Steady,
    ) -> Result<SteadyResult, Error> {
        let mut builder = Builder::new(machine, Nanos::from_secs(100_000));
        let places = builder.groups(&self.limits);
        let tasks = places.len() * self.clients * 2;
        builder.starter("netperf", places.first().copied(), tasks, Vec::new());
        let mut clients = Vec::new();
        for (place, &group) in places.iter().enumerate() {
            for client in 0..self.clients {
                let pair = place * self.clients + client;
                let (request, response) = (ObjectIndex(2 * pair), ObjectIndex(2 * pair + 1));
                let serve = vec![
                    Step::UdpReceive(request),
                    Step::UdpSend(response, self.bytes),
                ];
                let ask = vec![
                    Step::UdpSend(request, self.bytes),
                    Step::UdpReceive(response),
                ];
                let (server, asker) = (
                    program(Vec::new(), serve, None),
                    program(Vec::new(), ask, None),
                );
                builder.task("server".into(), Some(group), Start::Forked, &server);
                clients.push(builder.task("client".into(), Some(group), Start::Forked, &asker));
            }
        }
        let count = clients.len() as f64;
        let rate = |rounds: u64, window: Nanos| rounds as f64 / count / (window.0 as f64 / 1e9);
        steady::run(builder.setup, kernel, seed, steady, &clients, rate, |_| 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_goes_back_and_forth() {
        let mut machine = Machine::ideal(2);
        machine.costs.udp_send = Nanos::from_micros(6);
        machine.costs.udp_softirq = Nanos::from_micros(4);
        let netperf = Netperf {
            clients: 1,
            bytes: 1,
            limits: Limits::None,
        };
        let run = netperf
            .run(&machine, Kernel::V6_12, 1, Steady::UNLIMITED)
            .unwrap();
        assert!((run.value - 50_000.0).abs() < 50.0, "{}", run.value);
        assert!(!run.complete);
    }
}
