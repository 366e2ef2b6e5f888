"""Files that tools read and write, and the folders that they may use."""
