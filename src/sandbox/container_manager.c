/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/container_manager_internal.h"

#include "sandbox/ready.h"
#include "util/strbuf.h"

/* Every backend that the project knows of; a build may lack some of them. */
static const char *const backend_names[] = {"native", "docker"};

struct opened_backend {
        const struct backend_ops *ops; /* NULL: not opened yet */
        struct backend *backend;
};

struct container_manager {
        struct ledger *ledger; /* NULL until the first use: `open` comes before the policy is read, and never
                                  fails on it */
        struct opened_backend backends[ARRAY_SIZE(backend_names)];
        struct ready_pool *pool; /* NULL: nobody has wanted any yet */
        const struct opened_backend *pool_backend;
};

/* Finds a backend and opens it if it is not yet. */
static int get_backend(struct container_manager *manager, const char *name,
    const struct opened_backend **ret, struct error *err)
{
        _cleanup_(strbuf_clear) struct strbuf known = STRBUF_INIT(256);
        for (size_t i = 0; i < ARRAY_SIZE(backend_names); i++) {
                const struct backend_ops *ops = backend_find(backend_names[i]);
                if (!ops)
                        continue;
                (void)strbuf_appendf(&known, "%s%s", known.size > 0 ? ", " : "", ops->name);
                if (!name || strcmp(name, ops->name) != 0)
                        continue;
                struct opened_backend *opened = &manager->backends[i];
                if (!opened->ops) {
                        struct backend *backend = NULL;
                        int status = ops->open(&backend, err);
                        if (status < 0)
                                return status;
                        *opened = (struct opened_backend){.ops = ops, .backend = backend};
                }
                *ret = opened;
                return 0;
        }
        return error_set(err, ERROR_BACKEND, 0,
            "set `backend` in the policy or --backend to one that is there",
            "backend: \"%s\" is not part of this build; known: %s", name ? name : "",
            known.size > 0 ? strbuf_text(&known) : "none");
}

static const struct opened_backend *find_opened(const struct container_manager *manager, const char *name)
{
        for (size_t i = 0; i < ARRAY_SIZE(backend_names); i++) {
                const struct opened_backend *opened = &manager->backends[i];
                if (opened->ops && strcmp(opened->ops->name, name) == 0)
                        return opened;
        }
        return NULL;
}

static int need_ledger(struct container_manager *manager, struct error *err)
{
        return manager->ledger ? 0 : ledger_open(&manager->ledger, err);
}

int container_manager_open(struct container_manager **ret, struct error *err)
{
        struct container_manager *manager = malloc(sizeof *manager);
        if (!manager)
                return error_oom(err);
        *manager = (struct container_manager){};
        /*
         * Only ahead of need: whoever uses another backend must not be stopped by this one. Who does need
         * it, tries again and gets the error.
         */
        const struct opened_backend *native;
        (void)get_backend(manager, backend_names[0], &native, NULL);
        *ret = manager;
        return 0;
}

void container_manager_use_ledger(struct container_manager *manager, struct ledger *ledger)
{
        manager->ledger = ledger_close(manager->ledger);
        manager->ledger = ledger;
}

struct container_manager *container_manager_close(struct container_manager *manager)
{
        if (!manager)
                return NULL;
        manager->pool = ready_close(manager->pool); /* before the backend that its containers are of */
        for (size_t i = 0; i < ARRAY_SIZE(manager->backends); i++)
                if (manager->backends[i].ops)
                        (void)manager->backends[i].ops->close(manager->backends[i].backend);
        manager->ledger = ledger_close(manager->ledger);
        free(manager);
        return NULL;
}

/*
 * On the way to a new container: what can be removed without
 * opening another backend, and no word of what can't.
 */
static int clean_quietly(const struct ledger_record *record, void *user)
{
        const struct opened_backend *opened = find_opened(user, record->backend);
        if (!opened)
                return -ENOENT;
        return opened->ops->prune(opened->backend, record->id, record->slot, NULL);
}

/*
 * A container that has been waiting for such a run. One will be made in its place, or, if this is the first
 * run of its kind, so many as the policy wants. What goes wrong there goes wrong again, and is told, when
 * the run makes its container itself.
 */
static bool take_ready(struct container_manager *manager, const struct opened_backend *opened,
    const struct container_spec *spec, struct ledger_entry *share, struct managed_container *ret)
{
        if (spec->ready == 0)
                return false;
        struct ledger *ledger = NULL;
        if (!manager->pool && ledger_open(&ledger, NULL) == 0 &&
            ready_open(opened->ops->container, opened->backend, ledger, &manager->pool, NULL) == 0)
                manager->pool_backend = opened;
        if (!manager->pool || manager->pool_backend != opened)
                return false;
        struct ready_container taken;
        ready_want(manager->pool, spec);
        bool found = ready_take(manager->pool, spec, &taken);
        if (found)
                *ret = (struct managed_container){
                    .ops = opened->ops->container,
                    .container = taken.container,
                    .entry = taken.entry,
                    .was_ready = true,
                    .share = share,
                    .kind = taken.spec,
                };
        return found;
}

