// SPDX-License-Identifier: BSD-2-Clause
//! Targets without sites, and the feature `disable`: arguments are compiled and not evaluated.

#[doc(hidden)]
#[macro_export]
macro_rules! __fastsdt_emit {
    ($sema:ident $provider:ident $name:ident [$(($T:ident $v:ident $s:ident $arg:expr))*]) => {
        if false {
            $(let _ = $crate::Arg::register($arg);)*
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __fastsdt_semaphore {
    ($provider:ident, $name:ident) => {
        0u32
    };
}
