# Sourced by move-go-programs.sh and go-throughput.sh.
# unpacked PACKAGE...: the current folder is one of its own, with Debian's packages in ./package; nothing is installed. It goes when the script ends.
unpacked() {
    work=$(mktemp -d)
    trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
    trap 'exit 143' TERM INT
    cd "$work"
    apt-get -o APT::Sandbox::User=root download -q "$@" >/dev/null
    local package
    for package in *.deb; do dpkg -x "$package" package; done
    export PATH=$bin:$PATH PYTHONDONTWRITEBYTECODE=1
}
