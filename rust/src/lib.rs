// SPDX-License-Identifier: BSD-2-Clause
//! USDT probe sites that Linux can trace cheaply: the sites and notes of `fastsdt.h`, from stable Rust.
//!
//! ```
//! use fastsdt::{fastsdt, fastsdt_is_active, fastsdt_with_semaphore};
//! let (id, cents) = (7i32, 250i64);
//! fastsdt!(shop, order, id, c"tea", cents);
//! if fastsdt_is_active!(shop, slow) {
//!     fastsdt_with_semaphore!(shop, slow, (0..id).sum::<i32>());
//! }
//! ```
//!
//! On x86-64 a site is nop1+nop10 and never crosses a cache line; on arm64 it is a nop. On other targets, and with the
//! feature `disable`, the macros check their arguments and emit nothing.
//!
//! The macros contain `unsafe` (inline assembly), so a crate that says `#![forbid(unsafe_code)]` cannot use them.
#![no_std]

use core::ffi::CStr;

/// What a probe can pass: numbers, `bool`, `char`, pointers, references, C strings.
pub trait Arg {
    /// Bytes that a tracer reads, negative if the number is signed.
    const SIZE: i32;
    /// The value as it stands in a register.
    fn register(self) -> u64;
}

macro_rules! numbers {
    ($($type:ty: $size:expr;)*) => { $(impl Arg for $type {
        const SIZE: i32 = $size;
        #[inline(always)]
        fn register(self) -> u64 {
            self as u64
        }
    })* };
}
numbers! {
    i8: -1; i16: -2; i32: -4; i64: -8; isize: -(size_of::<isize>() as i32);
    u8: 1; u16: 2; u32: 4; u64: 8; usize: size_of::<usize>() as i32;
    bool: 1; char: 4;
}

/// Passed as its bits, as `fastsdt.h` does: libbpf reads no floats.
impl Arg for f32 {
    const SIZE: i32 = 4;
    #[inline(always)]
    fn register(self) -> u64 {
        self.to_bits() as u64
    }
}

/// Passed as its bits.
impl Arg for f64 {
    const SIZE: i32 = 8;
    #[inline(always)]
    fn register(self) -> u64 {
        self.to_bits()
    }
}

macro_rules! pointers {
    ($([$($generic:ident)?] $type:ty, $self:ident => $address:expr;)*) => { $(impl$(<$generic>)? Arg for $type {
        const SIZE: i32 = size_of::<usize>() as i32;
        #[inline(always)]
        fn register($self) -> u64 {
            $address as usize as u64
        }
    })* };
}
pointers! {
    [T] *const T, self => self;
    [T] *mut T, self => self;
    [T] &T, self => self as *const T;
    [T] &mut T, self => self as *mut T;
    [] &CStr, self => self.as_ptr();
}

/// `fastsdt!(provider, name, args...)`: a probe with up to 12 arguments, each evaluated once.
#[macro_export]
macro_rules! fastsdt {
    ($provider:ident, $name:ident $(, $arg:expr)* $(,)?) => {
        $crate::__fastsdt_site!(none; $provider, $name; $($arg),*)
    };
}

/// The same with a semaphore, which all sites of that probe in one executable or library share.
#[macro_export]
macro_rules! fastsdt_with_semaphore {
    ($provider:ident, $name:ident $(, $arg:expr)* $(,)?) => {
        $crate::__fastsdt_site!(implicit; $provider, $name; $($arg),*)
    };
}

/// Whether somebody traces the probe, of which at least one site is a [`fastsdt_with_semaphore!`].
#[macro_export]
macro_rules! fastsdt_is_active {
    ($provider:ident, $name:ident) => {
        $crate::__fastsdt_semaphore!($provider, $name) != 0
    };
}

// ---- What the macros above are made of ----

#[cfg(all(
    any(target_os = "linux", target_os = "android"),
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(feature = "disable")
))]
mod site;

#[cfg(not(all(
    any(target_os = "linux", target_os = "android"),
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(feature = "disable")
)))]
mod off;

/// Names for the arguments: a type, a value and a size each.
#[doc(hidden)]
#[macro_export]
macro_rules! __fastsdt_site {
    ($sema:ident; $provider:ident, $name:ident; $($arg:expr),*) => {
        $crate::__fastsdt_site!(@ $sema $provider $name; []; [$($arg),*];
            (T1 v1 s1) (T2 v2 s2) (T3 v3 s3) (T4 v4 s4) (T5 v5 s5) (T6 v6 s6)
            (T7 v7 s7) (T8 v8 s8) (T9 v9 s9) (T10 v10 s10) (T11 v11 s11) (T12 v12 s12))
    };
    (@ $sema:ident $provider:ident $name:ident; [$($done:tt)*]; [$arg:expr $(, $rest:expr)*]; ($($names:ident)*) $($more:tt)*) => {
        $crate::__fastsdt_site!(@ $sema $provider $name; [$($done)* ($($names)* $arg)]; [$($rest),*]; $($more)*)
    };
    (@ $sema:ident $provider:ident $name:ident; $done:tt; []; $($more:tt)*) => {
        $crate::__fastsdt_emit!($sema $provider $name $done)
    };
    (@ $sema:ident $provider:ident $name:ident; $done:tt; [$($rest:expr),+];) => {
        compile_error!("fastsdt: a probe has at most 12 arguments")
    };
}

