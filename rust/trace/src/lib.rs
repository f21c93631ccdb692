// SPDX-License-Identifier: BSD-2-Clause
//! Traces probes of this process or of another one, in user space: `libfastsdt-trace`, safely.
//!
//! ```no_run
//! # fn main() -> Result<(), fastsdt_trace::Error> {
//! let trace = fastsdt_trace::Trace::process(4711)?;
//! let orders = trace.attach("usdt:*:shop:order { @[str(arg1)] = count(); }")?;
//! let maps = orders.maps()?;
//! for entry in &maps["@"] {
//!     println!("{}: {:?}", entry.key[0], entry.data);
//! }
//! # Ok(()) }
//! ```
//!
//! fastsdt-trace(1) has the language of scripts, without BEGIN, END and interval. It is no error if a site cannot be armed, or if there
//! is none: `Attachment::sites()` tells.
mod sys;

use std::ffi::{CStr, CString};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;
use std::os::raw::{c_char, c_int};
use std::os::unix::io::BorrowedFd;
use std::ptr::NonNull;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The script is wrong, or the library cannot do it.
    Text,
    /// The process cannot be traced, or no longer.
    Refused,
    /// A call that makes no sense here.
    Misuse,
    /// Threads are in the way: call again.
    Busy,
    /// None is left.
    Memory,
    /// A later library's.
    Other,
}

/// In the library's words: why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    pub kind: ErrorKind,
    /// `ErrorKind::Text`: of the script, in bytes from 1.
    pub line: u32,
    pub column: u32,
    pub text: String,
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line != 0 {
            write!(out, "{}:{}: ", self.line, self.column)?;
        }
        out.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

/// What `call` returns, unless that is `failure`.
fn checked<T: PartialEq>(failure: T, call: impl FnOnce(*mut sys::Error) -> T) -> Result<T, Error> {
    let mut error = sys::Error { kind: 0, line: 0, column: 0, text: [0; 500], reserved: [0; 512] };
    let result = call(&mut error);
    if result != failure {
        return Ok(result);
    }
    Err(error_of(&error))
}

fn error_of(error: &sys::Error) -> Error {
    let kind = match error.kind {
        1 => ErrorKind::Text,
        2 => ErrorKind::Refused,
        3 => ErrorKind::Misuse,
        4 => ErrorKind::Busy,
        5 => ErrorKind::Memory,
        _ => ErrorKind::Other,
    };
    let text = unsafe { string_of(error.text.as_ptr()) };
    Error { kind, line: error.line, column: error.column, text }
}

fn checked_handle<T>(call: impl FnOnce(*mut sys::Error) -> *mut T) -> Result<NonNull<T>, Error> {
    checked(std::ptr::null_mut(), call).map(|handle| unsafe { NonNull::new_unchecked(handle) })
}

fn checked_status(call: impl FnOnce(*mut sys::Error) -> c_int) -> Result<(), Error> {
    checked(-1, call).map(drop)
}

unsafe fn string_of(text: *const c_char) -> String {
    CStr::from_ptr(text).to_string_lossy().into_owned()
}

/// How a script is attached: `Options::new().buffer(1 << 20)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    flags: u32,
    buffer: usize,
}

impl Options {
    pub fn new() -> Options {
        Options::default()
    }

    /// The script may read strings by a system call though the process may set a seccomp filter: you know that it sets none. See `Maps::unread`.
    pub fn read_memory(self, on: bool) -> Options {
        self.with(1, on)
    }

    /// `false`: of another process, sites that need instructions moved are left alone: functions without probes.
    pub fn moves(self, on: bool) -> Options {
        self.with(2, !on)
    }

    /// Instructions that may raise a signal move too though the process handles it: its handler sees an address that is not of its code.
    pub fn move_faulting(self, on: bool) -> Options {
        self.with(4, on)
    }

    /// Bytes for the events of each thread, 4 KiB to 1 GiB; 0: 64 KiB.
    pub fn buffer(mut self, bytes: usize) -> Options {
        self.buffer = bytes;
        self
    }

