module spanprof.test/torture

go 1.18
