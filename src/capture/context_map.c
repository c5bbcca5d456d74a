/* SPDX-License-Identifier: Apache-2.0 */
/* Another tool made it: nothing is believed of it but what the kernel says of its shape. */
#include "capture/context_map.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#define KEY_BYTES   8  /* pid_tgid */
#define VALUE_BYTES 24 /* trace ID, span ID */

int context_map_use(struct bpf_map *map, const char *path)
{
	struct bpf_map_info info = {0};
	__u32 size = sizeof(info);
	int fd = bpf_obj_get(path), error;

	if (fd < 0)
		return -errno;
	error = bpf_obj_get_info_by_fd(fd, &info, &size) ? -errno : 0;
	if (!error && ((info.type != BPF_MAP_TYPE_HASH && info.type != BPF_MAP_TYPE_LRU_HASH) ||
		       info.key_size != KEY_BYTES || info.value_size != VALUE_BYTES))
		error = -EINVAL;
	if (!error)
		error = bpf_map__reuse_fd(map, fd);
	close(fd);
	return error;
}
