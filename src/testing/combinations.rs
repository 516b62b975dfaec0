//! Combinations of a few values of several dimensions, in place of all.

/// Returns combinations in which each value of each dimension occurs three times, with different
/// values of the others: the first values of all, and then the others.
pub(super) fn each_value(sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    for shift in 0..3 {
        for row in 0..sizes.iter().copied().max().unwrap_or(1) {
            let value = |(at, size): (usize, &usize)| (row + shift * at) % size;
            let row: Vec<usize> = sizes.iter().enumerate().map(value).collect();
            if !all.contains(&row) {
                all.push(row);
            }
        }
    }
    all
}

/// Returns combinations in which each two values of each two dimensions occur together. It chooses
/// [greedily](https://en.wikipedia.org/wiki/All-pairs_testing).
pub(super) fn each_pair(sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut left = Vec::new();
    for (second, size) in sizes.iter().enumerate() {
        for (first, other) in sizes[..second].iter().enumerate() {
            let of_second = |a| (0..*size).map(move |b| ((first, a), (second, b)));
            left.extend((0..*other).flat_map(of_second));
        }
    }
    let mut all = vec![vec![0; sizes.len()]];
    left.retain(|((_, a), (_, b))| (*a, *b) != (0, 0));
    while let Some(&(first, second)) = left.first() {
        let mut row: Vec<Option<usize>> = vec![None; sizes.len()];
        for (at, value) in [first, second] {
            row[at] = Some(value);
        }
        for at in 0..sizes.len() {
            if row[at].is_some() {
                continue;
            }
            // The value that has the most pairs left with those that are chosen.
            let mut counts = vec![0; sizes[at]];
            for (a, b) in &left {
                for ((own, value), (other, with)) in [(*a, *b), (*b, *a)] {
                    if own == at && row[other] == Some(with) {
                        counts[value] += 1;
                    }
                }
            }
            row[at] = (0..sizes[at]).rev().max_by_key(|value| counts[*value]);
        }
        let row: Vec<usize> = row.into_iter().map(Option::unwrap_or_default).collect();
        left.retain(|(a, b)| row[a.0] != a.1 || row[b.0] != b.1);
        all.push(row);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_every_value() {
        let all = each_value(&[3, 3, 7]);
        assert!((0..9).all(|pair| all.iter().any(|row| row[..2] == [pair / 3, pair % 3])));
        for sizes in [&[3, 3, 7, 1, 8][..], &[1], &[2, 5]] {
            let all = each_value(sizes);
            for (at, size) in sizes.iter().enumerate() {
                assert!((0..*size).all(|value| all.iter().any(|row| row[at] == value)));
            }
            assert_eq!(all[0], vec![0; sizes.len()]);
            assert!(all.len() <= 3 * sizes.iter().max().unwrap());
            assert!(
                all.iter()
                    .all(|row| row.iter().zip(sizes).all(|(value, size)| value < size))
            );
        }
    }

    #[test]
    fn each_pair_has_every_pair() {
        for sizes in [&[3, 3, 7, 7, 9][..], &[1], &[2, 5], &[1, 1, 1]] {
            let all = each_pair(sizes);
            for second in 0..sizes.len() {
                for first in 0..second {
                    for a in 0..sizes[first] {
                        for b in 0..sizes[second] {
                            assert!(all.iter().any(|row| (row[first], row[second]) == (a, b)));
                        }
                    }
                }
            }
            assert_eq!(all[0], vec![0; sizes.len()]);
            // Far fewer than all.
            assert!(all.len() <= 130, "{}", all.len());
        }
    }
}
