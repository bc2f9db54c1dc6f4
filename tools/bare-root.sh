#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317 # main() exits, which makes all that it calls look unreachable
#
# A machine with nothing on it, to try the project's first five minutes: a minimal Debian root tree, entered through
# namespaces of its own, with this host's apt configuration, so that packages come from where they always come from.
#
#   tools/bare-root.sh make [DIR]                       debootstrap it (once; needs the debootstrap package)
#   tools/bare-root.sh run [--bind SRC:DEST]... DIR -- COMMAND [ARG...]
#                                                       run in a throw-away overlay of it; SRC is seen read-only
#
# A plain chroot would not do: the kernel refuses user namespaces to a process whose root is not its mount
# namespace's root. Needs root. Cgroups are the host's own, as on a real machine.
set -euo pipefail

readonly SUITE=bookworm
readonly DEFAULT_DIR=/var/tmp/bare-root

die() {
        echo "bare-root: $*" >&2
        exit 1
}

usage() {
        sed -n '5,/^set -/s/^# \{0,1\}//p' "$0"
}

# The first source that apt itself uses for this suite's main archive.
mirror() {
        # shellcheck disable=SC2016 # apt's placeholders, not the shell's
        apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
                awk -v suite="$SUITE" '$2 == suite { print $1; exit }'
}

make_root() {
        local directory=$1 site
        [[ ! -e $directory ]] || die "$directory exists already"
        command -v debootstrap >/dev/null || die "debootstrap is not installed: apt-get install debootstrap"
        site=$(mirror)
        [[ -n $site ]] || die "apt knows no source for $SUITE; see /etc/apt/sources.list"
        debootstrap --variant=minbase "$SUITE" "$directory" "$site"
}

# What a host needs to reach its package sources: they, apt's options, keys, certificates, name resolution.
copy_host_settings() {
        local root=$1 path
        for path in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf /etc/apt/apt.conf.d \
                /etc/apt/auth.conf.d /etc/apt/keyrings /usr/local/share/ca-certificates \
                /etc/ssl/certs/ca-certificates.crt /etc/hosts; do
                # Also where the host has none: the bootstrap's own source list would name the same source twice.
                rm -rf "${root:?}$path"
                [[ -e $path ]] || continue
                mkdir -p "$root$(dirname "$path")"
                cp -aL "$path" "$root$path"
        done
        rm -f "$root/etc/resolv.conf"
        cp -L /etc/resolv.conf "$root/etc/resolv.conf"
}

# Runs inside the new mount and pid namespaces, as their first process.
enter() {
        local pristine=$1 work=$2
        shift 2
        mount -t overlay overlay -o "lowerdir=$pristine,upperdir=$work/upper,workdir=$work/work" "$work/root"
        local root=$work/root
        copy_host_settings "$root"
        mount -t proc proc "$root/proc"
        mount -t sysfs sysfs "$root/sys"
        mount --rbind /dev "$root/dev"
        if [[ -d /sys/fs/cgroup ]]; then
                mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
        fi
        mount -t tmpfs -o mode=755 tmpfs "$root/run"
        while [[ $1 == --bind ]]; do
                local source=${2%%:*} target=${2#*:}
                mkdir -p "$root$target"
                mount --bind "$source" "$root$target"
                mount -o remount,bind,ro "$root$target"
                shift 2
        done
        shift # --
        cd "$root"
        pivot_root . mnt
        # shellcheck disable=SC2016 # expanded by the inner shell
        exec env -i HOME=/root USER=root LANG=C.UTF-8 TERM="${TERM:-dumb}" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
                chroot . /bin/sh -c 'umount -l /mnt && cd /root && exec "$@"' sh "$@"
}

run_in_root() {
        local binds=() pristine work status=0
        while [[ ${1:-} == --bind ]]; do
                [[ ${2:-} == /*:/* ]] || die "--bind wants /SOURCE:/DESTINATION, not '${2:-}'"
                binds+=(--bind "$2")
                shift 2
        done
        pristine=$(realpath "${1:?}")
        shift
        [[ ${1:-} == -- && $# -gt 1 ]] || die "expected -- COMMAND after the directory"
        [[ -x $pristine/bin/sh ]] || die "$pristine is not a root tree; make one: $0 make $pristine"
        work=$(mktemp -d -p "$(dirname "$pristine")" bare-root.XXXXXX)
        # shellcheck disable=SC2064 # this very directory
        trap "rm -rf --one-file-system '$work'" EXIT
        chmod 755 "$work"
        mkdir "$work/upper" "$work/work" "$work/root"
        unshare --mount --pid --fork --kill-child --propagation private -- \
                "$0" --enter "$pristine" "$work" ${binds[@]+"${binds[@]}"} "$@" || status=$?
        return "$status"
}

main() {
        case ${1:-} in
        make)
                make_root "${2:-$DEFAULT_DIR}"
                ;;
        run)
                shift
                run_in_root "$@"
                ;;
        --enter)
                shift
                enter "$@"
                ;;
        *)
                usage >&2
                exit 2
                ;;
        esac
        exit # here, so that nothing is read from a file that may have changed meanwhile
}

main "$@"
