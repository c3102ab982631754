"""Features: from an input to the attributes of its parts, and templates that say which."""
