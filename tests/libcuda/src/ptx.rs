//! The kernels of a text in PTX: their arguments, and the shared memory that they declare.

use crate::kernels::{Argument, natural_alignment};
use std::collections::BTreeMap;

/// What a text in PTX says of a kernel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    pub(crate) arguments: Vec<Argument>,
    /// Bytes of shared memory that are declared in its body.
    pub(crate) shared: usize,
}

/// The kernels that a text in PTX defines, by their names.
pub(crate) fn parse(text: &str) -> BTreeMap<String, Entry> {
    let without_comments: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect::<Vec<_>>()
        .join("\n");
    let mut entries = BTreeMap::new();
    for entry in without_comments.split(".entry").skip(1) {
        let (head, body) = entry.split_once('{').unwrap_or((entry, ""));
        let (name, parameters) = head.split_once('(').unwrap_or((head, ""));
        let parameters = parameters.split(')').next().unwrap_or("");
        let arguments = parameters
            .split(',')
            .filter(|parameter| parameter.contains(".param"))
            .map(parse_parameter);
        if let Some(name) = name.split_whitespace().next() {
            let (arguments, shared) = (arguments.collect(), parse_shared(body));
            entries.insert(name.to_owned(), Entry { arguments, shared });
        }
    }
    entries
}

/// The bytes of all variables such as `.shared .align 4 .b8 name[64];`. How large those are that
/// are declared `.extern` is said by the launch.
fn parse_shared(body: &str) -> usize {
    let statements = body.split([';', '{', '}']).map(str::trim_start);
    let declared = statements.filter(|statement| statement.starts_with(".shared"));
    declared.map(|one| parse_parameter(one).size).sum()
}

fn parse_parameter(text: &str) -> Argument {
    let words: Vec<&str> = text.split_whitespace().collect();
    let element = words
        .iter()
        .skip(1)
        .find_map(|word| match word.strip_prefix('.')? {
            "u8" | "s8" | "b8" => Some(1),
            "u16" | "s16" | "b16" | "f16" => Some(2),
            "u32" | "s32" | "b32" | "f32" => Some(4),
            "u64" | "s64" | "b64" | "f64" => Some(8),
            _ => None,
        });
    let count = words
        .last()
        .and_then(|name| name.split_once('[')?.1.strip_suffix(']')?.parse().ok())
        .unwrap_or(1);
    let size = element.unwrap_or(8) * count;
    // `.ptr .align` says how what is pointed at is aligned.
    let written = words
        .iter()
        .position(|&word| word == ".align")
        .filter(|_| !words.contains(&".ptr"));
    let align = written
        .and_then(|place| words.get(place + 1)?.parse().ok())
        .unwrap_or_else(|| natural_alignment(size));
    Argument::unspecified(size, align)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn parameters_and_shared_memory_are_measured() {
        let text = "
            .visible .entry scale( // scale(float*, float, View)
                .param .u64 .ptr .align 1 scale_param_0,
                .param .f32 scale_param_1,
                .param .align 4 .b8 scale_param_2[20]
            ) .maxntid 256, 1, 1 {
                .shared .align 4 .b8 tile[64];
                .shared .f64 sum;
                ret;
            }
            .extern .shared .align 16 .b8 rest[];
            .entry empty() { ret; }";
        let entries = parse(text);
        let sizes: Vec<(usize, usize)> = entries["scale"]
            .arguments
            .iter()
            .map(|argument| (argument.size, argument.align))
            .collect();
        assert_eq!(sizes, [(8, 8), (4, 4), (20, 4)]);
        assert_eq!(entries["scale"].shared, 72);
        assert!(entries["empty"].arguments.is_empty() && entries["empty"].shared == 0);
    }
}
