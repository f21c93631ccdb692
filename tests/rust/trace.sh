#!/bin/bash
# The crate in rust/trace, on whatever Rust there is from 1.63 on: its structures are those of the C header, and its maps and events what
# the programs do.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/trace_h.sh"
need cargo rustc gcc
rust=$(rustc --version | sed 's/^rustc \([0-9]*\.[0-9]*\).*/\1/')
[ "$(printf '%s\n' 1.63 "$rust" | sort -V | sed -n 1p)" = 1.63 ] || skip "the crate needs Rust 1.63, this is $rust"
[ -e "$FASTSDT_BUILD/lib/libfastsdt-trace.so" ] || skip "the tools are not built"
rm -rf crate
cp -r "$FASTSDT_SOURCE/rust/trace" crate
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o hello
gcc -O2 -DFASTSDT_BOUND=4 -fPIC -shared -I"$INCLUDE" "$FASTSDT_SOURCE/tests/python/shop.c" -o libshop.so
trace_h header.txt
export CARGO_HOME=$PWD/cargo-home CARGO_TARGET_DIR=$PWD/target CARGO_NET_OFFLINE=true CARGO_TERM_COLOR=never
export FASTSDT_LIBRARY_PATH=$FASTSDT_BUILD/lib LD_LIBRARY_PATH=$FASTSDT_BUILD/lib:$PWD FASTSDT_TRACE_H=$PWD/header.txt RUSTFLAGS="-L $PWD"

cat >crate/examples/own.rs <<'END'
//! Traces itself.
use fastsdt_trace::{Data, ErrorKind, Event, EventKind, Trace, Word};

#[link(name = "shop")]
extern "C" {
    fn run(orders: i32);
}

fn main() {
    let mut trace = Trace::own().unwrap();
    let wrong = trace.attach("usdt:*:shop:order {\n  @ = foo; }").unwrap_err();
    assert_eq!((wrong.kind, wrong.line, wrong.column), (ErrorKind::Text, 2, 7));
    assert!(wrong.to_string().starts_with("2:7: \"foo\" is no value"), "{}", wrong);
    assert_eq!(trace.attach("\0").unwrap_err().kind, ErrorKind::Text);
    {
        let unread = trace.attach("usdt:*:shop:order { @min = min(0 - arg1); } usdt:*:shop:order { @text[arg0] = str(arg2); }").unwrap();
        unsafe { run(10) };
        let maps = unread.maps().unwrap();
        assert_eq!(maps["@min"].entries[0].data, Data::Number(-9));
        // Rust's library makes system calls that cannot be told; should a version not do so, the texts are read.
        match maps.unread {
            0 => assert_eq!((maps["@text"].entries.len(), maps.unread_reason.as_str()), (4, "")),
            _ => assert_eq!((maps["@text"].entries.len(), maps.unread, maps.unread_reason.contains("seccomp")), (0, 10, true)),
        }
    }
    trace.read_memory().unwrap();
    let orders = trace.attach("usdt:*:shop:* { @n[arg0] = count(); } usdt:*:shop:order { @s[str(arg2), arg0] = sum(arg1); @l = lhist(arg1, 0, 300, 100); printf(\"%d %s\", arg1, str(arg2)); print(@l); }").unwrap();
    let sites = orders.sites().unwrap();
    assert_eq!(sites.iter().filter(|site| site.armed).count(), 1);
    assert_eq!(sites.iter().find(|site| !site.armed).unwrap().reason, "has no nop10");
    unsafe { run(2) };
    let events: Vec<Event> = orders.events().unwrap().into_iter().collect();
    assert_eq!(events.iter().map(|event| event.kind).collect::<Vec<_>>(), [EventKind::Printf, EventKind::Print(2), EventKind::Printf, EventKind::Print(2)]);
    assert_eq!(events[2].values, [Word::Number(1), Word::Text(b"tea".to_vec())]);
    for map in 0..3 {
        orders.clear(map).unwrap();
    }
    assert_eq!(orders.clear(3).unwrap_err().kind, ErrorKind::Misuse);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| unsafe { run(250) });
        }
        while orders.maps().unwrap()["@n"].entries.len() < 4 {}
    });
    let maps = orders.maps().unwrap();
    for entry in maps["@n"].into_iter().chain(&maps["@s"]) {
        println!("{} {:?}", entry.key.iter().map(|word| word.to_string()).collect::<Vec<_>>().join(" "), entry.data);
    }
    println!("{:?} dropped {}", maps["@l"].entries[0].data, maps.dropped);
    assert!(maps.get("@none").is_none());
    orders.update().unwrap();
    orders.detach().unwrap();
}
END
cat >crate/examples/functions.rs <<'END'
//! Functions of a program that was built without fastsdt.
use fastsdt_trace::{Data, Options, Trace, Word};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::io::AsRawFd;
use std::process::{Command, Stdio};

