/* SPDX-License-Identifier: Apache-2.0 */
/* A request: copies of what the caller says, checked as far as that needs no policy. */
#include "api/internal.h"

#include "util/fd.h"
#include "util/strbuf.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* The words of mai_request_set(), and where the policy finds them. */
static const struct {
        const char *name;
        size_t offset;
} options[OPTION_COUNT_] = {
    [OPTION_TRUST_LEVEL] = {"trust_level", offsetof(struct policy_request, trust_level)},
    [OPTION_BACKEND] = {"backend", offsetof(struct policy_request, backend)},
    [OPTION_IMAGE] = {"image", offsetof(struct policy_request, image)},
    [OPTION_RUNTIME] = {"runtime", offsetof(struct policy_request, runtime)},
    [OPTION_TIMEOUT] = {"timeout", offsetof(struct policy_request, timeout)},
    [OPTION_MEM_LIMIT] = {"mem_limit", offsetof(struct policy_request, mem_limit)},
    [OPTION_CPU_COUNT] = {"cpu_count", offsetof(struct policy_request, cpu_count)},
    [OPTION_PIDS_LIMIT] = {"pids_limit", offsetof(struct policy_request, pids_limit)},
    [OPTION_CPU_TIME] = {"cpu_time", offsetof(struct policy_request, cpu_time)},
    [OPTION_DISK_LIMIT] = {"disk_limit", offsetof(struct policy_request, disk_limit)},
    [OPTION_INODE_LIMIT] = {"inode_limit", offsetof(struct policy_request, inode_limit)},
    [OPTION_OUTPUT_LIMIT] = {"output_limit", offsetof(struct policy_request, output_limit)},
    [OPTION_OPEN_FILES] = {"open_files", offsetof(struct policy_request, open_files)},
    [OPTION_NETWORK_MODE] = {"network_mode", offsetof(struct policy_request, network_mode)},
};

/* Those that may be given several times. */
static const struct {
        const char *name;
        size_t offset;
} lists[] = {
    {"allow_degraded", offsetof(mai_request, allow_degraded)},
    {"whitelist", offsetof(mai_request, whitelist)},
};

static void strings_clear(struct strings *strings)
{
        for (size_t i = 0; i < strings->count; i++)
                free(strings->items[i]);
        free(strings->items);
        *strings = (struct strings){};
}

static int strings_add(struct strings *strings, const char *text, struct error *err)
{
        if (strings->count >= STRINGS_MAX)
                return error_set(err, ERROR_USAGE, E2BIG, NULL, "more than %u arguments", STRINGS_MAX);
        /* Room doubles at each power of two; one more for the NULL. */
        if ((strings->count & (strings->count - 1)) == 0) {
                size_t room = strings->count > 0 ? 2 * strings->count : 1;
                char **bigger = reallocarray(strings->items, room + 1, sizeof *bigger);
                if (!bigger)
                        return error_oom(err);
                strings->items = bigger;
        }
        char *copy = strdup(text);
        if (!copy)
                return error_oom(err);
        strings->items[strings->count++] = copy;
        strings->items[strings->count] = NULL;
        return 0;
}

static void file_clear(struct request_file *file)
{
        free(file->path);
        free(file->data);
        *file = (struct request_file){};
}

mai_request *mai_request_new(void)
{
        mai_request *request = calloc(1, sizeof *request);
        if (!request)
                return NULL;
        request->stdin_fd = -1;
        request->collect = -1;
        request->keep_output = true;
        return request;
}

mai_request *mai_request_free(mai_request *request)
{
        if (!request)
                return NULL;
        for (size_t i = 0; i < OPTION_COUNT_; i++)
                free(request->options[i]);
        strings_clear(&request->allow_degraded);
        strings_clear(&request->whitelist);
        strings_clear(&request->command);
        strings_clear(&request->arguments);
        strings_clear(&request->environment);
        file_clear(&request->program);
        for (size_t i = 0; i < request->file_count; i++)
                file_clear(&request->files[i]);
        free(request->files);
        free(request->output_dir);
        free(request);
        return NULL;
}

