// SPDX-License-Identifier: BSD-2-Clause

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
            ".Lfastsdt\\fastsdt_number: nop",
            $crate::__fastsdt_notes!("R_AARCH64_NONE", "1, 0, 4, 0", "0"; $sema $provider $name; $args),
            ".endm",
            ".altmacro",
            "_fastsdt_site %.Lfastsdt_count",
            ".noaltmacro",
            ".purgem _fastsdt_site",
            $($operands)*
            options(nostack, preserves_flags)
        )
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __fastsdt_operand {
    ($s:ident $v:ident) => {
        concat!("{", stringify!($s), "}@{", stringify!($v), ":x}")
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
                concat!("adrp {value:x}, ", $crate::__fastsdt_sema!(implicit $provider $name)),
                concat!("ldrh {value:w}, [{value:x}, :lo12:", $crate::__fastsdt_sema!(implicit $provider $name), "]"),
                value = out(reg) value,
                options(nostack, readonly, preserves_flags)
            );
        }
        value
    }};
}
