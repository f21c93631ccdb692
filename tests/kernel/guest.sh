# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the scripts that boot kernels: how a test guest is packed and run.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common/versions.sh"

# guest_target ARCH: what the cross tools of a guest's architecture are called.
guest_target() {
    case $1 in
    amd64) echo x86_64-linux-gnu ;;
    arm64) echo aarch64-linux-gnu ;;
    armhf) echo arm-linux-gnueabihf ;;
    ppc64el) echo powerpc64le-linux-gnu ;;
    loong64) echo loongarch64-linux-gnu ;;
    *) echo "$1-linux-gnu" ;;
    esac
}

# guest_loong64 CACHE: has to be called before the functions below are used for loong64 (fetch-loong64.sh).
guest_loong64() {
    export loong64
    loong64=$("$(dirname "${BASH_SOURCE[0]}")/fetch-loong64.sh" "$1")
}

# guest_cc ARCH: a C compiler for an architecture of Debian's, or for i386.
guest_cc() {
    local libgcc
    case $1 in
    amd64) echo gcc ;;
    # gcc-12-multilib has no asm/ headers of its own; the native ones serve both.
    i386) echo "gcc -m32 -idirafter /usr/include/$(gcc -print-multiarch)" ;;
    armhf) echo "$(guest_target armhf)-gcc -marm" ;; # uprobes know no Thumb
    # Debian 12 has no GCC for it; every clang can.
    loong64)
        libgcc=$(dirname "$(echo "$loong64"/sysroot/usr/lib/gcc/*/*/libgcc.a)")
        echo "$(newest clang) --target=$(guest_target loong64) --sysroot=$loong64/sysroot -fuse-ld=lld -B$libgcc -L$libgcc"
        ;;
    *) echo "$(guest_target "$1")-gcc" ;;
    esac
}

# guest_compiler ARCH: the same, and it links statically.
guest_compiler() { echo "$(guest_cc "$1") -static -O2"; }

# guest_libraries ARCH: where its libc.so.6 is.
guest_libraries() {
    case $1 in
    loong64) echo "$loong64/sysroot/usr/lib/$(guest_target loong64)" ;;
    *) echo "/usr/$(guest_target "$1")/lib" ;;
    esac
}

# guest_model ARCH: what the model calls it (lib/base/arch.h).
guest_model() {
    case $1 in
    riscv64) echo riscv ;;
    s390x) echo s390 ;;
    ppc64el) echo powerpc ;;
    armhf) echo arm ;;
    loong64) echo loongarch ;;
    *) echo "$1" ;;
    esac
}

# guest_qemu ARCH
guest_qemu() {
    case $1 in
    amd64) echo qemu-system-x86_64 ;;
    arm64) echo qemu-system-aarch64 ;;
    armhf) echo qemu-system-arm ;;
    ppc64el) echo qemu-system-ppc64 ;;
    loong64) echo "$loong64/qemu-system-loongarch64" ;;
    *) echo "qemu-system-$1" ;;
    esac
}

# guest_add_program ROOT FILE: puts a program into ROOT/bin, with the shared libraries it needs.
guest_add_program() {
    local library
    cp "$2" "$1/bin/"
    for library in $(ldd "$2" 2>/dev/null | grep -o '/[^ )]*'); do
        mkdir -p "$1/$(dirname "$library")"
        cp -L "$library" "$1$library"
    done
}

# guest_pack ROOT FILE: the initramfs.
guest_pack() {
    mkdir -p "$1/dev"
    (cd "$1" && find . | LC_ALL=C sort | cpio -o -H newc --quiet -R 0:0 | gzip -1) >"$2"
}

# guest_boot ARCH KERNEL INITRAMFS SECONDS: the guest's console on standard output. One CPU and no KVM: the same everywhere.
# Without cmpxchg16b: with it, guests of 6.12 crashed now and then under QEMU 7.2.
# Other tests leave it a whole processor, where we may say so: the tests that boot guests are those that take longest.
# FASTSDT_QEMU_LOCK names a file that makes boots on one machine take turns. FASTSDT_GUEST_CLOCK=instructions: the guest's time is the
# number of instructions that it has run, a nanosecond each, and nothing else on the machine can disturb it.
guest_boot() {
    local arch=$1 kernel=$2 initramfs=$3 seconds=$4
    # Expedited RCU: every attach waits for a grace period.
    local append="quiet panic=-1 rcupdate.rcu_expedited=1 mitigations=off"
    local -a machine first=()
    case $arch in
    # no_timer_check: on a busy machine the timer is late, and the kernel gives up ("IO-APIC + timer doesn't work").
    amd64) machine=(-cpu max,-cx16 -append "console=ttyS0 no_timer_check $append") ;;
    arm64) machine=(-M virt -cpu "max,pauth-impdef=on" -append "console=ttyAMA0 $append") ;;
    armhf) machine=(-M virt -cpu max -append "console=ttyAMA0 $append") ;;
    riscv64) machine=(-M virt -cpu rv64 -append "console=ttyS0 $append") ;;
    s390x) machine=(-M s390-ccw-virtio -cpu max -append "console=ttysclp0 $append") ;;
    loong64) machine=(-M virt -cpu la464 -L "$loong64/qemu/usr/share/qemu" -bios "$loong64/firmware.fd" -append "console=ttyS0 $append") ;;
    ppc64el) machine=(-M pseries -cpu power9 -append "console=hvc0 $append") ;;
    esac
    [ "$arch" != loong64 ] || local -x QEMU_MODULE_DIR=$loong64/none # not those of the machine's own QEMU
    [ "${FASTSDT_GUEST_CLOCK:-}" != instructions ] || machine+=(-icount "shift=0,sleep=off")
    [ "$(id -u)" != 0 ] || first=(nice -n -5)
    "${first[@]}" flock "${FASTSDT_QEMU_LOCK:-/tmp/qemu.lock}" timeout "$seconds" "$(guest_qemu "$arch")" -accel tcg -m 1024 \
        "${machine[@]}" -smp 1 -nographic -no-reboot -net none \
        -kernel "$kernel" -initrd "$initramfs" </dev/null 2>&1
}
