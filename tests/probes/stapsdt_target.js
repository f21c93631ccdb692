// Hits its probes as tracers.py has it, through npm's koffi: "stapsdt", libstapsdt's functions, or "probes", those of fastsdt/probes.h.
const koffi = require("koffi");
const readline = require("readline");
const bits = (value) => new BigInt64Array(new Float64Array([value]).buffer)[0];
const long = (value) => BigInt.asUintN(64, BigInt(value));
let fire, active, end;

if (process.argv[2] === "stapsdt") {
    const library = koffi.load("libstapsdt.so.0");
    const init = library.func("void* providerInit(const char*)");
    const add = library.func("void* providerAddProbe(void*, const char*, int, ...)");
    const load = library.func("int providerLoad(void*)");
    const isEnabled = library.func("int probeIsEnabled(void*)");
    const probeFire = library.func("void probeFire(void*, ...)");
    const unload = library.func("int providerUnload(void*)");
    const shop = init("shop");
    const types = (...all) => all.flatMap((one) => ["int", one]);
    const probes = {
        order: add(shop, "order", 4, ...types(-8, 8, 8, 1)),
        named: add(shop, "named", 2, ...types(-8, 8)),
        twelve: add(shop, "twelve", 6, ...types(-8, -8, -8, -8, -8, -8)),
    };
    if (load(shop) !== 0)
        throw new Error("it is not loaded");
    fire = (name, ...values) => probeFire(probes[name], ...values.flatMap((one) => [typeof one === "string" ? "const char *" : "int64_t", one]));
    active = (name) => isEnabled(probes[name]) !== 0;
    end = () => unload(shop);
} else {
    const library = koffi.load("libfastsdt-probes.so.0");
    const create = library.func("void* fastsdt_probes_new(const char*, uint32_t, void*)");
    const add = library.func("void* fastsdt_probes_add(void*, const char*, const char*, void*)");
    const load = library.func("int fastsdt_probes_load(void*, void*)");
    const isActive = library.func("int fastsdt_probe_is_active(void*)");
    const probeFire = library.func("void fastsdt_probe_fire(void*, uint64_t*)");
    const free = library.func("void fastsdt_probes_free(void*)");
    const shop = create("shop", 0, null);
    const probes = {
        order: add(shop, "order", "long, const char *, double, bool", null),
        named: add(shop, "named", "long id, const char *item", null),
        twelve: add(shop, "twelve", Array(12).fill("long").join(), null),
    };
    if (load(shop, null) !== 0)
        throw new Error("it is not loaded");
    const texts = {};  // a text stays where it is, once it was passed
    const text = (one) => texts[one] ||= [Buffer.from(one + "\0")].map((buffer) => [buffer, koffi.address(buffer)])[0];
    fire = (name, ...values) => probeFire(probes[name], BigUint64Array.from(values, (one) => typeof one === "string" ? text(one)[1] : long(one)));
    active = (name) => isActive(probes[name]) !== 0;
    end = () => free(shop);
}

const twelve = process.argv[2] === "stapsdt" ? 6 : 12;
process.stdout.write(`${process.pid}\n`);
const input = readline.createInterface({ input: process.stdin });
input.on("line", (line) => {
    const hits = Number.parseInt(line);
    if (!hits) {
        process.stdout.write(active("order") && active("named") && active("twelve") ? "True\n" : "False\n");
        return;
    }
    for (let i = 0; i < hits; ++i) {
        fire("order", i, i % 3 ? "tea" : "coffee", bits(i / 2), i % 2 ? 0 : 1);
        fire("named", -i, "milk");
        fire("twelve", ...Array.from({ length: twelve }, (_, j) => i + j));
    }
    process.stdout.write("did\n");
});
input.on("close", () => { end(); });
