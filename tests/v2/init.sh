#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first process of the guest that tools/test-v2.py boots: a root file system out of the initramfs, pure cgroup v2,
# then the suites as root and as an ordinary user with a delegated subtree. What it prints goes to the serial console.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8

# The initramfs itself can't be pivoted away from; a bind mount of it on top of it can.
if [ "$1" != again ]; then
    mount --bind / /mnt
    cd /mnt || exit 1
    mount --move . /
    exec chroot . /bin/sh /init again
fi
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
insmod /overlay.ko
ip link set lo up 2>/dev/null || python3 -c '
import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 0x41))'
hostname v2-guest

# As systemd lays it out: processes in leaves only, controllers handed down.
cd /sys/fs/cgroup || exit 1
mkdir root user user/session
echo $$ >root/cgroup.procs
echo "+memory +pids +cpu +cpuset" >cgroup.subtree_control
echo "+memory +pids +cpu +cpuset" >user/cgroup.subtree_control
chown user user/cgroup.procs user/cgroup.subtree_control user/cgroup.threads user user/session user/session/cgroup.*

uname -srm
cat /sys/fs/cgroup/cgroup.controllers
cd /project || exit 1
for who in $(sed -n 's/.*mai\.who=\([a-z,]*\).*/\1/p' /proc/cmdline | tr , ' '); do
    echo "== guest: $who"
    case $who in
    command) sh /project/request ;;
    root) eval "python3 tests/v2/suite.py root $(cat request)" ;;
    user)
        mkdir -p /run/user/1000
        chown user /run/user/1000
        sh -c 'echo $$ >/sys/fs/cgroup/user/session/cgroup.procs
            exec setpriv --reuid=1000 --regid=1000 --clear-groups env HOME=/home/user XDG_RUNTIME_DIR=/run/user/1000 \
                sh -c "python3 tests/v2/suite.py user $(cat request)"'
        ;;
    esac
    echo "== guest: $who ended with status $?"
done
echo "== guest: done"
# Without a power button: the kernel's own reset, which qemu takes for the end.
echo b >/proc/sysrq-trigger
sleep 60
