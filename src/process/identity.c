/* SPDX-License-Identifier: Apache-2.0 */
/* Who a process is: its environment first, then its executable; see identity.h. */
#include "process/identity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/string_table.h"
#include "gobinary/gobinary.h"
#include "process/environ.h"
#include "process/identity_private.h"
#include "process/process_private.h"

const char *const identity_service_keys[IDENTITY_SERVICE_KEYS] = {
	"service.name",	       "service.version",	 "service.namespace",
	"service.instance.id", "deployment.environment", "deployment.environment.name",
};

static struct identity_attribute *find(const struct identity *id, const char *key)
{
	for (size_t i = 0; i < id->count; i++)
		if (!strcmp(id->attributes[i].key, key))
			return (struct identity_attribute *)&id->attributes[i];
	return NULL;
}

void identity_set(struct identity *id, const char *key, const char *value, size_t size)
{
	struct identity_attribute *attribute = find(id, key);

	if (!size)
		return;
	if (!attribute) {
		if (id->count == IDENTITY_ATTRIBUTES_MAX)
			return;
		attribute = &id->attributes[id->count++];
		snprintf(attribute->key, sizeof(attribute->key), "%s", key);
	}
	string_clean(attribute->value, sizeof(attribute->value), value, size);
	attribute->is_integer = 0;
}

static void set_default(struct identity *id, const char *key, const char *value)
{
	if (!find(id, key))
		identity_set(id, key, value, strlen(value));
}

/* The last part of the executable's path, without the mark of a file that was replaced. */
static void get_executable_name(const struct process *p, char *to, size_t size)
{
	const char *slash = strrchr(p->executable, '/');
	const char *name = slash ? slash + 1 : p->executable;
	size_t length = process_path_length(name);

	if (!length) {
		name = p->comm;
		length = strlen(name);
	}
	string_clean(to, size, name, length);
}

static void set_version(struct identity *id, const struct gobinary_info *info)
{
	const char *version = info->module_version;

	if (!version[0] || !strcmp(version, "(devel)"))
		version = info->vcs_revision;
	set_default(id, "service.version", version);
}

static void set_process(struct identity *id, const struct process *p, const char *executable)
{
	char text[256];

	identity_set(id, "process.executable.name", executable, strlen(executable));
	snprintf(text, sizeof(text), "%d", p->pid);
	identity_set(id, "process.pid", text, strlen(text));
	find(id, "process.pid")->is_integer = 1;
	if (!gethostname(text, sizeof(text))) {
		text[sizeof(text) - 1] = '\0';
		identity_set(id, "host.name", text, strlen(text));
	}
}

int identity_read(const struct process *p, const struct gobinary_info *info, struct identity *out)
{
	char executable[256];
	struct buffer text;
	int err;

	*out = (struct identity){0};
	buffer_open(&text, ENVIRON_BYTES_MAX);
	err = process_read_file(p, "environ", &text);
	if (!err)
		err = environ_parse(text.data, text.size, out);
	buffer_close(&text);
	if (err == -ECANCELED || err == -ESRCH || err == -ENOMEM)
		return err;
	/* An environment that cannot be read costs the service's own name, not the profile. */
	get_executable_name(p, executable, sizeof(executable));
	set_default(out, "service.name", executable);
	if (info)
		set_version(out, info);
	set_process(out, p, executable);
	return 0;
}

const char *identity_get(const struct identity *id, const char *key)
{
	const struct identity_attribute *attribute = find(id, key);

	return attribute ? attribute->value : "";
}

static void take_away(struct identity *id, const char *key)
{
	struct identity_attribute *attribute = find(id, key);
	size_t at = attribute ? (size_t)(attribute - id->attributes) : 0;

	if (attribute)
		memmove(attribute, attribute + 1, (--id->count - at) * sizeof(*attribute));
}

bool identity_set_service(struct identity *id, const struct identity *resource)
{
	bool changed = false;

	for (size_t i = 0; i < IDENTITY_SERVICE_KEYS; i++) {
		const char *key = identity_service_keys[i], *value = identity_get(resource, key);

		if (!strcmp(value, identity_get(id, key)) || (!value[0] && !i))
			continue;
		changed = true;
		if (value[0])
			identity_set(id, key, value, strlen(value));
		else
			take_away(id, key);
	}
	return changed;
}