static int unknown_option(const char *name, struct error *err)
{
        _cleanup_(strbuf_clear) struct strbuf known = STRBUF_INIT(1024);
        for (size_t i = 0; i < OPTION_COUNT_; i++)
                (void)strbuf_appendf(&known, "%s, ", options[i].name);
        (void)strbuf_append_text(&known, "allow_degraded, whitelist");
        return error_set(
            err, ERROR_USAGE, 0, strbuf_text(&known), "unknown option \"%s\" of a request", name);
}

int mai_request_set(mai_request *request, const char *option, const char *value, mai_error **ret_error)
{
        struct error err = {};
        int r;
        for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
                if (strcmp(option, lists[i].name) != 0)
                        continue;
                r = strings_add((struct strings *)(void *)((char *)request + lists[i].offset), value, &err);
                return r < 0 ? api_fail(r, &err, ret_error) : 0;
        }
        for (size_t i = 0; i < OPTION_COUNT_; i++) {
                if (strcmp(option, options[i].name) != 0)
                        continue;
                char *copy = strdup(value);
                if (!copy)
                        return api_fail(error_oom(&err), &err, ret_error);
                free(request->options[i]);
                request->options[i] = copy;
                return 0;
        }
        r = unknown_option(option, &err);
        return api_fail(r, &err, ret_error);
}

void request_for_policy(const mai_request *request, struct policy_request *ret)
{
        *ret = (struct policy_request){
            .environment = (const char *const *)request->environment.items,
            .allow_degraded = (const char *const *)request->allow_degraded.items,
            .whitelist = (const char *const *)request->whitelist.items,
        };
        for (size_t i = 0; i < OPTION_COUNT_; i++)
                *(const char **)(void *)((char *)ret + options[i].offset) = request->options[i];
}

int request_describe(const mai_request *request, struct container_spec *spec)
{
        const struct {
                const char *from;
                char **to;
        } names[] = {
            {request->options[OPTION_TRUST_LEVEL], &spec->trust_level},
            {request->options[OPTION_BACKEND], &spec->backend},
            {request->options[OPTION_IMAGE], &spec->image},
        };
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                if (!names[i].from)
                        continue;
                *names[i].to = strdup(names[i].from);
                if (!*names[i].to)
                        return -ENOMEM;
        }
        return 0;
}

/* ---- What to run ---- */

static const char one_program[] =
    "a request runs one program: a Python file or a command, not both and not two";

static int check_no_program(const mai_request *request, struct error *err)
{
        if (request->program.path || request->command.count > 0)
                return error_set(err, ERROR_USAGE, 0, one_program, "a second program");
        return 0;
}

static const char *base_name(const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash ? slash + 1 : path;
}

static int set_program(mai_request *request, const char *name, char *data, size_t size, struct error *err)
{
        _cleanup_(freep) char *owned = data;
        int r = check_no_program(request, err);
        if (r < 0)
                return r;
        if (name[0] == '\0' || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            strlen(name) > NAME_MAX)
                return error_set(err, ERROR_USAGE, 0, "give the base name of a file, like main.py",
                    "\"%s\" can't be the name of a program", name);
        char *copy = strdup(name);
        if (!copy)
                return error_oom(err);
        request->program =
            (struct request_file){.path = copy, .data = TAKE_PTR(owned), .size = size, .mode = 0644};
        return 0;
}

static int too_large(const char *path, size_t max, struct error *err)
{
        return error_set(err, ERROR_INPUT, EFBIG, "put large data into files of its own, with --file",
            "program %s is larger than %zu MiB", path, max >> 20);
}

int mai_request_set_program(
    mai_request *request, const char *name, const void *source, size_t size, mai_error **ret_error)
{
        struct error err = {};
        if (size > PROGRAM_MAX)
                return api_fail(too_large(name, PROGRAM_MAX, &err), &err, ret_error);
        char *copy = malloc(size + 1);
        if (!copy)
                return api_fail(error_oom(&err), &err, ret_error);
        if (size > 0)
                memcpy(copy, source, size);
        copy[size] = '\0';
        int r = set_program(request, name, copy, size, &err);
        return r < 0 ? api_fail(r, &err, ret_error) : 0;
}

