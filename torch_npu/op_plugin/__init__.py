"""Where the official package keeps the Python of its operators; here, what programs ask for."""
