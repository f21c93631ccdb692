module fastsdt

go 1.19
