/* SPDX-License-Identifier: Apache-2.0 */
/* Version strings of Go and of Go modules; see go_version.h. */
#include "gobinary/go_version.h"

#include <string.h>

int go_version_minor(const char *version)
{
	const char *at = strstr(version, "go1.");
	int minor = 0;

	if (at)
		at += 4;
	else if (!strncmp(version, "v1.", 3))
		at = version + 3;
	else if (!strncmp(version, "1.", 2))
		at = version + 2;
	else
		return -1;
	if (*at < '0' || *at > '9')
		return -1;
	while (*at >= '0' && *at <= '9' && minor < 10000)
		minor = minor * 10 + (*at++ - '0');
	return minor;
}
