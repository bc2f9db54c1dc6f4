/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/ready.h"

#include "util/clock.h"
#include "util/fd.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

/* Kinds that are kept at once; of more, the one that was asked for longest ago goes. */
#define KINDS_MAX 8U
#define WAITING_MAX 1024U
/* What a container that waits takes up: the init. */
#define CLAIM_CPUS 0.001
#define CLAIM_MEMORY (4U << 20)
/* After a failure; doubled each time. */
#define RETRY_FIRST (NSEC_PER_SEC)
#define RETRY_LAST (10 * NSEC_PER_SEC)
#define PAUSE (2 * NSEC_PER_SEC) /* for a run that begins */

struct kind {
        struct container_spec *spec;
        uint64_t wanted_at;
};

struct waiting {
        struct ready_container it;
        uint64_t ending_since; /* 0: it waits; else it is being removed */
        bool destroyed, complete;
};

struct ready_pool {
        const struct container_ops *ops;
        struct backend *backend;
        struct ledger *ledger; /* the thread's */
        pthread_t thread;
        bool started;
        int wake; /* eventfd */

        pthread_mutex_t lock; /* of all below */
        bool stopping;
        struct kind kinds[KINDS_MAX];
        struct waiting *waiting;
        size_t count;
        uint64_t retry_at, retry_after, pause_until;
};

/* ---- Kinds ---- */

struct container_spec *ready_spec_free(struct container_spec *spec)
{
        if (spec)
                container_spec_clear(spec);
        free(spec);
        return NULL;
}

static struct container_spec *copy_of(const struct container_spec *spec)
{
        struct container_spec *copy = calloc(1, sizeof *copy);
        if (copy && container_spec_copy_kind(copy, spec) < 0)
                copy = ready_spec_free(copy);
        return copy;
}

static void wake(const struct ready_pool *pool)
{
        const uint64_t one = 1;
        ssize_t n = write(pool->wake, &one, sizeof one);
        (void)n; /* full: it is awake */
}

/* Those of a kind that nobody asks for any more are of no use. */
static void drop_kind(struct ready_pool *pool, struct kind *kind)
{
        for (size_t i = 0; i < pool->count; i++)
                if (pool->waiting[i].ending_since == 0 &&
                    container_spec_same_kind(pool->waiting[i].it.spec, kind->spec)) {
                        pool->waiting[i].ending_since = clock_now();
                        (void)pool->ops->destroy(pool->waiting[i].it.container);
                }
        kind->spec = ready_spec_free(kind->spec);
}

void ready_want(struct ready_pool *pool, const struct container_spec *spec)
{
        (void)pthread_mutex_lock(&pool->lock);
        struct kind *place = &pool->kinds[0];
        for (size_t i = 0; i < KINDS_MAX; i++) {
                struct kind *kind = &pool->kinds[i];
                if (kind->spec && container_spec_same_kind(kind->spec, spec)) {
                        place = kind;
                        break;
                }
                if (place->spec && (!kind->spec || kind->wanted_at < place->wanted_at))
                        place = kind;
        }
        if (place->spec && !container_spec_same_kind(place->spec, spec))
                drop_kind(pool, place);
        if (!place->spec)
                place->spec = copy_of(spec);
        if (place->spec)
                place->spec->ready = spec->ready;
        place->wanted_at = clock_now();
        pool->pause_until = place->wanted_at + PAUSE;
        (void)pthread_mutex_unlock(&pool->lock);
        wake(pool);
}

void ready_go_on(struct ready_pool *pool)
{
        (void)pthread_mutex_lock(&pool->lock);
        pool->pause_until = 0;
        (void)pthread_mutex_unlock(&pool->lock);
        wake(pool);
}

/* ---- Taking ---- */

static bool is_ready(const struct ready_pool *pool, const struct waiting *one)
{
        return !pool->ops->waits || pool->ops->waits(one->it.container);
}

static void forget(struct ready_pool *pool, size_t index)
{
        pool->waiting[index] = pool->waiting[--pool->count];
}

