/* SPDX-License-Identifier: Apache-2.0 */
/* The container manager over two backends that only write down what is asked of them. */
#include "ledger-common.h"

#include "sandbox/container_manager_internal.h"

struct container {
        int unused;
};

struct backend {
        int unused;
};

static struct {
        int native_open_status, create_status, prune_status;
        unsigned opens, docker_opens, closes, creates, frees, prunes;
        unsigned files_at_create, files_at_free, prunes_at_create;
        char id[LEDGER_ID_SIZE], pruned_id[LEDGER_ID_SIZE];
        unsigned slot, pruned_slot;
        bool docker_exists;
} fake;

static int fake_create(struct backend *backend, const struct container_spec *spec, const char *id,
    unsigned slot, struct container **ret, struct error *err)
{
        fake.creates++;
        fake.files_at_create = count_files("");
        fake.prunes_at_create = fake.prunes;
        fake.slot = slot;
        (void)snprintf(fake.id, sizeof fake.id, "%s", id);
        if (fake.create_status < 0)
                return error_set(err, ERROR_BACKEND, -fake.create_status, NULL, "cannot make it");
        *ret = calloc(1, sizeof **ret);
        return *ret ? 0 : error_oom(err);
}

static struct container *fake_free(struct container *container)
{
        fake.frees++;
        fake.files_at_free = count_files("");
        free(container);
        return NULL;
}

static int fake_open(struct backend **ret, struct error *err)
{
        fake.opens++;
        if (fake.native_open_status < 0)
                return error_set(err, ERROR_BACKEND, -fake.native_open_status, NULL, "no launcher");
        *ret = calloc(1, sizeof **ret);
        return *ret ? 0 : error_oom(err);
}

static int docker_open(struct backend **ret, struct error *err)
{
        fake.docker_opens++;
        *ret = calloc(1, sizeof **ret);
        return *ret ? 0 : error_oom(err);
}

static struct backend *fake_close(struct backend *backend)
{
        fake.closes++;
        free(backend);
        return NULL;
}

static int fake_prune(struct backend *backend, const char *id, unsigned slot, struct error *err)
{
        fake.prunes++;
        fake.pruned_slot = slot;
        (void)snprintf(fake.pruned_id, sizeof fake.pruned_id, "%s", id);
        if (fake.prune_status < 0)
                return error_set(err, ERROR_BACKEND, -fake.prune_status, NULL, "cgroup is busy");
        return 0;
}

static const struct container_ops fake_container = {.create = fake_create, .free = fake_free};

const struct backend_ops native_backend = {.name = "native",
    .open = fake_open,
    .close = fake_close,
    .prune = fake_prune,
    .container = &fake_container};

static const struct backend_ops docker = {.name = "docker",
    .open = docker_open,
    .close = fake_close,
    .prune = fake_prune,
    .container = &fake_container};

/* In place of the one in sandbox/backend.c. */
const struct backend_ops *backend_find(const char *name)
{
        if (strcmp(name, "native") == 0)
                return &native_backend;
        return fake.docker_exists && strcmp(name, "docker") == 0 ? &docker : NULL;
}

static int set_up(void **state)
{
        memset(&fake, 0, sizeof fake);
        return make_parent(state);
}

static struct container_manager *open_manager(void)
{
        struct container_manager *manager = NULL;
        assert_int_equal(container_manager_open(&manager, NULL), 0);
        container_manager_use_ledger(manager, open_ledger());
        return manager;
}

static struct container_spec spec_for(const char *backend)
{
        return (struct container_spec){.trust_level = (char *)"unknown",
            .backend = (char *)backend,
            .limits = {.cpu_count = 1.5, .mem_limit = 64 << 20},
            .host_cpu_share = 2,
            .host_mem_share = 1 << 30,
            .queue_when_full = false,
            .level_concurrency = 10};
}

static int keep_one(const struct ledger_record *record, void *user)
{
        *(struct ledger_record *)user = *record;
        return 0;
}