    fn with(mut self, flag: u32, on: bool) -> Options {
        self.flags = if on { self.flags | flag } else { self.flags & !flag };
        self
    }
}

/// A process that is traced. A forked child has to open its own: the parent's handles give `ErrorKind::Misuse` there.
#[derive(Debug)]
pub struct Trace {
    handle: NonNull<sys::Trace>,
    reads_memory: bool,
}

// Every function may be called from any thread; those that change or read one process wait for each other.
unsafe impl Send for Trace {}
unsafe impl Sync for Trace {}

impl Trace {
    /// This process, whose threads run on meanwhile.
    pub fn own() -> Result<Trace, Error> {
        Trace::open(0)
    }

    /// Another process. While it is changed, no thread of this one may wait for any child (`waitpid(-1)`).
    pub fn process(pid: u32) -> Result<Trace, Error> {
        Trace::open(c_int::try_from(pid).ok().filter(|&pid| pid > 0).unwrap_or(-1)) // 0 would be this one
    }

    fn open(pid: c_int) -> Result<Trace, Error> {
        checked_handle(|error| unsafe { sys::fastsdt_trace_open(pid, error) }).map(|handle| Trace { handle, reads_memory: false })
    }

    /// `Options::read_memory()` for all scripts that are attached from now on.
    pub fn read_memory(&mut self) -> Result<(), Error> {
        self.reads_memory = true;
        Ok(())
    }

    /// Arms the sites that the script names: probes, and of another process its functions and their exits, as it was built.
    pub fn attach(&self, script: &str) -> Result<Attachment<'_>, Error> {
        self.attach_with(script, &Options::new())
    }

    /// `attach()` with options.
    pub fn attach_with(&self, script: &str, options: &Options) -> Result<Attachment<'_>, Error> {
        const ADDRESSES: u32 = 8; // of stacks
        let chosen = options.clone().read_memory(self.reads_memory || options.flags & 1 != 0);
        let told = sys::Options { size: std::mem::size_of::<sys::Options>(), flags: chosen.flags | ADDRESSES, buffer: chosen.buffer };
        let text = CString::new(script).map_err(|_| Error {
            kind: ErrorKind::Text,
            line: 0,
            column: 0,
            text: "the script has a NUL character in it".into(),
        })?;
        checked_handle(|error| unsafe { sys::fastsdt_trace_attach_with(self.handle.as_ptr(), text.as_ptr(), &told, error) })
            .map(|handle| Attachment { handle, trace: PhantomData })
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // What is busy, or another process's, stays: nobody is left to call again.
        let _ = checked_status(|error| unsafe { sys::fastsdt_trace_close(self.handle.as_ptr(), error) });
    }
}

/// A script that is attached. Its end puts the bytes of all sites back: read the maps before.
#[derive(Debug)]
pub struct Attachment<'a> {
    handle: NonNull<sys::Attachment>,
    trace: PhantomData<&'a Trace>,
}

unsafe impl Send for Attachment<'_> {}
unsafe impl Sync for Attachment<'_> {}