bool ready_take(struct ready_pool *pool, const struct container_spec *spec, struct ready_container *ret)
{
        (void)pthread_mutex_lock(&pool->lock);
        size_t best = pool->count;
        for (size_t i = 0; i < pool->count; i++) {
                const struct waiting *one = &pool->waiting[i];
                if (one->ending_since != 0 || !container_spec_same_kind(one->it.spec, spec))
                        continue;
                if (best == pool->count || is_ready(pool, one))
                        best = i;
                if (is_ready(pool, one))
                        break;
        }
        bool found = best < pool->count;
        if (found) {
                *ret = pool->waiting[best].it;
                forget(pool, best);
        }
        (void)pthread_mutex_unlock(&pool->lock);
        return found;
}

unsigned ready_count(struct ready_pool *pool, const struct container_spec *spec)
{
        unsigned count = 0;
        (void)pthread_mutex_lock(&pool->lock);
        for (size_t i = 0; i < pool->count; i++)
                count += pool->waiting[i].ending_since == 0 && is_ready(pool, &pool->waiting[i]) &&
                         (!spec || container_spec_same_kind(pool->waiting[i].it.spec, spec));
        (void)pthread_mutex_unlock(&pool->lock);
        return count;
}

/* ---- The thread ---- */

static void failed(struct ready_pool *pool)
{
        pool->retry_after = MIN(MAX(2 * pool->retry_after, RETRY_FIRST), RETRY_LAST);
        pool->retry_at = clock_now() + pool->retry_after;
}

/* A copy of the kind that lacks one, if one may be made now: none is under way, and none failed just now. */
static struct container_spec *next_to_make(struct ready_pool *pool)
{
        if (pool->stopping || clock_now() < MAX(pool->retry_at, pool->pause_until) ||
            pool->count >= WAITING_MAX)
                return NULL;
        for (size_t i = 0; i < pool->count; i++)
                if (pool->waiting[i].ending_since == 0 && !is_ready(pool, &pool->waiting[i]))
                        return NULL;
        for (size_t k = 0; k < KINDS_MAX; k++) {
                const struct container_spec *spec = pool->kinds[k].spec;
                size_t have = 0;
                for (size_t i = 0; spec && i < pool->count; i++)
                        have += pool->waiting[i].ending_since == 0 &&
                                container_spec_same_kind(pool->waiting[i].it.spec, spec);
                if (spec && have < spec->ready)
                        return copy_of(spec);
        }
        return NULL;
}

/* Begins to make one. Takes the spec over. */
static bool make(struct ready_pool *pool, struct container_spec *spec)
{
        const struct ledger_claim claim = {
            .cpus = CLAIM_CPUS,
            .memory = CLAIM_MEMORY,
            .trust_level = "(ready)",
            .backend = spec->backend,
            .level_concurrency = WAITING_MAX,
            .host_cpu_share = spec->host_cpu_share,
            .host_mem_share = spec->host_mem_share,
        };
        struct waiting made = {.it.spec = spec};
        int r = ledger_claim(pool->ledger, &claim, -1, &made.it.entry, NULL);
        if (r == 0)
                r = pool->ops->create(pool->backend, spec, ledger_entry_id(made.it.entry),
                    ledger_entry_slot(made.it.entry), &made.it.container, NULL);
        (void)pthread_mutex_lock(&pool->lock);
        struct waiting *larger =
            r == 0 ? reallocarray(pool->waiting, pool->count + 1, sizeof *larger) : NULL;
        if (larger) {
                pool->waiting = larger;
                pool->waiting[pool->count++] = made;
        } else {
                failed(pool);
        }
        (void)pthread_mutex_unlock(&pool->lock);
        if (larger)
                return true;
        if (made.it.container)
                (void)pool->ops->free(made.it.container);
        if (made.it.entry)
                (void)(r < 0 ? ledger_release(made.it.entry) : ledger_abandon(made.it.entry));
        (void)ready_spec_free(spec);
        return false;
}

/* Takes note of what happened to one that waits. */
static void look_after(struct ready_pool *pool, struct waiting *one)
{
        for (;;) {
                struct container_event event = {};
                if (pool->ops->next(one->it.container, &event, NULL) < 0)
                        event.type = CONTAINER_FAILED;
                if (event.type == CONTAINER_NOTHING)
                        break;
                if (event.type == CONTAINER_DESTROYED) {
                        one->destroyed = true;
                        one->complete = event.destroyed.complete;
                        return;
                }
                if (event.type == CONTAINER_CREATED || one->ending_since != 0)
                        continue;
                /* Nothing else can happen to it while nothing is executed but that it is lost. */
                failed(pool);
                one->ending_since = clock_now();
                (void)pool->ops->destroy(one->it.container);
        }
        if (one->ending_since == 0 && is_ready(pool, one))
                pool->retry_after = 0;
}