static bool is_dev_null(const struct stat *st)
{
        return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

/* Opening a device may have effects of its own, so this asks what it is first. -1 with errno. */
static int open_input(const char *path)
{
        struct stat st;
        if (stat(path, &st) < 0)
                return -1;
        bool device = (S_ISCHR(st.st_mode) && !is_dev_null(&st)) || S_ISBLK(st.st_mode);
        return open(path, (device ? O_PATH : O_RDONLY) | O_CLOEXEC | O_NOCTTY);
}

/* Reads what the caller may read: a file, or a pipe that ends. Directories have nothing to read. */
static int read_input(const char *what, const char *path, size_t max, char **ret_data, size_t *ret_size,
    unsigned *ret_mode, struct error *err)
{
        static const char hint[] = "check the path and its permissions";
        _cleanup_(closep) int fd = open_input(path);
        struct stat st;
        if (fd < 0 || fstat(fd, &st) < 0)
                return error_set(err, ERROR_INPUT, errno, hint, "%s %s can't be read", what, path);
        if (S_ISDIR(st.st_mode))
                return error_set(err, ERROR_INPUT, EISDIR, "name a file", "%s %s can't be read", what, path);
        if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode) && !is_dev_null(&st))
                return error_set(err, ERROR_INPUT, 0, "name a regular file or a pipe",
                    "%s %s is a device or socket", what, path);
        /* Before reading gigabytes only to find that they are too many. */
        bool too_much = S_ISREG(st.st_mode) && (uint64_t)st.st_size > max;
        int r = too_much ? -EFBIG : fd_read_whole(fd, max, ret_data, ret_size);
        if (r == -EFBIG)
                return error_set(err, ERROR_INPUT, EFBIG,
                    "put large data into files of its own, with --file", "%s %s is larger than %zu MiB",
                    what, path, max >> 20);
        if (r < 0)
                return error_set(err, ERROR_INPUT, -r, hint, "%s %s can't be read", what, path);
        *ret_mode = st.st_mode & 0111 ? 0755 : 0644;
        return 0;
}

int mai_request_set_program_file(mai_request *request, const char *path, mai_error **ret_error)
{
        struct error err = {};
        char *data;
        size_t size;
        unsigned mode;
        int r = check_no_program(request, &err);
        if (r >= 0)
                r = read_input("program", path, PROGRAM_MAX, &data, &size, &mode, &err);
        if (r >= 0)
                r = set_program(request, base_name(path), data, size, &err);
        return r < 0 ? api_fail(r, &err, ret_error) : 0;
}

int mai_request_set_command(
    mai_request *request, const char *const *argv, size_t count, mai_error **ret_error)
{
        struct error err = {};
        int r = check_no_program(request, &err);
        if (r >= 0 && (count == 0 || argv[0][0] == '\0'))
                r = error_set(&err, ERROR_USAGE, 0, "give a command after --", "an empty command");
        if (r < 0)
                return api_fail(r, &err, ret_error);
        for (size_t i = 0; r >= 0 && i < count; i++)
                r = strings_add(&request->command, argv[i], &err);
        if (r < 0) {
                strings_clear(&request->command);
                return api_fail(r, &err, ret_error);
        }
        return 0;
}

int mai_request_add_argument(mai_request *request, const char *argument, mai_error **ret_error)
{
        struct error err = {};
        int r = strings_add(&request->arguments, argument, &err);
        return r < 0 ? api_fail(r, &err, ret_error) : 0;
}

int mai_request_add_environment(mai_request *request, const char *assignment, mai_error **ret_error)
{
        struct error err = {};
        int r = 0;
        if (!strchr(assignment, '=') || assignment[0] == '=')
                r = error_set(&err, ERROR_USAGE, 0,
                    "write NAME=VALUE; nothing is taken over from the caller's environment",
                    "environment variable \"%s\"", assignment);
        if (r >= 0)
                r = strings_add(&request->environment, assignment, &err);
        return r < 0 ? api_fail(r, &err, ret_error) : 0;
}

/* ---- Files ---- */

