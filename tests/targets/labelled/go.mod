module spanprof.test/labelled

go 1.26.0