#[repr(C)]
struct Poll {
    descriptor: i32,
    wanted: i16,
    found: i16,
}
extern "C" {
    fn poll(all: *mut Poll, count: u64, timeout: i32) -> i32;
}

fn main() {
    let program = std::env::args().nth(1).unwrap();
    let mut plain = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = plain.stdin.take().unwrap();
    let mut output = BufReader::new(plain.stdout.take().unwrap());
    let mut go = || {
        writeln!(input, "go").unwrap();
        output.read_line(&mut String::new()).unwrap();
    };
    go();
    let trace = Trace::process(plain.id()).unwrap();
    let script = format!("uprobe:{}:work {{ @[ustack] = count(); @n = count(); printf(\"%d\", arg0); }}", program);
    let unmoved = trace.attach_with(&script, &Options::new().moves(false)).unwrap();
    assert!(unmoved.sites().unwrap().is_empty());
    unmoved.detach().unwrap();
    let work = trace.attach_with(&script, &Options::new().buffer(1 << 20)).unwrap();
    assert!(work.sites().unwrap().iter().all(|site| site.armed && !site.left_out));
    let mut ready = Poll { descriptor: work.descriptor().unwrap().as_raw_fd(), wanted: 1, found: 0 };
    assert_eq!(unsafe { poll(&mut ready, 1, 0) }, 0);
    go();
    let mut seen = 0;
    while seen < 1000 {
        assert_eq!(unsafe { poll(&mut ready, 1, -1) }, 1);
        for event in work.events().unwrap() {
            assert_eq!(event.values, [Word::Number(seen)]);
            seen += 1;
        }
    }
    let maps = work.maps().unwrap();
    let entry = &maps["@"].entries[0];
    assert_eq!((entry.key[0].to_string().ends_with("main;work"), &entry.data), (true, &Data::Number(1000)));
    match &entry.key[0] {
        Word::Stack(frames) => assert_eq!((frames[0].name.as_str(), &frames[0].file, frames[0].inlined), ("work", &program, false)),
        other => panic!("{:?}", other),
    }
    std::fs::write("profile.pb", work.pprof().unwrap()).unwrap();
    let none = trace.attach("uprobe:/no/such:f { @ = count(); }").unwrap();
    assert!(none.pprof().unwrap_err().to_string().contains("by stack"));
    assert_eq!(none.missing().unwrap(), ["nothing matches uprobe:/no/such:f: there is no file /no/such"]);
    assert!(work.missing().unwrap().is_empty());
    println!("{}", entry.key[0]);
}
END
gcc -O2 -fno-omit-frame-pointer "$FASTSDT_SOURCE/tests/engine/plain.c" -o plain
(cd crate && cargo build --quiet --examples && cargo test --quiet --lib) >build.log 2>&1 || fail "cargo: $(cat build.log)"
grep -q '^test result: ok. 1 passed' build.log || fail "no test: $(cat build.log)"

./target/debug/examples/own >out 2>err || fail "itself: $(cat out err)"
python3 - >wanted <<'END'
runs = [(0 if i % 10 < 1 else 1 if i % 10 < 3 else 2 if i % 10 < 6 else 3, i) for i in range(250)] * 4
of = {shop: [i for s, i in runs if s == shop] for shop in range(4)}
for shop in range(4):
    print(f"{shop} Number({len(of[shop])})")
for item, shop in sorted(("tea" if shop % 2 else "coffee", shop) for shop in range(4)):
    print(f"{item} {shop} Number({sum(of[shop])})")
print("Histogram([" + ", ".join(f"Bucket {{ low: {low}, high: {low + 99}, count: {sum(low <= i < low + 100 for _, i in runs)} }}" for low in (0, 100, 200)) + "]) dropped 0")
END
diff wanted out || fail "itself (< wanted, > printed)"

timeout 100 ./target/debug/examples/shop ./hello >out 2>err || fail "another process: $(cat out err)"
expect "another process" "$(cat out)" "pie: Number(200)
tea: Number(800)
2..=3: 2
4..=7: 4
8..=15: 8
16..=31: 16
32..=63: 32
64..=127: 64
128..=255: 128
256..=511: 256
512..=1023: 490
count 1000, average 501, total 501500
dropped 0, unread 0"

if [ "$(uname -m)" = x86_64 ]; then
    timeout 100 ./target/debug/examples/functions "$PWD/plain" >out 2>err || fail "functions: $(cat out err)"
    matches 'main;work$' <out || fail "functions: $(cat out)"
    ! have go || ! go tool pprof -raw profile.pb >raw 2>/dev/null || expect "pprof" "$(grep -c ' work ' raw)" 1
fi
echo "Rust $rust"
