/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine sends on the attached connection: the multiplexed stream, the guest frames in it, what the
 * supervisor makes of each, and at last the evidence. The first byte says how the bytes are cut, and whether
 * the gate was opened before. What must hold: no crash, no leak; however it is cut, the same frames come out
 * and the same end is reached; nothing has started, and no program has ended, before the gate.
 */
#include "sandbox/docker/container.h"

#include <curl/curl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EVENTS_MAX 4096U

static void must(bool condition)
{
        if (!condition)
                abort();
}

/* What came out of one way of cutting. */
struct outcome {
        unsigned frames, events;
        uint64_t sum; /* of what the frames held */
        int end;      /* 0, or what went wrong */
};

static const char account[] =
    "{\"HostConfig\":{\"Memory\":1048576,\"MemorySwap\":1048576,\"PidsLimit\":11,\"NetworkMode\":\"none\","
    "\"IpcMode\":\"private\",\"PidMode\":\"\",\"UTSMode\":\"\",\"ReadonlyRootfs\":true,\"Runtime\":\"runc\"}"
    ","
    "\"State\":{\"Pid\":0}}";

static void container_begin(struct container *c, const struct container_spec *spec, bool gate)
{
        *c = (struct container){
            .spec = spec,
            .engine = ENGINE_INIT,
            .attach = ATTACH_INIT,
            .epoll = -1,
            .timer = -1,
            .input = -1,
            .told_gate = gate,
            .complaints = STRBUF_INIT(4096),
        };
}

static void container_end(struct container *c)
{
        if (c->guest_evidence) {
                _cleanup_(error_clear) struct error err = {};
                c->inspected = strdup(account);
                if (c->inspected && evidence_gather(c, &err) < 0)
                        must(err.code != ERROR_NONE && err.message);
        }
        frame_reader_clear(&c->reader);
        strbuf_clear(&c->complaints);
        error_clear(&c->error);
        free(c->guest_evidence);
        free(c->inspected);
        free(c->file);
}

static int take_frame(struct container *c, const struct received_frame *frame, struct outcome *outcome)
{
        struct container_event event = {};
        int r = guest_take_frame(c, frame, &event);
        outcome->frames++;
        for (uint32_t i = 0; i < frame->size; i++)
                outcome->sum = outcome->sum * 31 + (unsigned char)frame->payload[i];
        if (r < 0)
                return r;
        outcome->events += event.type != CONTAINER_NOTHING;
        if (event.type == CONTAINER_STARTED || event.type == CONTAINER_EXITED)
                must(c->told_gate);
        if (event.type == CONTAINER_FILE || event.type == CONTAINER_FILE_SKIPPED) {
                for (size_t i = 0; i < event.file.path_size; i++)
                        outcome->sum += (unsigned char)event.file.path[i];
                must(event.file.size <= c->spec->limits.disk_limit);
        }
        return 0;
}

static int take_piece(struct container *c, const char *piece, size_t size, struct outcome *outcome)
{
        struct received_frame frame;
        int r;
        while ((r = frame_reader_next(&c->reader, &piece, &size, &frame)) > 0) {
                r = take_frame(c, &frame, outcome);
                if (r < 0)
                        return r;
        }
        return r;
}

static struct outcome play(const char *data, size_t size, size_t step, bool gate)
{
        const struct container_spec spec = {.limits = {.mem_limit = 1 << 20,
                                                .pids_limit = 10,
                                                .disk_limit = 1 << 20,
                                                .inode_limit = 100,
                                                .open_files = 64,
                                                .cpu_count = 1},
            .read_only = true};
        struct container c;
        struct demux demux = {};
        struct outcome outcome = {};
        container_begin(&c, &spec, gate);
        for (size_t at = 0; at < size && outcome.end == 0; at += step) {
                const char *part = data + at, *piece;
                size_t part_size = MIN(step, size - at), piece_size;
                enum demux_stream stream;
                int r;
                while ((r = demux_next(&demux, &part, &part_size, &stream, &piece, &piece_size)) > 0) {
                        if (stream == DEMUX_STDOUT)
                                r = take_piece(&c, piece, piece_size, &outcome);
                        if (r < 0)
                                break;
                }
                outcome.end = r < 0 ? r : 0;
        }
        container_end(&c);
        return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size < 1)
                return 0;
        const char *bytes = (const char *)data + 1;
        size_t step = 1 + data[0] % 64;
        bool gate = data[0] & 64;
        struct outcome whole = play(bytes, size - 1, SIZE_MAX / 2, gate);
        struct outcome parts = play(bytes, size - 1, step, gate);
        must(whole.frames == parts.frames && whole.events == parts.events && whole.sum == parts.sum);
        must(whole.end == parts.end);
        return 0;
}
