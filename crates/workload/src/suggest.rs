//! "Did you mean": the name that a misspelt one was probably meant to be.

/// Longer names are not compared: the time grows with the product of the lengths.
const MAX_LEN: usize = 100;
/// More names than that are not searched through.
const MAX_CANDIDATES: usize = 10_000;

/// The candidate with the fewest differences, if these are few for its length. Case and the choice
/// between `-` and `_` do not count; among equals the first wins. A name with
/// other digits only (`a.2` for `a.1`) is another name and no misspelling.
pub(crate) fn nearest<'a>(
    given: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    if given.is_empty() || given.len() > MAX_LEN {
        return None;
    }
    let plain = |text: &str| text.to_ascii_lowercase().replace('_', "-");
    let given = plain(given);
    candidates
        .into_iter()
        .take(MAX_CANDIDATES)
        .filter(|candidate| candidate.len() <= MAX_LEN)
        .map(|candidate| (edit_distance(&given, &plain(candidate)), candidate))
        .filter(|(_, candidate)| !differ_in_digits_only(&given, &plain(candidate)))
        .filter(|&(distance, candidate)| distance * 5 <= candidate.len() * 2)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate.to_string())
}

fn differ_in_digits_only(a: &str, b: &str) -> bool {
    let is_letter = |c: &char| !c.is_ascii_digit();
    a != b && a.chars().filter(is_letter).eq(b.chars().filter(is_letter))
}

/// Levenshtein distance in bytes.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substitute = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let keys = ["cpu.max", "cpu.max.burst", "cpu.weight", "context-switch"];
        let near = |given| nearest(given, keys);
        assert_eq!(near("cpu.mx").as_deref(), Some("cpu.max"));
        assert_eq!(near("cpu.wieght").as_deref(), Some("cpu.weight"));
        assert_eq!(near("CONTEXT_SWITCH").as_deref(), Some("context-switch"));
        assert_eq!(near("memory"), None);
        assert_eq!(nearest("worker.8", ["worker.0", "worker.1"]), None);
        assert_eq!(near(""), None);
    }
}
