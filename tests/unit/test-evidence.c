/* SPDX-License-Identifier: Apache-2.0 */
/* Each thing that could be read back wrong is noticed, and names its setting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake-backend.h"

/* One byte range of the evidence is overwritten with a wrong value. */
struct fault {
        const char *setting;
        size_t offset, size;
        uint64_t value;
};

#define FAULT(setting_, member, value_)                                                                     \
        {                                                                                                   \
                .setting = (setting_), .offset = offsetof(struct evidence, member),                         \
                .size = sizeof(((struct evidence *)NULL)->member), .value = (uint64_t)(value_)              \
        }

static const struct fault faults[] = {
    FAULT("user", uid, 0),
    FAULT("user", uid, 1001),
    FAULT("user", gid, 0),
    FAULT("user", host_uid, 0),
    FAULT("user", host_gid, 0),
    FAULT("user", group_count, 1),
    FAULT("user", group_count, 100),
    FAULT("cap_drop", cap_effective, 1),
    FAULT("cap_drop", cap_permitted, 1 << 21),
    FAULT("cap_drop", cap_inheritable, 1),
    FAULT("cap_drop", cap_bounding, UINT64_C(1) << 40),
    FAULT("cap_drop", cap_ambient, 1),
    FAULT("security_opt", no_new_privs, 0),
    FAULT("security_opt", seccomp_mode, 0),
    FAULT("security_opt", seccomp_filters, 0),
    FAULT("landlock", landlock_abi, 0),
    FAULT("namespaces", namespaces[NAMESPACE_USER], 1),
    FAULT("namespaces", namespaces[NAMESPACE_NET], 4),
    FAULT("namespaces", namespaces[NAMESPACE_CGROUP], 0),
    FAULT("read_only", read_only_root, 0),
    FAULT("network_mode", network, 0),
    FAULT("mem_limit", cgroup_version, 0),
    FAULT("mem_limit", memory_max, UINT64_MAX),
    FAULT("mem_limit", memory_max, (64U << 20) + 4096),
    FAULT("mem_limit", memory_max, 0),
    FAULT("mem_limit", memory_max, 1U << 20),
    FAULT("mem_limit", memory_swap_max, UINT64_MAX),
    FAULT("mem_limit", memory_swap_max, 4096),
    FAULT("pids_limit", pids_max, UINT64_MAX),
    FAULT("pids_limit", pids_max, 64),
    FAULT("pids_limit", pids_max, 31),
    FAULT("cpu_count", cpu_quota_usec, UINT64_MAX),
    FAULT("cpu_count", cpu_quota_usec, 300000),
    FAULT("cpu_count", cpu_period_usec, 0),
    FAULT("cpu_count", cpus_allowed, 3),
    FAULT("cpu_count", cpus_allowed, 0),
    FAULT("disk_limit", disk_bytes, 0),
    FAULT("disk_limit", disk_bytes, 2U << 20),
    FAULT("inode_limit", disk_inodes, 0),
    FAULT("inode_limit", disk_inodes, 2000),
    FAULT("swap", degraded, 1U << ENFORCE_SWAP),
    FAULT("unknown parts", degraded, 1U << 20),
};

static void good_evidence_passes(void **state)
{
        _cleanup_(container_spec_clear) struct container_spec spec = fake_spec();
        struct evidence evidence;
        fake_evidence(&spec, &evidence);
        _cleanup_(error_clear) struct error err = {};
        assert_int_equal(evidence_check(&evidence, &spec, &err), 0);

        /* The kernel rounds, v1 counts memory and swap together, our own init counts. */
        evidence.cgroup_version = 1;
        evidence.memory_swap_max = spec.limits.mem_limit;
        evidence.pids_max = spec.limits.pids_limit + 2;
        evidence.memory_max = spec.limits.mem_limit - 4095;
        evidence.groups[evidence.group_count++] = spec.gid;
        assert_int_equal(evidence_check(&evidence, &spec, &err), 0);

        spec.limits.cpu_count = 0.5;
        evidence.cpu_quota_usec = 50000;
        evidence.cpus_allowed = 1;
        assert_int_equal(evidence_check(&evidence, &spec, &err), 0);
}

static void every_fault_is_noticed(void **state)
{
        _cleanup_(container_spec_clear) struct container_spec spec = fake_spec();
        for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
                struct evidence evidence;
                fake_evidence(&spec, &evidence);
                memcpy((char *)&evidence + faults[i].offset, &faults[i].value, faults[i].size);
                _cleanup_(error_clear) struct error err = {};
                int r = evidence_check(&evidence, &spec, &err);
                if (r >= 0 || strncmp(err.message, faults[i].setting, strlen(faults[i].setting)) != 0)
                        fail_msg("fault %zu of %s: %s", i, faults[i].setting,
                            err.message ? err.message : "not noticed");
                assert_int_equal(err.code, ERROR_MISMATCH);
        }
}

