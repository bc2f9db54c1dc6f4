/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/gateway/gateway.h"

#include "util/clock.h"
#include "util/fd.h"

#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PROGRAM "mai-sandbox-gateway"
#ifndef MAI_PROGRAM_DIR
#define MAI_PROGRAM_DIR "/usr/bin"
#endif

/* Where it expects its descriptors: 3 stays closed. */
enum { FD_STDERR = 2, FD_SOCKET, FD_CONTROL, FD_CONFIG, FD_EVENTS, FD_FIRST_FREE };

/* Of one line, and of all: more is not what the gateway says (docs/GATEWAY.md). */
#define LINE_MAX_BYTES 4096U
#define EVENTS_MAX 4000000U

struct gateway_client {
        pid_t pid;    /* 0: none, or waited for */
        int status;   /* of its end */
        int control;  /* -1: it has been told to end */
        int events;   /* -1: ended */
        int errors;   /* what it writes to standard error */
        size_t count; /* events so far */
        char buffer[2 * LINE_MAX_BYTES];
        size_t have;
        bool ready;
        struct {
                uint64_t uid, capabilities;
                bool no_new_privs, seccomp;
                int landlock_abi;
        } hardening;
};

/* ---- Starting ---- */

/* Beside the running program, as in the build tree, or where the installation has it. No variable of the
 * environment leads to it. */
static int find_program(char path[PATH_MAX])
{
        ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof PROGRAM - 1);
        if (n > 0) {
                path[n] = '\0';
                char *slash = strrchr(path, '/');
                if (slash) {
                        memcpy(slash + 1, PROGRAM, sizeof PROGRAM);
                        if (access(path, X_OK) == 0)
                                return 0;
                }
        }
        (void)snprintf(path, PATH_MAX, "%s/%s", MAI_PROGRAM_DIR, PROGRAM);
        return access(path, X_OK) < 0 ? -errno : 0;
}

int gateway_check(struct error *err)
{
        char path[PATH_MAX];
        int r = find_program(path);
        return r < 0 ? error_set(err, ERROR_UNENFORCED, -r,
                           "install it beside mai-sandbox, or set network_mode: \"none\"",
                           "network_mode: \"dependencies\" needs the gateway, " PROGRAM)
                     : 0;
}

/* Out of the way of the numbers that the process is to have them under. */
static int lift(int *fd)
{
        int high = fcntl(*fd, F_DUPFD_CLOEXEC, FD_FIRST_FREE + 16);
        if (high < 0)
                return -errno;
        (void)close(*fd);
        *fd = high;
        return 0;
}

static void close_both(int pair[2])
{
        close_and_forget(&pair[0]);
        close_and_forget(&pair[1]);
}

/* A process of its own session, with no signal blocked or ignored, no descriptors but its own and nothing of
 * our environment. */
