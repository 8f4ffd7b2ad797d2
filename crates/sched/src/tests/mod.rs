//! The specification, statement by statement. A test bears the number of what it tests; where a
//! statement holds for some models only, the test runs on those.

mod clocks;
mod configuration;
mod distribution;
mod fair_class;
mod lifecycle;
mod models_all;
mod models_hierarchy;
mod models_task;
mod patterns;
mod properties;
mod requests;
mod slack;
mod timers;
mod world;
