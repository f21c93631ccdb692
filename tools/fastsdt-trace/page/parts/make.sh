#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes parts.js, parts.css and LICENSES.txt of what package-lock.json names: what the page of `fastsdt-trace report` takes from others.
#
#     make.sh            writes them here
#     make.sh --check    compares: the same bytes
#
# Wants node, and npm, whose own configuration says from where it takes packages. Another version: change package.json, run
# `npm install --package-lock-only --omit-lockfile-registry-resolved`, then this.
set -euo pipefail
there=$(realpath "$(dirname "$0")")
fail() { echo "make.sh: $*" >&2; exit 1; }
[ $# = 0 ] || [ "$*" = --check ] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
for tool in node npm; do command -v $tool >/dev/null || fail "$tool is not installed"; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$there"/{entry.js,package.json,package-lock.json} "$work"
cd "$work"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null || fail "npm cannot install what package-lock.json names"
# Not made small: whoever looks at a change of it can read it.
node_modules/.bin/esbuild entry.js --bundle --line-limit=150 --legal-comments=none --target=es2020 --format=iife --global-name=parts \
    --metafile=made.json --outfile=parts.js --log-level=warning
node - >LICENSES.txt <<'END'
const fs = require("fs");
const inputs = Object.keys(JSON.parse(fs.readFileSync("made.json")).inputs);
const names = [...new Set(inputs.map(file => (/^node_modules\/(@[^/]+\/[^/]+|[^/]+)/.exec(file) || [])[1]).filter(Boolean))].sort();
// Many have the same text but for the year.
const texts = new Map();
for (const name of names) {
  const folder = `node_modules/${name}`, {version, license} = JSON.parse(fs.readFileSync(`${folder}/package.json`));
  const file = fs.readdirSync(folder).find(one => /^licen[cs]e/i.test(one));
  if (!file)
    throw new Error(`${name} has no licence`);
  const text = fs.readFileSync(`${folder}/${file}`, "utf8").replace(/\r/g, "").replace(/\*\//g, "* /").trim();
  texts.set(text, [...(texts.get(text) || []), `${name} ${version} (${license})`]);
}
console.log("This page contains, besides fastsdt's own script (BSD-2-Clause):\n");
for (const [text, of] of texts)
  console.log(`${of.join("\n")}\n\n${text}\n\n${"-".repeat(80)}\n`);
END
for file in parts.js parts.css LICENSES.txt; do
    if [ $# = 0 ]; then cp $file "$there/"; else cmp $file "$there/$file"; fi
done
