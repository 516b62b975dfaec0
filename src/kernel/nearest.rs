//! The known name that is nearest to an unknown one, for error messages. A crate for this would be
//! a dependency of every build with ops, for one function.

/// Returns the known name nearest to `name`, if at most a third of its letters differ.
pub(crate) fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let letters = name.chars().count();
    let most = letters / 3;
    // What is much longer or shorter is not even looked at: a name may be of any length.
    let is_near = |known: &&String| known.chars().count().abs_diff(letters) <= most;
    let distances = known.iter().filter(is_near);
    let (_, nearest) = distances
        .map(|known| (distance(name, known), known))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)?;
    Some(nearest)
}

/// Returns how many letters are inserted, removed or replaced between two names: the
/// [Levenshtein distance](https://en.wikipedia.org/wiki/Levenshtein_distance), by rows.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (removed, a) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = removed + 1;
        for (at, b) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_single_changes() {
        for (a, b, wanted) in [
            ("", "", 0),
            ("", "abc", 3),
            ("sofmax", "softmax", 1),
            ("axes", "axis", 1),
            ("kitten", "sitting", 3),
            ("größe", "grösse", 2),
        ] {
            assert_eq!(distance(a, b), wanted, "{a} {b}");
            assert_eq!(distance(b, a), wanted, "{b} {a}");
        }
    }

    #[test]
    fn nearest_is_no_name_that_differs_much() {
        let known = ["add", "softmax", "sum", "topk"].map(str::to_owned);
        assert_eq!(nearest("sofmax", &known), Some("softmax"));
        assert_eq!(nearest("sun", &known), Some("sum"));
        assert_eq!(nearest("remainder", &known), None);
        assert_eq!(nearest("x", &["y".to_owned()]), None);
        assert_eq!(nearest("", &known), None);
        assert_eq!(nearest("add", &[]), None);
    }
}