static int spawn(const char *path, int config, int control, int events, int errors, pid_t *ret)
{
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t none, all;
        (void)sigemptyset(&none);
        (void)sigfillset(&all);
        if (posix_spawn_file_actions_init(&actions) != 0)
                return -ENOMEM;
        if (posix_spawnattr_init(&attributes) != 0) {
                (void)posix_spawn_file_actions_destroy(&actions);
                return -ENOMEM;
        }
        char *const argv[] = {(char *)PROGRAM, NULL};
#ifdef __SANITIZE_ADDRESS__
        /* Looking for leaks takes system calls that it gives up. */
        char *const environment[] = {(char *)"ASAN_OPTIONS=detect_leaks=0", NULL};
#else
        char *const environment[] = {NULL};
#endif
        int r = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
        r = r ? r : posix_spawn_file_actions_adddup2(&actions, 0, 1);
        r = r ? r : posix_spawn_file_actions_adddup2(&actions, errors, FD_STDERR);
        r = r ? r : posix_spawn_file_actions_adddup2(&actions, control, FD_CONTROL);
        r = r ? r : posix_spawn_file_actions_adddup2(&actions, config, FD_CONFIG);
        r = r ? r : posix_spawn_file_actions_adddup2(&actions, events, FD_EVENTS);
        r = r ? r : posix_spawn_file_actions_addclose(&actions, FD_SOCKET);
        r = r ? r : posix_spawn_file_actions_addclosefrom_np(&actions, FD_FIRST_FREE);
        r = r ? r : posix_spawn_file_actions_addchdir_np(&actions, "/");
        r = r ? r : posix_spawnattr_setsigmask(&attributes, &none);
        r = r ? r : posix_spawnattr_setsigdefault(&attributes, &all);
        r = r ? r
              : posix_spawnattr_setflags(
                    &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
        r = r ? r : posix_spawn(ret, path, &actions, &attributes, argv, environment);
        (void)posix_spawnattr_destroy(&attributes);
        (void)posix_spawn_file_actions_destroy(&actions);
        return -r;
}

/* The configuration as a file in memory: as large as it likes, and gone when it has been read. */
static int config_file(const char *text)
{
        int fd = memfd_create("mai-sandbox-gateway-config", MFD_CLOEXEC);
        if (fd < 0)
                return -errno;
        int r = fd_write_all(fd, text, strlen(text));
        if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
                r = -errno;
        if (r < 0) {
                (void)close(fd);
                return r;
        }
        return fd;
}

static int start(struct gateway_client *client, const char *path, const char *config)
{
        int control[2] = {-1, -1}, events[2] = {-1, -1}, errors[2] = {-1, -1};
        int document = config_file(config);
        int r = document < 0 ? document : 0;
        if (r == 0 &&
            (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, control) < 0 ||
                pipe2(events, O_CLOEXEC | O_NONBLOCK) < 0 || pipe2(errors, O_CLOEXEC | O_NONBLOCK) < 0))
                r = -errno;
        r = r < 0 ? r : lift(&document);
        r = r < 0 ? r : lift(&control[1]);
        r = r < 0 ? r : lift(&events[1]);
        r = r < 0 ? r : lift(&errors[1]);
        r = r < 0 ? r : spawn(path, document, control[1], events[1], errors[1], &client->pid);
        if (r == 0) {
                client->control = take_fd(&control[0]);
                client->events = take_fd(&events[0]);
                client->errors = take_fd(&errors[0]);
        }
        close_and_forget(&document);
        close_both(control);
        close_both(events);
        close_both(errors);
        return r;
}

int gateway_start(const struct gateway_spec *spec, unsigned degraded_allowed, struct gateway_client **ret,
    struct error *err)
{
        char path[PATH_MAX];
        char *config = NULL;
        int r = gateway_check(err);
        if (r == 0)
                r = gateway_make_cache_parent(spec->cache, err);
        if (r == 0)
                r = gateway_config_text(spec, degraded_allowed, geteuid() == 0, &config, err);
        if (r < 0)
                return r;
        if (!config)
                return error_oom(err);
        struct gateway_client *client = calloc(1, sizeof *client);
        r = client ? find_program(path) : -ENOMEM;
        if (client) {
                client->control = client->events = client->errors = -1;
                r = r < 0 ? r : start(client, path, config);
        }
        explicit_bzero(config, strlen(config));
        free(config);
        if (r < 0) {
                gateway_free(client);
                return error_set(err, ERROR_GATEWAY, -r, NULL, "starting the package gateway");
        }
        *ret = client;
        return 0;
}

/* ---- Talking to it ---- */

int gateway_fd(const struct gateway_client *client)
{
        return client->events;
}

bool gateway_is_ready(const struct gateway_client *client)
{
        return client->ready;
}

int gateway_hand_in(struct gateway_client *client, int fd)
{
        return client->control < 0 ? -EPIPE : fd_send(client->control, "c", 1, &fd, 1);
}

void gateway_finish(struct gateway_client *client)
{
        close_and_forget(&client->control);
}

static uint64_t number_of(const json_t *object, const char *key)
{
        json_int_t number = json_integer_value(json_object_get(object, key));
        return number > 0 ? (uint64_t)number : 0;
}

