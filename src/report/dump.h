/* SPDX-License-Identifier: Apache-2.0 */
/* dump: the open spans of a process, who works for them and where those stand. */
#ifndef REPORT_DUMP_H
#define REPORT_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buffer;
struct frame;

/* All strings are lent and clean. */
struct dump_options {
	bool color;
	unsigned columns; /* of the terminal; 0: plain pipe, nothing is cut */
};

struct dump_head {
	const char *service;
	pid_t pid;
	size_t spans, goroutines; /* those whose stacks were read */
	size_t left_out;	  /* goroutines with open spans for which there was no room */
	size_t ran;		  /* goroutines that could not be read */
	const uint64_t *ran_goids;
	size_t ran_goid_count; /* of the first of them */
};

/* A goroutine that another one may wait for. */
struct dump_candidate {
	const char *span_name;
	uint8_t span_id[8];
	uint64_t goid;
	const struct frame *at;
};

struct dump_goroutine {
	uint64_t goid;
	const char *state; /* "[chan receive]" */
	bool by_context;   /* it holds but a context that leads to the span */
	/* It works for another span, under which its whole stack stands; NULL: for this one. */
	const uint8_t *other_span_id;
	const struct frame *const *frames; /* that are to be printed, leaf first */
	size_t frame_count;
	size_t deeper; /* frames that are not known */
	bool for_lock; /* candidates hold it, maybe; else they might be about to wake this one */
	const struct dump_candidate *candidates;
	size_t candidate_count, candidates_more; /* named, and beyond them */
};

struct dump_span {
	const char *name;
	uint8_t trace_id[16], span_id[8];
	uint64_t age_ns;
	const struct dump_goroutine *goroutines;
	size_t goroutine_count, goroutines_more; /* listed, and beyond them */
};

/* Each appends UTF-8 text. */
void dump_print_head(const struct dump_options *options, const struct dump_head *head,
		     struct buffer *out);
void dump_print_span(const struct dump_options *options, size_t number,
		     const struct dump_span *span, struct buffer *out);
/* What candidates are, below spans that have some. */
void dump_print_note(const struct dump_options *options, struct buffer *out);

#endif
