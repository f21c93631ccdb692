#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks GitHub workflow files and issue forms: workflow.py FILE...

The schema below is what GitHub's documentation allows ("Workflow syntax for GitHub Actions", "Syntax for GitHub's form
schema"), as far as a file of ours may go: a key that it does not list is an error."""
import re, sys, yaml
from jsonschema import Draft7Validator


def thing(required, **properties):
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


text, number, flag = {"type": "string", "minLength": 1}, {"type": "integer", "minimum": 1}, {"type": "boolean"}
texts = {"type": "array", "items": text, "minItems": 1}
names = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}
branches = {"anyOf": [{"type": "null"}, thing([], branches=texts, paths=texts, tags=texts)]}
step = thing([], name=text, id=text, uses={"type": "string", "pattern": r"^(\./|[\w.-]+/[\w./-]+@)[\w./-]+$"}, run=text,
             shell=text, env=names, **{"with": names, "if": text, "working-directory": text})
step["oneOf"] = [{"required": ["run"]}, {"required": ["uses"]}]
permissions = {"anyOf": [{"enum": ["read-all", "write-all"]},
                         {"type": "object", "additionalProperties": {"enum": ["read", "write", "none"]}}]}
job = thing(["runs-on", "steps"], name=text, needs={"anyOf": [text, texts]}, permissions=permissions, env=names,
            steps={"type": "array", "items": step, "minItems": 1},
            container={"anyOf": [text, thing(["image"], image=text, options=text, env=names, volumes=texts)]},
            strategy=thing(["matrix"], matrix={"type": "object", "minProperties": 1},
                           **{"fail-fast": flag, "max-parallel": number}),
            **{"if": text, "runs-on": text, "timeout-minutes": number, "continue-on-error": flag})
workflow = thing(["on", "jobs"], name=text, env=names, permissions=permissions,
                 concurrency=thing(["group"], group=text, **{"cancel-in-progress": flag}),
                 on=thing([], push=branches, pull_request=branches, workflow_dispatch={"type": "null"},
                          schedule={"type": "array", "items": thing(["cron"], cron=text)}),
                 jobs={"type": "object", "minProperties": 1, "additionalProperties": False,
                       "patternProperties": {r"^[A-Za-z_][\w-]*$": job}})
field = thing(["type", "attributes"], type={"enum": ["checkboxes", "dropdown", "input", "markdown", "textarea"]}, id=text,
              attributes=thing([], label=text, description=text, placeholder=text, value=text, render=text, options={"type": "array"}),
              validations={"type": "object", "properties": {"required": flag}, "additionalProperties": False})
form = thing(["name", "description", "body"], name=text, description=text, title=text, labels=texts, assignees=texts,
             body={"type": "array", "items": field, "minItems": 1})
chooser = thing([], blank_issues_enabled=flag, contact_links={"type": "array"})

# GitHub's hosted Linux runners: x86-64 and arm64.
RUNNERS = {"ubuntu-22.04", "ubuntu-24.04", "ubuntu-22.04-arm", "ubuntu-24.04-arm"}


class Loader(yaml.SafeLoader):
    """YAML 1.2's booleans: the key `on` is no boolean."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))


def unique(loader, node, deep=False):
    keys = [loader.construct_object(key) for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.YAMLError("the key %s is there twice%s" % (key, node.start_mark))
    return {loader.construct_object(k): loader.construct_object(v, deep=True) for k, v in node.value}


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, unique)


def problems(path):
    try:
        data = yaml.load(open(path), Loader)
    except yaml.YAMLError as error:
        return [str(error)]
    schema = workflow if re.search("/(workflows|github-actions)/", path) else chooser if path.endswith("/config.yml") else form
    found = ["%s: %s" % ("/".join(map(str, e.absolute_path)), e.message) for e in Draft7Validator(schema).iter_errors(data)]
    if found or schema is not workflow:
        return found
    for name, entry in data["jobs"].items():
        needs = entry.get("needs", [])
        found += ["jobs/%s: needs %s, which is no job" % (name, n) for n in ([needs] if isinstance(needs, str) else needs) if n not in data["jobs"]]
        matrix = entry.get("strategy", {}).get("matrix", {})
        runners = [entry["runs-on"]]
        for key in re.findall(r"\$\{\{ *matrix\.(\w+) *\}\}", str(entry)):
            if key not in matrix:
                found.append("jobs/%s: matrix.%s is not in the matrix" % (name, key))
        key = re.fullmatch(r"\$\{\{ *matrix\.(\w+) *\}\}", entry["runs-on"])
        if key:
            runners = matrix.get(key.group(1), [])
        found += ["jobs/%s: %s is no hosted runner" % (name, r) for r in runners if r not in RUNNERS]
    return found


status = 0
for path in sys.argv[1:]:
    for problem in problems(path):
        print("%s: %s" % (path, problem))
        status = 1
sys.exit(status)
