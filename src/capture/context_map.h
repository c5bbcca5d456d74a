/* SPDX-License-Identifier: Apache-2.0 */
/* The pinned map by which OpenTelemetry's eBPF instrumentation tells which span a thread is in. */
#ifndef CAPTURE_CONTEXT_MAP_H
#define CAPTURE_CONTEXT_MAP_H

struct bpf_map;

#define CONTEXT_MAP_PATH "/sys/fs/bpf/otel/traces_ctx_v1"

/*
 * Makes `map`, before it is loaded, the one pinned at `path`. 0, or why it stays an empty one of
 * our own: -ENOENT nothing there, -EINVAL of another shape, or what the kernel says.
 */
int context_map_use(struct bpf_map *map, const char *path);

#endif
