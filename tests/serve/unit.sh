#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# systemd takes the service's unit: no word in it is unknown, and its programs are there.
. "$FASTSDT_SOURCE/tests/common.sh"
case $(fastsdt-trace serve --config absent 2>&1 || true) in
*"serve is not in this build"*) skip "fastsdt-trace is built without serve (FASTSDT_SERVE)" ;;
esac
need systemd-analyze
unit=fastsdt-trace.service
# It looks for the programs in its own list of folders, and for the manual among the installed ones.
sed -e "s,^ExecStart=fastsdt-trace ,ExecStart=$(command -v fastsdt-trace) ," -e '/^Documentation=man:/d' "$FASTSDT_SOURCE/share/systemd/$unit" >$unit
grep -q '^ExecStart=/' $unit || fail "the unit starts another program: $(grep ExecStart $unit)"
status=0
SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$PWD/$unit" >said 2>&1 || status=$?
# What it says of other units of this system does not matter.
expect "systemd-analyze verify: $(cat said)" "$status $(grep -c "$unit" said)" "0 0"

# It finds faults: an unknown word, and a program that is not there.
sed -e 's,^NoNewPrivileges=,NoNewPrivilege=,' $unit >wrong.service
systemd-analyze verify --man=no "$PWD/wrong.service" >said 2>&1 || true
grep -q "wrong.service.*NoNewPrivilege" said || fail "an unknown word is not told: $(cat said)"
sed -e 's,^ExecStart=.*,ExecStart=/absent serve,' $unit >absent.service
! systemd-analyze verify --man=no "$PWD/absent.service" >said 2>&1 || fail "an absent program is not told: $(cat said)"
