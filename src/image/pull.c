/* SPDX-License-Identifier: Apache-2.0 */
#include "image/pull.h"

#include "image/spawn.h"
#include "protocol/importer.h"
#include "util/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SETPRIV "/usr/bin/setpriv"
#define LOOK_EVERY_MSEC 200
#define COMPLAINT_MAX 4096
#define CREDENTIALS_MAX (1U << 20)

/* The descriptors that skopeo gets, by the paths that it knows them by. */
#define LAYOUT_PATH "/proc/self/fd/3"
#define CREDENTIALS_PATH "/proc/self/fd/4"

static const char *const programs[] = {"/usr/bin/skopeo", "/usr/local/bin/skopeo"};

/* What a caller may have set to reach registries at all. */
static const char *const passed_on[] = {"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY",
    "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"};

static const char *find_skopeo(void)
{
        for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
                if (access(programs[i], X_OK) == 0)
                        return programs[i];
        return NULL;
}

/* A registry on this very machine speaks plain HTTP as a rule; Docker knows the same exception. */
static bool is_loopback(const char *reference)
{
        size_t size = strcspn(reference, "/:");
        bool numbers = strncmp(reference, "127.", 4) == 0 && strspn(reference, "0123456789.") == size;
        return strchr(reference, '/') && (numbers || (size == 9 && strncmp(reference, "localhost", 9) == 0));
}

/* ---- Credentials ---- */

/* One of the usual files, if the caller can read it: in memory, where another uid can read it too. */
static int copy_credentials(const char *path)
{
        _cleanup_(closep) int file = open(path, O_RDONLY | O_CLOEXEC);
        _cleanup_(freep) char *text = NULL;
        size_t size;
        if (file < 0 || fd_read_whole(file, CREDENTIALS_MAX, &text, &size) < 0)
                return -1;
        _cleanup_(closep) int copy = memfd_create("credentials", MFD_CLOEXEC);
        return copy >= 0 && fd_write_all(copy, text, size) == 0 ? take_fd(&copy) : -1;
}

static int find_credentials(void)
{
        static const struct {
                const char *variable, *path;
        } places[] = {{"REGISTRY_AUTH_FILE", ""}, {"XDG_RUNTIME_DIR", "/containers/auth.json"},
            {"HOME", "/.config/containers/auth.json"}, {"HOME", "/.docker/config.json"}};
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                char path[PATH_MAX];
                const char *base = getenv(places[i].variable);
                if (!base || snprintf(path, sizeof path, "%s%s", base, places[i].path) >= (int)sizeof path)
                        continue;
                int fd = copy_credentials(path);
                if (fd >= 0)
                        return fd;
        }
        return -1;
}

/* ---- Running it ---- */

struct words {
        char *items[32];
        size_t count;
};

static void add(struct words *words, const char *word)
{
        if (words->count + 1 < ARRAY_SIZE(words->items))
                words->items[words->count++] = (char *)word;
}

static int start(const char *reference, int layout, int complaints, pid_t *ret, struct error *err)
{
        char source[IMAGE_NAME_SIZE + 16], uid[24], gid[24], settings[ARRAY_SIZE(passed_on)][512];
        struct words argv = {}, environment = {};
        const char *skopeo = find_skopeo();
        if (!skopeo)
                return error_set(err, ERROR_BACKEND, 0,
                    "install skopeo; or get the image elsewhere (docker save, skopeo copy) and use "
                    "`mai-sandbox "
                    "image import`",
                    "image: skopeo, which talks to registries, is not installed");
        if (geteuid() == 0) {
                (void)snprintf(uid, sizeof uid, "--reuid=%u", IMPORTER_UID);
                (void)snprintf(gid, sizeof gid, "--regid=%u", IMPORTER_UID);
                const char *const words[] = {SETPRIV, uid, gid, "--clear-groups", "--no-new-privs",
                    "--inh-caps=-all", "--bounding-set=-all", "--"};
                for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                        add(&argv, words[i]);
        }
        _cleanup_(closep) int credentials = find_credentials();
        (void)snprintf(source, sizeof source, "docker://%s", reference);
        add(&argv, skopeo);
        add(&argv, "--override-os=linux");
        add(&argv, "copy");
        add(&argv, "--quiet");
        if (is_loopback(reference))
                add(&argv, "--src-tls-verify=false");
        if (credentials >= 0)
                add(&argv, "--authfile=" CREDENTIALS_PATH);
        add(&argv, source);
        add(&argv, "oci:" LAYOUT_PATH ":image");

        add(&environment, "PATH=/usr/local/bin:/usr/bin:/bin");
        add(&environment, "HOME=/nonexistent");
        add(&environment, "TMPDIR=" LAYOUT_PATH);
        for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++) {
                const char *value = getenv(passed_on[i]);
                if (value && snprintf(settings[i], sizeof settings[i], "%s=%s", passed_on[i], value) <
                                 (int)sizeof settings[i])
                        add(&environment, settings[i]);
        }
        const int fds[] = {layout, credentials};
        int r = image_spawn(
            argv.items[0], argv.items, environment.items, fds, credentials >= 0 ? 2 : 1, complaints, ret);
        return r < 0 ? error_set(err, ERROR_BACKEND, -r, NULL, "starting %s", argv.items[0]) : 0;
}

