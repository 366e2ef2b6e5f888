"""Terminal bytes as text, lines and cells; the only package that spells and parses escape sequences."""
