use crate::circles::{circles, imports};
use crate::modules::Modules;

/// Files of a made-up crate, and the circles in it.
fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let found = circles(&imports(&Modules::read(files.iter().copied())));
    found.into_iter().collect()
}

/// The files that a file of a made-up crate imports from.
fn imports_of(file: &str, files: &[(&str, &str)]) -> Vec<String> {
    let all = imports(&Modules::read(files.iter().copied()));
    all[file].iter().cloned().collect()
}

#[test]
fn circle_of_siblings_through_their_parent_is_found() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\nmod c;"),
        (
            "a.rs",
            "use crate::b::{self, inner::{B, Other}};\npub struct A(B);",
        ),
        ("b.rs", "pub(crate) mod inner;\npub use inner::B;"),
        (
            "b/inner.rs",
            "pub struct B;\npub struct Other;\nfn f() -> super::super::c::C { todo!() }",
        ),
        (
            "c.rs",
            "pub struct C;\nimpl C { fn a(&self) -> Option<&crate::a::A> { None } }",
        ),
        ("d.rs", "use crate::a::A;"),
    ];
    assert_eq!(circles_of(&files), [["a.rs", "b/inner.rs", "c.rs"]]);
}

#[test]
fn circle_of_parent_and_child_is_found() {
    let files = [
        ("a.rs", "mod b;\nuse self::b::B;\npub struct A(B);"),
        ("a/b.rs", "pub struct B;\nimpl super::A {}"),
    ];
    assert_eq!(circles_of(&files), [["a.rs", "a/b.rs"]]);
    let files = [
        ("a.rs", "mod b;\npub struct A;\nfn f() { b::g() }"),
        ("a/b.rs", "use super::*;\npub fn g() -> A { A }"),
    ];
    assert_eq!(circles_of(&files), [["a.rs", "a/b.rs"]]);
}

#[test]
fn parent_that_reexports_its_children_imports_none() {
    let child = ("a/b.rs", "use super::{A, c::C};\npub struct B(A, C);");
    let other = ("a/c.rs", "pub struct C;");
    let parent = (
        "a.rs",
        "mod b;\nmod c;\npub(crate) use b::{B, B as D};\npub use c::*;\npub struct A;",
    );
    assert_eq!(circles_of(&[parent, child, other]), [[""; 0]; 0]);
    let parent = (
        "a.rs",
        "mod b;\nmod c;\npub use b::B;\npub struct A(Option<Box<B>>);",
    );
    assert_eq!(circles_of(&[parent, child, other]), [["a.rs", "a/b.rs"]]);
}

#[test]
fn reexported_name_leads_to_the_file_that_defines_it() {
    let files = [
        ("lib.rs", "pub mod a;\npub use a::b::B;"),
        ("a.rs", "pub mod b;\npub use b::*;"),
        (
            "a/b.rs",
            "pub struct B;\npub type E = u8;\nmacro_rules! m { () => {} }\npub(crate) use m;",
        ),
        ("c.rs", "use crate::B;"),
        ("d.rs", "use crate::a;\nfn f(_: a::E) {}"),
        ("e.rs", "fn f() { crate::a::m!() }"),
        ("f.rs", "use std::{fmt, b::B};\nfn f() { fmt::write() }"),
    ];
    for file in ["c.rs", "d.rs", "e.rs"] {
        assert_eq!(imports_of(file, &files), ["a/b.rs"], "{file}");
    }
    assert_eq!(imports_of("f.rs", &files), [""; 0]);
}

#[test]
fn comments_literals_and_tests_are_no_imports() {
    let files = [
        ("a.rs", "pub struct A;"),
        (
            "b.rs",
            "// use crate::a::A;\n/* crate::a::A /* nested */ crate::a::A */\n\
             const S: &str = \"crate::a::A\\\"\"; const R: &str = r#\"\"crate::a::A\"#;\n\
             fn f<'a>(x: &'a u8) -> char { let _ = x; '\"' }\nconst C: char = '\\'';\n\
             #[cfg(test)]\nmod tests {\n use crate::a::A;\n}",
        ),
        ("c.rs", "mod inline { use super::super::a::A; }"),
    ];
    assert_eq!(imports_of("b.rs", &files), [""; 0]);
    assert_eq!(imports_of("c.rs", &files), ["a.rs"]);
}

#[test]
fn files_of_test_modules_are_left_out() {
    let child = ("a/b.rs", "use super::super::c::C;\npub struct B(C);");
    let below = ("a/b/below.rs", "use crate::a::A;\npub struct Below(A);");
    let other = ("c.rs", "pub struct C(Option<Box<crate::a::A>>);");
    let circles = |declaration: &str| {
        let parent = format!("{declaration}\npub struct A;\nfn f() {{ b::B::new() }}");
        circles_of(&[("a.rs", &parent), child, below, other])
    };
    for declaration in [
        "#[cfg(test)]\nmod b;",
        "#[cfg(test)]\n#[allow(dead_code)]\npub(crate) mod b;",
        "use crate::d;\n#[cfg(test)] mod tests;\n#[cfg(test)] mod b;",
    ] {
        assert_eq!(circles(declaration), [[""; 0]; 0], "{declaration}");
    }
    for declaration in [
        "mod b;",
        "#[cfg(feature = \"test\")]\nmod b;",
        "#[cfg(not(test))]\nmod b;",
        "#[cfg(test)]\nuse x::y;\nmod b;",
        "#[cfg(test)]\nfn f() {}\nmod b;",
    ] {
        assert_eq!(
            circles(declaration),
            [["a.rs", "a/b.rs", "c.rs"]],
            "{declaration}"
        );
    }

    let files = [
        ("lib.rs", "mod a;\n#[cfg(test)]\nmod t;"),
        ("a.rs", "pub struct A;"),
        ("t.rs", "mod below;"),
        ("t/below.rs", "use crate::a::A;"),
    ];
    let all = imports(&Modules::read(files));
    assert_eq!(all.keys().collect::<Vec<_>>(), ["a.rs", "lib.rs"]);
}