static void what_is_waived_must_be_reported_too(void **state)
{
        _cleanup_(container_spec_clear) struct container_spec spec = fake_spec();
        static const struct {
                enum enforcement enforcement;
                struct fault fault;
        } cases[] = {
            {ENFORCE_CGROUP, FAULT("mem_limit", cgroup_version, 0)},
            {ENFORCE_SWAP, FAULT("mem_limit", memory_swap_max, UINT64_MAX)},
            {ENFORCE_CPUSET, FAULT("cpu_count", cpus_allowed, 16)},
            {ENFORCE_LANDLOCK, FAULT("landlock", landlock_abi, 0)},
            {ENFORCE_GROUPS, FAULT("user", group_count, 3)},
            {ENFORCE_INODES, FAULT("inode_limit", disk_inodes, 0)},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct evidence evidence;
                fake_evidence(&spec, &evidence);
                memcpy(
                    (char *)&evidence + cases[i].fault.offset, &cases[i].fault.value, cases[i].fault.size);
                spec.degraded_allowed = 1U << cases[i].enforcement;
                assert_true(evidence_check(&evidence, &spec, NULL) < 0); /* allowed, but not owned up to */
                evidence.degraded = 1U << cases[i].enforcement;
                assert_int_equal(evidence_check(&evidence, &spec, NULL), 0);
                spec.degraded_allowed = 0;
                assert_true(evidence_check(&evidence, &spec, NULL) < 0); /* owned up to, but not allowed */
        }
}

static void what_the_policy_weakens_is_not_missed(void **state)
{
        _cleanup_(container_spec_clear) struct container_spec spec = fake_spec();
        struct evidence evidence;
        fake_evidence(&spec, &evidence);
        spec.read_only = false;
        spec.no_new_privileges = false;
        spec.seccomp = SECCOMP_UNCONFINED;
        spec.capabilities = 1;
        evidence.read_only_root = false;
        evidence.no_new_privs = false;
        evidence.seccomp_mode = 0;
        evidence.cap_effective = 1;
        assert_int_equal(evidence_check(&evidence, &spec, NULL), 0);
        evidence.cap_effective = 3;
        assert_true(evidence_check(&evidence, &spec, NULL) < 0);
}

/* Another kernel's namespaces are not compared with ours; who runs it here still counts, and all the rest.
 */
static void a_kernel_of_its_own(void **state)
{
        _cleanup_(container_spec_clear) struct container_spec spec = fake_spec();
        struct evidence good;
        fake_evidence(&spec, &good);
        good.own_kernel = true;
        good.uid = good.gid = spec.host_uid_base + 3;
        good.host_uid = good.host_gid = 65534;
        memset(good.namespaces, 0, sizeof good.namespaces);
        good.namespaces[NAMESPACE_PID] = good.host_namespaces[NAMESPACE_PID];
        assert_int_equal(evidence_check(&good, &spec, NULL), 0);
        good.host_uid = good.host_gid = UINT32_MAX; /* nobody could look */
        assert_int_equal(evidence_check(&good, &spec, NULL), 0);

        static const struct fault own[] = {FAULT("user", uid, 0), FAULT("user", uid, 1000),
            FAULT("user", gid, 0), FAULT("user", host_uid, 0), FAULT("cap_drop", cap_bounding, 1),
            FAULT("security_opt", no_new_privs, 0), FAULT("security_opt", seccomp_mode, 0),
            FAULT("landlock", landlock_abi, 0), FAULT("read_only", read_only_root, 0),
            FAULT("network_mode", network, 0), FAULT("mem_limit", cgroup_version, 0),
            FAULT("inode_limit", disk_inodes, 0)};
        for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
                struct evidence evidence = good;
                memcpy((char *)&evidence + own[i].offset, &own[i].value, own[i].size);
                _cleanup_(error_clear) struct error err = {};
                assert_true(evidence_check(&evidence, &spec, &err) < 0);
                assert_int_equal(strncmp(err.message, own[i].setting, strlen(own[i].setting)), 0);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(good_evidence_passes),
            cmocka_unit_test(every_fault_is_noticed),
            cmocka_unit_test(what_is_waived_must_be_reported_too),
            cmocka_unit_test(what_the_policy_weakens_is_not_missed),
            cmocka_unit_test(a_kernel_of_its_own),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
