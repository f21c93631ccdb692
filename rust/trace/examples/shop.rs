// SPDX-License-Identifier: BSD-2-Clause
//! Starts a shop (`examples/hello.c`, built as the first argument says), sells a thousand things, and shows what its probe has seen.
use fastsdt_trace::{Data, Trace};
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

fn main() -> Result<(), Box<dyn Error>> {
    let program = std::env::args().nth(1).ok_or("which program?")?;
    let mut shop = Command::new(program).arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = shop.stdin.take().ok_or("no input")?;
    let mut output = BufReader::new(shop.stdout.take().ok_or("no output")?);
    writeln!(input, "first")?;
    output.read_line(&mut String::new())?; // it answers, so its files are mapped

    let trace = Trace::process(shop.id())?;
    let orders = trace.attach("usdt:*:shop:order { @[str(arg1, 3)] = count(); @ids = hist(arg0); @s = stats(arg0); }")?;

    for n in 1..=1000 {
        writeln!(input, "{}", if n % 5 == 0 { "pie" } else { "tea" })?;
    }
    drop(input);
    shop.wait()?;

    let maps = orders.maps()?;
    for entry in &maps["@"] {
        println!("{}: {:?}", entry.key[0], entry.data);
    }
    for entry in maps.iter().flatten() {
        match &entry.data {
            Data::Histogram(buckets) => buckets.iter().for_each(|b| println!("{}..={}: {}", b.low, b.high, b.count)),
            Data::Stats { count, average, total } => println!("count {}, average {}, total {}", count, average, total),
            _ => (),
        }
    }
    println!("dropped {}, unread {}", maps.dropped, maps.unread);
    Ok(())
}
