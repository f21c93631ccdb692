// SPDX-License-Identifier: BSD-2-Clause
//! Targets that have sites. What differs between them is in a file each.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

/// One site: a generic function, because only a type parameter can tell the assembly the size of an argument.
#[doc(hidden)]
#[macro_export]
macro_rules! __fastsdt_emit {
    ($sema:ident $provider:ident $name:ident []) => {
        unsafe { $crate::__fastsdt_asm!($sema $provider $name; ""; ) }
    };
    ($sema:ident $provider:ident $name:ident
        [($T:ident $v:ident $s:ident $arg:expr) $(($Ts:ident $vs:ident $ss:ident $args:expr))*]) => {{
        #[inline(always)]
        fn site<$T: $crate::Arg $(, $Ts: $crate::Arg)*>($v: $T $(, $vs: $Ts)*) {
            unsafe {
                $crate::__fastsdt_asm!($sema $provider $name;
                    concat!($crate::__fastsdt_operand!($s $v) $(, " ", $crate::__fastsdt_operand!($ss $vs))*);
                    $s = const <$T as $crate::Arg>::SIZE, $v = in(reg) $crate::Arg::register($v),
                    $($ss = const <$Ts as $crate::Arg>::SIZE, $vs = in(reg) $crate::Arg::register($vs),)*
                )
            }
        }
        site($arg $(, $args)*)
    }};
}