static void whole_life(void **state)
{
        struct container_manager *manager = open_manager();
        assert_int_equal(fake.opens, 1); /* ahead of need */
        struct container_spec spec = spec_for("native");
        struct managed_container managed = {};
        double waited = -1;
        assert_int_equal(container_manager_create(manager, &spec, -1, &managed, &waited, NULL), 0);
        assert_int_equal(fake.opens, 1);
        assert_true(waited == 0 && managed.ops == &fake_container && managed.container && managed.entry);
        assert_string_equal(fake.id, ledger_entry_id(managed.entry));
        assert_int_equal(fake.slot, 0);
        assert_int_equal(fake.files_at_create, 1); /* recorded before anything is made */

        struct ledger *ledger = open_ledger();
        struct ledger_record record = {};
        assert_int_equal(ledger_each(ledger, keep_one, &record, NULL), 0);
        assert_true(record.live && record.cpus == 1.5 && record.memory == 64 << 20);
        assert_string_equal(record.trust_level, "unknown");
        (void)ledger_close(ledger);

        /* The share is taken: the next one is refused, by its name. */
        struct managed_container second = {};
        _cleanup_(error_clear) struct error err = {};
        assert_true(container_manager_create(manager, &spec, -1, &second, NULL, &err) < 0);
        assert_int_equal(err.code, ERROR_BUSY);
        assert_null(second.entry);
        assert_int_equal(fake.creates, 1);

        container_manager_release(manager, &managed, true);
        assert_int_equal(fake.frees, 1);
        assert_int_equal(fake.files_at_free, 0); /* it is gone already, and so is its record */
        assert_int_equal(count_files(""), 0);
        assert_null(managed.container);
        assert_null(container_manager_close(manager));
        assert_int_equal(fake.closes, 1);
}

static void failed_create_lets_go(void **state)
{
        struct container_manager *manager = open_manager();
        struct container_spec spec = spec_for("native");
        struct managed_container managed = {};
        _cleanup_(error_clear) struct error err = {};
        fake.create_status = -EIO;
        assert_int_equal(container_manager_create(manager, &spec, -1, &managed, NULL, &err), -EIO);
        assert_int_equal(err.code, ERROR_BACKEND);
        assert_null(managed.container);
        assert_int_equal(count_files(""), 0);
        (void)container_manager_close(manager);
}

static void unknown_backend(void **state)
{
        struct container_manager *manager = open_manager();
        struct container_spec spec = spec_for("gvisor");
        struct managed_container managed = {};
        _cleanup_(error_clear) struct error err = {};
        assert_true(container_manager_create(manager, &spec, -1, &managed, NULL, &err) < 0);
        assert_int_equal(err.code, ERROR_BACKEND);
        assert_string_equal(err.message, "backend: \"gvisor\" is not part of this build; known: native");
        assert_non_null(err.hint);
        assert_int_equal(count_files(""), 0);
        fake.docker_exists = true;
        assert_true(container_manager_create(manager, &spec, -1, &managed, NULL, &err) < 0);
        assert_non_null(strstr(err.message, "known: native, docker"));
        (void)container_manager_close(manager);
}

static void native_is_only_opened_ahead(void **state)
{
        fake.native_open_status = -EPERM;
        fake.docker_exists = true;
        struct container_manager *manager = open_manager();
        struct container_spec spec = spec_for("docker");
        struct managed_container managed = {};
        assert_int_equal(container_manager_create(manager, &spec, -1, &managed, NULL, NULL), 0);
        assert_int_equal(fake.docker_opens, 1);
        container_manager_release(manager, &managed, true);
        spec.backend = (char *)"native";
        _cleanup_(error_clear) struct error err = {};
        assert_int_equal(container_manager_create(manager, &spec, -1, &managed, NULL, &err), -EPERM);
        assert_non_null(strstr(err.message, "no launcher"));
        (void)container_manager_close(manager);
        assert_int_equal(fake.closes, 1); /* what was not opened is not closed */
}

