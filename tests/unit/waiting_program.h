/* SPDX-License-Identifier: Apache-2.0 */
/* A process that does nothing but wait, of an executable that has the tables of a Go program. */
#ifndef UNIT_WAITING_PROGRAM_H
#define UNIT_WAITING_PROGRAM_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "go_program.h"

#if defined(__aarch64__) /* ppoll(NULL, 0, NULL, NULL) for ever */
static const uint32_t wait_for_ever[] = {0xd2800000, 0xd2800001, 0xd2800002, 0xd2800003,
					 0xd2800928, 0xd4000001, 0x17fffffa};
#else /* pause() for ever */
static const uint8_t wait_for_ever[] = {0xb8, 0x22, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7};
#endif

/* A program that does nothing but wait, with Go's tables behind its end. */
static inline void waiting_program_make(char *path, size_t index)
{
	static struct go_program program;
	Elf64_Ehdr head;
	int fd;

	sprintf(path, "/tmp/waiting_program_%d_%zu", getpid(), index);
	go_program_fill(&program, false, "go.opentelemetry.io/otel/sdk/trace", false);
	memcpy(&head, program.image.data, sizeof(head));
	head.e_entry = GO_IMAGE_TEXT_END - 32;
	memcpy(program.image.data, &head, sizeof(head));
	go_image_put(&program.image, head.e_entry, wait_for_ever, sizeof(wait_for_ever));
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	assert_int_equal(write(fd, program.image.data, sizeof(program.image.data)),
			 sizeof(program.image.data));
	close(fd);
}

/* Returns when it has become the program. */
static inline pid_t waiting_program_run(const char *path)
{
	char *const arguments[] = {(char *)path, NULL};
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* also of a test that fails */
		execve(path, arguments, (char *[]){NULL});
		_exit(127);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	return pid;
}

#endif
