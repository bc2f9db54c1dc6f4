/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/keys.h"

#include "util/word_distance.h"

#define KIB 1024.0
#define MIB (1024 * KIB)
#define SIZE_MOST 9007199254740992.0 /* 2^53: every whole number up to here is exact in a double */
#define SECONDS_MOST 1e9

static const char *const backends[] = {"native", "docker", NULL};
static const char *const network_modes[] = {
    "none", "dependencies", NULL}; /* in order of enum network_mode */
static const char *const when_full[] = {"queue", "reject", NULL};
static const char *const entry_kinds[] = {"pypi", "npm", "web", NULL};

#define ENTRY "network.whitelist[]"
#define PACKAGES "network.whitelist[].packages"
#define LIMITS "network.limits"

const struct key policy_keys[KEY_COUNT_] = {
    [KEY_CPU_COUNT] = {"cpu_count", "", SCOPE_LEVEL, TYPE_CPUS, "2", "1", "0.5", "CPUs", 0.01, 4096, NULL,
        COMBINE_MIN, "--cpus",
        "CPU time per second of wall time; a fraction is fine. The program sees this many CPUs, rounded "
        "up."},
    [KEY_MEM_LIMIT] = {"mem_limit", "", SCOPE_LEVEL, TYPE_SIZE, "1g", "512m", "256m", "bytes", MIB,
        SIZE_MOST, NULL, COMBINE_MIN, "--memory",
        "Memory of all processes together, with the files in `/sandbox`, `/tmp` and `/dev/shm`. There is no "
        "swap."},
    [KEY_TIMEOUT] = {"timeout", "", SCOPE_LEVEL, TYPE_SECONDS, "120", "30", "10", "seconds", 0.001,
        SECONDS_MOST, NULL, COMBINE_MIN, NULL, "Wall time from the start of the program."},
    [KEY_CPU_TIME] = {"cpu_time", "", SCOPE_LEVEL, TYPE_SECONDS, NULL, NULL, NULL, "seconds", 0.001,
        SECONDS_MOST, NULL, COMBINE_MIN, NULL,
        "CPU time of all processes together. Where it is not given: `cpu_count`, rounded up, times "
        "`timeout`, plus "
        "one second, so that the timeout is what ends a busy program."},
    [KEY_PIDS_LIMIT] = {"pids_limit", "", SCOPE_LEVEL, TYPE_COUNT, "256", "128", "64",
        "processes and threads", 1, 4194304, NULL, COMBINE_MIN, "--pids",
        "Processes and threads at one time."},
    [KEY_DISK_LIMIT] = {"disk_limit", "", SCOPE_LEVEL, TYPE_SIZE, "512m", "256m", "128m", "bytes", 64 * KIB,
        SIZE_MOST, NULL, COMBINE_MIN, NULL,
        "Files in `/sandbox`, `/tmp` and `/dev/shm` together. They lie in memory: at most `mem_limit`."},
    [KEY_INODE_LIMIT] = {"inode_limit", "", SCOPE_LEVEL, TYPE_COUNT, "65536", "32768", "16384",
        "files and directories", 16, 1e9, NULL, COMBINE_MIN, NULL,
        "Files and directories in the same places."},
    [KEY_OUTPUT_LIMIT] = {"output_limit", "", SCOPE_LEVEL, TYPE_SIZE, "16m", "8m", "1m", "bytes", 1,
        SIZE_MOST, NULL, COMBINE_MIN, NULL,
        "Bytes of standard output, and of standard error. More ends the run."},
    [KEY_OPEN_FILES] = {"open_files", "", SCOPE_LEVEL, TYPE_COUNT, "1024", "1024", "256", "descriptors", 16,
        1048576, NULL, COMBINE_MIN, NULL, "Open descriptors of one process."},
    [KEY_MAX_CONCURRENT] = {"max_concurrent", "", SCOPE_LEVEL, TYPE_COUNT, "64", "32", "16", "runs", 1,
        65536, NULL, COMBINE_NONE, NULL,
        "Runs of one trust level at the same time; the next one waits or is rejected."},

    [KEY_SECURITY_OPT] = {"security_opt", "", SCOPE_LEVEL, TYPE_SECURITY_OPT, "no-new-privileges", NULL,
        NULL, NULL, 0, 0, NULL, COMBINE_STRICTER, NULL,
        "`no-new-privileges`, and `seccomp=default` (meant if nothing is said) or `seccomp=unconfined`. "
        "Leaving out "
        "the first, or the last, is a weakening."},
    [KEY_CAP_DROP] = {"cap_drop", "", SCOPE_LEVEL, TYPE_CAPABILITIES, "ALL", NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_STRICTER, NULL,
        "Capabilities taken from the set that Docker gives by default. Anything but `[\"ALL\"]` is a "
        "weakening."},
    [KEY_CAP_ADD] = {"cap_add", "", SCOPE_LEVEL, TYPE_CAPABILITIES, "", NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_STRICTER, NULL, "Capabilities given on top, by name. Any is a weakening."},
    [KEY_READ_ONLY] = {"read_only", "", SCOPE_LEVEL, TYPE_BOOL, "true", NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_STRICTER, NULL, "Whether the root file system is read-only. `false` is a weakening."},
    [KEY_USER] = {"user", "", SCOPE_LEVEL, TYPE_USER, "1000:1000", NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL, "`\"UID:GID\"` inside the container, as numbers. 0 and `root` are refused."},
    [KEY_NETWORK_MODE] = {"network_mode", "", SCOPE_LEVEL, TYPE_WORD, "none", NULL, NULL, NULL, 0, 0,
        network_modes, COMBINE_STRICTER, "--network",
        "`none`: loopback only. `dependencies`: also what `network.whitelist` names, by way of the "
        "gateway."},
    [KEY_UNSAFE] = {"unsafe", "", SCOPE_LEVEL, TYPE_BOOL, "false", NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_STRICTER, NULL,
        "Permits the weakenings at this level. Each result repeats the ones in force."},

    [KEY_IMAGE] = {"image", "", SCOPE_LEVEL, TYPE_NAME, "host", NULL, NULL, NULL, 0, 0, NULL, COMBINE_ONE_OF,
        NULL,
        "What the root file system is made of: `host`, a read-only view of this machine's own Python, or an "
        "image."},
    [KEY_IMAGES] = {"images", "", SCOPE_LEVEL, TYPE_NAME_LIST, "", NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL, "Images that a request may choose besides `image`."},
    [KEY_BACKEND] = {"backend", "", SCOPE_LEVEL, TYPE_WORD, "native", NULL, NULL, NULL, 0, 0, backends,
        COMBINE_ONE_OF, NULL, "What isolates: `native` or `docker`."},
    [KEY_BACKENDS] = {"backends", "", SCOPE_LEVEL, TYPE_WORD_LIST, "", NULL, NULL, NULL, 0, 0, backends,
        COMBINE_NONE, NULL, "Backends that a request may choose besides `backend`."},
    [KEY_RUNTIME] = {"runtime", "", SCOPE_LEVEL, TYPE_NAME, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_ONE_OF, NULL,
        "OCI runtime of the Docker backend, such as `runsc`; where it is not given, `docker.runtime` "
        "counts. "
        "A level that names one is not run natively."},
    [KEY_RUNTIMES] = {"runtimes", "", SCOPE_LEVEL, TYPE_NAME_LIST, "", NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL, "Runtimes that a request may choose besides `runtime`."},
    [KEY_ENV] = {"env", "", SCOPE_LEVEL, TYPE_ENV, "", NULL, NULL, NULL, 0, 0, NULL, COMBINE_MERGE, NULL,
        "Environment variables: a mapping, or a list of `NAME=VALUE`. A request may set these and others."},

    [KEY_TRUST_LEVELS] = {"trust_levels", "", SCOPE_TOP, TYPE_LEVELS, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_ONE_OF, "--trust",
        "A mapping from the name of a level to its keys. `trusted`, `untrusted` and `unknown` always "
        "exist."},

    [KEY_ALLOCATION] = {"allocation", "", SCOPE_TOP, TYPE_GROUP, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL, "How sandboxes share the host."},
    [KEY_DEFAULT_TRUST_LEVEL] = {"default_trust_level", "allocation", SCOPE_GROUP, TYPE_LEVEL, "unknown",
        NULL, NULL, NULL, 0, 0, NULL, COMBINE_NONE, NULL, "The level of a request that names none."},
    [KEY_CPU_SHARE] = {"cpu_share", "allocation", SCOPE_GROUP, TYPE_CPUS, "100%", NULL, NULL, "CPUs", 0.01,
        4096, NULL, COMBINE_NONE, NULL, "CPUs that all sandboxes may hold together."},
    [KEY_MEM_SHARE] = {"mem_share", "allocation", SCOPE_GROUP, TYPE_SIZE, "75%", NULL, NULL, "bytes", MIB,
        SIZE_MOST, NULL, COMBINE_NONE, NULL, "Memory that all sandboxes may hold together."},
    [KEY_WHEN_FULL] = {"when_full", "allocation", SCOPE_GROUP, TYPE_WORD, "queue", NULL, NULL, NULL, 0, 0,
        when_full, COMBINE_NONE, NULL, "`queue`: a run waits for its share. `reject`: it fails at once."},
    [KEY_QUEUE_LENGTH] = {"queue_length", "allocation", SCOPE_GROUP, TYPE_COUNT, "64", NULL, NULL, "runs", 1,
        65536, NULL, COMBINE_NONE, NULL, "Runs that may wait at the same time."},
    [KEY_QUEUE_TIMEOUT] = {"queue_timeout", "allocation", SCOPE_GROUP, TYPE_SECONDS, "300", NULL, NULL,
        "seconds", 0.001, SECONDS_MOST, NULL, COMBINE_NONE, NULL, "The longest that a run waits."},

    [KEY_MONITORING] = {"monitoring", "", SCOPE_TOP, TYPE_GROUP, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL, "How usage is sampled."},
    [KEY_INTERVAL] = {"interval", "monitoring", SCOPE_GROUP, TYPE_SECONDS, "0.1", NULL, NULL, "seconds",
        0.01, 3600, NULL, COMBINE_NONE, NULL, "Time between two samples of usage."},
    [KEY_SAMPLES] = {"samples", "monitoring", SCOPE_GROUP, TYPE_COUNT, "600", NULL, NULL, "samples", 2,
        100000, NULL, COMBINE_NONE, NULL, "Samples kept in a result; a longer run is thinned evenly."},

    [KEY_NATIVE] = {"native", "", SCOPE_TOP, TYPE_GROUP, NULL, NULL, NULL, NULL, 0, 0, NULL, COMBINE_NONE,
        NULL, "The native backend."},
    [KEY_UID_BASE] = {"uid_base", "native", SCOPE_GROUP, TYPE_COUNT, "1879048192", NULL, NULL, "uid", 65536,
        2147483648.0 - 65536, NULL, COMBINE_NONE, NULL,
        "First of the 65536 host uids that containers run as, one each, when root starts them."},

    [KEY_DOCKER] = {"docker", "", SCOPE_TOP, TYPE_GROUP, NULL, NULL, NULL, NULL, 0, 0, NULL, COMBINE_NONE,
        NULL, "The Docker backend."},
    [KEY_DOCKER_HOST] = {"host", "docker", SCOPE_GROUP, TYPE_ENDPOINT, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL,
        "Where the engine listens: `unix:///path` or `tcp://host:port`. Where it is not given, "
        "`DOCKER_HOST` "
        "counts."},
    [KEY_DOCKER_RUNTIME] = {"runtime", "docker", SCOPE_GROUP, TYPE_NAME, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL,
        "OCI runtime for levels that name none with `runtime`; where neither is given, the engine's own "
        "choice."},
    [KEY_DOCKER_READY] = {"ready", "docker", SCOPE_GROUP, TYPE_COUNT, "0", NULL, NULL, "containers", 0, 1024,
        NULL, COMBINE_NONE, NULL,
        "Containers of each kind that wait made, in a process that keeps its sandbox open."},
    [KEY_DOCKER_CALL_TIMEOUT] = {"call_timeout", "docker", SCOPE_GROUP, TYPE_SECONDS, "30", NULL, NULL,
        "seconds", 0.1, 3600, NULL, COMBINE_NONE, NULL,
        "The longest that the engine, or the init in a container, may take for an answer. Builds and pulls "
        "have more."},

    [KEY_WARM] = {"warm", "", SCOPE_TOP, TYPE_GROUP, NULL, NULL, NULL, NULL, 0, 0, NULL, COMBINE_NONE, NULL,
        "Interpreters started ahead of need. Has no keys yet: an empty mapping."},

    [KEY_NETWORK] = {"network", "", SCOPE_TOP, TYPE_GROUP, NULL, NULL, NULL, NULL, 0, 0, NULL, COMBINE_NONE,
        NULL, "What `network_mode: \"dependencies\"` may reach."},
    [KEY_NETWORK_USER] = {"user", "network", SCOPE_GROUP, TYPE_USER, "1879113728:1879113728", NULL, NULL,
        NULL, 0, 0, NULL, COMBINE_NONE, NULL,
        "`\"UID:GID\"` that the gateway runs as where root starts it. Nobody else's: it owns the cache."},
    [KEY_NETWORK_CACHE] = {"cache", "network", SCOPE_GROUP, TYPE_PATH, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL,
        "Directory of files that were fetched, for later runs. Where it is not given: "
        "`/var/cache/mai-sandbox/packages`, or `mai-sandbox/packages` in an ordinary user's cache."},
    [KEY_NETWORK_CACHE_LIMIT] = {"cache_limit", "network", SCOPE_GROUP, TYPE_BYTES, "4g", NULL, NULL,
        "bytes", MIB, SIZE_MOST, NULL, COMBINE_NONE, NULL,
        "Its size; what was not used for longest goes first."},
    [KEY_NETWORK_LIMITS] = {"limits", "network", SCOPE_GROUP, TYPE_GROUP, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL, "What one run may ask for, by all entries together."},
    [KEY_MAX_REQUESTS] = {"requests", LIMITS, SCOPE_GROUP, TYPE_COUNT, "4000", NULL, NULL, "requests", 1,
        1e6, NULL, COMBINE_NONE, NULL, "Requests to the gateway, good or bad."},
    [KEY_MAX_NAMES] = {"names", LIMITS, SCOPE_GROUP, TYPE_COUNT, "256", NULL, NULL, "names", 1, 1e6, NULL,
        COMBINE_NONE, NULL,
        "Distinct package names asked for upstream. This and the next say how much a program can tell an "
        "index that is in league with it."},
    [KEY_MAX_NAME_BYTES] = {"name_bytes", LIMITS, SCOPE_GROUP, TYPE_COUNT, "4096", NULL, NULL, "bytes", 1,
        1e8, NULL, COMBINE_NONE, NULL, "Their lengths together."},
    [KEY_MAX_MISSES] = {"misses", LIMITS, SCOPE_GROUP, TYPE_COUNT, "16", NULL, NULL, "names", 1, 1e6, NULL,
        COMBINE_NONE, NULL, "Names that no upstream knows; then no new name is asked for."},
    [KEY_MAX_FETCHES] = {"fetches", LIMITS, SCOPE_GROUP, TYPE_COUNT, "1024", NULL, NULL, "requests", 1, 1e6,
        NULL, COMBINE_NONE, NULL, "Requests to upstreams, redirects included."},
    [KEY_MAX_FILES] = {"files", LIMITS, SCOPE_GROUP, TYPE_COUNT, "512", NULL, NULL, "files", 1, 1e6, NULL,
        COMBINE_NONE, NULL, "Distinct files."},
    [KEY_MAX_BYTES] = {"bytes", LIMITS, SCOPE_GROUP, TYPE_BYTES, "1g", NULL, NULL, "bytes", 1, SIZE_MOST,
        NULL, COMBINE_NONE, NULL, "Pages and files together."},
    [KEY_WHITELIST] = {"whitelist", "network", SCOPE_GROUP, TYPE_ENTRIES, "pypi npm", NULL, NULL, NULL, 0, 0,
        NULL, COMBINE_ONE_OF, NULL,
        "A list of entries; nothing else can be reached. A request may name some of them (`--index`)."},
    [KEY_ENTRY_NAME] = {"name", ENTRY, SCOPE_GROUP, TYPE_NAME, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL, "The entry's own name, for events and messages. Required, used once."},
    [KEY_ENTRY_KIND] = {"kind", ENTRY, SCOPE_GROUP, TYPE_WORD, NULL, NULL, NULL, NULL, 0, 0, entry_kinds,
        COMBINE_NONE, NULL, "`pypi`, `npm`, or `web` (GET and HEAD below `prefixes`). Required."},
    [KEY_ENTRY_URL] = {"url", ENTRY, SCOPE_GROUP, TYPE_URL, NULL, NULL, NULL, NULL, 0, 0, NULL, COMBINE_NONE,
        NULL,
        "The index. Where absent: the one that the host's own pip or npm is configured for. `https`, or "
        "`http` where "
        "`addresses` are named."},
    [KEY_ENTRY_HOSTS] = {"hosts", ENTRY, SCOPE_GROUP, TYPE_HOST_LIST, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL,
        "Other hosts (`HOST` or `HOST:PORT`) on which the index keeps pages or files. Not for `web`."},
    [KEY_ENTRY_ADDRESSES] = {"addresses", ENTRY, SCOPE_GROUP, TYPE_CIDR_LIST, NULL, NULL, NULL, NULL, 0, 0,
        NULL, COMBINE_NONE, NULL,
        "Private or loopback networks (CIDR) that the entry may reach; else public addresses only."},
    [KEY_ENTRY_PACKAGES] = {"packages", ENTRY, SCOPE_GROUP, TYPE_GROUP, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL, "Which packages of an index; all where absent. Not for `web`."},
    [KEY_ENTRY_ALLOW] = {"allow", PACKAGES, SCOPE_GROUP, TYPE_GLOB_LIST, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL, "Names or patterns (`*`, `?`) of packages that may be fetched; others may not."},
    [KEY_ENTRY_DENY] = {"deny", PACKAGES, SCOPE_GROUP, TYPE_GLOB_LIST, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL, "Those that may not be, whatever `allow` says."},
    [KEY_ENTRY_PREFIXES] = {"prefixes", ENTRY, SCOPE_GROUP, TYPE_URL_LIST, NULL, NULL, NULL, NULL, 0, 0,
        NULL, COMBINE_NONE, NULL, "URLs below which a `web` entry may read. Required there."},
    [KEY_ENTRY_QUERY] = {"query", ENTRY, SCOPE_GROUP, TYPE_BOOL, "false", NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL, "Whether a `web` entry lets query strings through."},
    [KEY_ENTRY_GIT] = {"git", ENTRY, SCOPE_GROUP, TYPE_BOOL, "false", NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL,
        "Whether a `web` entry also takes the one POST that `git clone` needs (git-upload-pack)."},
    [KEY_ENTRY_SDIST] = {"sdist", ENTRY, SCOPE_GROUP, TYPE_BOOL, "false", NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL,
        "Whether `pypi` lists source distributions too. Their code runs when they are installed: inside."},
    [KEY_ENTRY_YANKED] = {"yanked", ENTRY, SCOPE_GROUP, TYPE_BOOL, "false", NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL, "Whether `pypi` lists files that were withdrawn."},
    [KEY_ENTRY_LOGIN] = {"login", ENTRY, SCOPE_GROUP, TYPE_SECRET, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL,
        "Where the index's `user:password` is to be read: `env:NAME`, a variable of whoever starts the run, "
        "or `file:/PATH`, which others must not be able to read. Never seen inside."},
    [KEY_ENTRY_TOKEN] = {"token", ENTRY, SCOPE_GROUP, TYPE_SECRET, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL, "The same for a bearer token. Not both."},
    [KEY_ENTRY_CA_BUNDLE] = {"ca_bundle", ENTRY, SCOPE_GROUP, TYPE_PATH, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL, "Certificates (PEM) to trust instead of `/etc/ssl/certs/ca-certificates.crt`."},
    [KEY_ENTRY_PROXY] = {"proxy", ENTRY, SCOPE_GROUP, TYPE_URL, NULL, NULL, NULL, NULL, 0, 0, NULL,
        COMBINE_NONE, NULL,
        "HTTP proxy to reach it by. The proxy then chooses addresses, which nobody vets: each result lists "
        "`addresses` as degraded. Variables such as `https_proxy` count for nothing."},
    [KEY_ENTRY_MAX_BYTES] = {"max_bytes", ENTRY, SCOPE_GROUP, TYPE_BYTES, NULL, NULL, NULL, "bytes", 1,
        SIZE_MOST, NULL, COMBINE_NONE, NULL, "Bytes that one run may fetch by this entry."},
    [KEY_ENTRY_MAX_FILES] = {"max_files", ENTRY, SCOPE_GROUP, TYPE_COUNT, NULL, NULL, NULL, "files", 1, 1e9,
        NULL, COMBINE_NONE, NULL, "Files that one run may fetch by this entry."},
};

