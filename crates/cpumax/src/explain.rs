//! `cpumax explain`: what a kernel, a throttle model or a number means.

mod texts;

use cpumax_sched::{Kernel, PickRule, ThrottleModel};

use self::texts::{NUMBERS, model_text};
use crate::args::Explain;
use crate::failure::{Failure, Status};
use crate::output;

const MODELS: [ThrottleModel; 5] = [
    ThrottleModel::HierarchySync,
    ThrottleModel::HierarchyAsync,
    ThrottleModel::Task,
    ThrottleModel::Unified,
    ThrottleModel::None,
];

pub fn act(options: &Explain) -> Result<Status, Failure> {
    let text = match &options.topic {
        Some(topic) => explain(topic)?,
        None => topics(),
    };
    output::write(&text)?;
    Ok(Status::Done)
}

fn explain(topic: &str) -> Result<String, Failure> {
    if let Some((name, text)) = NUMBERS.iter().find(|(name, _)| *name == topic) {
        return Ok(format!("{name}: {text}\n"));
    }
    if let Some(&model) = MODELS.iter().find(|model| model.name() == topic) {
        return Ok(format!("{topic}: {}\n", model_text(model)));
    }
    match topic.parse() {
        Ok(kernel) => Ok(of_kernel(kernel)),
        Err(error) => Err(Failure::Topic {
            topic: topic.to_owned(),
            help: match error.suggestion {
                Some(near) => format!("did you mean `{near}`?"),
                None => topics(),
            },
        }),
    }
}

/// All that can be explained.
fn topics() -> String {
    let models: Vec<&str> = MODELS.iter().map(|model| model.name()).collect();
    let numbers: Vec<&str> = NUMBERS.iter().map(|(name, _)| *name).collect();
    format!(
        "kernels: any version from 5.4 on, such as 6.1, 6.12, 6.18, 7.3\nmodels: {}\nnumbers: {}\n",
        models.join(", "),
        numbers.join(", ")
    )
}

fn of_kernel(kernel: Kernel) -> String {
    let pick = match kernel.pick_rule() {
        PickRule::Cfs => "CFS, smallest vruntime first",
        PickRule::Eevdf => {
            "EEVDF in a tree per queue; a task keeps the CPU until its slice is used up"
        }
        PickRule::EevdfVprot => {
            "EEVDF in a tree per queue; a task keeps the CPU up to a point in virtual time"
        }
        PickRule::EevdfFlat => "EEVDF in one tree of tasks per CPU",
    };
    let phase = if kernel.release.random_timer_phase() {
        "random"
    } else {
        "a multiple of the period"
    };
    let local = if kernel.release.has_cpu_stat_local() {
        "exists"
    } else {
        "does not exist"
    };
    let model = kernel.throttle;
    format!(
        "Linux {kernel}\n  throttling: {}: {}\n  next task: {pick}\n  preemption: {}, unless chosen \
         otherwise\n  phase of period timers: {phase}\n  cpu.stat.local: {local}\n",
        model.name(),
        model_text(model),
        kernel.release.default_preemption().name(),
    )
}
