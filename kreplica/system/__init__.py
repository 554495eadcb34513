"""The operating system: files, processes, deadlines, Java, installed packages."""
