#!/bin/bash
# --sarif: the structure that SARIF 2.1.0 demands, and the findings of --json in it.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc python3 fastsdt-check
python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is not installed"
cat >prog.c <<'E'
#include <fastsdt.h>
int main(int argc, char** argv) { FASTSDT(a, good, argc); FASTSDT(a, other, argc); return argv == 0; }
E
gcc -g -O2 -I"$INCLUDE" prog.c -o prog
mkdir -p "a b"
python3 "$FASTSDT_SOURCE/tests/check/damage.py" prog "a b/damaged%"
echo text >text
status() { local s=0; "$@" >out.sarif 2>err || s=$?; echo $s; }
expect "status, sound" "$(status fastsdt-check --sarif prog)" 0
cp out.sarif sound.sarif
expect "status, damaged" "$(status fastsdt-check --sarif 'a b/damaged%' prog)" 1
cp out.sarif damaged.sarif
fastsdt-check --json 'a b/damaged%' prog >damaged.json || true
expect "status, unusable" "$(status fastsdt-check --sarif prog text)" 2
cp out.sarif unusable.sarif
printf '#define USDT_NOP nopl 8(%%%%rax)\n#include <usdt.h>\nint main(int c, char **v) { USDT(q, slow, c); (void)v; return 0; }\n' >slow.c
gcc -I"$INCLUDE" slow.c -o slow # single-stepped up to Linux 6.15
expect "status, all infos" "$(status fastsdt-check --sarif --verbose --functions --fail-on never slow /bin/ls)" 0
cp out.sarif infos.sarif
gcc -c -g -O2 -I"$INCLUDE" prog.c -o prog.o
expect "status, an object" "$(status fastsdt-check --sarif -v prog.o)" 0
cp out.sarif object.sarif
for other in --json --plan "--pid $$"; do
    expect "status with $other" "$(status fastsdt-check --sarif $other prog)" 2
done
python3 - <<'E'
import json, jsonschema, urllib.parse
# Of the standard: 3.13 (log file), 3.14 (run), 3.19 (toolComponent), 3.20 (invocation), 3.27 (result), 3.28 (location), 3.29
# (physicalLocation), 3.32 (address), 3.49 (reportingDescriptor), 3.58 (notification). Properties that we do not write are left out.
def objects(required=(), **properties):
    return {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}
def array(items, unique=False):
    return {"type": "array", "items": items, "uniqueItems": unique}
string, integer = {"type": "string"}, {"type": "integer", "minimum": -1}
text = objects(["text"], text={"type": "string", "minLength": 1})
level = {"enum": ["none", "note", "warning", "error"]}
physical = objects(
    artifactLocation=objects(uri={"type": "string", "pattern": "^(file:///)?[A-Za-z0-9._~/+@%-]+$"}),
    region=objects(startLine={"type": "integer", "minimum": 1}), address=objects(absoluteAddress=integer, kind=string))
physical["anyOf"] = [{"required": ["address"]}, {"required": ["artifactLocation"]}]
locations = array(objects(physicalLocation=physical, message=text, logicalLocations=array(objects(fullyQualifiedName=string), True)))
rule = objects(["id"], id=string, shortDescription=text, defaultConfiguration=objects(level=level))
driver = objects(["name"], name=string, version={"type": "string", "pattern": "[0-9]+(\\.[0-9]+){1,3}"}, semanticVersion=string, rules=array(rule, True))
notification = objects(["message"], level=level, message=text, locations=locations)
invocation = objects(["executionSuccessful"], executionSuccessful={"type": "boolean"}, toolExecutionNotifications=array(notification))
result = objects(["message"], ruleId=string, ruleIndex=integer, level=level, message=text, locations=locations, relatedLocations=locations,
                 partialFingerprints={"type": "object", "additionalProperties": string})
run = objects(["tool"], tool=objects(["driver"], driver=driver), invocations=array(invocation), results=array(result))
log_file = objects(["version", "runs"], version={"enum": ["2.1.0"]}, runs=array(run))
log_file["properties"]["$schema"] = string
validator = jsonschema.Draft7Validator(log_file)
logs = {}
for name in ["sound", "damaged", "unusable", "infos", "object"]:
    log = json.load(open(name + ".sarif"))
    validator.validate(log)
    logs[name] = log["runs"][0]
    rules = logs[name]["tool"]["driver"]["rules"]
    for one in logs[name]["results"]:
        assert rules[one["ruleIndex"]]["id"] == one["ruleId"], one
assert not validator.is_valid({"version": "2.1.0", "runs": [{"results": []}]}), "the schema refuses nothing"
assert logs["sound"]["results"] == [] and logs["sound"]["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}], logs["sound"]
# The findings of --json, with their lines.
want = []
for file in json.load(open("damaged.json"))["files"]:
    for place in [file] + file["probes"]:
        for finding in place["findings"]:
            if finding["severity"] != "info":
                want.append((finding["id"], finding["severity"], place.get("line"), finding["message"]))
got = []
for one in logs["damaged"]["results"]:
    where = one["locations"][0]["physicalLocation"]
    line = where.get("region", {}).get("startLine")
    got.append((one["ruleId"], one["level"], line, one["message"]["text"].split(": ", 1)[1]))
    if line:
        assert where["artifactLocation"]["uri"].endswith("prog.c"), where
        binary = one["relatedLocations"][0]["physicalLocation"]
        assert urllib.parse.unquote(binary["artifactLocation"]["uri"]) == "a b/damaged%" and binary["address"]["absoluteAddress"] > 0, binary
assert want and sorted(want, key=str) == sorted(got, key=str), (want, got)
note = logs["unusable"]["invocations"][0]
assert not note["executionSuccessful"] and "text" in note["toolExecutionNotifications"][0]["message"]["text"], note
assert any(one["level"] == "note" for one in logs["infos"]["results"]), "no info"
E
