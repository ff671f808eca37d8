module example.com/sessionref

go 1.19