int container_manager_create(struct container_manager *manager, const struct container_spec *spec,
    int cancel_fd, struct managed_container *ret, double *ret_waited, struct error *err)
{
        const struct opened_backend *opened = NULL;
        int status = get_backend(manager, spec->backend, &opened, err);
        if (status == 0)
                status = need_ledger(manager, err);
        if (status < 0)
                return status;
        struct ledger_claim claim = {
            .cpus = spec->limits.cpu_count,
            .memory = spec->limits.mem_limit,
            .trust_level = spec->trust_level,
            .backend = spec->backend,
            .level_concurrency = spec->level_concurrency,
            .host_cpu_share = spec->host_cpu_share,
            .host_mem_share = spec->host_mem_share,
            .queue_when_full = spec->queue_when_full,
            .queue_length = spec->queue_length,
            .queue_timeout = spec->queue_timeout,
        };
        struct ledger_entry *entry = NULL;
        status = ledger_claim(manager->ledger, &claim, cancel_fd, &entry, err);
        if (status < 0)
                return status;
        /*
         * The claim has just read the directory: usually there
         * is nothing dead, and nothing is to be read twice.
         */
        if (ledger_saw_dead(manager->ledger))
                (void)ledger_each_dead(manager->ledger, clean_quietly, manager, NULL, NULL);
        if (ret_waited)
                *ret_waited = ledger_entry_waited(entry);
        if (take_ready(manager, opened, spec, entry, ret))
                return 0;
        struct container *container = NULL;
        status = opened->ops->container->create(
            opened->backend, spec, ledger_entry_id(entry), ledger_entry_slot(entry), &container, err);
        if (status < 0) {
                (void)ledger_release(entry);
                return status;
        }
        *ret = (struct managed_container){
            .ops = opened->ops->container, .container = container, .entry = entry};
        return 0;
}

unsigned container_manager_ready(struct container_manager *manager)
{
        return manager->pool ? ready_count(manager->pool, NULL) : 0;
}

void container_manager_release(
    struct container_manager *manager, struct managed_container *managed, bool complete)
{
        /*
         * Of a container that is gone the record goes first, while what made it is still on its way out:
         * that takes as long. Otherwise it goes last, since it is what finds the container if we die here.
         */
        if (complete)
                (void)ledger_release(managed->entry);
        if (managed->container)
                (void)managed->ops->free(managed->container);
        if (!complete)
                (void)ledger_abandon(managed->entry);
        if (managed->share)
                (void)ledger_release(managed->share); /* nothing was made in its name */
        (void)ready_spec_free(managed->kind);
        if (manager->pool)
                ready_go_on(manager->pool);
        *managed = (struct managed_container){};
}

struct pruning {
        struct container_manager *manager;
        struct error first; /* what could not be removed: the first, as an example */
        unsigned kept;
};

static int clean_and_report(const struct ledger_record *record, void *user)
{
        struct pruning *pruning = user;
        _cleanup_(error_clear) struct error err = {};
        const struct opened_backend *opened = NULL;
        int status = get_backend(pruning->manager, record->backend, &opened, &err);
        if (status == 0)
                status = opened->ops->prune(opened->backend, record->id, record->slot, &err);
        if (status == 0)
                return 0;
        if (err.code == ERROR_NONE)
                (void)error_set(&err, ERROR_INTERNAL, -status, NULL, "not removed");
        (void)error_wrap(&err, "container %s", record->id);
        if (pruning->kept++ == 0)
                error_move(&pruning->first, &err);
        return status;
}

int container_manager_prune(struct container_manager *manager, unsigned *ret_removed, struct error *err)
{
        int status = need_ledger(manager, err);
        if (status < 0)
                return status;
        struct pruning pruning = {.manager = manager};
        unsigned removed = 0;
        status = ledger_each_dead(manager->ledger, clean_and_report, &pruning, &removed, err);
        if (status < 0) {
                error_clear(&pruning.first);
                return status;
        }
        if (ret_removed)
                *ret_removed = removed;
        if (pruning.kept == 0)
                return 0;
        if (pruning.kept > 1)
                (void)error_wrap(&pruning.first, "%u containers are left; the first", pruning.kept);
        status = pruning.first.errnum ? -pruning.first.errnum : -EINVAL;
        error_move(err, &pruning.first);
        return status;
}
