"""Features: attributes of the parts of an input, and templates that define them."""
