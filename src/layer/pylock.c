/* SPDX-License-Identifier: Apache-2.0 */
/* Lock files (PEP 751) as requirements with hashes, one for each package. Where the files lie is not looked
 * at. */
#include "layer/requirements_file.h"

#include "layer/toml.h"

#define HINT "only packages of an index, with the SHA-256 of their files, can be installed from a lock file"

bool pylock_is_name(const char *path)
{
        const char *slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;
        size_t size = strlen(name);
        static const char head[] = "pylock.", tail[] = ".toml";
        if (strcmp(name, "pylock.toml") == 0)
                return true;
        if (size <= sizeof head + sizeof tail - 2 || strncmp(name, head, sizeof head - 1) != 0 ||
            strcmp(name + size - (sizeof tail - 1), tail) != 0)
                return false;
        /* One name between the two dots. */
        return !memchr(name + sizeof head - 1, '.', size - (sizeof head - 1) - (sizeof tail - 1));
}

static int fail(struct error *err, const char *what)
{
        return error_set(err, ERROR_INPUT, 0, HINT, "%s", what);
}

/* The hash of one file, if it has a SHA-256. */
static int add_hash(const json_t *file, struct requirement *requirement, struct error *err)
{
        const json_t *hash = json_object_get(json_object_get(file, "hashes"), "sha256");
        if (!hash)
                return fail(err, "a file without a sha256 among its hashes");
        int r = json_is_string(hash)
                    ? requirement_add_hash(requirement, json_string_value(hash), json_string_length(hash))
                    : -EINVAL;
        if (r == -ENOMEM)
                return error_oom(err);
        return r < 0 ? fail(err, "a sha256 that is none") : 0;
}

static int add_hashes(const json_t *package, bool sdist, struct requirement *requirement, struct error *err)
{
        const json_t *wheels = json_object_get(package, "wheels");
        const json_t *source = json_object_get(package, "sdist");
        if (wheels && !json_is_array(wheels))
                return fail(err, "wheels is no list");
        for (size_t i = 0; i < json_array_size(wheels); i++) {
                int r = add_hash(json_array_get(wheels, i), requirement, err);
                if (r < 0)
                        return r;
        }
        if (source && sdist) {
                int r = add_hash(source, requirement, err);
                if (r < 0)
                        return r;
        }
        if (requirement->hash_count > 0)
                return 0;
        return fail(err, source ? "it has a source distribution only, and allow_sdist is false"
                                : "it has no files of an index");
}

/* The member's text, NULL where there is none. */
static int get_text(const json_t *object, const char *key, const char **ret, struct error *err)
{
        const json_t *value = json_object_get(object, key);
        if (value && !json_is_string(value))
                return error_set(err, ERROR_INPUT, 0, HINT, "%s is no text", key);
        *ret = json_string_value(value);
        return 0;
}

static int read_package(
    const json_t *package, bool sdist, const char *name, struct requirement_set *set, struct error *err)
{
        static const char *const elsewhere[] = {"vcs", "directory", "archive"};
        for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
                if (json_object_get(package, elsewhere[i]))
                        return error_set(err, ERROR_INPUT, 0, HINT, "it comes from a %s", elsewhere[i]);
        const char *version, *marker, *python;
        int r = get_text(package, "version", &version, err);
        if (r == 0)
                r = get_text(package, "marker", &marker, err);
        if (r == 0)
                r = get_text(package, "requires-python", &python, err);
        if (r < 0)
                return r;
        if (!version)
                return fail(err, "it has no version");
        if (marker && (strstr(marker, "extras") || strstr(marker, "dependency_groups")))
                return fail(
                    err, "its marker depends on extras or dependency groups, which can't be chosen here");

        _cleanup_(freep) char *text = NULL;
        if (asprintf(&text, "%s==%s%s%s", name, version, marker ? ";" : "", marker ? marker : "") < 0) {
                text = NULL;
                return error_oom(err);
        }
        _cleanup_(requirement_clear) struct requirement requirement = {};
        r = requirement_parse(text, strlen(text), &requirement, err);
        if (r == 0)
                r = add_hashes(package, sdist, &requirement, err);
        if (r == 0 && python && !marker)
                r = requirement_set_require_python(set, python, strlen(python), err);
        return r < 0 ? r : requirement_set_add(set, &requirement, err);
}

static int read_lock(const json_t *lock, bool sdist, struct requirement_set *set, struct error *err)
{
        const char *version, *python;
        int r = get_text(lock, "lock-version", &version, err);
        if (r == 0)
                r = get_text(lock, "requires-python", &python, err);
        if (r < 0)
                return r;
        if (!version || strncmp(version, "1.", 2) != 0)
                return fail(err, "lock-version is not 1.x");
        if (python)
                r = requirement_set_require_python(set, python, strlen(python), err);
        const json_t *packages = json_object_get(lock, "packages");
        if (r == 0 && packages && !json_is_array(packages))
                r = fail(err, "packages is no list");
        for (size_t i = 0; i < json_array_size(packages) && r == 0; i++) {
                const json_t *package = json_array_get(packages, i);
                const char *name;
                r = get_text(package, "name", &name, err);
                if (r == 0 && !name)
                        r = fail(err, "a package without a name");
                if (r < 0)
                        return r;
                r = read_package(package, sdist, name, set, err);
                if (r < 0)
                        return error_wrap(err, "package %zu", i + 1);
        }
        set->require_hashes = true;
        set->locked = true;
        return r;
}

int pylock_read(const char *name, const char *text, size_t size, bool sdist, struct requirement_set *set,
    struct error *err)
{
        json_t *lock;
        int r = toml_read(text, size, &lock, err);
        if (r == 0) {
                r = read_lock(lock, sdist, set, err);
                json_decref(lock);
        }
        return r < 0 ? error_wrap(err, "%s", name) : 0;
}
