/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System call numbers of this architecture, -1 for calls that it does not have: newer architectures never
 * got the old forms, and older kernel headers lack the newest. The table can so name all of them.
 */
#pragma once

#include <asm/unistd.h>

#ifndef __NR__sysctl
#define __NR__sysctl -1
#endif
#ifndef __NR_access
#define __NR_access -1
#endif
#ifndef __NR_afs_syscall
#define __NR_afs_syscall -1
#endif
#ifndef __NR_alarm
#define __NR_alarm -1
#endif
#ifndef __NR_arch_prctl
#define __NR_arch_prctl -1
#endif
#ifndef __NR_chmod
#define __NR_chmod -1
#endif
#ifndef __NR_chown
#define __NR_chown -1
#endif
#ifndef __NR_creat
#define __NR_creat -1
#endif
#ifndef __NR_create_module
#define __NR_create_module -1
#endif
#ifndef __NR_dup2
#define __NR_dup2 -1
#endif
#ifndef __NR_epoll_create
#define __NR_epoll_create -1
#endif
#ifndef __NR_epoll_ctl_old
#define __NR_epoll_ctl_old -1
#endif
#ifndef __NR_epoll_pwait2
#define __NR_epoll_pwait2 -1
#endif
#ifndef __NR_epoll_wait
#define __NR_epoll_wait -1
#endif
#ifndef __NR_epoll_wait_old
#define __NR_epoll_wait_old -1
#endif
#ifndef __NR_eventfd
#define __NR_eventfd -1
#endif
#ifndef __NR_fork
#define __NR_fork -1
#endif
#ifndef __NR_futex_waitv
#define __NR_futex_waitv -1
#endif
#ifndef __NR_futimesat
#define __NR_futimesat -1
#endif
#ifndef __NR_get_kernel_syms
#define __NR_get_kernel_syms -1
#endif
#ifndef __NR_get_thread_area
#define __NR_get_thread_area -1
#endif
#ifndef __NR_getdents
#define __NR_getdents -1
#endif
#ifndef __NR_getpgrp
#define __NR_getpgrp -1
#endif
#ifndef __NR_getpmsg
#define __NR_getpmsg -1
#endif
#ifndef __NR_inotify_init
#define __NR_inotify_init -1
#endif
#ifndef __NR_ioperm
#define __NR_ioperm -1
#endif
#ifndef __NR_iopl
#define __NR_iopl -1
#endif
#ifndef __NR_landlock_add_rule
#define __NR_landlock_add_rule -1
#endif
#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset -1
#endif
#ifndef __NR_landlock_restrict_self
#define __NR_landlock_restrict_self -1
#endif
#ifndef __NR_lchown
#define __NR_lchown -1
#endif
#ifndef __NR_link
#define __NR_link -1
#endif
#ifndef __NR_lstat
#define __NR_lstat -1
#endif
#ifndef __NR_memfd_secret
#define __NR_memfd_secret -1
#endif
#ifndef __NR_mkdir
#define __NR_mkdir -1
#endif
#ifndef __NR_mknod
#define __NR_mknod -1
#endif
#ifndef __NR_modify_ldt
#define __NR_modify_ldt -1
#endif
#ifndef __NR_mount_setattr
#define __NR_mount_setattr -1
#endif
#ifndef __NR_open
#define __NR_open -1
#endif
#ifndef __NR_pause
#define __NR_pause -1
#endif
#ifndef __NR_pipe
#define __NR_pipe -1
#endif
#ifndef __NR_poll
#define __NR_poll -1
#endif
#ifndef __NR_process_madvise
#define __NR_process_madvise -1
#endif
#ifndef __NR_process_mrelease
#define __NR_process_mrelease -1
#endif
#ifndef __NR_putpmsg
#define __NR_putpmsg -1
#endif
#ifndef __NR_query_module
#define __NR_query_module -1
#endif
#ifndef __NR_quotactl_fd
#define __NR_quotactl_fd -1
#endif
#ifndef __NR_readlink
#define __NR_readlink -1
#endif
#ifndef __NR_rename
#define __NR_rename -1
#endif
#ifndef __NR_rmdir
#define __NR_rmdir -1
#endif
#ifndef __NR_security
#define __NR_security -1
#endif
#ifndef __NR_select
#define __NR_select -1
#endif
#ifndef __NR_set_mempolicy_home_node
#define __NR_set_mempolicy_home_node -1
#endif
#ifndef __NR_set_thread_area
#define __NR_set_thread_area -1
#endif
#ifndef __NR_signalfd
#define __NR_signalfd -1
#endif
#ifndef __NR_stat
#define __NR_stat -1
#endif
#ifndef __NR_symlink
#define __NR_symlink -1
#endif
#ifndef __NR_sysfs
#define __NR_sysfs -1
#endif
#ifndef __NR_time
#define __NR_time -1
#endif
#ifndef __NR_tuxcall
#define __NR_tuxcall -1
#endif
#ifndef __NR_unlink
#define __NR_unlink -1
#endif
#ifndef __NR_uselib
#define __NR_uselib -1
#endif
#ifndef __NR_ustat
#define __NR_ustat -1
#endif
#ifndef __NR_utime
#define __NR_utime -1
#endif
#ifndef __NR_utimes
#define __NR_utimes -1
#endif
#ifndef __NR_vfork
#define __NR_vfork -1
#endif
#ifndef __NR_vserver
#define __NR_vserver -1
#endif
