/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allow-list of system calls: what a program in a container may ask of the kernel, and why. A call
 * that no group names, or that is newer than this table, returns ENOSYS, as on an older kernel.
 * docs/SECCOMP.md is printed from here.  CALL(name) takes the group's verdict; RULED(name, rule) lets the
 * arguments decide (rules.c). The container's init runs under the same filter.
 */
#include "seccomp/numbers.h"
#include "seccomp/rules.h"

/* clang-format off */
#define CALL(name)        {#name, __NR_##name, NULL}
#define RULED(name, rule) {#name, __NR_##name, &seccomp_rule_##rule}

static const struct seccomp_call files[] = {
        CALL(read), CALL(write), CALL(readv), CALL(writev), CALL(pread64), CALL(pwrite64), CALL(preadv),
        CALL(pwritev), CALL(preadv2), CALL(pwritev2), CALL(lseek), CALL(open), CALL(openat), CALL(openat2),
        CALL(creat), CALL(close), CALL(close_range), CALL(dup), CALL(dup2), CALL(dup3), CALL(fcntl),
        CALL(flock), CALL(stat), CALL(fstat), CALL(lstat), CALL(newfstatat), CALL(statx), CALL(statfs),
        CALL(fstatfs), CALL(access), CALL(faccessat), CALL(faccessat2), CALL(readlink), CALL(readlinkat),
        CALL(getdents), CALL(getdents64), CALL(getcwd), CALL(chdir), CALL(fchdir), CALL(mkdir),
        CALL(mkdirat), CALL(rmdir), CALL(unlink), CALL(unlinkat), CALL(rename), CALL(renameat),
        CALL(renameat2), CALL(link), CALL(linkat), CALL(symlink), CALL(symlinkat), CALL(truncate),
        CALL(ftruncate), CALL(fallocate), CALL(fsync), CALL(fdatasync), CALL(syncfs),
        CALL(sync_file_range), CALL(readahead), CALL(fadvise64), CALL(umask), CALL(chmod), CALL(fchmod),
        CALL(fchmodat), CALL(chown), CALL(lchown), CALL(fchown), CALL(fchownat), CALL(utime), CALL(utimes),
        CALL(futimesat), CALL(utimensat), CALL(setxattr), CALL(lsetxattr), CALL(fsetxattr), CALL(getxattr),
        CALL(lgetxattr), CALL(fgetxattr), CALL(listxattr), CALL(llistxattr), CALL(flistxattr),
        CALL(removexattr), CALL(lremovexattr), CALL(fremovexattr), CALL(sendfile), CALL(copy_file_range),
        RULED(mknod, mknod), RULED(mknodat, mknodat), RULED(ioctl, ioctl),
};

static const struct seccomp_call waiting[] = {
        CALL(pipe), CALL(pipe2), CALL(poll), CALL(ppoll), CALL(select), CALL(pselect6), CALL(epoll_create),
        CALL(epoll_create1), CALL(epoll_ctl), CALL(epoll_wait), CALL(epoll_pwait), CALL(epoll_pwait2),
        CALL(eventfd), CALL(eventfd2), CALL(signalfd), CALL(signalfd4), CALL(timerfd_create),
        CALL(timerfd_settime), CALL(timerfd_gettime), CALL(inotify_init), CALL(inotify_init1),
        CALL(inotify_add_watch), CALL(inotify_rm_watch),
};

static const struct seccomp_call memory[] = {
        CALL(mmap), CALL(munmap), CALL(mremap), CALL(mprotect), CALL(madvise), CALL(brk), CALL(msync),
        CALL(mincore), CALL(mlock), CALL(mlock2), CALL(munlock), CALL(mlockall), CALL(munlockall),
        CALL(memfd_create), CALL(pkey_mprotect), CALL(pkey_alloc), CALL(pkey_free), CALL(membarrier),
        CALL(mbind), CALL(set_mempolicy), CALL(get_mempolicy), CALL(set_mempolicy_home_node),
        RULED(move_pages, own_pages),
};

