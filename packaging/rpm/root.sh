# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Sourced by packaging/rpm.sh: installs the packages in a root that rpm has made, uses them and erases them.
#
# What a distribution of RPMs would have is one package here, of Debian's files: a shell, compilers, the C library, and the libraries that ours are
# linked to. So rpm resolves whatever ours need by what the files of that package provide.
packages=()
for package in "$out"/*.rpm; do
    case $package in *.src.rpm | *-debuginfo-* | *-debugsource-*) ;; *) packages+=("$package") ;; esac
done
mkdir -p "$work/unpacked"
for package in "${packages[@]}"; do
    rpm2cpio "$package" | (cd "$work/unpacked" && cpio -idm --quiet)
done
libraries=$(find "$work/unpacked" -type f -exec sh -c 'ldd "$1" 2>/dev/null' sh {} \; |
    awk '$2 == "=>" && $3 ~ "^/" && $3 !~ "/unpacked/" {print $3}' | sort -u |
    while read -r file; do dpkg-query -S "*/$(basename "$(realpath "$file")")"; done | cut -d: -f1 | sort -u)
bare_root base
inside "$root" sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc libc6-dev clang binutils pkg-config make "$@"' sh \
    $libraries >"$work/base.log" 2>&1 || fail "the base of the root: $(tail -n 3 "$work/base.log")"
# rpm looks for what libraries provide in files that may be executed; the linker of an RPM distribution looks into lib64.
find "$root/usr/lib" -name '*.so*' -type f -exec chmod a+x {} +
echo /usr/lib64 >"$root/etc/ld.so.conf.d/lib64.conf"
(cd "$root" && find bin sbin lib lib64 usr etc var/lib/dpkg/alternatives -xdev \( -type f -o -type l \) ! -path 'usr/share/doc/*' ! -name '*[[:space:]*?"\[]*') |
    sed 's|.*|"/&"|' >"$work/base.list"
cat >"$work/base.spec" <<END
%define debug_package %{nil}
%define __os_install_post %{nil}
%define _build_id_links none
Name: base
Version: 1
Release: 1
Summary: What a distribution has
License: Various
AutoReq: no
Provides: rtld(GNU_HASH), gcc = $(gcc -dumpfullversion), clang = $(llvm-config --version), pkgconfig
%description
Debian's files.
%install
cp -a "$root/." "%{buildroot}/"
%files -f $work/base.list
%dir /dev
%dir /proc
%dir /tmp
END
logged rpm-base rpmbuild -bb --define "_binary_payload w1.gzdio" --define "_topdir $work/base-rpm" --define "_unpackaged_files_terminate_build 0" \
    "$work/base.spec"
root=$work/rpm-root
roots+=("$root")
mkdir -p "$root"
rpm --root "$root" --initdb
# Owners are kept; what needs a script of the distribution itself has run already.
logged rpm-base-install rpm --root "$root" --install "$work"/base-rpm/RPMS/*/base-*.rpm
rpm --root "$root" -qa
plain() { find "$root" -xdev \( -iname '*fastsdt*' -o -iname '*fastprobe*' -o -name 'dtrace*' \) ! -path "$root/var/*"; }
[ -z "$(plain)" ] || fail "the root has files of ours: $(plain)"
rpm --root "$root" --install "${packages[@]}" || fail "rpm cannot install them"
rpm --root "$root" --verify $(rpm --root "$root" -qa 'fast*') || fail "rpm --verify"
inside "$root" ldconfig
# The same tests as Debian's, but for CMake.
cp -r packaging/debian/tests "$root/tests"
for test in trace sdt-dev plugin-gcc plugin-clang; do
    mkdir -p "$root/tmp/$test"
    # As a distribution of RPMs has set it up.
    inside "$root" env PKG_CONFIG_PATH=/usr/lib64/pkgconfig AUTOPKGTEST_TMP="/tmp/$test" "/tests/$test" >"$work/rpm-$test.log" 2>&1 ||
        fail "$test: $(tail -n 5 "$work/rpm-$test.log")"
    echo "$test PASS"
done
rpm --root "$root" --erase $(rpm --root "$root" -qa 'fast*') || fail "rpm cannot erase them"
[ -z "$(plain)" ] || fail "left behind: $(plain)"
echo "installed, used, erased: ${#packages[@]} packages"
