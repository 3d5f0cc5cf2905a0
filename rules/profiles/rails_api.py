"""An API in Ruby on Rails, with RSpec or Minitest and RuboCop."""

TEXT = """\
- Read `Gemfile`, `config/routes.rb` and the nearest existing controller first, and do it as they do.
- Controllers stay thin: rules of the business live where this repository keeps them (models, services,
  policies).
- Every endpoint that you add or change has a request spec for success, for what is refused and for who
  may not.
- Migrations can be undone and are safe on a large table: no column with a default rewritten in place,
  indexes concurrently. Change `db/schema.rb` or `structure.sql` only by running a migration.
- Permit parameters by name. Look for N+1 queries in what you return.
- Change no gem and no `Gemfile.lock` unless the card asks for it.
- Before you finish, run the specs of what you touched and RuboCop on those files, and say what you ran.
"""
SETUP = ("bundle install", "bin/rails db:prepare")
FAST = ("bundle exec rubocop",)
FULL = ("bundle exec rubocop", "bundle exec rspec")
START = "bin/rails server --binding 127.0.0.1 --port 3000"
ADDRESS = "http://127.0.0.1:3000/"
SKILLS = ("rails", "migrations")  # where there are any of these names
