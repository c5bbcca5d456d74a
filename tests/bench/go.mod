module spanprof.test/bench

go 1.26.0
