/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiting: goroutines with an open span, or all, that are not on a CPU, looked at again and again
 * on a thread of its own. Each look stands for the time since the one before.
 */
#ifndef WAITING_WAITING_H
#define WAITING_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <spanprof/record.h>

struct gobinary_info;
struct waiting;

#define WAITING_CHANNEL_SIZE 48

enum waiting_state {
	WAITING_PARKED,	   /* for a reason */
	WAITING_RUNNABLE,  /* could run, no P has taken it yet */
	WAITING_SYSCALL,   /* in a system call or in C, which itself waits */
	WAITING_NO_CPU,	   /* on a thread that could run and has no CPU */
	WAITING_THROTTLED, /* as its cgroup has used up its quota */
};

/* One stack and how long goroutines stood there: one of them, or outside spans any number. */
struct waiting_record {
	struct waiting_record *next;
	uint64_t duration_ns;
	enum waiting_state state;
	uint8_t reason;			    /* parked: see gobinary_get_wait_reason */
	char channel[WAITING_CHANNEL_SIZE]; /* system call: function of the kernel, "" unknown */
	struct sample_record sample;	    /* its words follow */
};

/* A span that was open when its goroutine was last told. */
struct waiting_span {
	uint64_t address; /* of the recordingSpan */
	uint64_t span_id; /* as it lies in memory */
	bool hides;	  /* one that is sampled out hides it */
};

/* What is known of a goroutine's spans, outermost first; some may have ended. */
struct waiting_goroutine {
	uint32_t generation;
	bool older;	/* a census found them: they count when none of the others is open */
	bool inherited; /* the outermost is its creator's */
	uint64_t g, goid;
	size_t span_count;
	const struct waiting_span *spans;
};

/* Who works for spans. Called from waiting's thread. */
struct waiting_source {
	void *context;
	/* Another number whenever `each` may tell something else. */
	uint64_t (*get_version)(void *context);
	/* Tells all goroutines that may have open spans. A negative errno. */
	int (*each)(void *context,
		    void (*tell)(void *to, const struct waiting_goroutine *goroutine), void *to);
};

struct waiting_config {
	struct waiting_source source;
	bool outside;	      /* goroutines outside spans, too */
	double frequency_hz;  /* of looks, at most */
	double cpu_share;     /* of one CPU that looks may take */
	size_t records_bytes; /* that may wait to be taken, but at a flush */
};

/* Of the run so far. */
struct waiting_stats {
	uint64_t passes; /* over all processes */
	uint64_t looks;	 /* at goroutines that count: as a rule those with an open span */
	uint64_t cpu_ns; /* that they took */
	uint64_t moved;	 /* looks that do not count: the goroutine went on meanwhile */
	uint64_t unreadable;
	uint64_t unsampled;  /* for a span that is sampled out */
	uint64_t lost_ns;    /* time of records that found no room */
	double frequency_hz; /* of late */
	unsigned share;	     /* of the goroutines one in so many is looked at in each pass */
};

int waiting_open(const struct waiting_config *config, struct waiting **out);
/* False: its thread hangs in a read of a process's memory, and goes on using the source. */
bool waiting_close(struct waiting *w);

/* A process image to look at. `info` is copied. -ENOMEM. */
int waiting_add(struct waiting *w, uint32_t generation, pid_t pid, const struct gobinary_info *info,
		uint64_t bias);
/* What was seen of it until now can still be taken. */
void waiting_remove(struct waiting *w, uint32_t generation);
/*
 * To be called some times a second. A look that has not returned for seconds: its process is not
 * looked at any more, another thread goes on with the others. Returns its generation, else 0.
 */
uint32_t waiting_watch(struct waiting *w, uint64_t now_ns);

/* All that waits, oldest first; the caller frees each. NULL none. */
struct waiting_record *waiting_take(struct waiting *w);
/*
 * Until all that was seen by now of one process image can be taken, or, generation 0, of all,
 * which are looked at once more before; at most so long. False: it takes longer.
 */
bool waiting_flush(struct waiting *w, uint32_t generation, uint64_t patience_ns);
void waiting_get_stats(struct waiting *w, struct waiting_stats *out);

#endif
