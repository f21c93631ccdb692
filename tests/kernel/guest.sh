# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the scripts that boot kernels: how a test guest is packed and run.

# guest_compiler ARCH: a C compiler that links statically for amd64, i386 or arm64.
guest_compiler() {
    case $1 in
    amd64) echo "gcc -static -O2" ;;
    # gcc-12-multilib has no asm/ headers of its own; the native ones serve both.
    i386) echo "gcc -m32 -static -O2 -idirafter /usr/include/$(gcc -print-multiarch)" ;;
    arm64) echo "aarch64-linux-gnu-gcc -static -O2" ;;
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
# FASTSDT_QEMU_LOCK names a file that makes boots on one machine take turns. FASTSDT_GUEST_CLOCK=instructions: the guest's time is the
# number of instructions that it has run, a nanosecond each, and nothing else on the machine can disturb it.
guest_boot() {
    local arch=$1 kernel=$2 initramfs=$3 seconds=$4
    # Expedited RCU: every attach waits for a grace period.
    local append="quiet panic=-1 rcupdate.rcu_expedited=1 mitigations=off"
    local -a machine
    case $arch in
    # no_timer_check: on a busy machine the timer is late, and the kernel gives up ("IO-APIC + timer doesn't work").
    amd64) machine=(qemu-system-x86_64 -accel tcg -cpu max,-cx16 -m 1024 -append "console=ttyS0 no_timer_check $append") ;;
    arm64) machine=(qemu-system-aarch64 -M virt -accel tcg -cpu "max,pauth-impdef=on" -m 1024 -append "console=ttyAMA0 $append") ;;
    esac
    [ "${FASTSDT_GUEST_CLOCK:-}" != instructions ] || machine+=(-icount "shift=0,sleep=off")
    flock "${FASTSDT_QEMU_LOCK:-/tmp/qemu.lock}" timeout "$seconds" "${machine[@]}" -smp 1 -nographic -no-reboot -net none \
        -kernel "$kernel" -initrd "$initramfs" </dev/null 2>&1
}
