"""Places that hold files: folders and object stores."""
