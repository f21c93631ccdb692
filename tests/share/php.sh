#!/bin/bash
# The tools for PHP, on the php that is installed: what they say is what its programs and the server's log say.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need php
. "$FASTSDT_SOURCE/tests/share/common.sh"
cat >shop.php <<'END_PHP'
<?php
$calls = [];
function count_call(string $name): void { global $calls; $calls[$name] = ($calls[$name] ?? 0) + 1; }
function price(int $n): int { count_call(", price"); return $n + 1; }
class Shop { function order(int $n): int { count_call("Shop, order"); return price($n) + price($n + 1); } }
$shop = new Shop;
for ($i = 0; $i < 50; $i++)
    $shop->order($i);
foreach ($calls as $name => $count)
    echo "$name $count\n";
END_PHP
USE_ZEND_DTRACE=1 traced phpcalls.bt -- php -n shop.php
expect "phpcalls" "$(sed -n 's/^@calls\[\(.*\(price\|order\)\)\]: \(.*\)/\1 \3/p' out | sort)" "$(sort theirs)"
traced phprequests.bt -- php -n shop.php
expect "phprequests" "$(table | awk '{ print $5 }')" "$PWD/shop.php"
# Requests over HTTP: the server's log has them too.
cat >server.sh <<'END_SH'
php -n -S 127.0.0.1:0 -t . 2>server.log &
server=$!
until grep -qs started server.log; do kill -0 $server || exit 1; done
address=$(sed -n 's/.*(\(http:[^)]*\)) started.*/\1/p' server.log)
/usr/bin/python3 -c "import sys, urllib.request
for path in '/shop.php?id=7', '/shop.php', '/shop.php?id=8':
    urllib.request.urlopen(sys.argv[1] + path).read()" "$address"
kill -INT $server
wait $server
END_SH
traced phprequests.bt -- bash server.sh
expect "phprequests of a server" "$(table | awk '$4 != "-" { print $4, $6 }')" "$(sed -n 's/.*\[200\]: \(.*\)/\1/p' server.log)"
