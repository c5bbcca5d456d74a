/* SPDX-License-Identifier: Apache-2.0 */
/* Version strings of Go and of Go modules, as build information spells them. */
#ifndef GOBINARY_GO_VERSION_H
#define GOBINARY_GO_VERSION_H

/*
 * The minor number of "go1.26.8", "go1.27rc1", "devel go1.27-abc", "v1.47.0" or "1.20": the part
 * behind "1.". −1 unknown.
 */
int go_version_minor(const char *version);

#endif
