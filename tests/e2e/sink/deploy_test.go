// SPDX-License-Identifier: Apache-2.0
// Holds deploy/observability against what spanprof sends and what its own files say of each other:
// they parse, name what exists, and ask Pyroscope for the types of profile that it will have.

package main

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

const (
	tree   = "../../../"
	deploy = tree + "deploy/observability/"
)

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// readYAML takes the documents of a file, and wants an SPDX line and a sentence on top of it.
func readYAML(t *testing.T, path string) map[string]any {
	t.Helper()
	text := readText(t, path)
	if lines := strings.SplitN(text, "\n", 3); lines[0] != "# SPDX-License-Identifier: Apache-2.0" ||
		!strings.HasPrefix(lines[1], "# ") {
		t.Errorf("%s does not say its licence and what it is for", path)
	}
	var value map[string]any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return value
}

// at follows keys into nested maps.
func at(t *testing.T, value any, keys ...string) any {
	t.Helper()
	for _, key := range keys {
		inner, ok := value.(map[string]any)
		if !ok || inner[key] == nil {
			t.Fatalf("no %q on the way to %v", key, keys)
		}
		value = inner[key]
	}
	return value
}

// sentTypes are Pyroscope's names of what the sources say of the two profiles on the wire.
func sentTypes(t *testing.T) []string {
	t.Helper()
	words := map[string]string{}
	text := readText(t, tree+"src/format/otlp_dictionary.c")
	for _, m := range regexp.MustCompile(`\[OTLP_(\w+)\] = "([^"]*)"`).FindAllStringSubmatch(text, -1) {
		words[m[1]] = m[2]
	}
	return []string{
		profileTypeID(words["SAMPLES"], words["COUNT"], words["CPU"], words["NANOSECONDS"], true),
		profileTypeID(words["OFF_CPU"], words["NANOSECONDS"], "", "", false),
	}
}

func TestSentTypes(t *testing.T) {
	// The second is what a test of Pyroscope 2.2.1 queries (pkg/test/integration/ingest_otlp_test.go).
	want := []string{"process_cpu:cpu:nanoseconds:cpu:nanoseconds", "off_cpu:off_cpu:nanoseconds::"}
	if got := sentTypes(t); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := profileTypeID("off_cpu", "nanoseconds", "off_cpu", "nanoseconds", true); got ==
		want[1] {
		t.Error("a period is part of the name")
	}
}

func TestAllFilesParse(t *testing.T) {
	found := 0
	err := filepath.WalkDir(deploy, func(path string, entry os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".yaml") {
			readYAML(t, path)
			found++
		}
		return err
	})
	if err != nil || found < 6 {
		t.Errorf("%d YAML files, %v", found, err)
	}
}

func TestCollector(t *testing.T) {
	config := readYAML(t, deploy+"collector.yaml")
	statement := at(t, config, "processors", "transform/labels", "profile_statements").([]any)[0]
	list := regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(statement.(string), -1)
	keys := []string{}
	for _, m := range list {
		keys = append(keys, m[1])
	}
	if !slices.Equal(keys, allowedLabels) {
		t.Errorf("labels that may pass: %q, the tests' %q", keys, allowedLabels)
	}
	for name, pipeline := range at(t, config, "service", "pipelines").(map[string]any) {
		for _, kind := range []string{"receivers", "processors", "exporters"} {
			for _, component := range at(t, pipeline, kind).([]any) {
				at(t, config, kind, component.(string))
			}
		}
		if first := at(t, pipeline, "processors").([]any)[0]; first != "memory_limiter" {
			t.Errorf("%s begins with %v", name, first)
		}
	}
	// What is deployed is what is tested.
	version := regexp.MustCompile(`collector_version=(\S+)`).FindStringSubmatch(
		readText(t, tree+"scripts/lib/collector.sh"))[1]
	image := at(t, readYAML(t, deploy+"compose.yaml"), "services", "collector", "image")
	if image != "otel/opentelemetry-collector-contrib:"+version {
		t.Errorf("compose.yaml has %v, tests run %s", image, version)
	}
	values := readYAML(t, deploy+"kubernetes/collector-values.yaml")
	if tag := at(t, values, "image", "tag"); tag != version {
		t.Errorf("collector-values.yaml has %v, tests run %s", tag, version)
	}
}