static void dead_are_removed_on_the_way(void **state)
{
        struct container_manager *manager = open_manager();
        struct ledger_claim claim = CLAIM;
        claim.cpus = 2;
        struct holder holder = start_holder(claim);
        holder_ready(&holder);
        kill_holder(&holder);
        struct container_spec spec = spec_for("native");
        struct managed_container managed = {};

        /* What can't be removed stops nobody. */
        fake.prune_status = -EBUSY;
        assert_int_equal(container_manager_create(manager, &spec, -1, &managed, NULL, NULL), 0);
        assert_int_equal(fake.prunes_at_create, 1);
        assert_int_equal(fake.files_at_create, 2);
        assert_int_equal(fake.slot, 1);
        container_manager_release(manager, &managed, true);

        fake.prune_status = 0;
        assert_int_equal(container_manager_create(manager, &spec, -1, &managed, NULL, NULL), 0);
        assert_int_equal(fake.prunes_at_create, 2);
        assert_int_equal(fake.files_at_create, 1);
        assert_int_equal(fake.pruned_slot, 0);
        container_manager_release(manager, &managed, true);
        assert_int_equal(container_manager_create(manager, &spec, -1, &managed, NULL, NULL), 0);
        assert_int_equal(fake.prunes, 2); /* nothing left to do */
        container_manager_release(manager, &managed, true);
        (void)container_manager_close(manager);
}

static void incomplete_is_left_for_prune(void **state)
{
        struct container_manager *manager = open_manager();
        struct container_spec spec = spec_for("native");
        struct managed_container managed = {};
        assert_int_equal(container_manager_create(manager, &spec, -1, &managed, NULL, NULL), 0);
        container_manager_release(manager, &managed, false);
        assert_int_equal(fake.frees, 1);
        assert_int_equal(fake.files_at_free, 1); /* found by its record if we die there */
        assert_int_equal(count_files(fake.id), 1);
        unsigned removed = 9;
        assert_int_equal(container_manager_prune(manager, &removed, NULL), 0);
        assert_int_equal(removed, 1);
        assert_string_equal(fake.pruned_id, fake.id);
        assert_int_equal(count_files(""), 0);
        assert_int_equal(container_manager_prune(manager, &removed, NULL), 0);
        assert_int_equal(removed, 0);
        assert_int_equal(fake.prunes, 1);
        (void)container_manager_close(manager);
}

static void prune_reports(void **state)
{
        struct container_manager *manager = open_manager();
        write_file("00112233445566778899aabbccddee01.1.docker", "");
        write_file("00112233445566778899aabbccddee02.2.native", "");
        unsigned removed = 9;
        _cleanup_(error_clear) struct error err = {};
        assert_true(container_manager_prune(manager, &removed, &err) < 0);
        assert_int_equal(removed, 1);
        assert_int_equal(err.code, ERROR_BACKEND);
        assert_non_null(
            strstr(err.message, "container 00112233445566778899aabbccddee01: backend: \"docker\""));
        assert_int_equal(count_files(""), 1);

        write_file("00112233445566778899aabbccddee02.2.native", "");
        fake.prune_status = -EBUSY;
        fake.docker_exists = true;
        assert_int_equal(container_manager_prune(manager, &removed, &err), -EBUSY);
        assert_int_equal(removed, 0);
        assert_non_null(
            strstr(err.message, "2 containers are left; the first: container 00112233445566778899"));
        assert_non_null(strstr(err.message, "cgroup is busy"));
        assert_int_equal(count_files(""), 2);

        fake.prune_status = 0;
        assert_int_equal(container_manager_prune(manager, &removed, NULL), 0);
        assert_int_equal(removed, 2);
        assert_int_equal(count_files(""), 0);
        (void)container_manager_close(manager);
}

/* A new run does not open (and wait for) another backend only to clean up after it. */
static void other_backends_are_left_alone(void **state)
{
        fake.docker_exists = true;
        struct container_manager *manager = open_manager();
        write_file("00112233445566778899aabbccddee01.1.docker", "");
        struct container_spec spec = spec_for("native");
        struct managed_container managed = {};
        assert_int_equal(container_manager_create(manager, &spec, -1, &managed, NULL, NULL), 0);
        assert_int_equal(fake.docker_opens, 0);
        container_manager_release(manager, &managed, true);
        assert_int_equal(count_files(""), 1);
        (void)container_manager_close(manager);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, remove_parent)
        const struct CMUnitTest tests[] = {
            TEST(whole_life),
            TEST(failed_create_lets_go),
            TEST(unknown_backend),
            TEST(native_is_only_opened_ahead),
            TEST(dead_are_removed_on_the_way),
            TEST(incomplete_is_left_for_prune),
            TEST(prune_reports),
            TEST(other_backends_are_left_alone),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
