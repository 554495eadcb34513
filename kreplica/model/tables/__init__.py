"""Tables of clusters: declared columns, arrays that carry them, rows and frames that are shown."""
