"""What `cardinal doctor` looks at, by theme; `bot.checkup` puts it together."""
