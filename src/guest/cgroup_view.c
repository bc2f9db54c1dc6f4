/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/cgroup_view.h"

#include "util/fd.h"

#include <fcntl.h>
#include <sys/stat.h>

/* The inode that /proc/PID/ns/cgroup has in the host's own cgroup namespace, on every kernel. */
#define HOST_CGROUP_NAMESPACE 0xEFFFFFFBU
#define FILE_MAX (64U << 10)

static const char *const controller_names[] = {
    [CGROUP_MEMORY] = "memory", [CGROUP_PIDS] = "pids", [CGROUP_CPU] = "cpu", [CGROUP_CPUACCT] = "cpuacct"};

/* A file that shows that a v2 directory has the controller. */
static const char *const v2_files[] = {[CGROUP_MEMORY] = "memory.current",
    [CGROUP_PIDS] = "pids.current",
    [CGROUP_CPU] = "cpu.max",
    [CGROUP_CPUACCT] = "cpu.stat"};

/* Is `word` one of the members of a list with commas? */
static bool has_member(const char *list, const char *word)
{
        size_t size = strlen(word);
        for (const char *at = list; *at;) {
                const char *end = strchrnul(at, ',');
                if ((size_t)(end - at) == size && memcmp(at, word, size) == 0)
                        return true;
                at = *end ? end + 1 : end;
        }
        return false;
}

/* Cuts the next line off; NULL at the end. */
static char *next_line(char **text)
{
        char *line = *text;
        if (!line || !*line)
                return NULL;
        char *end = strchrnul(line, '\n');
        *text = *end ? end + 1 : end;
        *end = '\0';
        return line;
}

/* The path in /proc/self/cgroup of a v1 controller, or of v2 (name NULL). False if there is none. */
static bool find_path(const char *cgroups, const char *name, char *ret, size_t size)
{
        _cleanup_(freep) char *copy = strdup(cgroups);
        char *text = copy;
        for (char *line = next_line(&text); line; line = next_line(&text)) {
                char *controllers = strchr(line, ':');
                char *path = controllers ? strchr(controllers + 1, ':') : NULL;
                if (!path)
                        continue;
                *controllers++ = '\0';
                *path++ = '\0';
                bool match = name ? has_member(controllers, name) : strcmp(line, "0") == 0 && !*controllers;
                if (match && strlen(path) < size) {
                        memcpy(ret, path, strlen(path) + 1);
                        return true;
                }
        }
        return false;
}

static bool in_own_namespace(void)
{
        struct stat st;
        return stat("/proc/self/ns/cgroup", &st) == 0 && st.st_ino != HOST_CGROUP_NAMESPACE;
}

/*
 * The rest of `path` below what a mount shows of the hierarchy; NULL if the mount does not show it, or shows
 * what may be the host's root.
 */
static const char *below_mount(const char *path, const char *root)
{
        if (strcmp(path, "/") == 0 && !in_own_namespace())
                return NULL;
        if (strcmp(root, "/") == 0)
                return path + 1;
        size_t size = strlen(root);
        if (strncmp(path, root, size) != 0 || (path[size] != '\0' && path[size] != '/'))
                return NULL;
        return path[size] == '/' ? path + size + 1 : path + size;
}

/* One line of /proc/self/mountinfo, cut into what matters here. False if it is something else. */
static bool parse_mount(char *line, char **ret_root, char **ret_point, char **ret_type, char **ret_options)
{
        char *dash = strstr(line, " - ");
        if (!dash)
                return false;
        *dash = '\0';
        char *state = NULL;
        char *fields[5] = {};
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
                fields[i] = strtok_r(i == 0 ? line : NULL, " ", &state);
                if (!fields[i])
                        return false;
        }
        *ret_root = fields[3];
        *ret_point = fields[4];
        *ret_type = strtok_r(dash + 3, " ", &state);
        if (!*ret_type || !strtok_r(NULL, " ", &state))
                return false;
        *ret_options = strtok_r(NULL, " ", &state);
        return *ret_options != NULL;
}

static int open_below(const char *point, const char *rest)
{
        _cleanup_(closep) int mount = open(point, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return mount < 0 ? -1 : openat(mount, *rest ? rest : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void take_mount(struct cgroup_view *view, const char *cgroups, const char *root, const char *point,
    const char *options, bool v2)
{
        char path[4096];
        for (int i = 0; i < CGROUP_CONTROLLER_COUNT_; i++) {
                const char *name = controller_names[i];
                if (view->directories[i] >= 0 || (!v2 && !has_member(options, name)) ||
                    !find_path(cgroups, v2 ? NULL : name, path, sizeof path))
                        continue;
                const char *rest = below_mount(path, root);
                _cleanup_(closep) int directory = rest ? open_below(point, rest) : -1;
                if (directory < 0 || (v2 && faccessat(directory, v2_files[i], R_OK, 0) < 0))
                        continue;
                view->directories[i] = take_fd(&directory);
                view->sources[i] = v2 ? GUEST_SOURCE_CGROUP_V2 : GUEST_SOURCE_CGROUP_V1;
        }
}

static char *read_proc(const char *path)
{
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        char *text = NULL;
        size_t size;
        return fd >= 0 && fd_read_whole(fd, FILE_MAX, &text, &size) == 0 ? text : NULL;
}

void cgroup_view_open(struct cgroup_view *view)
{
        *view = (struct cgroup_view){.directories = {-1, -1, -1, -1}};
        _cleanup_(freep) char *cgroups = read_proc("/proc/self/cgroup");
        _cleanup_(freep) char *mounts = read_proc("/proc/self/mountinfo");
        if (!cgroups || !mounts)
                return;
        char *text = mounts;
        for (char *line = next_line(&text); line; line = next_line(&text)) {
                char *root, *point, *type, *options;
                if (!parse_mount(line, &root, &point, &type, &options))
                        continue;
                if (strcmp(type, "cgroup") == 0)
                        take_mount(view, cgroups, root, point, options, false);
                else if (strcmp(type, "cgroup2") == 0)
                        take_mount(view, cgroups, root, point, options, true);
        }
}

uint64_t cgroup_view_number(
    const struct cgroup_view *view, enum cgroup_controller controller, const char *file, const char *key)
{
        char text[2048];
        if (view->directories[controller] < 0 ||
            fd_read_small(view->directories[controller], file, text, sizeof text) <= 0)
                return GUEST_NOT_MEASURED;
        size_t size = strlen(key);
        for (const char *line = text; *line;) {
                const char *end = strchrnul(line, '\n');
                if (strncmp(line, key, size) == 0 && (size == 0 || line[size] == ' ')) {
                        const char *at = line + size + (size > 0);
                        char *stop;
                        errno = 0;
                        unsigned long long value = strtoull(at, &stop, 10);
                        bool good = *at >= '0' && *at <= '9' && errno == 0;
                        return good ? value : GUEST_NOT_MEASURED;
                }
                line = *end ? end + 1 : end;
        }
        return GUEST_NOT_MEASURED;
}