static bool stands_in(const struct key *key, const char *group, bool in_level)
{
        return strcmp(key->group, group) == 0 && (!in_level || key->scope == SCOPE_LEVEL);
}

int key_find(const char *group, const char *name, bool in_level)
{
        for (int i = 0; i < KEY_COUNT_; i++)
                if (strcmp(policy_keys[i].name, name) == 0 && stands_in(&policy_keys[i], group, in_level))
                        return i;
        return -1;
}

const struct key *key_elsewhere(const char *name)
{
        for (int i = 0; i < KEY_COUNT_; i++)
                if (strcmp(policy_keys[i].name, name) == 0)
                        return &policy_keys[i];
        return NULL;
}

const char *key_path(const struct key *key, char buffer[KEY_PATH_MAX])
{
        (void)snprintf(buffer, KEY_PATH_MAX, "%s%s%s", key->group, *key->group ? "." : "", key->name);
        return buffer;
}

/* No name that we know is longer, and a longer word is not a slip of the pen. */
/* Keeps in *best what is nearer to `word`. */
static void keep_nearest(const char *word, const char *candidate, unsigned *best_distance, const char **best)
{
        size_t size = strlen(word), candidate_size = strlen(candidate);
        if (size > WORD_DISTANCE_MAX || candidate_size > WORD_DISTANCE_MAX)
                return;
        unsigned apart = word_distance(word, size, candidate, candidate_size);
        unsigned near = (unsigned)MAX(MAX(size, candidate_size) / 3, (size_t)1);
        if (apart <= near && apart < *best_distance) {
                *best_distance = apart;
                *best = candidate;
        }
}

const char *nearest_word(const char *word, const char *const *candidates, size_t count)
{
        const char *best = NULL;
        unsigned best_distance = WORD_DISTANCE_MAX;
        for (size_t i = 0; i < count; i++)
                keep_nearest(word, candidates[i], &best_distance, &best);
        return best;
}

const char *key_nearest(const char *group, const char *name, bool in_level)
{
        const char *best = NULL;
        unsigned best_distance = WORD_DISTANCE_MAX;
        for (int i = 0; i < KEY_COUNT_; i++)
                if (stands_in(&policy_keys[i], group, in_level))
                        keep_nearest(name, policy_keys[i].name, &best_distance, &best);
        return best;
}
