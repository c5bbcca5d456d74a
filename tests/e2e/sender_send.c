/* SPDX-License-Identifier: Apache-2.0 */
/* Sends files as OTLP requests of one sample each: sender_send FLUSH_MS PAUSE_MS ENDPOINT FILE...
 * An endpoint of "-" is that of the environment. Prints what the sender counted. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "export/sender.h"

#define FILE_BYTES_MAX (16 << 20)

static int send_file(struct sender *sender, const char *path)
{
	FILE *file = fopen(path, "rb");
	struct buffer request;
	char block[65536];
	size_t size;
	int err;

	if (!file)
		return -1;
	buffer_open(&request, FILE_BYTES_MAX);
	while ((size = fread(block, 1, sizeof(block), file)))
		buffer_add(&request, block, size);
	fclose(file);
	err = request.failed ? -1 : sender_send(sender, &request, 1);
	buffer_close(&request);
	return err;
}

int main(int argc, char **argv)
{
	struct log log = {.fd = STDERR_FILENO};
	struct sender_config config = {.log = &log, .queue_bytes_max = 64 << 20};
	struct sender_stats stats;
	struct sender *sender;
	char why[512];

	if (argc < 4)
		return 2;
	config.flush_timeout_ms = strtoull(argv[1], NULL, 10);
	config.endpoint = strcmp(argv[3], "-") ? argv[3] : NULL;
	if (sender_open(&config, &sender, why, sizeof(why))) {
		fprintf(stderr, "%s\n", why);
		return 2;
	}
	for (int i = 4; i < argc; i++) {
		if (send_file(sender, argv[i]))
			fprintf(stderr, "cannot send %s\n", argv[i]);
		usleep((useconds_t)atoi(argv[2]) * 1000);
	}
	sender_close(sender, &stats);
	printf("requests %" PRIu64 " sent %" PRIu64 " dropped %" PRIu64 " rejected %" PRIu64
	       " last %s\n",
	       stats.requests_ok, stats.samples_sent, stats.samples_dropped,
	       stats.profiles_rejected, stats.last_error);
	return stats.samples_dropped != 0;
}
