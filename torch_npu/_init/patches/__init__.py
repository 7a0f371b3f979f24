"""Changes to PyTorch that no hook of it allows, each with the hook that is missing."""
