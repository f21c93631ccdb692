#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes the documentation site in build/site/html, with search, by mkdocs: all of docs/, the READMEs and the manual pages.
#
#     site.sh [--url URL] [--check]
#
# --url URL  where it will be published, if not at the address in CMakeLists.txt
# --check    a headless browser loads every page, at the sizes of a desktop and of a telephone: no page is wider than the window, each has one
#            first heading and leaves no level out, its search box is visible, text has the contrast of WCAG's AA, every picture is shown,
#            no text in one overlaps another or leaves it, and the search finds questions' pages and words inside names
# Takes mkdocs from PyPI (pip's own configuration), and scdoc, mandoc and, for --check, chromium from the distribution.
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
usage() { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
url=$(sed -n 's/^ *HOMEPAGE_URL "\(.*\)").*/\1/p' "$top/CMakeLists.txt") check=''
while [ $# -gt 0 ]; do
    case $1 in
    --url) url=${2:?--url wants an address}; shift 2 ;;
    --check) check=1; shift ;;
    *) usage ;;
    esac
done
fail() { echo "site.sh: $*" >&2; exit 1; }
for tool in python3 scdoc mandoc ${check:+chromium}; do command -v "$tool" >/dev/null || fail "$tool is not installed"; done
site=$top/build/site
mkdir -p "$site"
python=$site/venv/bin/python
[ -e "$site/venv/done" ] || { python3 -m venv "$site/venv" && "$python" -m pip install -q mkdocs==1.6.1 && touch "$site/venv/done"; } ||
    fail "mkdocs cannot be installed"
rm -rf "$site/pages" "$site/html"
mkdir -p "$site/pages"
cd "$top"
git ls-files -z '*.md' 'docs/recorded/*' LICENSE | xargs -0 cp --parents -t "$site/pages"
for page in docs/man/*.scd; do
    mkdir -p "$site/pages/docs/man"
    name=$(basename "${page%.scd}")
    {
        printf '# %s(%s)\n\n<div>\n' "${name%.*}" "${name##*.}"
        # The page's name is the first heading, so mandoc's are one level lower.
        scdoc <"$page" | mandoc -T html -O fragment | sed 's,<\(/\{0\,1\}\)h2,<\1h3,g; s,<\(/\{0\,1\}\)h1,<\1h2,g'
        echo '</div>'
    } >"$site/pages/docs/man/$name.md"
done
"$python" - "$site/pages" "$url" <<'END'
import os, re, sys
pages, url = sys.argv[1:]
for folder, _, names in os.walk(pages):
    for name in names:
        path = os.path.join(folder, name)
        if not name.endswith(".md"):
            continue
        text = open(path).read()
        # Manual pages have another name here; what is in the sources only is no link.
        text = re.sub(r"(\]\([^)\s]*\.\d)\.scd", r"\1.md", text)
        # A fence with a file's name: Markdown for Python knows none.
        text = re.sub(r"(?m)^```(\w+) ([^\s`]+)$", r"`\2`:\n\n```\1", text)
        def link(match):
            target = match.group(2).split("#")[0]
            there = not target or "://" in target or os.path.isfile(os.path.join(folder, target))
            readme = os.path.join(target, "README.md")
            if not there and os.path.isfile(os.path.join(folder, readme)):
                return f"{match.group(1)}({readme})"
            return match.group(0) if there else match.group(1)[1:-1]
        text = re.sub(r"(?<!!)(\[[^]\n]*\])\(([^)\s]*)\)", link, text)
        open(path, "w").write(text)
END
cat >"$site/pages/site.css" <<'END'
.rst-content table { display: block; overflow-x: auto; max-width: 100%; white-space: normal; }
.rst-content table.docutils td, .rst-content table td { white-space: normal; }
.rst-content img { max-width: 100%; height: auto; }
.rst-content code { white-space: pre-wrap; overflow-wrap: anywhere; }
.rst-content pre code { white-space: pre; }
.rst-content pre { overflow-x: auto; max-width: 100%; }
.rst-content .manual-text, .rst-content table.head, .rst-content table.foot { overflow-wrap: anywhere; }
.wy-nav-content { max-width: 60em; }
/* Colours of the theme that are too pale for text. */
.rst-content a, .rst-content a:visited { color: #1c5f8f; }
.rst-content code, .rst-content code.literal { color: #a5281b; }
.rst-content a code, .rst-content a code.literal { color: inherit; }
.wy-side-nav-search, .wy-side-nav-search > a, .wy-nav-top { background-color: #1f5f8b; }
.wy-menu-vertical p.caption, .wy-menu-vertical header { color: #7fc4f2; }
.rst-content footer, .rst-content .wy-breadcrumbs, footer span.commit { color: #555; }
/* The side bar scrolls to the page's name: the search box stays. */
.wy-side-nav-search { position: sticky; top: 0; z-index: 1; }
.wy-nav-top form { margin: 0; }
.wy-nav-top input { width: 100%; max-width: 20em; }
END
# A telephone hides the side bar, and the search box with it: one more at the top.
mkdir -p "$site/theme"
cat >"$site/theme/main.html" <<'END'
{% extends "base.html" %}
{% block mobile_nav %}{{ super() }}
<form action="{{ base_url }}/search.html" method="get" role="search"><input type="search" name="q" placeholder="Search docs" aria-label="Search docs" /></form>
{% endblock %}
END
{ cat docs/site.yml; echo "site_url: $url"; echo "site_dir: html"; } >"$site/mkdocs.yml"
"$python" -m mkdocs build --strict --quiet -f "$site/mkdocs.yml" || fail "mkdocs finds errors"
# The search splits text at blanks only: words inside names, as of kernel.yama.ptrace_scope, are added.
"$python" - "$site/html/search/search_index.json" <<'END'
import json, re, sys
index = json.load(open(sys.argv[1]))
for doc in index["docs"]:
    names = re.findall(r"\w+(?:[-._:/(]+\w+)+|\w*_\w+", doc["text"])
    parts = {part for name in names for dotted in re.split(r"[^\w]+", name) for part in (dotted, *dotted.split("_")) if len(part) > 2}
    doc["text"] += " " + " ".join(sorted(parts))
json.dump(index, open(sys.argv[1], "w"))
END
echo "$site/html: $(find "$site/html" -name '*.html' | wc -l) pages"
[ -n "$check" ] || exit 0
exec "$python" "$top/docs/site_check.py" "$site/html"
