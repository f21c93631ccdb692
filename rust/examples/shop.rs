// SPDX-License-Identifier: BSD-2-Clause
//! `cargo run --release --example shop -- 1000`: that many orders.
use fastsdt::{fastsdt, fastsdt_is_active, fastsdt_with_semaphore};

#[inline(never)]
fn order(id: i32, cents: i64) -> i64 {
    fastsdt!(shop, order, id, c"tea", cents);
    if fastsdt_is_active!(shop, slow) {
        fastsdt_with_semaphore!(shop, slow, (0..=id).map(i64::from).sum::<i64>());
    }
    cents - 1
}

fn main() {
    let orders = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(3);
    fastsdt!(shop, open);
    let mut total = 0;
    for id in 0..orders {
        total += order(id, 250);
    }
    let local = 5u16;
    fastsdt!(shop, all, -1i8, 2u8, -3i16, local, -5i32, 'c', -7i64, 8usize, true, 1.5f32, 2.5f64, &local);
    println!("{total}");
}
