pub(crate) const ALLOWED_CIRCLES: &[&[&str]] = &[
    &["src/python/attach.rs", "src/python/releaser.rs"],
    &[
        "src/python/frameworks/torch.rs",
        "src/python/frameworks/torch/storage.rs",
    ],
    &["src/python/ops.rs", "src/python/ops/publish.rs"],
    &[
        "src/python/frameworks/torch/places.rs",
        "src/python/frameworks/torch/shim.rs",
    ],
];