/*
 * "a//./b" as "a/b". Refused: absolute paths and "..", which say something that can't be meant. A path that
 * ends in a slash names the folder to put `source` into.
 */
static int normalize_destination(const char *source, const char *destination, char **ret, struct error *err)
{
        static const char hint[] = "destinations are relative to the working directory, without \"..\"";
        _cleanup_(strbuf_clear) struct strbuf path = STRBUF_INIT(PATH_MAX);
        const char *whole = destination ? destination : base_name(source);
        int r = 0;
        if (whole[0] == '/')
                return error_set(err, ERROR_USAGE, 0, hint, "file destination \"%s\" is absolute", whole);
        for (const char *at = whole; *at && r >= 0;) {
                size_t size = strcspn(at, "/");
                if (size == 2 && at[0] == '.' && at[1] == '.')
                        return error_set(
                            err, ERROR_USAGE, 0, hint, "file destination \"%s\" has \"..\" in it", whole);
                if (size > NAME_MAX)
                        return error_set(
                            err, ERROR_USAGE, ENAMETOOLONG, hint, "file destination \"%s\"", whole);
                if (size > 0 && !(size == 1 && at[0] == '.')) {
                        if (path.size > 0)
                                r = strbuf_append_text(&path, "/");
                        if (r >= 0)
                                r = strbuf_append(&path, at, size);
                }
                at += size + (at[size] == '/');
        }
        size_t length = strlen(whole);
        bool into_folder = destination && (path.size == 0 || whole[length - 1] == '/');
        if (r >= 0 && into_folder && base_name(source)[0] != '\0') {
                if (path.size > 0)
                        r = strbuf_append_text(&path, "/");
                if (r >= 0)
                        r = strbuf_append_text(&path, base_name(source));
        }
        if (r == -E2BIG)
                return error_set(err, ERROR_USAGE, ENAMETOOLONG, hint, "file destination \"%s\"", whole);
        if (r >= 0 && path.size == 0)
                return error_set(err, ERROR_USAGE, 0, hint, "file destination \"%s\" names no file", whole);
        char *taken = r < 0 ? NULL : strbuf_take(&path);
        if (!taken)
                return error_oom(err);
        *ret = taken;
        return 0;
}

static int add_file(mai_request *request, const char *source, const char *destination, struct error *err)
{
        if (request->file_count >= STRINGS_MAX)
                return error_set(err, ERROR_USAGE, E2BIG, NULL, "more than %u files", STRINGS_MAX);
        _cleanup_(file_clear) struct request_file file = {};
        int r = normalize_destination(source, destination, &file.path, err);
        if (r >= 0)
                r = read_input("file", source, INPUT_FILE_MAX, &file.data, &file.size, &file.mode, err);
        if (r < 0)
                return r;
        struct request_file *bigger = reallocarray(request->files, request->file_count + 1, sizeof *bigger);
        if (!bigger)
                return error_oom(err);
        request->files = bigger;
        request->files[request->file_count++] = file;
        file = (struct request_file){};
        return 0;
}

int mai_request_add_file(
    mai_request *request, const char *source, const char *destination, mai_error **ret_error)
{
        struct error err = {};
        int r = add_file(request, source, destination, &err);
        return r < 0 ? api_fail(r, &err, ret_error) : 0;
}

int mai_request_set_stdin(mai_request *request, int fd)
{
        if (fd >= 0 && fcntl(fd, F_GETFD) < 0)
                return -errno;
        request->stdin_fd = fd;
        return 0;
}

int mai_request_set_output_dir(mai_request *request, const char *path, mai_error **ret_error)
{
        struct error err = {};
        char *copy = strdup(path);
        if (!copy)
                return api_fail(error_oom(&err), &err, ret_error);
        free(request->output_dir);
        request->output_dir = copy;
        return 0;
}

void mai_request_collect_files(mai_request *request, int on)
{
        request->collect = on != 0;
}

void mai_request_keep_output(mai_request *request, int on)
{
        request->keep_output = on != 0;
}

void mai_request_json_events(mai_request *request, int on)
{
        request->json_events = on != 0;
}
