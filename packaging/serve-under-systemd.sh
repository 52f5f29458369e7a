#!/bin/sh
# Boots systemd in a virtual machine and serves arrays with the unit as it is shipped: packaging/serve-under-systemd.sh STRIPEWISE
#
# The machine has a Debian cloud kernel, systemd of this system as PID 1, and two arrays: over files, and over virtio disks. An
# NBD client (nbdcopy) writes and reads them, the units stop cleanly, and the data is there when they start again.
# Exit code 77 with a reason where the machine cannot be made. The kernel is looked for in STRIPEWISE_GUEST_KERNEL, or in /.
set -eu
program=$(realpath "$1")
units=$(realpath "$(dirname "$0")")
skip() { echo "skipped: it needs $*"; exit 77; }

systemd=/usr/lib/systemd
for command in qemu-system-x86_64 nbdcopy busybox ldd strip; do
    command -v "$command" >/dev/null || skip "$command"
done
[ -x "$systemd/systemd" ] || skip "systemd"
kernel=$(find "${STRIPEWISE_GUEST_KERNEL:-/}/boot" -maxdepth 1 -name 'vmlinuz-*-cloud-*' 2>/dev/null | sort | tail -n 1)
[ -n "$kernel" ] || skip "a Debian cloud kernel (STRIPEWISE_GUEST_KERNEL)"
drivers="${STRIPEWISE_GUEST_KERNEL:-}/lib/modules/${kernel##*/vmlinuz-}/kernel/drivers"
file "$(command -v busybox)" 2>/dev/null | grep -q 'dynamically' && skip "busybox-static"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root/usr/bin" "$root/usr/lib/systemd/system" "$root/usr/lib64" "$root/usr/sbin" "$root/etc/systemd/system" \
    "$root/proc" "$root/sys" "$root/dev" "$root/run" "$root/tmp" "$root/var/tmp" "$root/srv" "$root/check" "$root/newroot"
for name in bin lib lib64 sbin; do ln -s "usr/$name" "$root/$name"; done

# Programs with the libraries that they load.
put() {
    from=$(realpath "$1")
    cp "$from" "$root$2"
    ldd "$from" 2>/dev/null | grep -oE '/[^ ]+' | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        [ -e "$root$library" ] || cp -L "$library" "$root$library"
    done
}
put "$program" /usr/bin/stripewise
strip "$root/usr/bin/stripewise"
put "$(command -v busybox)" /usr/bin/busybox
put "$(command -v nbdcopy)" /usr/bin/nbdcopy
put "$(command -v systemctl)" /usr/bin/systemctl
for name in systemd systemd-executor systemd-journald systemd-shutdown; do
    [ ! -e "$systemd/$name" ] || put "$systemd/$name" "$systemd/$name"
done
for name in sysinit basic shutdown umount final poweroff remote-fs-pre slices sockets paths timers local-fs local-fs-pre swap; do
    cp "$systemd/system/$name.target" "$root$systemd/system/"
done
cp "$systemd/system/systemd-poweroff.service" "$systemd/system/systemd-journald.service" \
    "$systemd/system/systemd-journald.socket" "$systemd/system/systemd-journald-dev-log.socket" "$root$systemd/system/"
for module in virtio/virtio virtio/virtio_ring virtio/virtio_pci_modern_dev virtio/virtio_pci_legacy_dev virtio/virtio_pci \
    block/virtio_blk; do
    [ -e "$drivers/$module.ko" ] || skip "the modules of the kernel"
    cp "$drivers/$module.ko" "$root/check/"
done

cp "$units/stripewise@.service" "$root/etc/systemd/system/"
cat >"$root/etc/systemd/system/checked.target" <<'UNIT'
[Unit]
Description=The check
Requires=basic.target
After=basic.target
Wants=checked.service
UNIT
cat >"$root/etc/systemd/system/checked.service" <<'UNIT'
[Service]
Type=oneshot
ExecStart=/usr/bin/busybox sh /check/check.sh
ExecStopPost=/usr/bin/systemctl --no-block poweroff --force
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
UNIT
echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
echo "root:x:0:0::/:/bin/sh" >"$root/etc/passwd"
echo "root:x:0:" >"$root/etc/group"

cat >"$root/check/check.sh" <<'CHECK'
set -eu
trap 'echo "check ended with $?"; systemctl --no-pager --full status "stripewise@*" || true' EXIT
dd if=/dev/urandom of=/tmp/written bs=1M count=8 2>/dev/null
stripewise create pool --files /srv/pool --count 5 --size 16MiB
stripewise create disks /dev/vda /dev/vdb /dev/vdc
for name in pool disks; do
    uri="nbd+unix:///$name?socket=/run/stripewise/$name.sock"
    systemctl start "stripewise@$name"
    process=$(systemctl show -P MainPID "stripewise@$name")
    # The limits of the unit hold: the filter of system calls, no new rights, one capability.
    grep -E '^(NoNewPrivs|Seccomp|CapBnd):' "/proc/$process/status"
    nbdcopy /tmp/written "$uri"
    nbdcopy "$uri" /tmp/read
    head -c 8388608 /tmp/read | cmp - /tmp/written && echo "$name: read what was written"
    stripewise status "$name"
    systemctl stop "stripewise@$name"
    echo "$name: $(systemctl show -P Result "stripewise@$name"), $(systemctl show -P ExecMainStatus "stripewise@$name")"
    systemctl start "stripewise@$name"
    nbdcopy "$uri" /tmp/read
    head -c 8388608 /tmp/read | cmp - /tmp/written && echo "$name: read it after a restart"
    systemctl stop "stripewise@$name"
    stripewise check "$name"
done
echo "all is as it should be"
CHECK
cat >"$root/init" <<'INIT'
#!/usr/bin/busybox sh
/usr/bin/busybox --install -s /usr/bin 2>/dev/null
mount -t devtmpfs d /dev
for module in virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk; do
    insmod /check/$module.ko
done
umount /dev
# systemd gives services mounts of their own, which an initial file system does not allow.
mount -t tmpfs -o size=90% t /newroot
for name in bin lib lib64 sbin usr etc proc sys dev run tmp var srv check; do cp -a /$name /newroot/; done
exec switch_root /newroot /usr/lib/systemd/systemd
INIT
chmod 755 "$root/init"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$work/initrd"

disks=
for name in one two three; do
    truncate -s 32M "$work/$name"
    disks="$disks -drive if=virtio,format=raw,file=$work/$name"
done
# Emulated, so that it works without virtualisation too.
# shellcheck disable=SC2086
timeout 300 qemu-system-x86_64 -machine q35 -accel tcg -m 1G -smp 2 -net none $disks \
    -display none -serial stdio -monitor none -no-reboot -kernel "$kernel" -initrd "$work/initrd" \
    -append "console=ttyS0 quiet panic=-1 systemd.unit=checked.target systemd.show_status=0 ${STRIPEWISE_GUEST_APPEND:-}" \
    </dev/null >"$work/said" 2>&1 || true
tr -d '\r' <"$work/said"
grep -q '^all is as it should be' "$work/said"
