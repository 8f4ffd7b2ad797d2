//! The two tables in which scheduler developers post results to the mailing list.

use crate::colour::Tone;
use crate::compare::{Better, Comparison, Verdict};
use crate::format::{ABSENT, decimal, decimals_for, p_value, percent, signed_percent};
use crate::stats::Summary;
use crate::table::{Cell, Column, Table};

/// What the two sides are called at the head of their columns, as `6.12` and `6.18`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labels<'a> {
    /// The version compared with.
    pub base: &'a str,
    /// The version in question.
    pub head: &'a str,
}

type Statistic = fn(&Summary) -> Option<f64>;

/// The long table of one metric: a row per statistic, from Min to the coefficient of variation.
///
/// The last column is the change in percent of base; positive means that head is better. Less is always
/// better for the deviation and the coefficient of variation, whichever direction the metric has.
pub fn mailing_list_long(title: &str, labels: Labels, comparison: &Comparison) -> Table {
    let Comparison {
        base, head, better, ..
    } = comparison;
    // All rows alike, as many as the means need; two at least, as posted.
    let decimals = decimals_for(smaller_mean(base, head)).max(2);
    let statistics: [(&str, Statistic); 6] = [
        ("Min", |side| Some(side.min)),
        ("Max", |side| Some(side.max)),
        ("Median", |side| Some(side.median)),
        ("AMean", |side| Some(side.amean)),
        ("GMean", |side| side.gmean),
        ("HMean", |side| side.hmean),
    ];
    let number = |value| decimal(value, decimals);
    let coefficient = |value| format!("{} pct", decimal(value, 2));

    let columns = [
        Column::left("statistic"),
        Column::right(labels.base),
        Column::right(labels.head),
        Column::right("change %"),
    ];
    let mut table = Table::new(title, columns);
    for (name, statistic) in statistics {
        table.push(long_row(
            name,
            statistic(base),
            statistic(head),
            *better,
            number,
        ));
    }
    table.push(long_row(
        "AMean Stddev",
        base.stddev,
        head.stddev,
        Better::Lower,
        number,
    ));
    let (of_base, of_head) = (base.coefvar_percent, head.coefvar_percent);
    table.push(long_row(
        "AMean CoefVar",
        of_base,
        of_head,
        Better::Lower,
        coefficient,
    ));
    table
}

/// The short table: a row per case, as `18.35 +-2.40 %   18.78 +-1.97 %   -2.34 %`, with the p value and
/// the verdict behind.
///
/// Columns are the arithmetic means with their coefficients of variation, and the change in percent of
/// base; positive means that head is better.
pub fn mailing_list_short(title: &str, labels: Labels, cases: &[(String, Comparison)]) -> Table {
    let columns = [
        Column::left("case"),
        Column::right(labels.base),
        Column::right(format!("{} sd %", labels.base)).joined(),
        Column::right(labels.head),
        Column::right(format!("{} sd %", labels.head)).joined(),
        Column::right("change %"),
        Column::right("p"),
        Column::left("verdict"),
    ];
    let mut table = Table::new(title, columns);
    for (name, comparison) in cases {
        let Comparison {
            base,
            head,
            verdict,
            ..
        } = comparison;
        let decimals = decimals_for(smaller_mean(base, head));
        let mean = |side: &Summary| Cell::new(decimal(side.amean, decimals)).raw(side.amean);
        let deviation = |side: &Summary| {
            side.coefvar_percent.map_or_else(absent, |coefvar| {
                Cell::new(format!("+-{}", percent(coefvar))).raw(coefvar)
            })
        };
        let tone = match verdict {
            Verdict::Better { .. } => Tone::Good,
            Verdict::Worse { .. } => Tone::Bad,
            Verdict::NoClearChange { .. } => Tone::Plain,
        };
        table.push([
            Cell::new(name),
            mean(base),
            deviation(base),
            mean(head),
            deviation(head),
            change(comparison.change_percent).tone(tone),
            Cell::new(p_value(verdict.p())).raw(verdict.p()),
            Cell::new(verdict.words()).tone(tone),
        ]);
    }
    table
}

