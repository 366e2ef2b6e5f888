"""Find secrets in text by their form, and take them out of what a model sees."""
