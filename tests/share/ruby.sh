#!/bin/bash
# The tools for Ruby, on the ruby that is installed: what they say is what Ruby says of itself.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need ruby
. "$FASTSDT_SOURCE/tests/share/common.sh"
cat >work.rb <<'END_RB'
class Shop
  def order(n)
    price(n) * 2
  end

  def price(n)
    n.to_s.succ.hash
  end
end
calls = Hash.new(0)
trace = TracePoint.new(:call, :c_call) { |t| calls["#{t.defined_class}, #{t.method_id}"] += 1 }
shop = Shop.new
trace.enable
600.times { |i| shop.order(i) }
trace.disable
3.times { GC.start }
calls.each { |name, count| puts "#{name} #{count}" if count == 600 }
puts "GC #{GC.count}"
END_RB
traced rubycalls.bt --read-memory -- ruby --disable-gems work.rb
expect "rubycalls" "$(sed -n 's/^@calls\[\(Shop, .*\|String, succ\)\]: \(.*\)/\1 \2/p' out | sort)" \
    "$(grep -E '^(Shop, |String, succ)' theirs | sort)"
expect "rubycalls: methods" "$(grep -cE '^(Shop, |String, succ)' theirs)" 3
traced rubygc.bt -- ruby --disable-gems work.rb
expect "rubygc: how often it marks" "$(table | awk '$4 == "mark"' | wc -l)" "$(sed -n 's/^GC //p' theirs)"
matches ' sweep ' <out || fail "rubygc: $(cat out)"
traced rubygc.bt -- --ms=100000 -- ruby --disable-gems work.rb
expect "rubygc --ms" "$(table)" ""