/* What has come so far. */
static uint64_t count_bytes(int layout)
{
        uint64_t bytes = 0;
        int fd = openat(layout, "blobs/sha256", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *listing = fd < 0 ? NULL : fdopendir(fd);
        if (!listing) {
                closep(&fd);
                return 0;
        }
        for (const struct dirent *entry; (entry = readdir(listing));) {
                struct stat st;
                if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
                        bytes += (uint64_t)st.st_size;
        }
        (void)closedir(listing);
        return bytes;
}

/* Its last words, without the form of a log. */
static void read_complaint(int fd, char *ret, size_t size)
{
        char text[COMPLAINT_MAX];
        (void)snprintf(ret, size, "it says nothing");
        ssize_t n = fd_pread_small(fd, text, sizeof text);
        if (n <= 0)
                return;
        while (n > 0 && text[n - 1] == '\n')
                text[--n] = '\0';
        const char *last = strrchr(text, '\n');
        const char *message = strstr(last ? last : text, "msg=");
        message = message ? message + 4 : last ? last + 1 : text;
        (void)snprintf(ret, size, "%.*s", (int)size - 1, message);
}

/* Until it ends; a look at how much has come now and then. */
static int follow(
    pid_t pid, int layout, const struct image_import *import, int complaints, struct error *err)
{
        _cleanup_(closep) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        struct pollfd wait = {.fd = pidfd, .events = POLLIN};
        bool gave_up = false;
        while (poll(&wait, 1, LOOK_EVERY_MSEC) == 0) {
                const struct image_import_progress progress = {.bytes_done = count_bytes(layout)};
                gave_up = import->progress && import->progress(&progress, import->user) != 0;
                if (gave_up)
                        break;
        }
        if (gave_up)
                (void)kill(pid, SIGKILL);
        int status = image_wait(pid);
        if (gave_up)
                return error_set(err, ERROR_CANCELLED, ECANCELED, NULL, "pulling the image");
        if (status == 0)
                return 0;
        char why[1024];
        read_complaint(complaints, why, sizeof why);
        return error_set(err, ERROR_IMAGE, 0, "see that the name is right and the registry can be reached",
            "image: skopeo could not get it: %s", why);
}

static int fetch(const char *reference, const struct image_import *import, int layout, struct error *err)
{
        if (geteuid() == 0 && fchown(layout, IMPORTER_UID, IMPORTER_UID) < 0 && errno != EINVAL)
                return error_set(err, ERROR_IMAGE, errno, NULL, "handing a directory over");
        _cleanup_(closep) int complaints = memfd_create("skopeo", MFD_CLOEXEC);
        pid_t pid = -1;
        int r = start(reference, layout, complaints, &pid, err);
        return r < 0 ? r : follow(pid, layout, import, complaints, err);
}

int image_pull(const struct image_store *store, const char *reference, const struct image_import *import,
    struct image_info *ret, struct error *err)
{
        struct image_draft draft = {.fd = -1};
        _cleanup_(closep) int layout = -1;
        int r = image_name_check(reference, err);
        if (r == 0)
                r = image_draft_begin(store, &draft, err);
        if (r < 0)
                return r;
        if (mkdirat(draft.fd, IMPORTER_LAYOUT, 0700) == 0)
                layout = openat(draft.fd, IMPORTER_LAYOUT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = layout < 0 ? error_set(err, ERROR_IMAGE, errno, NULL, "making a directory in %s", store->path)
                       : fetch(reference, import, layout, err);
        if (r == 0) {
                struct image_import local = *import;
                local.source = layout;
                r = image_import(store, &local, ret, err);
        }
        image_draft_drop(store, &draft);
        return r;
}