static const struct seccomp_call processes[] = {
        RULED(clone, clone), CALL(fork), CALL(vfork), CALL(execve), CALL(execveat), CALL(exit),
        CALL(exit_group), CALL(wait4), CALL(waitid), CALL(pidfd_open), CALL(pidfd_send_signal),
        CALL(getpid), CALL(getppid), CALL(gettid), CALL(getpgid), CALL(getpgrp), CALL(setpgid),
        CALL(getsid), CALL(setsid), CALL(set_tid_address), CALL(set_robust_list), CALL(get_robust_list),
        CALL(futex), CALL(futex_waitv), CALL(rseq), CALL(arch_prctl), RULED(prctl, prctl),
        RULED(personality, personality),
};

static const struct seccomp_call signals[] = {
        CALL(kill), CALL(tkill), CALL(tgkill), CALL(rt_sigaction), CALL(rt_sigprocmask),
        CALL(rt_sigpending), CALL(rt_sigsuspend), CALL(rt_sigtimedwait), CALL(rt_sigqueueinfo),
        CALL(rt_tgsigqueueinfo), CALL(rt_sigreturn), CALL(sigaltstack), CALL(pause), CALL(restart_syscall),
};

static const struct seccomp_call clocks[] = {
        CALL(time), CALL(gettimeofday), CALL(clock_gettime), CALL(clock_getres), CALL(clock_nanosleep),
        CALL(nanosleep), CALL(alarm), CALL(getitimer), CALL(setitimer), CALL(timer_create),
        CALL(timer_settime), CALL(timer_gettime), CALL(timer_getoverrun), CALL(timer_delete), CALL(times),
};

static const struct seccomp_call identity[] = {
        CALL(getuid), CALL(geteuid), CALL(getgid), CALL(getegid), CALL(getresuid), CALL(getresgid),
        CALL(getgroups), CALL(setuid), CALL(setgid), CALL(setreuid), CALL(setregid), CALL(setresuid),
        CALL(setresgid), CALL(setfsuid), CALL(setfsgid), CALL(setgroups), CALL(capget), CALL(capset),
        CALL(uname), CALL(sysinfo), CALL(getcpu), CALL(getrandom),
};

static const struct seccomp_call scheduling[] = {
        CALL(sched_yield), CALL(sched_getaffinity), CALL(sched_getscheduler),
        RULED(sched_setscheduler, scheduler), CALL(sched_getparam), RULED(sched_setparam, scheduler), CALL(sched_getattr),
        RULED(sched_setattr, scheduler), CALL(sched_get_priority_max), CALL(sched_get_priority_min),
        CALL(sched_rr_get_interval), CALL(getpriority), RULED(setpriority, priority), CALL(ioprio_get),
        RULED(ioprio_set, io_priority), CALL(getrusage), CALL(getrlimit), RULED(setrlimit, setrlimit),
        RULED(prlimit64, prlimit),
};

static const struct seccomp_call sockets[] = {
        RULED(socket, socket), RULED(socketpair, socket), CALL(bind), CALL(listen), CALL(accept),
        CALL(accept4), CALL(connect), CALL(shutdown), CALL(getsockname), CALL(getpeername),
        CALL(getsockopt), CALL(setsockopt), CALL(sendto), CALL(recvfrom), CALL(sendmsg), CALL(recvmsg),
        CALL(sendmmsg), CALL(recvmmsg),
};

static const struct seccomp_call messages[] = {
        CALL(shmget), CALL(shmat), CALL(shmdt), CALL(shmctl), CALL(semget), CALL(semop), CALL(semtimedop),
        CALL(semctl), CALL(msgget), CALL(msgsnd), CALL(msgrcv), CALL(msgctl), CALL(mq_open),
        CALL(mq_unlink), CALL(mq_timedsend), CALL(mq_timedreceive), CALL(mq_notify), CALL(mq_getsetattr),
};