// Compose binds nothing but the loopback, pins every image and mounts files that exist.
func TestCompose(t *testing.T) {
	for name, service := range at(t, readYAML(t, deploy+"compose.yaml"), "services").(map[string]any) {
		for _, port := range at(t, service, "ports").([]any) {
			if !strings.HasPrefix(port.(string), "127.0.0.1:") {
				t.Errorf("%s opens %v", name, port)
			}
		}
		image := at(t, service, "image").(string)
		if !regexp.MustCompile(`^[a-z-]+/[a-z-]+:\d+\.\d+\.\d+$`).MatchString(image) {
			t.Errorf("%s runs %s", name, image)
		}
		for _, volume := range at(t, service, "volumes").([]any) {
			from := strings.Split(volume.(string), ":")[0]
			if !strings.HasPrefix(from, "./") {
				continue
			}
			if _, err := os.Stat(deploy + from); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// The data sources by uid, each with its type.
func dataSources(t *testing.T) map[string]string {
	t.Helper()
	sources := map[string]string{}
	file := readYAML(t, deploy+"grafana/datasources/spanprof.yaml")
	for _, source := range at(t, file, "datasources").([]any) {
		sources[at(t, source, "uid").(string)] = at(t, source, "type").(string)
	}
	return sources
}

func TestDataSources(t *testing.T) {
	sources, asked := dataSources(t), []string{}
	file := readYAML(t, deploy+"grafana/datasources/spanprof.yaml")
	for _, source := range at(t, file, "datasources").([]any) {
		if at(t, source, "type") != "tempo" {
			continue
		}
		link := at(t, source, "jsonData", "tracesToProfiles")
		if uid := at(t, link, "datasourceUid").(string); sources[uid] != "grafana-pyroscope-datasource" {
			t.Errorf("profiles from %q, which is %q", uid, sources[uid])
		}
		tag := at(t, link, "tags").([]any)[0]
		if at(t, tag, "key") != "service.name" || at(t, tag, "value") != "service_name" {
			t.Errorf("the service is looked for by %v", tag)
		}
		asked = append(asked, at(t, link, "profileTypeId").(string))
	}
	if want := sentTypes(t); !slices.Equal(asked, want) {
		t.Errorf("links ask for %q, sent are %q", asked, want)
	}
}

// walk calls visit for every map below value.
func walk(value any, visit func(map[string]any)) {
	switch value := value.(type) {
	case map[string]any:
		visit(value)
		for _, inner := range value {
			walk(inner, visit)
		}
	case []any:
		for _, inner := range value {
			walk(inner, visit)
		}
	}
}

var placeholder = regexp.MustCompile(`\$\{[^}]*\}`)

// checkReferences: whatever names a data source or a type of profile names one that there is.
func checkReferences(t *testing.T, value any) {
	sources, types := dataSources(t), sentTypes(t)
	walk(value, func(m map[string]any) {
		if source, found := m["datasource"].(map[string]any); found &&
			sources[source["uid"].(string)] != source["type"] {
			t.Errorf("data source %v", source)
		}
		if kind, found := m["profileTypeId"].(string); found && !slices.Contains(types, kind) {
			t.Errorf("profile type %q", kind)
		}
		if link, found := m["url"].(string); found && strings.HasPrefix(link, "/explore?") {
			checkExplore(t, link)
		}
	})
}

// checkExplore takes a link apart as Explore does: two panes, one for each type, of one span.
func checkExplore(t *testing.T, link string) {
	parsed, err := url.Parse(placeholder.ReplaceAllString(link, "00000000000000ff"))
	if err != nil {
		t.Error(err)
		return
	}
	panes := map[string]any{}
	if err := json.Unmarshal([]byte(parsed.Query().Get("panes")), &panes); err != nil {
		t.Errorf("panes of %s: %v", link, err)
		return
	}
	asked := []string{}
	for _, pane := range panes {
		query := at(t, pane, "queries").([]any)[0]
		asked = append(asked, at(t, query, "profileTypeId").(string))
		if spans := at(t, query, "spanSelector").([]any); !slices.Equal(spans, []any{"00000000000000ff"}) {
			t.Errorf("spans %v", spans)
		}
		if uid := at(t, pane, "datasource").(string); dataSources(t)[uid] == "" {
			t.Errorf("data source %s", uid)
		}
	}
	want := sentTypes(t)
	slices.Sort(asked)
	slices.Sort(want)
	if !slices.Equal(asked, want) {
		t.Errorf("Explore is asked for %q", asked)
	}
	checkReferences(t, panes)
}

func TestDashboard(t *testing.T) {
	var dashboard map[string]any
	text := readText(t, deploy+"grafana/dashboards/spanprof.json")
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
		t.Fatal(err)
	}
	checkReferences(t, dashboard)
	ids, bottom := map[float64]bool{}, 0.0
	for _, panel := range at(t, dashboard, "panels").([]any) {
		id := at(t, panel, "id").(float64)
		if ids[id] {
			t.Errorf("two panels %v", id)
		}
		ids[id] = true
		place := at(t, panel, "gridPos").(map[string]any)
		if place["x"].(float64)+place["w"].(float64) > 24 {
			t.Errorf("panel %v: %v", id, place)
		}
		bottom = max(bottom, place["y"].(float64)+place["h"].(float64))
	}
	if len(ids) < 7 || bottom < 20 {
		t.Errorf("%d panels down to %v", len(ids), bottom)
	}
	// Every variable that a query uses is one of the dashboard's or of Grafana's own.
	known := map[string]bool{"__from": true, "__to": true, "__url_time_range": true, "__data": true, "__field": true}
	for _, variable := range at(t, dashboard, "templating", "list").([]any) {
		known[at(t, variable, "name").(string)] = true
	}
	for _, m := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(text, -1) {
		if !known[m[1]] && m[1] != "__all" {
			t.Errorf("variable %s", m[0])
		}
	}
}
