"""A service or tool in Go."""

TEXT = """\
- Read `go.mod` and the package that you change first; follow its names and its layout.
- Handle every error where it happens, wrapped with what was being done (`fmt.Errorf("…: %w", err)`). No
  panic in a library.
- Pass `context.Context` first and honour it. Every goroutine that you start has an end.
- Tests are tables where there are several cases; they run with `-race`.
- Change neither `go.mod` nor `go.sum` unless the card asks for it. Do not edit generated files: run
  their generator.
- Before you finish, run `gofmt`, `go vet` and the tests of what you touched, and say what you ran.
"""
SETUP = ("go mod download",)
FAST = ('test -z "$(gofmt -l .)"', "go vet ./...")
FULL = ("go vet ./...", "go test -race ./...")
SKILLS = ("go",)  # where there are any of these names
