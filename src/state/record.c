/* SPDX-License-Identifier: Apache-2.0 */
#include "state/record.h"

#include "util/parse.h"

#include <inttypes.h>

#define HEADING "mai-sandbox record 1\n"
#define ENDING "end\n"
#define HEX_DIGITS "0123456789abcdef"
#define BACKEND_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-_"
#define WAITING_PREFIX "waiting."

/* Every line of a record, in order. `text` 0: a number. */
static const struct record_field {
        const char *key;
        size_t offset;
        size_t text; /* size of the member */
        bool container, waiting;
} fields[] = {
    {"id", offsetof(struct record_data, id), sizeof((struct record_data *)0)->id, true, false},
    {"slot", offsetof(struct record_data, slot), 0, true, false},
    {"ticket", offsetof(struct record_data, ticket), 0, false, true},
    {"backend", offsetof(struct record_data, backend), sizeof((struct record_data *)0)->backend, true, true},
    {"trust_level", offsetof(struct record_data, trust_level), sizeof((struct record_data *)0)->trust_level,
        true, true},
    {"pid", offsetof(struct record_data, pid), 0, true, true},
    {"boot_id", offsetof(struct record_data, boot_id), sizeof((struct record_data *)0)->boot_id, true,
        false},
    {"micro_cpus", offsetof(struct record_data, micro_cpus), 0, true, true},
    {"memory", offsetof(struct record_data, memory), 0, true, true},
    {"started_at", offsetof(struct record_data, started_at), sizeof((struct record_data *)0)->started_at,
        true, false},
    {"level_concurrency", offsetof(struct record_data, level_concurrency), 0, false, true},
    {"share_micro_cpus", offsetof(struct record_data, share_micro_cpus), 0, false, true},
    {"share_memory", offsetof(struct record_data, share_memory), 0, false, true},
    {"deadline", offsetof(struct record_data, deadline), 0, false, true},
};

static bool belongs(const struct record_field *field, enum record_kind kind)
{
        return kind == RECORD_WAITING ? field->waiting : field->container;
}

static bool is_plain(const char *text)
{
        for (; *text != '\0'; text++)
                if ((unsigned char)*text < ' ' || *text == 0x7f)
                        return false;
        return true;
}

static bool container_name_parse(const char *name, struct record_data *data)
{
        size_t id_length = LEDGER_ID_SIZE - 1;
        if (strspn(name, HEX_DIGITS) != id_length || name[id_length] != '.')
                return false;
        const char *slot_text = name + id_length + 1;
        size_t slot_length = strspn(slot_text, "0123456789");
        if (slot_length == 0 || slot_length > 5 || slot_text[slot_length] != '.')
                return false;
        char digits[6] = {};
        memcpy(digits, slot_text, slot_length);
        uint64_t slot;
        if (!parse_u64(digits, &slot) || slot >= RECORD_SLOTS)
                return false;
        const char *backend = slot_text + slot_length + 1;
        size_t backend_length = strspn(backend, BACKEND_LETTERS);
        if (backend_length == 0 || backend_length >= sizeof data->backend || backend[backend_length] != '\0')
                return false;
        memcpy(data->id, name, id_length);
        data->id[id_length] = '\0';
        data->slot = slot;
        memcpy(data->backend, backend, backend_length + 1);
        return true;
}

enum record_kind record_name_parse(const char *name, struct record_data *data)
{
        size_t prefix = strlen(WAITING_PREFIX);
        uint64_t ticket;
        if (strncmp(name, WAITING_PREFIX, prefix) == 0) {
                if (!parse_u64(name + prefix, &ticket) || ticket == UINT64_MAX)
                        return RECORD_OTHER;
                data->ticket = ticket;
                return RECORD_WAITING;
        }
        return container_name_parse(name, data) ? RECORD_CONTAINER : RECORD_OTHER;
}

void record_name_format(
    enum record_kind kind, const struct record_data *data, char ret_name[RECORD_NAME_SIZE])
{
        if (kind == RECORD_WAITING)
                (void)snprintf(ret_name, RECORD_NAME_SIZE, WAITING_PREFIX "%" PRIu64, data->ticket);
        else
                (void)snprintf(
                    ret_name, RECORD_NAME_SIZE, "%s.%" PRIu64 ".%s", data->id, data->slot, data->backend);
}

int record_format(enum record_kind kind, const struct record_data *data, char ret_text[RECORD_TEXT_MAX])
{
        size_t used = strlen(HEADING);
        memcpy(ret_text, HEADING, used + 1);
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
                if (!belongs(&fields[i], kind))
                        continue;
                const char *member = (const char *)data + fields[i].offset;
                size_t room = RECORD_TEXT_MAX - used;
                int n;
                if (fields[i].text > 0) {
                        if (!is_plain(member))
                                return -EINVAL;
                        n = snprintf(ret_text + used, room, "%s=%s\n", fields[i].key, member);
                } else {
                        uint64_t number;
                        memcpy(&number, member, sizeof number);
                        n = snprintf(ret_text + used, room, "%s=%" PRIu64 "\n", fields[i].key, number);
                }
                if (n < 0 || (size_t)n >= room)
                        return -EINVAL;
                used += (size_t)n;
        }
        if (RECORD_TEXT_MAX - used < sizeof ENDING)
                return -EINVAL;
        memcpy(ret_text + used, ENDING, sizeof ENDING);
        return (int)(used + strlen(ENDING));
}

/* Reads one "key=value\n" at *text and moves behind it. */
static bool field_parse(const struct record_field *field, const char **text, struct record_data *data)
{
        size_t key_length = strlen(field->key);
        if (strncmp(*text, field->key, key_length) != 0 || (*text)[key_length] != '=')
                return false;
        const char *value = *text + key_length + 1;
        const char *end = strchr(value, '\n');
        if (!end)
                return false;
        size_t length = (size_t)(end - value);
        char copy[80];
        if (length >= (field->text > 0 ? field->text : sizeof copy))
                return false;
        memcpy(copy, value, length);
        copy[length] = '\0';
        char *member = (char *)data + field->offset;
        if (field->text > 0) {
                if (!is_plain(copy))
                        return false;
                memcpy(member, copy, length + 1);
        } else {
                uint64_t number;
                if (!parse_u64(copy, &number))
                        return false;
                memcpy(member, &number, sizeof number);
        }
        *text = end + 1;
        return true;
}

int record_parse(enum record_kind kind, const char *text, struct record_data *ret)
{
        struct record_data data = {};
        if (strncmp(text, HEADING, strlen(HEADING)) != 0)
                return -EBADMSG;
        text += strlen(HEADING);
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
                if (belongs(&fields[i], kind) && !field_parse(&fields[i], &text, &data))
                        return -EBADMSG;
        if (strcmp(text, ENDING) != 0)
                return -EBADMSG;
        *ret = data;
        return 0;
}
