/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What mai-sandbox-image, the program that unpacks images, tells the library that started it: fixed structs
 * over one SEQPACKET socket, any number of PROGRESS and then either DONE or FAILED. The library believes
 * none of it further than the unpacked image itself: texts are cut and checked.
 *
 *   mai-sandbox-image MAX_BYTES MAX_ENTRIES
 *
 * with these descriptors open.
 */
#pragma once

#include "protocol/failure.h"

#define IMPORTER_PROTOCOL_VERSION 1U

/* Who the importer is where root started it, and so who the files of root's images belong to: just below the
 * default native.uid_base, an id that no container and nobody else has. */
#define IMPORTER_UID 1879048191U

#define IMPORTER_SOURCE_FD 3 /* a regular file, or a directory that holds an OCI layout */
#define IMPORTER_TARGET_FD 4 /* a directory with two more in it, both empty */
#define IMPORTER_SOCKET_FD 5

#define IMPORTER_ROOT "root"     /* where the tree goes */
#define IMPORTER_LAYOUT "layout" /* room for an archive's parts while it is unpacked */

/* The bounds where the caller names none. */
#define IMAGE_BYTES_MAX (UINT64_C(16) << 30)
#define IMAGE_ENTRIES_MAX 1000000U

#define IMPORTER_DIGEST_SIZE 80 /* "sha256:" and 64 digits */
#define IMPORTER_SEARCH_PATH_SIZE 2048

enum importer_message_type {
        IMPORTER_PROGRESS = 1,
        IMPORTER_DONE,
        IMPORTER_FAILED,
};

struct importer_message {
        uint32_t version; /* IMPORTER_PROTOCOL_VERSION */
        uint32_t type;    /* enum importer_message_type */
        union {
                struct {
                        uint32_t parts_done, parts; /* layers */
                        uint64_t bytes_done, bytes; /* of them, as they lie in the source */
                } progress;
                struct {
                        char format[16];                             /* "tar", "oci" or "docker" */
                        char digest[IMPORTER_DIGEST_SIZE];           /* of the configuration; of the tar */
                        char manifest_digest[IMPORTER_DIGEST_SIZE];  /* or "" */
                        char search_path[IMPORTER_SEARCH_PATH_SIZE]; /* PATH of its configuration, or "" */
                        uint32_t layers;
                        uint32_t reserved;
                        uint64_t bytes;   /* of all files */
                        uint64_t entries; /* files, directories and links */
                        uint64_t skipped; /* devices, FIFOs and sockets, which were left out */
                } done;
                struct setup_failure failure;
        };
};
