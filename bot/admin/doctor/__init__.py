"""Checks of `cardinal doctor` by theme; `bot.admin.doctor.run` puts them together."""
