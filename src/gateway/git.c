/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/git.h"

#define LINE_MAX_BYTES 65520 /* of git's own packets */
#define DEPTH_BITS 31
#define SHAPE_BITS 2 /* whether it is the first, a further or the last question */

/* ---- Packets: four hexadecimal digits of length, then that many bytes less four; "0000" ends a part ----
 */

struct packets {
        const char *data;
        size_t size;
};

struct packet {
        bool flush;
        const char *data; /* without the newline at its end */
        size_t size;
};

static int hex_value(char c)
{
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False if there is none, or a broken one; the two are told apart by what is left. */
static bool take_packet(struct packets *packets, struct packet *ret)
{
        size_t length = 0;
        if (packets->size < 4)
                return false;
        for (size_t i = 0; i < 4; i++) {
                int value = hex_value(packets->data[i]);
                if (value < 0)
                        return false;
                length = length << 4 | (size_t)value;
        }
        if ((length < 4 && length != 0) || length > packets->size || length > LINE_MAX_BYTES)
                return false;
        *ret = (struct packet){.flush = length == 0};
        if (length > 4) {
                ret->data = packets->data + 4;
                ret->size = length - 4;
                if (ret->data[ret->size - 1] == '\n')
                        ret->size--;
        }
        size_t taken = MAX(length, (size_t)4);
        packets->data += taken;
        packets->size -= taken;
        return true;
}

static bool starts_with(const struct packet *packet, const char *text)
{
        size_t length = strlen(text);
        return packet->size >= length && memcmp(packet->data, text, length) == 0;
}

/* An object's name at the front; the length of it, or 0. */
static size_t take_id(const char *data, size_t size, struct git_id *ret)
{
        size_t length = 0;
        while (length < size && length < GIT_ID_MAX && hex_value(data[length]) >= 0)
                length++;
        if (length != 40 && length != GIT_ID_MAX)
                return 0;
        memcpy(ret->text, data, length);
        ret->text[length] = '\0';
        return length;
}

/* ---- What the server lists ---- */

static int compare_ids(const void *a, const void *b)
{
        return strcmp(((const struct git_id *)a)->text, ((const struct git_id *)b)->text);
}

/* In order, each once. */
static void settle(struct git_ids *ids)
{
        size_t used = 0;
        if (ids->count > 0)
                qsort(ids->ids, ids->count, sizeof *ids->ids, compare_ids);
        for (size_t i = 0; i < ids->count; i++)
                if (used == 0 || compare_ids(&ids->ids[used - 1], &ids->ids[i]) != 0)
                        ids->ids[used++] = ids->ids[i];
        ids->count = used;
}

static int add_id(struct git_ids *ids, const struct git_id *id)
{
        if (ids->count == GIT_IDS_MAX)
                return -E2BIG;
        if ((ids->count & (ids->count - 1)) == 0) { /* room doubles */
                size_t room = MAX(ids->count * 2, (size_t)1);
                struct git_id *larger = reallocarray(ids->ids, room, sizeof *larger);
                if (!larger)
                        return -ENOMEM;
                ids->ids = larger;
        }
        ids->ids[ids->count++] = *id;
        return 0;
}

void git_ids_clear(struct git_ids *ids)
{
        free(ids->ids);
        *ids = (struct git_ids){};
}

int git_refs_read(const char *data, size_t size, struct git_ids *ret)
{
        _cleanup_(git_ids_clear) struct git_ids ids = {};
        struct packets packets = {data, size};
        struct packet packet;
        if (!take_packet(&packets, &packet) || !starts_with(&packet, "# service=git-upload-pack") ||
            !take_packet(&packets, &packet) || !packet.flush)
                return -EINVAL;
        while (take_packet(&packets, &packet) && !packet.flush) {
                struct git_id id;
                size_t length = take_id(packet.data, packet.size, &id);
                int r =
                    length > 0 && length < packet.size && packet.data[length] == ' ' ? add_id(&ids, &id) : 0;
                if (r < 0)
                        return r;
        }
        if (packets.size > 0)
                return -EINVAL;
        settle(&ids);
        *ret = ids;
        ids = (struct git_ids){};
        return 0;
}

/* ---- What the client asks for ---- */

/* Those that change what is sent, and carry nothing of the client's own. */
static const char *const capabilities[] = {"multi_ack", "multi_ack_detailed", "no-done", "side-band",
    "side-band-64k", "ofs-delta", "thin-pack", "no-progress", "include-tag", "object-format=sha1",
    "object-format=sha256"};

struct question {
        struct git_ids wants;
        bool capabilities[ARRAY_SIZE(capabilities)];
        uint64_t depth; /* 0: whole */
        bool more;      /* a second part, which says what the client has: left out */
        bool done;
};

static void question_clear(struct question *question)
{
        git_ids_clear(&question->wants);
}

static void take_capabilities(struct question *question, const char *data, size_t size)
{
        while (size > 0) {
                const char *space = memchr(data, ' ', size);
                size_t length = space ? (size_t)(space - data) : size;
                for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++)
                        if (strlen(capabilities[i]) == length && memcmp(capabilities[i], data, length) == 0)
                                question->capabilities[i] = true;
                size_t taken = MIN(length + 1, size);
                data += taken;
                size -= taken;
        }
}

