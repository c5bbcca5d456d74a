module spanprof.test/verify

go 1.26.0

require (
	github.com/google/pprof v0.0.0-20261105003125-4bf881d7fb0b
	spanprof.test/lines v0.0.0
)

require golang.org/x/exp v0.0.0-20261113113407-e3970619a1a4

replace spanprof.test/lines => ../../lines
