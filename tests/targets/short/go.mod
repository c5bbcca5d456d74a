module spanprof.test/short

go 1.21