/* A word of our own vocabulary; anything else is "other". */
static void copy_word(const char *text, char ret[GATEWAY_WORD_SIZE])
{
        size_t size = text ? strlen(text) : 0;
        bool good =
            size < GATEWAY_WORD_SIZE && (size == 0 || strspn(text, "abcdefghijklmnopqrstuvwxyz_") == size);
        (void)snprintf(ret, GATEWAY_WORD_SIZE, "%s", !good ? "other" : size > 0 ? text : "");
}

/* What a guest or an upstream wrote, fit to be shown: printable ASCII, cut. */
static void copy_text(const char *text, char ret[GATEWAY_TEXT_SIZE])
{
        size_t n = 0;
        for (; text && *text && n < GATEWAY_TEXT_SIZE - 1; text++)
                ret[n++] = *text >= ' ' && *text <= '~' ? *text : '?';
        ret[n] = '\0';
}

static void read_ready(struct gateway_client *client, const json_t *object)
{
        client->ready = true;
        client->hardening.uid = number_of(object, "uid");
        /* What is not said must not look like none. */
        const json_t *capabilities = json_object_get(object, "capabilities");
        client->hardening.capabilities =
            json_is_integer(capabilities) ? (uint64_t)json_integer_value(capabilities) : UINT64_MAX;
        client->hardening.no_new_privs = json_is_true(json_object_get(object, "no_new_privs"));
        const json_t *seccomp = json_object_get(object, "seccomp");
        client->hardening.seccomp = json_is_true(seccomp) || json_integer_value(seccomp) == 2;
        client->hardening.landlock_abi = (int)number_of(object, "landlock_abi");
}

static int read_request(const json_t *object, struct gateway_event *ret)
{
        static const char *const verdicts[GATEWAY_VERDICT_COUNT_] = {
            [GATEWAY_SERVED] = "served",
            [GATEWAY_DENIED] = "denied",
            [GATEWAY_MISSING] = "missing",
            [GATEWAY_FAILED] = "failed",
        };
        const char *word = json_string_value(json_object_get(object, "verdict"));
        unsigned verdict = 0;
        while (verdict < GATEWAY_VERDICT_COUNT_ && word && strcmp(word, verdicts[verdict]) != 0)
                verdict++;
        if (!word || verdict == GATEWAY_VERDICT_COUNT_)
                return -EBADMSG;
        const char *file = json_string_value(json_object_get(object, "file"));
        const char *name = json_string_value(json_object_get(object, "name"));
        const char *line = json_string_value(json_object_get(object, "line"));
        ret->type = GATEWAY_EVENT_REQUEST;
        ret->verdict = (enum gateway_verdict)verdict;
        ret->file = file != NULL;
        ret->bytes = number_of(object, "bytes");
        copy_word(verdict == GATEWAY_SERVED ? NULL : json_string_value(json_object_get(object, "reason")),
            ret->reason);
        copy_text(line ? line : file ? file : name, ret->subject);
        return 0;
}

static int read_event(
    struct gateway_client *client, const char *line, size_t size, struct gateway_event *ret)
{
        json_t *object = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
        const char *word = json_string_value(json_object_get(object, "event"));
        int r = word ? 0 : -EBADMSG;
        if (word && strcmp(word, "ready") == 0 && !client->ready) {
                read_ready(client, object);
                ret->type = GATEWAY_EVENT_READY;
        } else if (word && strcmp(word, "request") == 0) {
                r = read_request(object, ret);
        } else if (word && strcmp(word, "end") == 0) {
                ret->type = GATEWAY_EVENT_END;
                ret->received_bytes = number_of(object, "received_bytes");
                ret->sent_bytes = number_of(object, "sent_bytes");
        } /* else: of no concern to us */
        json_decref(object);
        return r;
}

