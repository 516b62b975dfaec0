//! Registrations that use the registry that they are collected for.

use dlbridge::kernel::{Op, Registry};

/// Set in a process whose registration uses the registry.
const USES_REGISTRY: &str = "DLBRIDGE_TEST_USES_REGISTRY";

dlbridge::register_op!({
    if std::env::var_os(USES_REGISTRY).is_some() {
        Registry::global();
    }
    Op::new("registration_test.plain")
});

#[test]
fn registrations_that_use_the_registry_panic_instead_of_waiting_for_themselves() {
    if std::env::var_os(USES_REGISTRY).is_some() {
        // Also the second time.
        for _ in 0..2 {
            let panic = std::panic::catch_unwind(Registry::global).unwrap_err();
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap();
            assert!(text.contains("a kernel's factory may use it"), "{text}");
        }
        return;
    }
    let test = std::thread::current().name().unwrap().to_owned();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let said = child
        .args(["--exact", &test])
        .env(USES_REGISTRY, "1")
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success() && out.contains("1 passed"), "{out}");
}
