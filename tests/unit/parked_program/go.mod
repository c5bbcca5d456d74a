module parked

go 1.22
