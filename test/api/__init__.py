"""Which of the official package's public names work here, by the tests that show it."""
