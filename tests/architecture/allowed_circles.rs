pub(crate) const ALLOWED_CIRCLES: &[&[&str]] = &[
    &["src/python/attach.rs", "src/python/releaser.rs"],
    &["src/python/ops.rs", "src/python/ops/publish.rs"],
];
