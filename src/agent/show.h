/* SPDX-License-Identifier: Apache-2.0 */
/* spanprof show FILE…: reads .otlp and pprof files and reports, converts or sends them. */
#ifndef AGENT_SHOW_H
#define AGENT_SHOW_H

struct log;
struct options;

int show_run(const struct options *options, const struct log *log);

#endif
