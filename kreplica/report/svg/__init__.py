"""A run as a picture in SVG."""
