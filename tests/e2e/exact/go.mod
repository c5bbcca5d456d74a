module spanprof.test/exact

go 1.26.0

require (
	github.com/go-delve/delve v1.27.2
	spanprof.test/lines v0.0.0
)

replace spanprof.test/lines => ../../lines
