module liveness

go 1.18