static const struct seccomp_call fall_back[] = {
        CALL(clone3), CALL(landlock_create_ruleset), CALL(landlock_add_rule), CALL(landlock_restrict_self),
        CALL(memfd_secret), CALL(epoll_ctl_old), CALL(epoll_wait_old), CALL(remap_file_pages),
};

static const struct seccomp_call page_cache[] = {
        CALL(splice), CALL(tee), CALL(vmsplice),
};

static const struct seccomp_call old_aio[] = {
        CALL(io_setup), CALL(io_destroy), CALL(io_submit), CALL(io_cancel), CALL(io_getevents),
        CALL(io_pgetevents),
};

static const struct seccomp_call obsolete[] = {
        CALL(uselib), CALL(ustat), CALL(sysfs), CALL(_sysctl), CALL(create_module), CALL(get_kernel_syms),
        CALL(query_module), CALL(nfsservctl), CALL(getpmsg), CALL(putpmsg), CALL(afs_syscall),
        CALL(tuxcall), CALL(security), CALL(vserver), CALL(set_thread_area), CALL(get_thread_area),
};

static const struct seccomp_call sync_all[] = {
        CALL(sync),
};

static const struct seccomp_call affinity[] = {
        CALL(sched_setaffinity),
};

static const struct seccomp_call own_filter[] = {
        CALL(seccomp),
};

static const struct seccomp_call others[] = {
        CALL(kcmp), CALL(process_madvise), CALL(process_mrelease), CALL(migrate_pages),
};

static const struct seccomp_call odd[] = {
        CALL(adjtimex), CALL(clock_adjtime), CALL(modify_ldt), CALL(fanotify_mark), CALL(vhangup),
};

static const struct seccomp_call mounts[] = {
        CALL(mount), CALL(umount2), CALL(pivot_root), CALL(chroot), CALL(open_tree), CALL(move_mount),
        CALL(fsopen), CALL(fsconfig), CALL(fsmount), CALL(fspick), CALL(mount_setattr), CALL(unshare),
        CALL(setns),
};

static const struct seccomp_call surfaces[] = {
        CALL(bpf), CALL(perf_event_open), CALL(userfaultfd), CALL(io_uring_setup), CALL(io_uring_enter),
        CALL(io_uring_register), CALL(keyctl), CALL(add_key), CALL(request_key), CALL(fanotify_init),
        CALL(name_to_handle_at), CALL(open_by_handle_at), CALL(lookup_dcookie), CALL(syslog),
};

static const struct seccomp_call snooping[] = {
        CALL(ptrace), CALL(process_vm_readv), CALL(process_vm_writev), CALL(pidfd_getfd),
};

static const struct seccomp_call machine[] = {
        CALL(reboot), CALL(kexec_load), CALL(kexec_file_load), CALL(init_module), CALL(finit_module),
        CALL(delete_module), CALL(swapon), CALL(swapoff), CALL(acct), CALL(quotactl), CALL(quotactl_fd),
        CALL(settimeofday), CALL(clock_settime), CALL(sethostname), CALL(setdomainname), CALL(iopl),
        CALL(ioperm),
};

#define GROUP(calls, verdict, title, reason) {title, verdict, reason, calls, ARRAY_SIZE(calls)}

