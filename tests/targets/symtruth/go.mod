module symtruth

go 1.18
