/* SPDX-License-Identifier: Apache-2.0 */
/* capture: loads and attaches the BPF programs and reads their records. Knows no ELF. */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <spanprof/record.h>
#include <spanprof/target.h>

struct capture;

struct capture_config {
	uint32_t frequency_hz;
	bool kernel_stacks;
	bool every_process;	 /* announce every exec and exit, not only of descendants */
	uint32_t ring_bytes;	 /* a power of two */
	uint32_t goroutines_max; /* entries of the preallocated store */
	bool calibrate;		 /* measure what probes cost, for capture_get_probe_costs */
};

/* Called from capture_poll, on its thread. Records are lent for the call. */
struct capture_handler {
	void *context;
	void (*on_sample)(void *context, const struct sample_record *sample);
	void (*on_exec)(void *context, const struct process_record *exec);
	void (*on_exit)(void *context, const struct process_record *exit);
	void (*on_first_span)(void *context, const struct process_record *process);
	void (*on_ended_span)(void *context, const struct span_record *span);
};

enum capture_probe_kind { /* which BPF program; the agent maps gobinary's kinds to these */
			  CAPTURE_PROBE_RUNTIME_TRACE,
			  CAPTURE_PROBE_WITH_VALUE,
			  CAPTURE_PROBE_START_RETURN,
			  CAPTURE_PROBE_NEWPROC,
};

/* CPU time of one hit in the process it is in, ns. */
struct capture_probe_costs {
	uint64_t span_ns, unsampled_ns, go_ns;
};

/* What the kernel side has counted of one process image. */
struct capture_process_counts {
	uint64_t spans_started, spans_unsampled, go_statements;
};

/* A span that is older than its probe. */
struct capture_older_span {
	uint64_t address; /* of the recordingSpan */
	uint8_t span_id[8];
};

/* A span that the kernel side's store has of a goroutine. */
struct capture_stored_span {
	uint32_t generation;
	uint32_t older; /* 1: a census found it */
	uint64_t g, goid;
	uint64_t address;
	uint8_t span_id[8];
};

struct capture_stats {
	struct target_counters counters; /* summed over CPUs */
	uint64_t map_bytes;
	uint32_t cpus;
};

/* Errors come with one line, missing thing and remedy named, in `why`. */
int capture_open(const struct capture_config *config, const struct capture_handler *handler,
		 struct capture **out, char *why, size_t why_size);
/* Opens the clocks; samples flow from here on. */
int capture_start(struct capture *c, char *why, size_t why_size);
/* Closes the clocks: no sample follows those that wait to be polled. */
void capture_stop(struct capture *c);
void capture_close(struct capture *c);

/* A process's image becomes known (or changes); its goroutines start empty. */
int capture_set_process(struct capture *c, pid_t pid, const struct target_process *target);
/*
 * The next exec of this file by a followed process gets `target` at once, without waiting for
 * capture_set_process; the exec's record tells its generation.
 */
int capture_prepare_image(struct capture *c, const struct target_image *image,
			  const struct target_process *target);
/*
 * What a census found of a goroutine of that image: `count` open spans, outermost first, of which
 * the innermost 16 are kept. -ENOSPC: the store is full.
 */
int capture_add_older(struct capture *c, uint32_t generation, uint64_t g, uint64_t goid,
		      const struct capture_older_span *spans, size_t count);
/* Of the image that the kernel side knows now; 0: none, or still pending. */
uint32_t capture_get_generation(struct capture *c, pid_t pid);
/* False: that image is not known any more. */
bool capture_get_counts(struct capture *c, pid_t pid, uint32_t generation,
			struct capture_process_counts *counts);
/* As measured on this machine since the start; false: not known yet. */
bool capture_get_probe_costs(const struct capture *c, struct capture_probe_costs *costs);
/* One more such span of a goroutine, inside those that are known already; known itself: nothing. */
int capture_push_older(struct capture *c, uint32_t generation, uint64_t g, uint64_t goid,
		       const struct capture_older_span *span);
/* A goroutine that the kernel side's store has an entry of. */
struct capture_stored_goroutine {
	uint32_t generation;
	uint32_t older;
	uint64_t g, goid;
	bool inherited; /* the first span is its creator's */
	size_t span_count;
	const struct capture_goroutine_span *spans; /* lent for the call, outermost first */
};

/* A span that was open when it was stored. */
struct capture_goroutine_span {
	uint64_t address; /* of the recordingSpan */
	uint64_t span_id; /* as in memory */
	bool hides;	  /* one that is sampled out hides it */
};

/* From any thread. */
int capture_each_goroutine(struct capture *c,
			   void (*each)(void *context,
					const struct capture_stored_goroutine *goroutine),
			   void *context);
/* Another number whenever the store has changed. From any thread. */
uint64_t capture_get_store_version(struct capture *c);
/* Deletes that entry, unless it has become another goroutine's. */
void capture_forget_goroutine(struct capture *c, const struct capture_stored_goroutine *goroutine);
/* Calls `each` for all spans of the store, but those inherited. A negative errno. */
int capture_each_span(struct capture *c,
		      void (*each)(void *context, const struct capture_stored_span *span),
		      void *context);
/* Deletes what the store holds of the goroutines of an image, which stays. */
void capture_forget_goroutines(struct capture *c, uint32_t generation);
void capture_forget_process(struct capture *c, pid_t pid, uint32_t generation);
/* Exec and exit of this process and of all its descendants are announced from here on. */
int capture_follow(struct capture *c, pid_t pid);
/* pid −1: every process that has the file. `*probe` is detached by capture_detach or close. */
int capture_attach(struct capture *c, enum capture_probe_kind kind, pid_t pid, const char *path,
		   uint64_t file_offset, int *probe, char *why, size_t why_size);
void capture_detach(struct capture *c, int probe);

int capture_get_fd(const struct capture *c); /* epoll-able: readable when records wait */
int capture_poll(struct capture *c); /* hands over waiting records, all or those of 100 ms */
/* Deletes the goroutines of forgotten process images; returns at once when none was forgotten. */
void capture_sweep(struct capture *c);
/* Summed over CPUs. */
void capture_get_counters(const struct capture *c, struct target_counters *sum);
/* Counters, and what only the end of a run asks for: it reads a file for each map. */
void capture_get_stats(const struct capture *c, struct capture_stats *out);

#endif
