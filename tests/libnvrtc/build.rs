//! Gives the shared library the name by which programs ask for NVIDIA's.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnvrtc.so.13");
}
