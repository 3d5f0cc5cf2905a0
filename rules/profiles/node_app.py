"""An application or package in JavaScript or TypeScript, on Node."""

TEXT = """\
- Read `package.json` and the lock file first: use the package manager that the lock file belongs to, and
  the scripts that are there.
- Follow the module system (ESM or CommonJS), the style and the strictness of TypeScript that the
  repository has. No `any` and no `@ts-ignore` to silence an error.
- Every change of behaviour comes with a test in the framework that is in use.
- Await or return every promise; say what happens when it rejects.
- Change no dependency, no lock file and no build setting unless the card asks for it. Never commit
  `node_modules` or what a build makes.
- Before you finish, run the linter, the type check and the tests of what you touched, and say what you
  ran.
"""
SETUP = ("npm ci",)
FAST = ("npm run lint",)
FULL = ("npm run lint", "npm test")
START = "npm run dev"
ADDRESS = "http://127.0.0.1:3000/"
SKILLS = ("node",)  # where there are any of these names
