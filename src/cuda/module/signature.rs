//! [`Signature`]: what a kernel's source says of its parameters.
//!
//! The driver tells how wide they are, and no more. Whether a pointer is to memory that is written, and
//! whether 4 bytes are an `int` or a `float`, only the source says; so it is read, as far as that takes no
//! compiler: a list of parameters of C's own types. Of anything else nothing is known.

/// What is known of a kernel's parameters, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature(Vec<ParameterKind>);

/// What a parameter of a kernel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterKind {
    /// An address of memory that the kernel only reads.
    Source,
    /// An address of memory that the kernel may write.
    Target,
    /// A whole number of so many bytes.
    Int {
        /// How many.
        bytes: usize,
        /// Whether it may be negative.
        is_signed: bool,
    },
    /// A floating point number of so many bytes.
    Float {
        /// How many.
        bytes: usize,
    },
    /// A `__half`.
    Half,
    /// A `__nv_bfloat16`.
    BFloat16,
    /// A `bool`.
    Bool,
    /// Something else.
    Unknown,
}

impl Signature {
    /// The parameters of the kernel of this name in a source; `None` where none is found, or more than one.
    pub fn of(source: &str, kernel: &str) -> Option<Self> {
        let source = without_comments(source);
        let mut found = None;
        for (at, _) in source.match_indices("__global__") {
            let declaration = &source[at..];
            let end = declaration.find(['{', ';'])?;
            let head = without_bounds(&declaration[..end]);
            let (before, parameters) = head.split_once('(')?;
            let name = before.split_whitespace().last()?.trim_start_matches('*');
            if name != kernel {
                continue;
            }
            let parameters = parameters.rsplit_once(')')?.0;
            let signature = Self(split(parameters).into_iter().map(kind).collect());
            if found
                .replace(signature.clone())
                .is_some_and(|other| other != signature)
            {
                return None;
            }
        }
        found
    }

    /// What each parameter is.
    pub fn parameters(&self) -> &[ParameterKind] {
        &self.0
    }
}

fn without_comments(source: &str) -> String {
    let mut plain = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        plain.push_str(&rest[..at]);
        let is_line = rest[at..].starts_with("//");
        let (end, skipped) = if is_line { ("\n", 0) } else { ("*/", 2) };
        plain.push(' ');
        rest = match rest[at + 2..].find(end) {
            Some(length) => &rest[at + 2 + length + skipped..],
            None => "",
        };
    }
    plain + rest
}

/// A declaration without `__launch_bounds__(...)` and attributes, whose parentheses aren't the parameters'.
fn without_bounds(head: &str) -> String {
    let mut head = head.to_owned();
    for word in [
        "__launch_bounds__",
        "__attribute__",
        "__cluster_dims__",
        "__maxnreg__",
    ] {
        while let Some(at) = head.find(word) {
            let mut depth = 0;
            let end = head[at..].char_indices().find(|(_, c)| {
                depth += i32::from(*c == '(') - i32::from(*c == ')');
                *c == ')' && depth == 0
            });
            let end = end.map_or(head.len(), |(end, _)| at + end + 1);
            head.replace_range(at..end, " ");
        }
    }
    head
}

/// The parameters, between commas that aren't within brackets.
fn split(parameters: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = parameters.split(|c: char| {
        depth += i32::from("<([".contains(c)) - i32::from(">)]".contains(c));
        c == ',' && depth == 0
    });
    let parts = parts.map(str::trim);
    parts
        .filter(|part| !part.is_empty() && *part != "void")
        .collect()
}

