// SPDX-License-Identifier: BSD-2-Clause
//! The linker finds libfastsdt-trace by itself where it is installed; FASTSDT_LIBRARY_PATH is the folder of one that is not.
fn main() {
    println!("cargo:rerun-if-env-changed=FASTSDT_LIBRARY_PATH");
    if let Ok(folder) = std::env::var("FASTSDT_LIBRARY_PATH") {
        println!("cargo:rustc-link-search=native={}", folder);
    }
}
