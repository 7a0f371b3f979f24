"""Loading of the core modules, their public names, the exit hook and the optional features."""