int gateway_next(struct gateway_client *client, struct gateway_event *ret)
{
        *ret = (struct gateway_event){.type = GATEWAY_EVENT_NOTHING};
        if (client->events < 0)
                return 0;
        while (ret->type == GATEWAY_EVENT_NOTHING) {
                char *end = memchr(client->buffer, '\n', client->have);
                if (end) {
                        size_t size = (size_t)(end - client->buffer);
                        int r = size > LINE_MAX_BYTES || ++client->count > EVENTS_MAX
                                    ? -EBADMSG
                                    : read_event(client, client->buffer, size, ret);
                        client->have -= size + 1;
                        memmove(client->buffer, end + 1, client->have);
                        if (r < 0)
                                return r;
                        continue;
                }
                if (client->have > LINE_MAX_BYTES)
                        return -EBADMSG;
                ssize_t n = read(
                    client->events, client->buffer + client->have, sizeof client->buffer - client->have);
                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return 0;
                if (n <= 0) {
                        close_and_forget(&client->events);
                        ret->type = GATEWAY_EVENT_GONE;
                        return 0;
                }
                client->have += (size_t)n;
        }
        return 0;
}

int gateway_check_hardening(
    const struct gateway_client *client, unsigned degraded_allowed, struct error *err)
{
        static const char hint[] = "nothing was run; this is a fault of the gateway or of this host";
        const char *missing = NULL;
        if (!client->ready)
                missing = "its word that it is ready";
        else if (client->hardening.uid == 0)
                missing = "a user that is not root";
        else if (client->hardening.capabilities != 0)
                missing = "the loss of its capabilities";
        else if (!client->hardening.no_new_privs)
                missing = "no_new_privs";
        else if (!client->hardening.seccomp)
                missing = "a system-call filter";
        else if (client->hardening.landlock_abi == 0 && !(degraded_allowed & 1U << ENFORCE_LANDLOCK))
                missing = "Landlock";
        return missing
                   ? error_set(err, ERROR_MISMATCH, 0, hint, "network_mode: the gateway lacks %s", missing)
                   : 0;
}

/* ---- Its end ---- */

void gateway_wait(struct gateway_client *client, unsigned deadline_msec)
{
        if (client->pid <= 0)
                return;
        uint64_t deadline = clock_now() + deadline_msec * NSEC_PER_MSEC;
        for (;;) {
                pid_t pid = waitpid(client->pid, &client->status, WNOHANG);
                if (pid == client->pid || (pid < 0 && errno != EINTR))
                        break;
                if (clock_now() >= deadline) {
                        (void)kill(client->pid, SIGKILL);
                        while (waitpid(client->pid, &client->status, 0) < 0 && errno == EINTR) {
                        }
                        break;
                }
                (void)poll(NULL, 0, 2);
        }
        client->pid = 0;
}

const char *gateway_last_words(struct gateway_client *client, char buffer[GATEWAY_TEXT_SIZE * 2])
{
        static const char prefix[] = PROGRAM ": ";
        char said[GATEWAY_TEXT_SIZE] = "";
        ssize_t n = client->errors >= 0 ? read(client->errors, said, sizeof said - 1) : 0;
        said[MAX(n, (ssize_t)0)] = '\0';
        const char *own = strstr(said, prefix); /* libraries may have spoken before */
        if (WIFSIGNALED(client->status)) {
                (void)snprintf(buffer, GATEWAY_TEXT_SIZE, "killed by signal %d", WTERMSIG(client->status));
        } else if (own) {
                said[strcspn(own, "\n") + (size_t)(own - said)] = '\0';
                copy_text(own + sizeof prefix - 1, buffer);
        } else {
                (void)snprintf(buffer, GATEWAY_TEXT_SIZE, "exit status %d", WEXITSTATUS(client->status));
        }
        return buffer;
}

struct gateway_client *gateway_free(struct gateway_client *client)
{
        if (!client)
                return NULL;
        gateway_finish(client);
        close_and_forget(&client->events);
        if (client->pid > 0)
                (void)kill(client->pid, SIGKILL);
        gateway_wait(client, 0);
        close_and_forget(&client->errors);
        free(client);
        return NULL;
}
