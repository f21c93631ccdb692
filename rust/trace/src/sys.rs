// SPDX-License-Identifier: BSD-2-Clause
//! What `fastsdt/trace.h` declares; `tests/rust/trace.sh` compares sizes and offsets with it.
use std::os::raw::{c_char, c_int, c_uint};

macro_rules! opaque {
    ($($name:ident),*) => { $(#[repr(C)] pub struct $name { _private: [u8; 0] })* };
}
opaque!(Trace, Attachment, Maps, Sites, Events);

#[repr(C)]
pub struct Error {
    pub kind: c_int,
    pub line: c_uint,
    pub column: c_uint,
    pub text: [c_char; 500],
    pub reserved: [c_char; 512],
}

#[repr(C)]
pub struct Options {
    pub size: usize,
    pub flags: c_uint,
    pub buffer: usize,
}

#[repr(C)]
pub struct Site {
    pub probe: *const c_char,
    pub address: usize,
    pub armed: c_int,
    pub reason: *const c_char,
    pub state: c_int,
    pub left_out: c_int,
}

#[repr(C)]
pub struct Map {
    pub name: *const c_char,
    pub kind: c_int,
    pub is_signed: c_int,
    pub keys: usize,
    pub entries: usize,
    pub buckets: usize,
}

#[repr(C)]
pub struct Value {
    pub text: *const c_char,
    pub number: i64,
}

#[repr(C)]
pub struct Entry {
    pub key: *const Value,
    pub value: Value,
    pub total: i64,
    pub count: u64,
    pub bucket: *const u64,
}

#[repr(C)]
pub struct Event {
    pub kind: c_int,
    pub line: c_uint,
    pub column: c_uint,
    pub clock: u64,
    pub map: usize,
    pub values: usize,
    pub value: *const Value,
}

#[link(name = "fastsdt-trace")]
extern "C" {
    pub fn fastsdt_trace_open(pid: c_int, error: *mut Error) -> *mut Trace;
    pub fn fastsdt_trace_close(trace: *mut Trace, error: *mut Error) -> c_int;
    pub fn fastsdt_trace_attach_with(
        trace: *mut Trace,
        script: *const c_char,
        options: *const Options,
        error: *mut Error,
    ) -> *mut Attachment;
    pub fn fastsdt_trace_update(attachment: *mut Attachment, error: *mut Error) -> c_int;
    pub fn fastsdt_trace_detach(attachment: *mut Attachment, error: *mut Error) -> c_int;
    pub fn fastsdt_trace_sites_read(attachment: *mut Attachment, error: *mut Error) -> *mut Sites;
    pub fn fastsdt_trace_sites_count(sites: *const Sites) -> usize;
    pub fn fastsdt_trace_sites_get(sites: *const Sites, index: usize) -> *const Site;
    pub fn fastsdt_trace_sites_missing(sites: *const Sites, index: usize) -> *const c_char;
    pub fn fastsdt_trace_sites_free(sites: *mut Sites);
    pub fn fastsdt_trace_maps_read(attachment: *mut Attachment, error: *mut Error) -> *mut Maps;
    pub fn fastsdt_trace_maps_count(maps: *const Maps) -> usize;
    pub fn fastsdt_trace_maps_get(maps: *const Maps, map: usize) -> *const Map;
    pub fn fastsdt_trace_maps_entry(maps: *const Maps, map: usize, entry: usize) -> *const Entry;
    pub fn fastsdt_trace_maps_key_kind(maps: *const Maps, map: usize, key: usize) -> c_int;
    pub fn fastsdt_trace_maps_value_kind(maps: *const Maps, map: usize) -> c_int;
    pub fn fastsdt_trace_maps_pprof(maps: *mut Maps, size: *mut usize, error: *mut Error) -> *const u8;
    pub fn fastsdt_trace_maps_bucket(maps: *const Maps, map: usize, bucket: usize, low: *mut i64, high: *mut i64) -> c_int;
    pub fn fastsdt_trace_maps_dropped(maps: *const Maps) -> u64;
    pub fn fastsdt_trace_maps_unread(maps: *const Maps) -> u64;
    pub fn fastsdt_trace_maps_unread_reason(maps: *const Maps) -> *const c_char;
    pub fn fastsdt_trace_maps_free(maps: *mut Maps);
    pub fn fastsdt_trace_clear(attachment: *mut Attachment, map: usize, error: *mut Error) -> c_int;
    pub fn fastsdt_trace_events_read(attachment: *mut Attachment, error: *mut Error) -> *mut Events;
    pub fn fastsdt_trace_events_count(events: *const Events) -> usize;
    pub fn fastsdt_trace_events_get(events: *const Events, index: usize) -> *const Event;
    pub fn fastsdt_trace_events_value_kind(events: *const Events, index: usize, value: usize) -> c_int;
    pub fn fastsdt_trace_events_descriptor(attachment: *mut Attachment, error: *mut Error) -> c_int;
    pub fn fastsdt_trace_events_lost(events: *const Events) -> u64;
    pub fn fastsdt_trace_events_free(events: *mut Events);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::mem::{size_of, MaybeUninit};
    use std::ptr::addr_of;

    macro_rules! layout {
        ($to:ident, $($name:literal $type:ident { $($field:ident),* })*) => { $(
            $to.insert($name.to_string(), size_of::<$type>());
            let one = MaybeUninit::<$type>::uninit();
            $( $to.insert(format!("{}.{}", $name, stringify!($field)),
                          unsafe { addr_of!((*one.as_ptr()).$field) as usize - one.as_ptr() as usize }); )*
        )* };
    }

    /// FASTSDT_TRACE_H is a file with what C says of the header, a line each.
    #[test]
    fn as_in_c() {
        let text = std::fs::read_to_string(std::env::var("FASTSDT_TRACE_H").unwrap()).unwrap();
        let c: BTreeMap<String, usize> = text
            .lines()
            .filter(|line| !line.starts_with("FASTSDT_"))
            .map(|line| line.split_once(' ').unwrap())
            .map(|(name, number)| (name.to_string(), number.parse().unwrap()))
            .collect();
        let mut ours = BTreeMap::new();
        layout!(ours, "error" Error { kind, line, column, text, reserved } "options" Options { size, flags, buffer }
            "site" Site { probe, address, armed, reason, state, left_out }
            "map" Map { name, kind, is_signed, keys, entries, buckets } "value" Value { text, number }
            "entry" Entry { key, value, total, count, bucket } "event" Event { kind, line, column, clock, map, values, value });
        assert_eq!(ours, c);
    }
}
