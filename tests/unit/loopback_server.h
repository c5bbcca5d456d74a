/* SPDX-License-Identifier: Apache-2.0 */
/* A scripted HTTP server on 127.0.0.1 for tests: keeps what it was sent, answers as told. */
#ifndef TESTS_LOOPBACK_SERVER_H
#define TESTS_LOOPBACK_SERVER_H

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define LOOPBACK_REQUESTS_MAX 256
#define LOOPBACK_REQUEST_MAX  65536

struct loopback_reply {
	const char *bytes; /* NULL: never answer */
	size_t size;
	bool hang_up; /* close the connection behind the bytes */
};

#define LOOPBACK_REPLY(text)                                                                       \
	{                                                                                          \
		text, sizeof(text) - 1, false                                                      \
	}
#define LOOPBACK_OK LOOPBACK_REPLY("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

struct loopback_request {
	char *head; /* up to and with the empty line */
	char *body;
	size_t body_size;
	uint64_t time_ns;
};

struct loopback_server {
	int fd, stop_fd;
	unsigned port;
	const struct loopback_reply *replies; /* the last one is repeated */
	size_t reply_count;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	struct loopback_request requests[LOOPBACK_REQUESTS_MAX];
	size_t request_count;
};

/* False: stop. */
static inline bool loopback_wait(struct loopback_server *s, int fd)
{
	struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = s->stop_fd, .events = POLLIN}};

	poll(fds, 2, -1);
	return !fds[1].revents;
}

/* Reads until `wanted` bytes are there, or the empty line when it is 0. Returns the end. */
static inline size_t loopback_read(struct loopback_server *s, int fd, char *to, size_t *size,
				   size_t wanted)
{
	ssize_t got;
	char *end;

	for (;;) {
		to[*size] = '\0';
		end = wanted ? NULL : strstr(to, "\r\n\r\n");
		if (end)
			return (size_t)(end - to) + 4;
		if (wanted && *size >= wanted)
			return wanted;
		if (*size == LOOPBACK_REQUEST_MAX || !loopback_wait(s, fd))
			return 0;
		got = recv(fd, to + *size, LOOPBACK_REQUEST_MAX - *size, 0);
		if (got <= 0)
			return 0;
		*size += (size_t)got;
	}
}

static inline bool loopback_take(struct loopback_server *s, int fd, char *text)
{
	struct loopback_request *request;
	size_t size = 0, head, body = 0;
	const char *length;

	head = loopback_read(s, fd, text, &size, 0);
	if (!head)
		return false;
	length = strcasestr(text, "\r\ncontent-length:");
	if (length && length < text + head)
		body = strtoul(length + 17, NULL, 10);
	if (body && !loopback_read(s, fd, text, &size, head + body))
		return false;
	pthread_mutex_lock(&s->lock);
	request = &s->requests[s->request_count++ % LOOPBACK_REQUESTS_MAX];
	request->head = strndup(text, head);
	request->body = memcpy(malloc(body + 1), text + head, body);
	request->body_size = body;
	request->time_ns = clock_monotonic_ns();
	pthread_mutex_unlock(&s->lock);
	return true;
}

/* Serves one connection; false: stop. */
static inline bool loopback_serve(struct loopback_server *s, int fd)
{
	const struct loopback_reply *reply;
	char *text = malloc(LOOPBACK_REQUEST_MAX + 1);
	bool go_on = true;

	while (loopback_take(s, fd, text)) {
		size_t i = s->request_count - 1;

		reply = &s->replies[i < s->reply_count ? i : s->reply_count - 1];
		if (!reply->bytes) {
			go_on = loopback_wait(s, -1);
			break;
		}
		if (send(fd, reply->bytes, reply->size, MSG_NOSIGNAL) < 0 || reply->hang_up)
			break;
	}
	free(text);
	close(fd);
	return go_on;
}

static inline void *loopback_run(void *context)
{
	struct loopback_server *s = context;
	int fd;

	while (loopback_wait(s, s->fd)) {
		fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0 && !loopback_serve(s, fd))
			break;
	}
	return NULL;
}

static inline int loopback_open(struct loopback_server *s, const struct loopback_reply *replies,
				size_t count)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	memset(s, 0, sizeof(*s));
	s->replies = replies;
	s->reply_count = count;
	pthread_mutex_init(&s->lock, NULL);
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0 || s->stop_fd < 0 ||
	    bind(s->fd, (struct sockaddr *)&address, sizeof(address)) || listen(s->fd, 8) ||
	    getsockname(s->fd, (struct sockaddr *)&address, &size))
		return -1;
	s->port = ntohs(address.sin_port);
	return pthread_create(&s->thread, NULL, loopback_run, s);
}

static inline size_t loopback_count(struct loopback_server *s)
{
	size_t count;

	pthread_mutex_lock(&s->lock);
	count = s->request_count;
	pthread_mutex_unlock(&s->lock);
	return count;
}

/* Waits until `count` requests came, at most 5 s. */
static inline bool loopback_has(struct loopback_server *s, size_t count)
{
	for (int i = 0; i < 500 && loopback_count(s) < count; i++)
		usleep(10000);
	return loopback_count(s) >= count;
}

/* Stops the thread; what it was sent stays readable until loopback_close. */
static inline void loopback_stop(struct loopback_server *s)
{
	eventfd_write(s->stop_fd, 1);
	pthread_join(s->thread, NULL);
	close(s->fd);
	close(s->stop_fd);
}

static inline void loopback_close(struct loopback_server *s)
{
	size_t i;

	for (i = 0; i < LOOPBACK_REQUESTS_MAX; i++) {
		free(s->requests[i].head);
		free(s->requests[i].body);
	}
	pthread_mutex_destroy(&s->lock);
}

#endif
