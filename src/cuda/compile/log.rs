//! NVRTC's messages, with the lines that they are about. Some versions show these themselves,
//! others don't.

/// Puts the line of its text under each message that has none yet; of the texts their names are
/// known.
pub(super) fn with_lines(log: &str, texts: &[(&str, &str)]) -> String {
    let mut shown = String::new();
    let mut lines = log.lines().peekable();
    while let Some(message) = lines.next() {
        push_line(&mut shown, message);
        let Some(line) = line_of(message, texts) else {
            continue;
        };
        let next = lines.peek().map_or("", |next| next.trim());
        if next != line.trim() {
            push_line(&mut shown, &format!("    {}", line.trim_end()));
        }
    }
    shown
}

fn push_line(shown: &mut String, line: &str) {
    if !shown.is_empty() {
        shown.push('\n');
    }
    shown.push_str(line);
}

/// Returns the line that a message is about, as in `axpy.cu(3): error: ...`.
fn line_of<'a>(message: &str, texts: &[(&str, &'a str)]) -> Option<&'a str> {
    let (place, what) = message.split_once("): ")?;
    if !["error", "catastrophic error", "warning"]
        .iter()
        .any(|kind| what.starts_with(kind))
    {
        return None;
    }
    let (name, number) = place.rsplit_once('(')?;
    let number: usize = number.parse().ok()?;
    let (_, text) = texts.iter().find(|(known, _)| *known == name)?;
    text.lines()
        .nth(number.checked_sub(1)?)
        .filter(|line| !line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::with_lines;

    const TEXTS: [(&str, &str); 2] = [
        ("a.cu", "int x;\n  y = 1;   \n\n z;"),
        ("b(1).h", "first\nsecond"),
    ];

    #[test]
    fn message_is_followed_by_its_source_line() {
        let log = "a.cu(2): error: identifier \"y\" is undefined\n\n1 error detected in \"a.cu\".";
        assert_eq!(
            with_lines(log, &TEXTS),
            "a.cu(2): error: identifier \"y\" is undefined\n      y = 1;\n\n1 error detected in \"a.cu\"."
        );
        let log = "b(1).h(2): catastrophic error: no\na.cu(4): warning #177-D: unused";
        assert_eq!(
            with_lines(log, &TEXTS),
            "b(1).h(2): catastrophic error: no\n    second\na.cu(4): warning #177-D: unused\n     z;"
        );
    }

    #[test]
    fn existing_source_line_is_not_repeated() {
        let log = "a.cu(2): error: identifier \"y\" is undefined\n    y = 1;\n    ^\n\nthe end";
        assert_eq!(with_lines(log, &TEXTS), log);
    }

    #[test]
    fn message_without_source_line_is_unchanged() {
        for log in [
            "",
            "nvrtc: error: unrecognized option --bogus found",
            "other.cu(1): error: of another text",
            "a.cu(9): error: behind the end",
            "a.cu(0): error: before the beginning",
            "a.cu(3): error: an empty line",
            "a.cu(2): note: no error",
            "a.cu(x): error: no number",
        ] {
            assert_eq!(with_lines(log, &TEXTS), log);
        }
    }
}
