module spanprof.test/busy

go 1.21
