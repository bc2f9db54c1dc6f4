/* SPDX-License-Identifier: Apache-2.0 */
/* Containers made ahead of need, over a backend whose containers do what the test says. */
#include "ledger-common.h"

#include "sandbox/ready.h"

#include <pthread.h>
#include <sys/eventfd.h>

struct backend {
        int unused;
};

/* Shared by the pool's thread and the test. */
static struct {
        pthread_mutex_t lock;
        unsigned creates, frees, destroys;
        bool fails_to_create, dies; /* of every container from now on */
        unsigned slots[64];
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct container {
        int fd; /* readable: next() has something */
        bool told_created, ready, dead, destroying, told_destroyed;
        const struct container_spec *spec;
};

static int fake_create(struct backend *backend, const struct container_spec *spec, const char *id,
    unsigned slot, struct container **ret, struct error *err)
{
        (void)pthread_mutex_lock(&fake.lock);
        bool fails = fake.fails_to_create;
        struct container *c = fails ? NULL : calloc(1, sizeof *c);
        if (c) {
                fake.slots[fake.creates++ % ARRAY_SIZE(fake.slots)] = slot;
                c->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
                c->dead = fake.dies;
                c->spec = spec;
        }
        (void)pthread_mutex_unlock(&fake.lock);
        *ret = c;
        return c ? 0 : -EIO;
}

static int fake_fd(const struct container *c)
{
        return c->fd;
}

static bool fake_waits(const struct container *c)
{
        return c->ready;
}

static int fake_next(struct container *c, struct container_event *event, struct error *err)
{
        event->type = CONTAINER_NOTHING;
        if (!c->told_created) {
                c->told_created = true;
                event->type = CONTAINER_CREATED;
        } else if (c->destroying && !c->told_destroyed) {
                c->told_destroyed = true;
                event->type = CONTAINER_DESTROYED;
                event->destroyed.complete = true;
        } else if (c->dead && !c->destroying) {
                event->type = CONTAINER_FAILED;
        } else {
                uint64_t ignored;
                (void)!read(c->fd, &ignored, sizeof ignored);
                c->ready = true;
        }
        return 0;
}

static int fake_destroy(struct container *c)
{
        const uint64_t one = 1;
        (void)pthread_mutex_lock(&fake.lock);
        fake.destroys++;
        (void)pthread_mutex_unlock(&fake.lock);
        c->destroying = true;
        return write(c->fd, &one, sizeof one) == sizeof one ? 0 : -EIO;
}

static struct container *fake_free(struct container *c)
{
        (void)pthread_mutex_lock(&fake.lock);
        fake.frees++;
        (void)pthread_mutex_unlock(&fake.lock);
        (void)close(c->fd);
        free(c);
        return NULL;
}

static const struct container_ops ops = {.destroy_msec = 1000,
    .create = fake_create,
    .fd = fake_fd,
    .waits = fake_waits,
    .next = fake_next,
    .destroy = fake_destroy,
    .free = fake_free};

static struct container_spec spec_of(char *image, unsigned ready)
{
        static char level[] = "untrusted", backend[] = "docker";
        return (struct container_spec){
            .trust_level = level,
            .backend = backend,
            .image = image,
            .limits = {.cpu_count = 1, .mem_limit = 64U << 20, .pids_limit = 8},
            .host_cpu_share = 2,
            .host_mem_share = UINT64_C(1) << 32,
            .ready = ready,
        };
}

static int set_up(void **state)
{
        fake.creates = fake.frees = fake.destroys = 0;
        fake.fails_to_create = fake.dies = false;
        return make_parent(state);
}

static struct ready_pool *open_pool(void)
{
        struct ready_pool *pool = NULL;
        static struct backend backend;
        assert_int_equal(ready_open(&ops, &backend, open_ledger(), &pool, NULL), 0);
        return pool;
}

static void wait_for(struct ready_pool *pool, const struct container_spec *spec, unsigned count)
{
        ready_go_on(pool);
        for (unsigned i = 0; i < 5000 && ready_count(pool, spec) != count; i++)
                (void)usleep(1000);
        assert_int_equal(ready_count(pool, spec), count);
}

static void release(struct ready_container *taken)
{
        (void)fake_free(taken->container);
        (void)ledger_release(taken->entry);
        taken->spec = ready_spec_free(taken->spec);
}

static void places_are_filled_again(void **state)
{
        char image[] = "a";
        struct container_spec spec = spec_of(image, 3);
        struct ready_pool *pool = open_pool();
        struct ready_container taken[2];
        assert_false(ready_take(pool, &spec, &taken[0])); /* nobody has wanted any */
        ready_want(pool, &spec);
        wait_for(pool, &spec, 3);
        assert_int_equal(count_files(""), 3); /* each has its record */
        assert_true(ready_take(pool, &spec, &taken[0]));
        assert_true(ready_take(pool, &spec, &taken[1]));
        assert_ptr_not_equal(taken[0].container, taken[1].container);
        assert_true(taken[0].container->ready);
        assert_ptr_equal(taken[0].container->spec, taken[0].spec); /* not the caller's, which may go */
        assert_int_not_equal(ledger_entry_slot(taken[0].entry), ledger_entry_slot(taken[1].entry));
        wait_for(pool, &spec, 3);
        release(&taken[0]);
        release(&taken[1]);
        assert_null(ready_close(pool));
        assert_int_equal(fake.creates, 5);
        assert_int_equal(fake.frees, 5);
        assert_int_equal(fake.destroys, 3); /* those that still waited */
        assert_int_equal(count_files(""), 0);
}

static void only_the_same_kind(void **state)
{
        char image[] = "a", other[] = "b";
        struct container_spec spec = spec_of(image, 1);
        struct ready_pool *pool = open_pool();
        ready_want(pool, &spec);
        wait_for(pool, &spec, 1);
        struct container_spec others[6];
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                others[i] = spec_of(image, 1);
        others[0].image = other;
        others[1].limits.mem_limit++;
        others[2].docker_runtime = other;
        others[3].degraded_allowed = 1;
        others[4].capabilities = 1;
        others[5].trust_level = other;
        struct ready_container taken;
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                assert_false(ready_take(pool, &others[i], &taken));
        /* What only a run needs makes no difference. */
        char *environment[] = {other, NULL};
        spec.limits.timeout = 77;
        spec.limits.output_limit = 1;
        spec.environment = environment;
        assert_true(ready_take(pool, &spec, &taken));
        assert_null(taken.spec->environment);
        release(&taken);
        assert_null(ready_close(pool));
        assert_int_equal(count_files(""), 0);
}

/* Of more kinds than are kept, the one that was asked for longest ago goes, with what waits of it. */
static void old_kinds_go(void **state)
{
        static char images[10][2];
        struct ready_pool *pool = open_pool();
        struct container_spec first = {};
        for (size_t i = 0; i < ARRAY_SIZE(images); i++) {
                images[i][0] = (char)('a' + i);
                struct container_spec spec = spec_of(images[i], 1);
                if (i == 0)
                        first = spec;
                ready_want(pool, &spec);
                wait_for(pool, &spec, 1);
        }
        wait_for(pool, &first, 0);
        struct container_spec last = spec_of(images[9], 1);
        wait_for(pool, &last, 1);
        assert_null(ready_close(pool));
        assert_int_equal(fake.creates, fake.frees);
        assert_int_equal(count_files(""), 0);
}

/* What can't be made or dies is not made again and again without a pause, and leaves nothing. */
static void failures(void **state)
{
        char image[] = "a";
        struct container_spec spec = spec_of(image, 2);
        struct ready_pool *pool = open_pool();
        fake.dies = true;
        ready_want(pool, &spec);
        ready_go_on(pool);
        (void)usleep(300000);
        struct ready_container taken;
        assert_false(ready_take(pool, &spec, &taken));
        (void)pthread_mutex_lock(&fake.lock);
        assert_true(fake.creates >= 1 && fake.creates <= 2);
        fake.dies = false;
        fake.fails_to_create = true;
        (void)pthread_mutex_unlock(&fake.lock);
        (void)usleep(1200000);
        (void)pthread_mutex_lock(&fake.lock);
        fake.fails_to_create = false;
        (void)pthread_mutex_unlock(&fake.lock);
        wait_for(pool, &spec, 2); /* it does try again */
        assert_null(ready_close(pool));
        assert_int_equal(fake.creates, fake.frees);
        assert_int_equal(count_files(""), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(places_are_filled_again, set_up, remove_parent),
            cmocka_unit_test_setup_teardown(only_the_same_kind, set_up, remove_parent),
            cmocka_unit_test_setup_teardown(old_kinds_go, set_up, remove_parent),
            cmocka_unit_test_setup_teardown(failures, set_up, remove_parent),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
