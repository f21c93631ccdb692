# SPDX-License-Identifier: BSD-2-Clause
package=ruby3.1 provider=probes.d file=miniruby
tests_are="26 of the 32 files of bootstraptest, and basictest, by miniruby, which is ruby without extensions"
configure() {
    "$source/configure" -C --enable-dtrace --disable-install-doc --disable-yjit --with-baseruby=no --without-gmp \
        "optflags=$CFLAGS" debugflags= "cppflags=$CPPFLAGS"
}
build() { make -j"$jobs" V=1 miniruby; }
recompile() { make "$@"; }
own_tests() { # "#12 test_attr.rb:3:in `<top (required)>' ."; the rest of the line is the time
    local t=(attr autoload block class env eval exception fiber finalizer flip flow gc insns io jump literal literal_suffix load marshal
        massign method
        objectspace proc string struct syntax)
    t=("${t[@]/#/$source/bootstraptest/test_}")
    {
        ./miniruby -I"$source/lib" "$source/bootstraptest/runner.rb" --ruby="$PWD/miniruby -I$source/lib" -v "${t[@]/%/.rb}"
        ./miniruby -I"$source/lib" "$source/basictest/test.rb"
    } 2>&1 | sed -E "s|$source/||g; s/ [0-9]+\\.[0-9]{3}\$//" |
        grep -E '^#[0-9]|^(ok|not ok|PASS|FAIL|test |test_|end of)|tests? (failed|succeeded)' | sort
}
# 200 calls of one method and 100 of another, and 7 collections. Ruby 3.1 passes method__entry only while somebody traces events (vm_trace.c),
# so its own TracePoint does, and counts.
live_setup() {
    live_probe=ruby:method__entry live_argument=arg1 live_value=twice live_count=200
    live_more_probe=ruby:gc__mark__begin live_more_count=7
    live_command=(./miniruby live.rb)
    live_options=(--read-memory) # Kernel#syscall takes any number: fastsdt-trace cannot tell that the program sets no seccomp filter
    cat >live.rb <<'END'
def twice(x) = 2 * x
def other = nil
called = 0
trace = TracePoint.new(:call) { |event| called += 1 if event.method_id == :twice }
GC.disable
STDIN.gets
before = GC.count
trace.enable
200.times { |i| twice(i); other if i.odd? }
trace.disable
7.times { GC.start }
File.write("statistics", "#{called} #{GC.count - before}")
exit!(true) # at its end it collects too
END
    live_statistics() { cat statistics; }
}
