//! A real guest: Linux in QEMU, which creates a file system on the array, reads it again, and discards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{LOG, Served};

/// The program of the guest. A command that fails ends it, and with it the machine, before the last line is printed.
const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc p /proc; mount -t sysfs s /sys; mount -t devtmpfs d /dev; mount -t tmpfs t /tmp
for module in virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk; do
    insmod /lib/$module.ko
done
disk=/sys/block/vda
echo "serial $(cat $disk/serial), page $(cat $disk/queue/physical_block_size), cache $(cat $disk/queue/write_cache)"
set -e
mke2fs -q /dev/vda >/dev/null
mkdir /m; mount -t ext4 /dev/vda /m
for i in 1 2 3 4 5 6; do dd if=/dev/urandom of=/m/$i bs=64k count=$((i * 7)) 2>/dev/null; done
(cd /m; md5sum ? >sums)
umount /m; echo 3 >/proc/sys/vm/drop_caches
mount -t ext4 -o discard /dev/vda /m
(cd /m; md5sum -c sums | grep -c OK)
rm /m/6; umount /m
dd if=/dev/urandom of=/tmp/r bs=1M count=8 2>/dev/null
dd if=/tmp/r of=/dev/vda bs=1M seek=4 oflag=direct conv=fsync,notrunc 2>/dev/null
dd if=/dev/vda of=/tmp/s bs=1M skip=4 count=8 iflag=direct 2>/dev/null
cmp /tmp/r /tmp/s
blkdiscard -o 4194304 -l 8388608 /dev/vda
dd if=/dev/vda of=/tmp/s bs=1M skip=4 count=8 iflag=direct 2>/dev/null
dd if=/dev/zero of=/tmp/r bs=1M count=8 2>/dev/null
cmp /tmp/r /tmp/s
echo "all is as it should be"
poweroff -f
"#;

/// The paths of a kernel and its modules, as in the package of a Debian cloud kernel, installed or unpacked.
fn kernel() -> Option<(PathBuf, PathBuf)> {
    let root = std::env::var_os("STRIPEWISE_GUEST_KERNEL").map_or_else(|| "/".into(), PathBuf::from);
    let mut names = fs::read_dir(root.join("boot")).ok()?.flatten().filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        name.strip_prefix("vmlinuz-").filter(|version| version.contains("-cloud-")).map(str::to_owned)
    });
    let version = names.next()?;
    let drivers = root.join("lib/modules").join(&version).join("kernel/drivers");
    Some((root.join("boot").join(format!("vmlinuz-{version}")), drivers))
}

/// An initial file system of busybox, the drivers and the guest's program.
fn initrd(folder: &Path, drivers: &Path) -> PathBuf {
    let root = folder.join("root");
    for name in ["bin", "lib", "proc", "sys", "dev", "tmp"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
    let modules = ["virtio", "virtio_ring", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci"];
    for (class, module) in
        modules.map(|module| ("virtio", module)).into_iter().chain([("block", "virtio_blk")])
    {
        let file = format!("{module}.ko");
        fs::copy(drivers.join(class).join(&file), root.join("lib").join(&file)).unwrap();
    }
    fs::write(root.join("init"), INIT).unwrap();
    let script = "chmod 755 init; find . | busybox cpio -o -H newc >../initrd 2>/dev/null";
    assert!(Command::new("sh").args(["-c", script]).current_dir(&root).status().unwrap().success());
    folder.join("initrd")
}

#[test]
fn linux_makes_a_file_system_on_the_array_reads_it_again_and_discards() {
    let is_there = |name: &str| Command::new(name).arg("--help").output().is_ok();
    let Some((kernel, drivers)) =
        kernel().filter(|_| ["qemu-system-x86_64", "timeout"].iter().all(|name| is_there(name)))
    else {
        eprintln!("skipped: it needs qemu-system-x86_64 and a Debian cloud kernel (STRIPEWISE_GUEST_KERNEL)");
        return;
    };
    if !Path::new("/bin/busybox").exists() {
        eprintln!("skipped: it needs busybox (Debian: busybox-static)");
        return;
    }
    let served = Served::new(LOG);
    let folder = tempfile::tempdir().unwrap();
    let initrd = initrd(folder.path(), &drivers);
    // Emulated, so that it works without virtualisation too; it boots in seconds.
    let output = Command::new("timeout")
        .args([
            "300",
            "qemu-system-x86_64",
            "-machine",
            "q35,memory-backend=memory",
            "-accel",
            "tcg",
            "-m",
            "256M",
        ])
        .args(["-object", "memory-backend-memfd,id=memory,size=256M,share=on", "-smp", "2", "-net", "none"])
        .args(["-display", "none", "-serial", "stdio", "-monitor", "none", "-no-reboot"])
        .args(["-append", "console=ttyS0 quiet panic=-1"])
        .args(["-chardev".to_owned(), format!("socket,id=pool,path={}", served.device("one").display())])
        .args(["-device", "vhost-user-blk-pci,chardev=pool,num-queues=2"])
        .args(["-kernel".as_ref(), kernel.as_os_str(), "-initrd".as_ref(), initrd.as_os_str()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let all = format!("{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("serial pool, page 4096, cache write back"), "{all}");
    assert!(said.contains("all is as it should be"), "{all}");
    let status = served.status();
    let counts_of = |kind: &str| status.requests.iter().find(|one| one.kind == kind).unwrap().clone();
    for kind in ["read", "write", "trim", "flush"] {
        assert!(counts_of(kind).requests > 0 && counts_of(kind).failed == 0, "{kind}: {:?}", counts_of(kind));
    }
    assert_eq!(status.dropped_connections, 0);
    served.stop();
}
