"""The scenarios of this package, a folder for each subject and a module for each scenario."""
