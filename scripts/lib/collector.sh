# SPDX-License-Identifier: Apache-2.0
# Builds the OpenTelemetry Collector that deploy/observability asks for, from its modules, with the
# components that it and the tests need; sourced from the top of the tree after go.sh.
# shellcheck shell=sh

collector_version=0.159.0
# The stable modules of that release.
collector_stable_version=1.65.0

# collector_modules: the builder's list, without where to put the result.
collector_modules()
{
	core=go.opentelemetry.io/collector
	contrib=github.com/open-telemetry/opentelemetry-collector-contrib
	cat <<-YAML
		receivers:
		  - gomod: $core/receiver/otlpreceiver v$collector_version
		processors:
		  - gomod: $core/processor/batchprocessor v$collector_version
		  - gomod: $core/processor/memorylimiterprocessor v$collector_version
		  - gomod: $contrib/processor/transformprocessor v$collector_version
		exporters:
		  - gomod: $contrib/exporter/fileexporter v$collector_version
		  - gomod: $core/exporter/debugexporter v$collector_version
		  - gomod: $core/exporter/otlphttpexporter v$collector_version
		providers:
		  - gomod: $core/confmap/provider/envprovider v$collector_stable_version
		  - gomod: $core/confmap/provider/fileprovider v$collector_stable_version
		conf_resolver:
		  default_uri_scheme: file
	YAML
}

# collector_build SCRATCH: sets `collector`, a binary kept in the user's cache under a name of its own
# for each list of components. 3 minutes of CPU; exits 77 when the modules could not be had.
collector_build()
{
	collector=${XDG_CACHE_HOME:-$HOME/.cache}/spanprof/collector-$collector_version-$(
		collector_modules | cksum | cut -d ' ' -f 1
	)
	[ ! -x "$collector" ] || return 0
	echo "building Collector $collector_version" >&2
	mkdir -p "$(dirname "$collector")" "$1/collector"
	{
		printf 'dist:\n  name: collector\n  output_path: %s\n' "$1/collector/out"
		collector_modules
	} >"$1/collector/builder.yaml"
	(cd "$1/collector" && GOFLAGS='' \
		go run "go.opentelemetry.io/collector/cmd/builder@v$collector_version" \
		--config builder.yaml) >"$1/collector/log" 2>&1 || {
		tail -5 "$1/collector/log" >&2
		echo "could not fetch and build Collector $collector_version" >&2
		exit 77
	}
	mv "$1/collector/out/collector" "$collector.new"
	mv "$collector.new" "$collector"
	rm -rf "$1/collector"
}