static enum reason take_want(
    struct question *question, const struct packet *packet, const struct git_ids *listed)
{
        struct git_id id;
        const char *data = packet->data + strlen("want ");
        size_t size = packet->size - strlen("want ");
        size_t length = take_id(data, size, &id);
        bool first = question->wants.count == 0;
        if (length == 0 || (length < size && (!first || data[length] != ' ')))
                return REASON_GIT;
        if (!bsearch(&id, listed->ids, listed->count, sizeof id, compare_ids))
                return REASON_GIT;
        if (length < size)
                take_capabilities(question, data + length + 1, size - length - 1);
        return add_id(&question->wants, &id) == 0 ? REASON_NONE : REASON_TOO_LARGE;
}

static enum reason take_depth(struct question *question, const struct packet *packet)
{
        size_t start = strlen("deepen ");
        if (question->depth > 0 || packet->size <= start || packet->size > start + 9)
                return REASON_GIT;
        uint64_t depth = 0;
        for (size_t i = start; i < packet->size; i++) {
                if (packet->data[i] < '0' || packet->data[i] > '9')
                        return REASON_GIT;
                depth = depth * 10 + (uint64_t)(packet->data[i] - '0');
        }
        question->depth = depth;
        return depth > 0 ? REASON_NONE : REASON_GIT;
}

/* The first part: what is wanted. */
static enum reason read_wants(
    struct packets *packets, const struct git_ids *listed, struct question *question)
{
        struct packet packet;
        while (take_packet(packets, &packet)) {
                enum reason reason = REASON_GIT;
                if (packet.flush)
                        return question->wants.count > 0 ? REASON_NONE : REASON_GIT;
                if (starts_with(&packet, "want ") && question->depth == 0)
                        reason = take_want(question, &packet, listed);
                else if (starts_with(&packet, "deepen ") && question->wants.count > 0)
                        reason = take_depth(question, &packet);
                if (reason != REASON_NONE)
                        return reason;
        }
        return REASON_GIT;
}

/* The second: what the client has, which could be any number that it likes to tell. */
static enum reason read_haves(struct packets *packets, struct question *question)
{
        struct packet packet;
        while (packets->size > 0) {
                struct git_id id;
                if (question->done || !take_packet(packets, &packet))
                        return REASON_GIT;
                question->more = true;
                question->done = !packet.flush && packet.size == 4 && starts_with(&packet, "done");
                bool have = !packet.flush && starts_with(&packet, "have ") &&
                            take_id(packet.data + 5, packet.size - 5, &id) == packet.size - 5;
                if (!packet.flush && !question->done && !have)
                        return REASON_GIT;
        }
        return REASON_NONE;
}

static int write_wants(const struct question *question, struct strbuf *ret)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < question->wants.count; i++) {
                char words[256] = "";
                size_t used = 0;
                for (size_t j = 0; i == 0 && j < ARRAY_SIZE(capabilities); j++)
                        if (question->capabilities[j])
                                used += (size_t)snprintf(
                                    words + used, sizeof words - used, " %s", capabilities[j]);
                const char *id = question->wants.ids[i].text;
                r = strbuf_appendf(
                    ret, "%04zxwant %s%s\n", 4 + strlen("want ") + strlen(id) + used + 1, id, words);
        }
        return r;
}

static int write_question(const struct question *question, struct strbuf *ret)
{
        char depth[32];
        int r = write_wants(question, ret);
        if (r == 0 && question->depth > 0) {
                int n = snprintf(depth, sizeof depth, "deepen %llu\n", (unsigned long long)question->depth);
                r = strbuf_appendf(ret, "%04x%s", (unsigned)n + 4, depth);
        }
        if (r == 0)
                r = strbuf_append_text(ret, "0000");
        if (r == 0 && question->more)
                r = strbuf_append_text(ret, question->done ? "0009done\n" : "0000");
        return r;
}

/* A choice among those listed: a bit for each, or the number of each one chosen, whatever is less. */
static uint64_t bits_of(const struct question *question, const struct git_ids *listed)
{
        uint64_t width = 1;
        while ((UINT64_C(1) << width) < listed->count)
                width++;
        uint64_t choice = MIN((uint64_t)listed->count, width * question->wants.count);
        return choice + ARRAY_SIZE(capabilities) + SHAPE_BITS + (question->depth > 0 ? DEPTH_BITS : 0);
}

enum reason git_request_rewrite(
    const char *data, size_t size, const struct git_ids *listed, struct strbuf *ret, uint64_t *ret_bits)
{
        _cleanup_(question_clear) struct question question = {};
        struct packets packets = {data, size};
        enum reason reason = read_wants(&packets, listed, &question);
        if (reason == REASON_NONE)
                reason = read_haves(&packets, &question);
        if (reason != REASON_NONE)
                return reason;
        settle(&question.wants);
        if (write_question(&question, ret) < 0)
                return REASON_TOO_LARGE;
        *ret_bits = bits_of(&question, listed);
        return REASON_NONE;
}
