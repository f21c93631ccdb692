# SPDX-License-Identifier: BSD-2-Clause
package=php8.2 provider=Zend/zend_dtrace.d file=sapi/cli/php
tests_are="all of Zend/tests, probes switched on, without extensions"
configure() { "$source/configure" -C --disable-all --enable-dtrace --enable-cli --disable-cgi --disable-phpdbg; }
build() { make -j"$jobs"; }
recompile() { # libtool's rules make .lo, and the .o beside it
    local rules=("${@/%.o/.lo}")
    rm -f "${rules[@]}"
    make "${rules[@]}"
}
own_tests() { # without -W its parallel runs print progress around the results
    rm -f results.txt
    USE_ZEND_DTRACE=1 TEST_PHP_EXECUTABLE=$PWD/sapi/cli/php ./sapi/cli/php "$source/run-tests.php" -q "-j$jobs" --no-progress -W results.txt \
        "$source/Zend/tests" >tests.log 2>&1 || true
    sed "s|$source/||" results.txt | sort
}
live_setup() {
    live_probe=php:function__entry live_argument=arg0 live_value=twice live_count=200
    live_more_probe=php:exception__thrown live_more_count=5
    live_command=(env USE_ZEND_DTRACE=1 ./sapi/cli/php live.php)
    echo '<?php function twice($x) { return 2 * $x; } function other() {} fgets(STDIN); for ($i = 0; $i < 200; $i++) { twice($i); other(); } for ($i = 0; $i < 5; $i++) { try { throw new Exception("x"); } catch (Exception $e) {} }' >live.php
}