/// The symbol of the semaphore, and what defines it.
#[doc(hidden)]
#[macro_export]
macro_rules! __fastsdt_sema {
    (none $provider:ident $name:ident) => {
        "0"
    };
    (implicit $provider:ident $name:ident) => {
        concat!("__usdt_sema_", stringify!($provider), "__", stringify!($name))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __fastsdt_define {
    (none $provider:ident $name:ident) => {
        ""
    };
    (implicit $provider:ident $name:ident) => {
        concat!(
            ".ifndef ", $crate::__fastsdt_sema!(implicit $provider $name), "\n",
            ".pushsection .probes, \"aw\", %progbits\n",
            ".weak ", $crate::__fastsdt_sema!(implicit $provider $name), "\n",
            ".hidden ", $crate::__fastsdt_sema!(implicit $provider $name), "\n",
            ".balign 2\n",
            $crate::__fastsdt_sema!(implicit $provider $name), ": .2byte 0\n",
            ".type ", $crate::__fastsdt_sema!(implicit $provider $name), ", %object\n",
            ".size ", $crate::__fastsdt_sema!(implicit $provider $name), ", 2\n",
            ".popsection\n",
            ".endif"
        )
    };
}

/// The site keeps its semaphore, as it keeps its notes.
#[doc(hidden)]
#[macro_export]
macro_rules! __fastsdt_keep {
    ($reloc:literal none $provider:ident $name:ident) => {
        ""
    };
    ($reloc:literal implicit $provider:ident $name:ident) => {
        concat!(".reloc .Lfastsdt\\fastsdt_number, ", $reloc, ", ", $crate::__fastsdt_sema!(implicit $provider $name))
    };
}

/// Relocations and both notes of `.Lfastsdt\fastsdt_number`: `docs/format.md`, and part 4 of `fastsdt.h`, where the reasons are.
#[doc(hidden)]
#[macro_export]
macro_rules! __fastsdt_notes {
    ($reloc:literal, $shape:literal, $flags:literal; $sema:ident $provider:ident $name:ident; $args:expr) => {
        concat!(
            ".reloc .Lfastsdt\\fastsdt_number, ", $reloc, ", .Lfastsdt_note\\fastsdt_number\n",
            ".reloc .Lfastsdt\\fastsdt_number, ", $reloc, ", .Lfastsdt_layout\\fastsdt_number\n",
            ".reloc .Lfastsdt\\fastsdt_number, ", $reloc, ", _.stapsdt.base\n",
            $crate::__fastsdt_keep!($reloc $sema $provider $name), "\n",
            ".pushsection .note.fastsdt, \"?o\", %note, .Lfastsdt\\fastsdt_number\n",
            ".pushsection .note.stapsdt, \"?o\", %note, .Lfastsdt\\fastsdt_number\n",
            ".balign 4\n",
            ".Lfastsdt_note\\fastsdt_number: .4byte 8, 994f - 993f, 3\n",
            ".asciz \"stapsdt\"\n",
            "993: .8byte .Lfastsdt\\fastsdt_number, _.stapsdt.base, ", $crate::__fastsdt_sema!($sema $provider $name), "\n",
            ".asciz \"", stringify!($provider), "\"\n",
            ".asciz \"", stringify!($name), "\"\n",
            ".asciz \"", $args, "\"\n",
            "994: .balign 4\n",
            ".popsection\n",
            ".balign 4\n",
            ".Lfastsdt_layout\\fastsdt_number: .4byte 8, 24, 0x53\n",
            ".asciz \"fastsdt\"\n",
            ".byte 1, ", $shape, ", 0\n",
            ".2byte ", $flags, "\n",
            ".8byte .Lfastsdt\\fastsdt_number, ", $crate::__fastsdt_sema!($sema $provider $name), "\n",
            ".popsection\n",
            ".ifndef _.stapsdt.base\n",
            ".pushsection .stapsdt.base, \"aG\", %progbits, .stapsdt.base, comdat\n",
            ".weak _.stapsdt.base\n",
            ".hidden _.stapsdt.base\n",
            "_.stapsdt.base: .space 1\n",
            ".size _.stapsdt.base, 1\n",
            ".popsection\n",
            ".endif"
        )
    };
}