const struct seccomp_group seccomp_groups[] = {
        GROUP(files, VERDICT_ALLOW, "Files",
                "the mount tree and the uid decide what can be reached; the container's own tmpfs is all "
                "that can be written"),
        GROUP(waiting, VERDICT_ALLOW, "Pipes, polling, events",
                "act on descriptors that the program holds"),
        GROUP(memory, VERDICT_ALLOW, "Memory",
                "of the calling process; the cgroup bounds it, rlimits bound mlock"),
        GROUP(processes, VERDICT_ALLOW, "Processes and threads",
                "inside the container's own pid namespace, bounded by its pids limit; running code from "
                "a memfd gives nothing that a file in /tmp would not"),
        GROUP(signals, VERDICT_ALLOW, "Signals",
                "reach only processes of the container; its init is immune"),
        GROUP(clocks, VERDICT_ALLOW, "Clocks and timers", "reading and waiting"),
        GROUP(identity, VERDICT_ALLOW, "Identity and facts",
                "programs set the ids that they already have; to others the kernel says no for want of "
                "capabilities"),
        GROUP(scheduling, VERDICT_ALLOW, "Scheduling and limits",
                "lowering is free, raising needs capabilities, and the CPU quota holds"),
        GROUP(sockets, VERDICT_ALLOW, "Sockets",
                "loopback of the container's own network namespace; every other family is kernel code "
                "that nothing ordinary needs (AF_ALG, AF_VSOCK, AF_NETLINK, AF_PACKET, AF_XDP)"),
        GROUP(messages, VERDICT_ALLOW, "System V and POSIX messages",
                "in the container's own ipc namespace"),
        GROUP(fall_back, VERDICT_ENOSYS, "Newer or rarer ways",
                "clone3 and friends: pointers to flags cannot be judged by a filter, and libraries fall "
                "back; the init uses Landlock before the filter is in force"),
        GROUP(page_cache, VERDICT_ENOSYS, "Pages into pipes",
                "put pages of shared files themselves into pipes, which let CVE-2022-0847 write to files "
                "that could only be read; programs fall back to read and write, sendfile and "
                "copy_file_range stay"),
        GROUP(old_aio, VERDICT_ENOSYS, "Kernel AIO", "databases use it, scripts do not"),
        GROUP(obsolete, VERDICT_ENOSYS, "Obsolete", "gone from kernels, or should be"),
        GROUP(sync_all, VERDICT_EPERM, "sync",
                "would flush every file system of the host; it returns nothing, and nothing in the "
                "container needs it"),
        GROUP(affinity, VERDICT_BROKERED, "CPU affinity",
                "the affinity given at the start is how many CPUs a container sees (a cpuset would rebuild "
                "the scheduling domains of the whole host for every run), so the supervisor keeps it from "
                "being widened"),
        GROUP(own_filter, VERDICT_EPERM, "Own filters",
                "a program's own filter outranks ours: it could hide what ours reports"),
        GROUP(others, VERDICT_EPERM, "Other processes", "compare or steer the memory of other processes"),
        GROUP(odd, VERDICT_EPERM, "Rare and risky",
                "clock steering (whose reading form a filter cannot tell apart), segment descriptors, "
                "and leftovers of the denied"),
        GROUP(mounts, VERDICT_NOTIFY, "Mounts and namespaces",
                "the container's walls; no ordinary program builds them"),
        GROUP(surfaces, VERDICT_NOTIFY, "Large attack surfaces",
                "where kernels keep breaking, or that see beyond namespaces (keys, handles, the kernel's "
                "log)"),
        GROUP(snooping, VERDICT_NOTIFY, "Snooping", "read and write other processes, the init among them"),
        GROUP(machine, VERDICT_NOTIFY, "The machine", "an administrator's calls"),
};
const size_t seccomp_groups_count = ARRAY_SIZE(seccomp_groups);

const char *const seccomp_hot_calls[] = {
        "read", "write", "openat", "close", "newfstatat", "fstat", "lseek", "mmap", "munmap", "mprotect",
        "brk", "futex", "rt_sigaction", "rt_sigprocmask", "poll", "epoll_wait", "pread64", "getdents64",
        "readlink", "recvfrom", "sendto", "recvmsg", "sendmsg", "clock_nanosleep", "sched_yield",
        "madvise", "wait4",
};
const size_t seccomp_hot_calls_count = ARRAY_SIZE(seccomp_hot_calls);
