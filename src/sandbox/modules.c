/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backends that are loaded when they are asked for. The module is looked for beside the program (as in the
 * build tree) and in the directory that the build names, and nowhere else: no variable of the environment
 * leads to what is loaded.
 */
#include "sandbox/modules.h"

#include "sandbox/module.h"

#include <dlfcn.h>
#include <limits.h>

#define MODULE_FILE "libmai-docker.so"

#ifndef MAI_MODULE_DIR
#define MAI_MODULE_DIR "/usr/lib/mai-sandbox"
#endif

/* The directory of the running program, as the kernel knows it. False: unknown. */
static bool program_directory(char path[PATH_MAX])
{
        ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
        if (n <= 0)
                return false;
        path[n] = '\0';
        char *slash = strrchr(path, '/');
        if (!slash)
                return false;
        *slash = '\0';
        return true;
}

/* Never closed again: its functions may be in use by any thread, and libcurl leaves traces of its own. */
static void *load(struct error *err)
{
        char directory[PATH_MAX], path[PATH_MAX + sizeof "/" MODULE_FILE];
        if (program_directory(directory)) {
                (void)snprintf(path, sizeof path, "%s/%s", directory, MODULE_FILE);
                if (access(path, F_OK) == 0) {
                        void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
                        if (!module)
                                (void)error_set(err, ERROR_BACKEND, 0, "install libcurl (Debian: libcurl4)",
                                    "backend: \"docker\" can't be loaded: %s", dlerror());
                        return module;
                }
        }
        void *module = dlopen(MAI_MODULE_DIR "/" MODULE_FILE, RTLD_NOW | RTLD_LOCAL);
        if (!module)
                (void)error_set(err, ERROR_BACKEND, 0,
                    "install the part for Docker, or use the native backend",
                    "backend: \"docker\" can't be loaded: %s", dlerror());
        return module;
}

static const struct backend_module *find(struct error *err)
{
        void *module = load(err);
        if (!module)
                return NULL;
        const struct backend_module *found = dlsym(module, BACKEND_MODULE_SYMBOL);
        if (!found || strcmp(found->version, MAI_VERSION) != 0) {
                (void)error_set(err, ERROR_BACKEND, 0, "install both parts from one build",
                    "backend: " MODULE_FILE " is of version %s, this program of " MAI_VERSION,
                    found ? found->version : "unknown");
                return NULL;
        }
        return found;
}

/* Stands in for a module that can't be loaded: whoever opens it gets the reason. */
static int refuse_to_open(struct backend **ret, struct error *err)
{
        _cleanup_(error_clear) struct error why = {};
        if (find(&why))
                return error_set(err, ERROR_BACKEND, EAGAIN, "try again", "backend: \"docker\"");
        int r = why.errnum ? -why.errnum : -EINVAL;
        if (err)
                error_move(err, &why);
        return r;
}

static const struct backend_ops unloadable = {.name = "docker", .open = refuse_to_open};

const struct backend_ops *docker_backend_load(void)
{
        const struct backend_module *found = find(NULL);
        return found ? found->ops : &unloadable;
}
