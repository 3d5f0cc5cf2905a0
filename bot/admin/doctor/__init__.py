"""What `cardinal doctor` looks at, by theme; `bot.admin.doctor.run` puts it together."""