impl Attachment<'_> {
    /// What all threads have recorded so far, while they go on. Changes nothing. Of a process that has ended too.
    pub fn maps(&self) -> Result<Maps, Error> {
        let read = checked_handle(|error| unsafe { sys::fastsdt_trace_maps_read(self.handle.as_ptr(), error) })?.as_ptr();
        unsafe {
            let maps = Maps {
                maps: (0..sys::fastsdt_trace_maps_count(read)).map(|index| map_of(read, index)).collect(),
                dropped: sys::fastsdt_trace_maps_dropped(read),
                unread: sys::fastsdt_trace_maps_unread(read),
                unread_reason: string_of(sys::fastsdt_trace_maps_unread_reason(read)),
            };
            sys::fastsdt_trace_maps_free(read);
            Ok(maps)
        }
    }

    /// Counts and sums by one stack, `@[ustack] = count()`, as they are now: a profile that `go tool pprof`, Pyroscope, Grafana and
    /// speedscope read, not compressed. An error if the script has none.
    pub fn pprof(&self) -> Result<Vec<u8>, Error> {
        let read = checked_handle(|error| unsafe { sys::fastsdt_trace_maps_read(self.handle.as_ptr(), error) })?.as_ptr();
        unsafe {
            let mut size = 0;
            let made = checked(std::ptr::null(), |error| sys::fastsdt_trace_maps_pprof(read, &mut size, error));
            let copy = made.map(|bytes| std::slice::from_raw_parts(bytes, size).to_vec());
            sys::fastsdt_trace_maps_free(read);
            copy
        }
    }

    /// For poll and event loops: readable when `events()` has some. From now on a thread of the library looks for them.
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>, Error> {
        checked(-1, |error| unsafe { sys::fastsdt_trace_events_descriptor(self.handle.as_ptr(), error) })
            .map(|number| unsafe { BorrowedFd::borrow_raw(number) })
    }

    /// Every site that the script names, as it is now: somebody else may have changed it.
    pub fn sites(&self) -> Result<Vec<Site>, Error> {
        let read = checked_handle(|error| unsafe { sys::fastsdt_trace_sites_read(self.handle.as_ptr(), error) })?.as_ptr();
        unsafe {
            let sites = (0..sys::fastsdt_trace_sites_count(read))
                .map(|index| &*sys::fastsdt_trace_sites_get(read, index))
                .map(|site| Site {
                    probe: string_of(site.probe),
                    address: site.address,
                    armed: site.armed != 0,
                    reason: string_of(site.reason),
                    state: site.state,
                    left_out: site.left_out != 0,
                })
                .collect();
            sys::fastsdt_trace_sites_free(read);
            Ok(sites)
        }
    }

    /// The probes of the script that mean nothing in the process so far: a sentence each, with what there is instead.
    pub fn missing(&self) -> Result<Vec<String>, Error> {
        let read = checked_handle(|error| unsafe { sys::fastsdt_trace_sites_read(self.handle.as_ptr(), error) })?.as_ptr();
        unsafe {
            let missing = (0..)
                .map(|index| sys::fastsdt_trace_sites_missing(read, index))
                .take_while(|sentence| !sentence.is_null())
                .map(|sentence| string_of(sentence))
                .collect();
            sys::fastsdt_trace_sites_free(read);
            Ok(missing)
        }
    }

    /// Takes what `printf()` and its like in the script have recorded since the last time. Each thread has room for 64 KiB.
    pub fn events(&self) -> Result<Events, Error> {
        let read = checked_handle(|error| unsafe { sys::fastsdt_trace_events_read(self.handle.as_ptr(), error) })?.as_ptr();
        unsafe {
            let events = (0..sys::fastsdt_trace_events_count(read))
                .map(|index| (index, &*sys::fastsdt_trace_events_get(read, index)))
                .map(|(index, event)| Event {
                    kind: match event.kind {
                        1 => EventKind::Printf,
                        2 => EventKind::Print(event.map),
                        3 => EventKind::Clear(event.map),
                        4 => EventKind::Zero(event.map),
                        5 => EventKind::Time,
                        6 => EventKind::Exit,
                        7 => EventKind::Cat,
                        8 => EventKind::Join,
                        other => EventKind::Other(other),
                    },
                    line: event.line,
                    column: event.column,
                    clock: event.clock,
                    values: words_of(event.value, event.values, |value| sys::fastsdt_trace_events_value_kind(read, index, value)),
                })
                .collect();
            let lost = sys::fastsdt_trace_events_lost(read);
            sys::fastsdt_trace_events_free(read);
            Ok(Events { events, lost })
        }
    }

    /// Empties the map of this index, which is the order of first mention in the script, while the process goes on.
    pub fn clear(&self, map: usize) -> Result<(), Error> {
        checked_status(|error| unsafe { sys::fastsdt_trace_clear(self.handle.as_ptr(), map, error) })
    }

    /// After libraries came or went, or another tracer let a site go: arms what can be armed.
    pub fn update(&self) -> Result<(), Error> {
        checked_status(|error| unsafe { sys::fastsdt_trace_update(self.handle.as_ptr(), error) })
    }

    /// As the end of its life, but tells what went wrong. It is still attached then.
    pub fn detach(self) -> Result<(), (Self, Error)> {
        match checked_status(|error| unsafe { sys::fastsdt_trace_detach(self.handle.as_ptr(), error) }) {
            Ok(()) => {
                std::mem::forget(self);
                Ok(())
            }
            Err(error) => Err((self, error)),
        }
    }
}