fn smaller_mean(base: &Summary, head: &Summary) -> f64 {
    let (base, head) = (base.amean.abs(), head.amean.abs());
    // A mean of 0 needs no decimals of its own.
    if base == 0.0 || head == 0.0 {
        base.max(head)
    } else {
        base.min(head)
    }
}

fn long_row(
    name: &str,
    base: Option<f64>,
    head: Option<f64>,
    better: Better,
    format: impl Fn(f64) -> String,
) -> [Cell; 4] {
    let number =
        |value: Option<f64>| value.map_or_else(absent, |value| Cell::new(format(value)).raw(value));
    let difference = base
        .zip(head)
        .and_then(|(base, head)| better.change_percent(base, head));
    [
        Cell::new(name),
        number(base),
        number(head),
        change(difference),
    ]
}

fn change(percentage: Option<f64>) -> Cell {
    percentage.map_or_else(absent, |percentage| {
        Cell::new(signed_percent(percentage)).raw(percentage)
    })
}

/// No number: a dash for people, nothing in CSV.
fn absent() -> Cell {
    Cell::new(ABSENT).raw("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sample, Style};

    const LABELS: Labels = Labels {
        base: "tip",
        head: "tip + series",
    };

    fn compare(base: &[f64], head: &[f64], better: Better) -> Comparison {
        Comparison::new(
            &Sample::new(base).unwrap(),
            &Sample::new(head).unwrap(),
            better,
        )
        .unwrap()
    }

    /// Runs with the Min, Max, Median and almost the arithmetic mean of experiment E2.
    fn hackbench() -> Comparison {
        let base = [207.33, 207.50, 207.83, 208.59, 210.20];
        let head = [202.20, 214.40, 218.33, 219.40, 222.47];
        compare(&base, &head, Better::Lower)
    }

    fn cases() -> Vec<(String, Comparison)> {
        let case = |name: &str, base: &[f64], head: &[f64], better| {
            (name.to_owned(), compare(base, head, better))
        };
        vec![
            case(
                "hackbench, seconds",
                &[18.1, 18.3, 18.4, 18.6],
                &[18.9, 19.0, 19.3, 19.4],
                Better::Lower,
            ),
            case(
                "netperf, trans/s",
                &[83_517.0, 83_617.0],
                &[84_104.0, 84_492.0],
                Better::Higher,
            ),
            case("deterministic", &[0.25, 0.25], &[0.2, 0.2], Better::Lower),
            case("one run", &[0.0], &[3.0], Better::Lower),
        ]
    }

    #[test]
    fn long() {
        insta::assert_snapshot!(
            mailing_list_long("hackbench, seconds", LABELS, &hackbench()).render(Style::default())
        );
    }

    #[test]
    fn long_without_deviation_and_means() {
        let table = mailing_list_long("", LABELS, &compare(&[0.0], &[0.05], Better::Lower));
        insta::assert_snapshot!(table.render(Style::default()));
        assert!(table.csv().contains("\nAMean,0,0.05,\nGMean,,0.05,\n"));
    }

    #[test]
    fn short() {
        insta::assert_snapshot!(
            mailing_list_short("quota: half of all CPUs", LABELS, &cases())
                .render(Style::default())
        );
    }

    #[test]
    fn short_as_csv_is_flat_numbers() {
        let csv = mailing_list_short("", LABELS, &cases()[2..]).csv();
        assert_eq!(
            csv,
            "case,tip,tip sd %,tip + series,tip + series sd %,change %,p,verdict\n\
             deterministic,0.25,0,0.2,0,19.999999999999996,0,better\n\
             one run,0,,3,,,1,no clear change\n"
        );
    }

    #[test]
    fn short_as_markdown_is_as_posted() {
        let markdown = mailing_list_short("", LABELS, &cases()[..1]).markdown();
        assert!(markdown.contains(
            "| hackbench, seconds | 18.35 +-1.13 % | 19.15 +-1.24 % | -4.36 % | 0.029 |"
        ));
    }

    #[test]
    fn the_verdict_has_the_colour() {
        let text = mailing_list_short("", LABELS, &cases()).render(Style {
            color: true,
            width: None,
        });
        assert!(text.contains("\x1b[31mworse\x1b[0m"));
        assert!(text.contains("\x1b[32mbetter\x1b[0m"));
    }
}