fn kind(parameter: &str) -> ParameterKind {
    if let Some((pointed, _)) = parameter.split_once('*') {
        // Of a pointer to pointers, which of them is written isn't this simple.
        let is_read = words(pointed).contains(&"const") && parameter.matches('*').count() == 1;
        return match is_read {
            true => ParameterKind::Source,
            false => ParameterKind::Target,
        };
    }
    let mut words = words(parameter);
    words.retain(|word| !matches!(*word, "const" | "volatile" | "__grid_constant__"));
    // The last word is the name, unless there is none.
    let named = of_words(&words[..words.len().saturating_sub(1)]);
    match named {
        ParameterKind::Unknown => of_words(&words),
        known => known,
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn of_words(words: &[&str]) -> ParameterKind {
    let int = |bytes, is_signed| ParameterKind::Int { bytes, is_signed };
    let is_unsigned = words.contains(&"unsigned");
    let mut words: Vec<&str> = words.to_vec();
    words.retain(|word| !matches!(*word, "unsigned" | "signed"));
    let word = words.join(" ");
    let word = word.strip_prefix("std::").unwrap_or(&word);
    match word {
        "" if is_unsigned => int(4, false),
        "bool" => ParameterKind::Bool,
        "char" => int(1, !is_unsigned),
        "short" | "short int" => int(2, !is_unsigned),
        "int" => int(4, !is_unsigned),
        "long" | "long int" | "long long" | "long long int" => int(8, !is_unsigned),
        "int8_t" => int(1, true),
        "int16_t" => int(2, true),
        "int32_t" => int(4, true),
        "int64_t" | "ptrdiff_t" | "ssize_t" => int(8, true),
        "uint8_t" => int(1, false),
        "uint16_t" => int(2, false),
        "uint32_t" => int(4, false),
        "uint64_t" | "size_t" => int(8, false),
        "float" => ParameterKind::Float { bytes: 4 },
        "double" => ParameterKind::Float { bytes: 8 },
        "__half" | "half" => ParameterKind::Half,
        "__nv_bfloat16" | "nv_bfloat16" => ParameterKind::BFloat16,
        _ => ParameterKind::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::ParameterKind::{BFloat16, Bool, Float, Half, Source, Target, Unknown};
    use super::*;

    const fn int(bytes: usize, is_signed: bool) -> ParameterKind {
        ParameterKind::Int { bytes, is_signed }
    }

    fn of(parameters: &str) -> Vec<ParameterKind> {
        let source = format!("extern \"C\" __global__ void f({parameters}) {{ }}");
        Signature::of(&source, "f").unwrap().parameters().to_vec()
    }

    #[test]
    fn pointers_are_read_where_they_say_so() {
        assert_eq!(
            of("const float* a, float const *__restrict__ b, float* c, float *const d, void *e"),
            [Source, Source, Target, Target, Target]
        );
        assert_eq!(of("const float** a, const __half2 *h"), [Target, Source]);
    }

    #[test]
    fn numbers_have_the_types_of_c() {
        assert_eq!(
            of("int a, unsigned b, unsigned long long c, size_t, const float e, double f"),
            [
                int(4, true),
                int(4, false),
                int(8, false),
                int(8, false),
                Float { bytes: 4 },
                Float { bytes: 8 }
            ]
        );
        assert_eq!(
            of("bool, short int s, unsigned char u, std::int64_t i, __half h, __nv_bfloat16 b"),
            [
                Bool,
                int(2, true),
                int(1, false),
                int(8, true),
                Half,
                BFloat16
            ]
        );
        assert_eq!(of("float4 v, Strided<float, 3> s, T t"), [Unknown; 3]);
        assert_eq!(of(""), []);
        assert_eq!(of("void"), []);
    }

    #[test]
    fn the_kernel_is_found_among_others() {
        let source = "
            // __global__ void f(int a) {}
            __device__ float help(float x) { return x; }
            /* and __global__ void f(double) { } */
            __global__ void other(const float* x) { }
            extern \"C\" __global__ void __launch_bounds__(256, 2)
            f(float *y, // what is written
              int n);
            extern \"C\" __global__ void f(float* out, int count) { out[0] = help(count); }
        ";
        assert_eq!(
            Signature::of(source, "f").unwrap().0,
            [Target, int(4, true)]
        );
        assert_eq!(Signature::of(source, "other").unwrap().0, [Source]);
        assert_eq!(Signature::of(source, "help"), None);
        assert_eq!(
            Signature::of("__global__ void g(int) {} __global__ void g(float) {}", "g"),
            None
        );
    }
}
