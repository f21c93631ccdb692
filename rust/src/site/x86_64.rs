// SPDX-License-Identifier: BSD-2-Clause

// Link order needs a label of the site's own. LLVM's %= is not available here, so a macro is expanded with a counter's
// value.
#[doc(hidden)]
#[macro_export]
macro_rules! __fastsdt_asm {
    ($sema:ident $provider:ident $name:ident; $args:expr; $($operands:tt)*) => {
        core::arch::asm!(
            $crate::__fastsdt_define!($sema $provider $name),
            ".ifndef .Lfastsdt_count",
            ".set .Lfastsdt_count, 0",
            ".endif",
            ".set .Lfastsdt_count, .Lfastsdt_count + 1",
            ".macro _fastsdt_site fastsdt_number",
            ".p2align 6,,10",
            ".Lfastsdt\\fastsdt_number: nop",
            ".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00",
            $crate::__fastsdt_notes!("R_X86_64_NONE", "6, 1, 10, 6", "1"; $sema $provider $name; $args),
            ".endm",
            ".altmacro",
            "_fastsdt_site %.Lfastsdt_count",
            ".noaltmacro",
            ".purgem _fastsdt_site",
            $($operands)*
            options(att_syntax, nostack)
        )
    };
}

/// Size and place of an argument, as tracers read it.
#[doc(hidden)]
#[macro_export]
macro_rules! __fastsdt_operand {
    ($s:ident $v:ident) => {
        concat!("{", stringify!($s), "}@{", stringify!($v), ":r}")
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __fastsdt_semaphore {
    ($provider:ident, $name:ident) => {{
        let value: u32;
        unsafe {
            core::arch::asm!(
                $crate::__fastsdt_define!(implicit $provider $name),
                concat!("movzwl ", $crate::__fastsdt_sema!(implicit $provider $name), "(%rip), {value:e}"),
                value = out(reg) value,
                options(att_syntax, nostack, readonly, preserves_flags)
            );
        }
        value
    }};
}
