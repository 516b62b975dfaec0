//! Brackets, separators and line breaks around words, and which words there are.

/// How many numbers are printed in full.
const THRESHOLD: usize = 1000;

/// How many a summary has at each end of a dimension.
const EDGE: usize = 3;

/// How many numbers a summary has at most. NumPy has no such bound, but it would print all of a
/// tensor of 40 dimensions of size 2.
const MOST: usize = 10_000;

/// What is printed along a dimension: the first elements, a gap if there are others, the last ones.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    size: usize,
    first: usize,
    last: usize,
}

impl Axis {
    /// What is printed of sizes none of which is 0, and whether that is a summary.
    pub(super) fn choose(sizes: &[usize]) -> (Vec<Self>, bool) {
        let total = sizes
            .iter()
            .fold(1, |n: usize, size| n.saturating_mul(*size));
        let summarised = total > THRESHOLD;
        let mut shown = 1;
        // The innermost dimensions first: where not all fit, whole rows say most.
        let mut axes: Vec<Self> = sizes
            .iter()
            .rev()
            .map(|&size| {
                let (mut first, mut last) = (size, 0);
                if summarised && size > 2 * EDGE {
                    (first, last) = (EDGE, EDGE);
                }
                if summarised && shown * (first + last) > MOST {
                    (first, last) = (1, 0);
                }
                shown *= first + last;
                Self { size, first, last }
            })
            .collect();
        axes.reverse();
        (axes, summarised)
    }

    /// The indices of what is printed.
    pub(super) fn indices(self) -> impl Iterator<Item = usize> + Clone {
        (0..self.first).chain(self.size - self.last..self.size)
    }

    /// What is printed in order: `true` for an element, `false` for a gap.
    fn items(self) -> impl Iterator<Item = bool> {
        let gap = usize::from(self.first + self.last < self.size);
        let first = std::iter::repeat_n(true, self.first);
        let gap = std::iter::repeat_n(false, gap);
        first.chain(gap).chain(std::iter::repeat_n(true, self.last))
    }
}

/// Where words go.
#[derive(Clone, Copy)]
pub(super) struct Style {
    /// What is between two words on a line.
    pub(super) separator: &'static str,
    /// How far lines but the first are indented, as something is before the outermost bracket.
    pub(super) indent: usize,
    /// How long a line may be.
    pub(super) width: usize,
}

/// Writes the words, in order, into the brackets of the dimensions; a single word where there are
/// no dimensions.
pub(super) fn nested(axes: &[Axis], words: &[String], style: Style) -> String {
    let mut nest = Nest {
        out: String::new(),
        words: words.iter(),
        separator: style.separator,
    };
    // What is inside a bracket is indented by one more, and leaves room for the closing one.
    nest.write(axes, style.indent + 1, style.width);
    nest.out
}

struct Nest<'a> {
    out: String,
    words: std::slice::Iter<'a, String>,
    separator: &'static str,
}

impl<'a> Nest<'a> {
    fn word(&mut self) -> &'a str {
        self.words.next().map_or("", String::as_str)
    }

    /// Writes what is along the first of `axes`, whose closing bracket must be in column `width`
    /// at most.
    fn write(&mut self, axes: &[Axis], indent: usize, width: usize) {
        let Some((axis, inner)) = axes.split_first() else {
            let word = self.word();
            return self.out.push_str(word);
        };
        self.out.push('[');
        if inner.is_empty() {
            self.write_row(*axis, indent, width.saturating_sub(1));
        } else {
            for (i, is_element) in axis.items().enumerate() {
                if i > 0 {
                    // A line break, and between larger blocks also blank lines.
                    self.out.push_str(self.separator.trim_end());
                    self.out.extend(std::iter::repeat_n('\n', inner.len()));
                    self.push_spaces(indent);
                }
                if is_element {
                    self.write(inner, indent + 1, width.saturating_sub(1));
                } else {
                    self.out.push_str(GAP);
                }
            }
        }
        self.out.push(']');
    }

    /// Writes words, in as many lines as it takes.
    fn write_row(&mut self, axis: Axis, indent: usize, width: usize) {
        let mut line = indent;
        for (i, is_element) in axis.items().enumerate() {
            if i > 0 {
                self.out.push_str(self.separator);
                line += self.separator.len();
            }
            let word = if is_element { self.word() } else { GAP };
            // Where a word is too long for any line, a line break would not help.
            if line > indent && line + word.len() > width {
                self.out.truncate(self.out.trim_end().len());
                self.out.push('\n');
                self.push_spaces(indent);
                line = indent;
            }
            self.out.push_str(word);
            line += word.len();
        }
    }

    fn push_spaces(&mut self, count: usize) {
        self.out.extend(std::iter::repeat_n(' ', count));
    }
}

const GAP: &str = "...";
