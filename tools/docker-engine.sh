#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A Docker engine of one's own, for tests: private socket, data and process ids, nothing of the machine's own engine.
#
#   docker-engine.sh start DIR      starts it (root; Debian's docker.io) and prints its DOCKER_HOST
#   docker-engine.sh stop DIR       stops it, by process id, and removes DIR
#   docker-engine.sh image DIR [NAME]  makes an image with Python from Debian packages, without a registry
#   docker-engine.sh host-image DIR [NAME]  the same of the packages that are installed here, with the scientific ones:
#                                   in seconds, and without a download
#
# The root file system that images are made of is kept in MAI_DOCKER_IMAGE_CACHE (default /var/tmp/mai-docker-image).
set -eu

die() { echo "docker-engine.sh: $*" >&2; exit 1; }

[ $# -ge 2 ] || die "usage: docker-engine.sh start|stop|image|host-image DIR [NAME]"
command=$1
dir=$2
name=${3:-mai-python}
cache=${MAI_DOCKER_IMAGE_CACHE:-/var/tmp/mai-docker-image}
socket=$dir/docker.sock
packages=python3

host_packages="python3 python3-numpy python3-pandas python3-matplotlib ca-certificates openssl"

# The first source that apt itself uses for this suite's main archive.
mirror() {
    # shellcheck disable=SC2016 # apt's placeholders, not the shell's
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
        awk '$2 == "bookworm" { print $1; exit }'
}

# load FILE.tar: as the image $name.
load() {
    engine -X POST -H 'Content-Type: application/x-tar' -T "$1" \
        "http://engine/images/create?fromSrc=-&repo=$name&tag=latest" || die "the engine refused the image"
}

engine() { curl -sS --fail-with-body --unix-socket "$socket" "$@"; }

case $command in
start)
    [ "$(id -u)" = 0 ] || die "an engine needs root"
    command -v dockerd >/dev/null || die "there is no dockerd: apt-get install docker.io"
    mkdir -p "$dir"
    driver=overlay2
    # An overlay on an overlay is refused by the kernel; without one each container is a copy of its whole image. In memory
    # then, if that can be had.
    if [ "$(stat -f -c %T "$dir")" = overlayfs ]; then
        mkdir -p "$dir/data"
        mount -t tmpfs -o size=3g,mode=0711 tmpfs "$dir/data" 2>/dev/null || driver=vfs
    fi
    # gVisor beside runc, where it is installed. Without cgroups it runs everywhere, and enforces less: what tests
    # want to see. The machine's own configuration does not count.
    runtimes=
    [ -x /usr/bin/runsc ] && runtimes='"runsc": {"path": "/usr/bin/runsc",
        "runtimeArgs": ["--platform=ptrace", "--network=none", "--ignore-cgroups"]}'
    echo "{\"runtimes\": {$runtimes}}" >"$dir/daemon.json"
    # No bridge and no firewall rules: containers have no network, and the machine's rules stay as they are.
    setsid dockerd --config-file "$dir/daemon.json" --host "unix://$socket" \
        --data-root "$dir/data" --exec-root "$dir/exec" --pidfile "$dir/pid" \
        --storage-driver "$driver" --iptables=false --ip6tables=false --bridge=none --ip-masq=false \
        >"$dir/log" 2>&1 </dev/null &
    tries=0
    until [ -S "$socket" ] && engine http://engine/_ping >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || { tail -5 "$dir/log" >&2; die "the engine did not start in 30 s"; }
        sleep 0.1
    done
    echo "unix://$socket"
    ;;
stop)
    [ -f "$dir/pid" ] && {
        pid=$(cat "$dir/pid")
        kill "$pid" 2>/dev/null || true
        tries=0
        while kill -0 "$pid" 2>/dev/null && [ $tries -lt 200 ]; do
            tries=$((tries + 1))
            sleep 0.1
        done
        ! kill -0 "$pid" 2>/dev/null || die "the engine (pid $pid) does not end"
    }
    # What it mounted below its own directory, deepest first.
    awk -v dir="$dir/" 'index($5, dir) == 1 {print $5}' /proc/self/mountinfo | sort -r | while read -r mount; do
        umount "$mount" || true
    done
    rm -rf --one-file-system "$dir"
    ;;
image)
    if [ ! -f "$cache/root.tar" ]; then
        command -v debootstrap >/dev/null || die "there is no debootstrap: apt-get install debootstrap"
        mkdir -p "$cache"
        rm -rf --one-file-system "$cache/root"
        debootstrap --variant=minbase --include="$packages${MAI_DOCKER_IMAGE_PACKAGES:+,$MAI_DOCKER_IMAGE_PACKAGES}" \
            bookworm "$cache/root" "$(mirror)" >"$cache/log" 2>&1 ||
            { tail -5 "$cache/log" >&2; die "debootstrap failed"; }
        rm -rf "$cache"/root/var/cache/apt/archives/*.deb "$cache"/root/var/lib/apt/lists/*
        tar -C "$cache/root" --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' -cf "$cache/root.tar.new" .
        mv "$cache/root.tar.new" "$cache/root.tar"
        rm -rf --one-file-system "$cache/root"
    fi
    load "$cache/root.tar"
    ;;
host-image)
    mkdir -p "$cache"
    # shellcheck disable=SC2086 # a list of words
    /usr/bin/python3 "$(dirname "$0")/docker-host-image.py" "$cache/host.tar" $host_packages
    load "$cache/host.tar"
    ;;
*) die "unknown command: $command" ;;
esac
