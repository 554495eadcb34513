"""Plain text and SVG from data: no colour codes, no terminal."""
