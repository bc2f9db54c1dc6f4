/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of enforcement that --allow-degraded may waive; bits of masks in the protocols and in container
 * specs. The words that stand for them are in policy/spec.c.
 */
#pragma once

enum enforcement {
        ENFORCE_CGROUP,   /* no cgroup that can be written: memory, pids, cpu */
        ENFORCE_SWAP,     /* swap can't be limited */
        ENFORCE_CPUSET,   /* how many CPUs are seen; natively by affinity, which can be had everywhere */
        ENFORCE_LANDLOCK, /* kernel without Landlock */
        ENFORCE_GROUPS,   /* supplementary groups that can't be dropped */
        ENFORCE_UID,      /* no uid range: all runs of this user share the caller's uid on the host */
        ENFORCE_PROC,     /* /proc can't be masked */
        ENFORCE_INODES,   /* the number of files can't be limited */
        ENFORCEMENT_COUNT_,
};
