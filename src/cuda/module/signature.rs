//! [`Signature`]: the parameters of a kernel, read from its source.
//!
//! The driver reports their sizes and no more. Only the source tells a `const` pointer, to which
//! read-only memory such as JAX's may be passed, and a `float` from an `int`, so that `2` is not
//! passed with the wrong bits. Without a source, or with one that takes a preprocessor to read,
//! pointers count as written: read-only memory is refused.

/// A kernel's parameters, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature(Vec<ParameterKind>);

/// Kind of a kernel's parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterKind {
    /// An address of memory that the kernel only reads.
    Source,
    /// An address of memory that the kernel may write.
    Target,
    /// An integer of a size in bytes.
    Int {
        /// How many.
        bytes: usize,
        /// Whether it is signed.
        is_signed: bool,
    },
    /// A float of a size in bytes.
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
    /// Reads the parameters of the kernel of this name from a source; `None` if none is found,
    /// several that differ, or one that takes a preprocessor to read.
    pub fn parse(source: &str, kernel: &str) -> Option<Self> {
        let source = without_comments(source);
        let mut found = None;
        for (at, _) in source.match_indices("__global__") {
            let declaration = &source[at..];
            let head = &declaration[..declaration.find(['{', ';'])?];
            let Some(parameters) = parameters_of(head, kernel) else {
                continue;
            };
            if head.contains(['#', '\\']) {
                return None;
            }
            let signature = Self(split(parameters).into_iter().map(kind).collect());
            if found.get_or_insert_with(|| signature.clone()) != &signature {
                return None;
            }
        }
        found
    }

    /// Returns what each parameter is.
    pub fn parameters(&self) -> &[ParameterKind] {
        &self.0
    }
}

fn without_comments(source: &str) -> String {
    let mut plain = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        let (end, skipped) = match rest[at..].starts_with("//") {
            true => ("\n", 0),
            false => ("*/", 2),
        };
        plain.push_str(&rest[..at]);
        plain.push(' ');
        let length = rest[at + 2..].find(end);
        rest = length.map_or("", |length| &rest[at + 2 + length + skipped..]);
    }
    plain + rest
}

/// Returns what is between the parentheses behind a kernel's name, in a declaration up to its body.
fn parameters_of<'a>(head: &'a str, kernel: &str) -> Option<&'a str> {
    let is_in_name = |c: char| c.is_alphanumeric() || c == '_';
    head.match_indices(kernel).find_map(|(at, _)| {
        let inside = head[at + kernel.len()..].trim_start().strip_prefix('(')?;
        (!head[..at].ends_with(is_in_name)).then_some(())?;
        let mut depth = 1;
        let end = inside.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        })?;
        Some(&inside[..end])
    })
}

/// Splits parameters at the commas that aren't within brackets.
fn split(parameters: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = parameters.split(|c: char| {
        depth += i32::from("<([".contains(c)) - i32::from(">)]".contains(c));
        c == ',' && depth == 0
    });
    parts
        .map(str::trim)
        .filter(|part| !part.is_empty() && *part != "void")
        .collect()
}

fn kind(parameter: &str) -> ParameterKind {
    let mut words: Vec<_> = parameter.split_whitespace().collect();
    if let Some((pointed, _)) = parameter.split_once('*') {
        // Whatever isn't plainly a pointer to const counts as written.
        let is_read = pointed.split_whitespace().any(|word| word == "const")
            && parameter.matches('*').count() == 1;
        return match is_read {
            true => ParameterKind::Source,
            false => ParameterKind::Target,
        };
    }
    words.retain(|word| !matches!(*word, "const" | "volatile" | "__grid_constant__"));
    // The last word is the name, unless there is none.
    let unnamed = &words[..words.len().saturating_sub(1)];
    match of_words(unnamed) {
        ParameterKind::Unknown => of_words(&words),
        known => known,
    }
}

fn of_words(words: &[&str]) -> ParameterKind {
    let is_signed = !words.contains(&"unsigned");
    let int = |bytes, is_signed| ParameterKind::Int { bytes, is_signed };
    let words = words
        .iter()
        .filter(|word| !matches!(**word, "unsigned" | "signed"));
    let word = words.copied().collect::<Vec<_>>().join(" ");
    match word.strip_prefix("std::").unwrap_or(&word) {
        "" if !is_signed => int(4, false),
        "bool" => ParameterKind::Bool,
        "char" => int(1, is_signed),
        "short" | "short int" => int(2, is_signed),
        "int" => int(4, is_signed),
        "long" | "long int" | "long long" | "long long int" => int(8, is_signed),
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
        Signature::parse(&source, "f")
            .unwrap()
            .parameters()
            .to_vec()
    }

    #[test]
    fn const_pointers_are_sources_and_others_targets() {
        assert_eq!(
            of("const float* a, float const *__restrict__ b, float* c, float *const d, void *e"),
            [Source, Source, Target, Target, Target]
        );
        assert_eq!(of("const float** a, const __half2 *h"), [Target, Source]);
    }

    #[test]
    fn number_parameters_have_their_c_types() {
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
    fn parse_finds_the_named_kernel() {
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
            Signature::parse(source, "f").unwrap().0,
            [Target, int(4, true)]
        );
        assert_eq!(Signature::parse(source, "other").unwrap().0, [Source]);
        assert_eq!(Signature::parse(source, "help"), None);
        assert_eq!(
            Signature::parse("__global__ void g(int) {} __global__ void g(float) {}", "g"),
            None
        );
    }

    #[test]
    fn parse_returns_none_for_preprocessor_conditions() {
        for parameters in [
            "\n#ifdef READ\nconst\n#endif\nfloat* x",
            "\n#ifdef READ\nconst float* x\n#else\nfloat* x\n#endif\n",
            "con\\\nst float* x",
        ] {
            let source = format!("extern \"C\" __global__ void f({parameters}) {{ }}");
            assert_eq!(Signature::parse(&source, "f"), None, "{parameters}");
        }
    }

    #[test]
    fn parse_ignores_attributes_and_longer_names() {
        let source = "__global__ void __launch_bounds__(64) __attribute__((f_(1))) of(int) {} \
            __global__ __attribute__((noinline)) void f(const float* x) {}";
        assert_eq!(Signature::parse(source, "f").unwrap().0, [Source]);
    }
}
