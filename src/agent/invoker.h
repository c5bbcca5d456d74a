/* SPDX-License-Identifier: Apache-2.0 */
/* The person behind sudo: files are theirs, and a COMMAND runs as them. */
#ifndef AGENT_INVOKER_H
#define AGENT_INVOKER_H

/* Gives an open file to SUDO_UID/SUDO_GID, when set and we are root. 0 or a negative errno. */
int invoker_give(int fd);
/* Becomes that user for good, groups included; nothing without sudo. For a child before exec. */
int invoker_become(void);

#endif