/* Frees those that are gone, or do not want to go. */
static void bury(struct ready_pool *pool)
{
        uint64_t now = clock_now();
        for (size_t i = 0; i < pool->count;) {
                struct waiting *one = &pool->waiting[i];
                bool late = one->ending_since != 0 &&
                            now - one->ending_since > pool->ops->destroy_msec * NSEC_PER_MSEC;
                if (!one->destroyed && !late) {
                        i++;
                        continue;
                }
                (void)pool->ops->free(one->it.container);
                (void)(one->complete ? ledger_release(one->it.entry) : ledger_abandon(one->it.entry));
                (void)ready_spec_free(one->it.spec);
                forget(pool, i);
        }
}

static void end_all(struct ready_pool *pool)
{
        for (size_t i = 0; i < pool->count; i++)
                if (pool->waiting[i].ending_since == 0) {
                        pool->waiting[i].ending_since = clock_now();
                        (void)pool->ops->destroy(pool->waiting[i].it.container);
                }
}

/* Waits for something to do. Containers may be taken meanwhile: what is watched is only a hint to look. */
static void wait_for_something(struct ready_pool *pool, struct pollfd *fds, size_t count, int msec)
{
        fds[0] = (struct pollfd){.fd = pool->wake, .events = POLLIN};
        if (poll(fds, count, msec) > 0 && fds[0].revents) {
                uint64_t ignored;
                (void)!read(pool->wake, &ignored, sizeof ignored);
        }
}

static void *work(void *user)
{
        struct ready_pool *pool = user;
        static const int look_msec = 1000; /* deadlines, and times of waiting after a failure */
        for (;;) {
                struct pollfd fds[WAITING_MAX + 1];
                (void)pthread_mutex_lock(&pool->lock);
                if (pool->stopping)
                        end_all(pool);
                for (size_t i = 0; i < pool->count; i++)
                        look_after(pool, &pool->waiting[i]);
                bury(pool);
                bool done = pool->stopping && pool->count == 0;
                struct container_spec *spec = next_to_make(pool);
                size_t count = 1;
                for (size_t i = 0; i < pool->count; i++)
                        fds[count++] = (struct pollfd){
                            .fd = pool->ops->fd(pool->waiting[i].it.container), .events = POLLIN};
                (void)pthread_mutex_unlock(&pool->lock);
                if (done)
                        return NULL;
                if (!spec || !make(pool, spec))
                        wait_for_something(pool, fds, count, look_msec);
        }
}

/* ---- Opening and closing ---- */

struct ready_pool *ready_close(struct ready_pool *pool)
{
        if (!pool)
                return NULL;
        if (pool->started) {
                (void)pthread_mutex_lock(&pool->lock);
                pool->stopping = true;
                (void)pthread_mutex_unlock(&pool->lock);
                wake(pool);
                (void)pthread_join(pool->thread, NULL);
        }
        for (size_t i = 0; i < KINDS_MAX; i++)
                (void)ready_spec_free(pool->kinds[i].spec);
        (void)ledger_close(pool->ledger);
        (void)pthread_mutex_destroy(&pool->lock);
        close_and_forget(&pool->wake);
        free(pool->waiting);
        free(pool);
        return NULL;
}

int ready_open(const struct container_ops *ops, struct backend *backend, struct ledger *ledger,
    struct ready_pool **ret, struct error *err)
{
        struct ready_pool *pool = calloc(1, sizeof *pool);
        if (!pool) {
                (void)ledger_close(ledger);
                return error_oom(err);
        }
        *pool = (struct ready_pool){.ops = ops, .backend = backend, .ledger = ledger};
        (void)pthread_mutex_init(&pool->lock, NULL);
        pool->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        /* Signals are the embedder's, and go to its own threads. */
        sigset_t all, before;
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        int error = pool->wake < 0 ? errno : pthread_create(&pool->thread, NULL, work, pool);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        pool->started = error == 0;
        if (error != 0) {
                (void)ready_close(pool);
                return error_set(err, ERROR_INTERNAL, error, NULL, "docker.ready: starting a thread");
        }
        *ret = pool;
        return 0;
}
