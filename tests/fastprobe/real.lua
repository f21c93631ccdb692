-- SPDX-License-Identifier: BSD-2-Clause
-- Work for a Lua interpreter that was built with fastprobe: every part of the VM that calls, unwinds or switches
-- stacks. Prints results; the build without the plugin must print the same. (Debian's package has no test suite.)
local function check(ok, what) if not ok then error("FAIL " .. what, 2) end end

-- Errors are longjmp out of C frames.
local function deep(n) if n == 0 then error({ code = 42 }) end return deep(n - 1) + 1 end
local ok, e = pcall(deep, 150)
check(not ok and e.code == 42, "pcall")
check(select(2, xpcall(deep, function(x) return x.code + 1 end, 10)) == 43, "xpcall")
check(not pcall(string.rep, "x", -1 >> 1), "memory error is caught")
check(not pcall(function() local function f() return f() + 1 end return f() end), "stack overflow is caught")

-- Coroutines, with yields across pcall, metamethods and iterators.
local mt = { __add = function(a, b) return coroutine.yield(a.v + b.v) end, __lt = function(a, b) return a.v < b.v end,
             __index = function(t, k) return k .. "!" end, __gc = function() end, __close = function() end }
local co = coroutine.wrap(function()
    local a, b = setmetatable({ v = 1 }, mt), setmetatable({ v = 2 }, mt)
    local _, r = pcall(function() return a + b end)
    coroutine.yield(r)
    for i = 1, 3 do coroutine.yield(i) end
    return "end"
end)
check(co() == 3 and co("back") == "back" and co() == 1 and co() == 2 and co() == 3 and co() == "end", "coroutines")

-- Strings, patterns, formats (varargs in C), sorting with callbacks.
local words = {}
for w in (("the quick brown fox jumps over the lazy dog "):rep(200)):gmatch("%a+") do words[#words + 1] = w .. #words end
table.sort(words, function(a, b) return a:reverse() < b:reverse() end)
print(#words, words[1], words[900], words[#words])
print(("%5.2f|%-8s|%+d|%x|%q|%g"):format(math.pi, "ab", 7, 255, "q\n\0", 1e300))
print((("hello world"):gsub("o", { o = "0" })), ("x"):rep(5, "-"), ("key = value"):match("^(%w+)%s*=%s*(%w+)$"))
print(string.pack("<i4z", -2, "abc"):byte(1, -1))

-- Compiler, dump and load.
local source = {}
for i = 1, 300 do source[#source + 1] = ("local a%d = %d; "):format(i % 150, i) end
check(not load(table.concat(source) .. ("local z = 1; "):rep(100)), "too many locals")
local f = load(string.dump(load("local a, b = ...; return a * b, a // b, a % b, a ^ b, a | b, -a ~= b")))
print(f(7, 3))

-- Collector under pressure, in both modes.
for _, mode in ipairs { "generational", "incremental" } do
    collectgarbage(mode)
    local keep = setmetatable({}, { __mode = "k" })
    for i = 1, 60000 do
        local t = setmetatable({ i, tostring(i), { i } }, mt)
        if i % 100 == 0 then keep[t] = i end
    end
    collectgarbage() collectgarbage()
    check(next(keep) == nil, "weak table, " .. mode)
end

-- Numbers.
local h = 0
for i = 1, 300000 do h = (h * 31 + (i ~ (i >> 3))) & 0xffffffff end
print(h, math.maxinteger + 1 == math.mininteger, 7 // 0.0, -7 % 3, 3 | 4.0, 2^53 == 2^53 + 1, math.tointeger("8"))
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(24), select("#", table.unpack({}, 1, 200)))
debug.sethook(function() h = h + 1 end, "l")
for i = 1, 100 do h = h ~ i end
debug.sethook()
print(h, debug.traceback("trace"):match("in main chunk"))
