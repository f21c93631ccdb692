# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Sourced by scripts/package.sh: RPMs.
needs rpmbuild rpmlint
# Warnings count too, for which rpmlint ends with 0.
look() {
    logged rpmlint rpmlint --config "$top/packaging/rpm/rpmlint.toml" "$@"
    ! grep -E ': [EW]: ' "$work/rpmlint.log" || fail "rpmlint finds something"
}
# Debian's packages are not in rpm's database: --nodeps. Its rpm has no documentation folder, and does not strip, compress and link as a
# distribution of RPMs has it.
rpms=$work/rpm
finish='bash /usr/lib/rpm/brp-compress && strip "$RPM_BUILD_ROOT"/usr/bin/fastsdt-* && find "$RPM_BUILD_ROOT" -name "*.so*" -type f -exec strip {} +'
build_rpms() {
    logged "$1" rpmbuild --nodeps --define "_topdir $rpms" --define "_docdir /usr/share/doc" --define "__os_install_post $finish" \
        --define "_build_id_links none" --define "_smp_mflags -j$(nproc)" "${@:2}" "$rpms/SPECS/fastsdt.spec"
}
echo "== RPM: the source package"
mkdir -p "$rpms/SPECS" "$rpms/SOURCES"
cp packaging/rpm/fastsdt.spec "$rpms/SPECS/"
cp "$out/$tree.tar.gz" "$rpms/SOURCES/"
fill "$rpms/SPECS"
look "$rpms/SPECS/fastsdt.spec"
build_rpms rpm-source -bs
cp "$rpms"/SRPMS/*.rpm "$out/"
if [ $until != source ]; then
    echo "== RPM: the packages"
    build_rpms rpm-packages -bb
    cp "$rpms"/RPMS/*/*.rpm "$out/"
    ls -l "$out"/*.rpm | awk '{print $5, $9}'
    look "$out"/*.rpm
fi
if [ $until = proof ]; then
    echo "== RPM: in a root that rpm has made"
    . packaging/rpm/root.sh
fi
