"""The engine in small: conversations with a coordinator, and models counted on paper."""
