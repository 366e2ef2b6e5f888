"""Terminal bytes as text, lines and cells; the only package that parses escape sequences."""