impl Drop for Attachment<'_> {
    fn drop(&mut self) {
        let _ = checked_status(|error| unsafe { sys::fastsdt_trace_detach(self.handle.as_ptr(), error) }); // else Trace's end tries again
    }
}

/// A place in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Site {
    /// "usdt:/path/of/file:provider:name"
    pub probe: String,
    /// In the process.
    pub address: usize,
    pub armed: bool,
    /// Why it is not armed: a sentence of which the site is the subject.
    pub reason: String,
    /// `FASTSDT_TRACE_SITE_*`
    pub state: i32,
    /// It fits a pattern of functions and cannot be armed: a pattern means those that can.
    pub left_out: bool,
}

/// Of a key, a value or an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Word {
    Number(i64),
    /// The process may have put anything into it: any bytes but NUL.
    Text(Vec<u8>),
    /// The innermost call first.
    Stack(Vec<Frame>),
}

/// A call of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Frame {
    /// Of the function; the whole line where the script says how stacks look.
    pub name: String,
    /// Of the address from the function's first.
    pub offset: u64,
    /// That the code is in; "unknown": of none.
    pub file: String,
    /// Where the call goes on.
    pub address: u64,
    /// The code is in that of the next frame, whose address this is.
    pub inlined: bool,
}

impl fmt::Display for Word {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Number(number) => number.fmt(out),
            Word::Text(text) => String::from_utf8_lossy(text).fmt(out),
            Word::Stack(frames) => {
                for (index, frame) in frames.iter().rev().enumerate() {
                    write!(out, "{}{}{}", if index > 0 { ";" } else { "" }, frame.name, if frame.inlined { "_[i]" } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub low: i64,
    /// Inclusive.
    pub high: i64,
    pub count: u64,
}

/// What an entry holds. Numbers are wide enough for `i64` and `u64`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Data {
    /// count, sum, min, max, and a number that was assigned.
    Number(i128),
    /// A string that was assigned.
    Text(Vec<u8>),
    /// A stack that was assigned: the innermost call first.
    Stack(Vec<Frame>),
    /// avg, stats.
    Stats { count: u64, average: i128, total: i128 },
    /// hist, lhist: the buckets that counted anything.
    Histogram(Vec<Bucket>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    pub key: Vec<Word>,
    pub data: Data,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Map {
    /// With its "@".
    pub name: String,
    /// `FASTSDT_TRACE_COUNT`, ...
    pub kind: i32,
    /// By their keys. A map without keys has one entry at most.
    pub entries: Vec<Entry>,
}

impl<'a> IntoIterator for &'a Map {
    type Item = &'a Entry;
    type IntoIter = std::slice::Iter<'a, Entry>;
    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter()
    }
}

/// The maps as they were when they were read, and what they lack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Maps {
    maps: Vec<Map>,
    /// Hits, or their statements, that found no room or were not delivered.
    pub dropped: u64,
    /// Hits that were not recorded for a value that only a system call can read.
    pub unread: u64,
    /// Why such values are not read; empty: they are.
    pub unread_reason: String,
}

impl Maps {
    pub fn get(&self, name: &str) -> Option<&Map> {
        self.maps.iter().find(|map| map.name == name)
    }
    /// In the order of their first mention.
    pub fn iter(&self) -> std::slice::Iter<'_, Map> {
        self.maps.iter()
    }
}

impl<'a> IntoIterator for &'a Maps {
    type Item = &'a Map;
    type IntoIter = std::slice::Iter<'a, Map>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Index<&str> for Maps {
    type Output = Map;
    /// Panics if the script has no map of this name.
    fn index(&self, name: &str) -> &Map {
        self.get(name).unwrap_or_else(|| panic!("the script has no map {}", name))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    Printf,
    /// With the index of the map.
    Print(usize),
    Clear(usize),
    Zero(usize),
    Time,
    Exit,
    Cat,
    /// A string, or none: the thread's strings are complete.
    Join,
    /// A later library's.
    Other(i32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    pub kind: EventKind,
    /// Of the statement in the script, from 1.
    pub line: u32,
    pub column: u32,
    /// The processor's counter, by which events are sorted; 0: not known.
    pub clock: u64,
    /// The arguments behind the format, or the printed value.
    pub values: Vec<Word>,
}

/// A batch; iterate over it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Events {
    events: Vec<Event>,
    /// Events of the attachment that found no room so far.
    pub lost: u64,
}

impl IntoIterator for Events {
    type Item = Event;
    type IntoIter = std::vec::IntoIter<Event>;
    fn into_iter(self) -> Self::IntoIter {
        self.events.into_iter()
    }
}

/// "7f0012345678 main+12 (/usr/bin/shop)", or "7f0012345678 step (inlined)".
fn frame_of(line: &str) -> Frame {
    let whole = || Frame { name: line.into(), offset: 0, file: "unknown".into(), address: 0, inlined: false };
    let (address, rest) = match line.split_once(' ') {
        Some((digits, rest)) => (u64::from_str_radix(digits, 16), rest),
        None => return whole(),
    };
    let address = match address {
        Ok(address) => address,
        Err(_) => return whole(),
    };
    if let Some(name) = rest.strip_suffix(" (inlined)") {
        return Frame { name: name.into(), offset: 0, file: String::new(), address, inlined: true };
    }
    match rest.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        None => whole(),
        Some((symbol, file)) => {
            let (name, offset) = symbol
                .rsplit_once('+')
                .and_then(|(name, offset)| offset.parse().ok().map(|offset| (name, offset)))
                .unwrap_or((symbol, 0));
            Frame { name: name.into(), offset, file: file.into(), address, inlined: false }
        }
    }
}

/// `kind`: `FASTSDT_TRACE_VALUE_*`.
unsafe fn word_of(value: &sys::Value, kind: c_int) -> Word {
    const STACK: c_int = 3;
    if value.text.is_null() {
        Word::Number(value.number)
    } else if kind == STACK {
        Word::Stack(string_of(value.text).lines().map(frame_of).collect())
    } else {
        Word::Text(CStr::from_ptr(value.text).to_bytes().to_vec())
    }
}

unsafe fn words_of(values: *const sys::Value, count: usize, kind: impl Fn(usize) -> c_int) -> Vec<Word> {
    (0..count).map(|index| word_of(&*values.add(index), kind(index))).collect()
}

unsafe fn map_of(read: *const sys::Maps, index: usize) -> Map {
    let map = &*sys::fastsdt_trace_maps_get(read, index);
    let number = |n: i64| if map.is_signed != 0 { i128::from(n) } else { i128::from(n as u64) };
    let entries = (0..map.entries)
        .map(|e| &*sys::fastsdt_trace_maps_entry(read, index, e))
        .map(|entry| Entry {
            key: words_of(entry.key, map.keys, |key| sys::fastsdt_trace_maps_key_kind(read, index, key)),
            data: match map.kind {
                5 | 6 => Data::Stats { count: entry.count, average: number(entry.value.number), total: number(entry.total) },
                7 | 8 => Data::Histogram(
                    (0..map.buckets)
                        .filter(|&b| *entry.bucket.add(b) != 0)
                        .map(|b| {
                            let (mut low, mut high) = (0, 0);
                            sys::fastsdt_trace_maps_bucket(read, index, b, &mut low, &mut high);
                            Bucket { low, high, count: *entry.bucket.add(b) }
                        })
                        .collect(),
                ),
                _ => match word_of(&entry.value, sys::fastsdt_trace_maps_value_kind(read, index)) {
                    Word::Number(n) => Data::Number(number(n)),
                    Word::Text(text) => Data::Text(text),
                    Word::Stack(frames) => Data::Stack(frames),
                },
            },
        })
        .collect();
    Map { name: string_of(map.name), kind: map.kind, entries }
}
